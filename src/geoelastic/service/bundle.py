# SPDX-License-Identifier: Apache-2.0
"""The client's modules as one classic script, so that a page needs one line and a stand-alone file needs nothing else.

Modules are joined in the order of their imports; `import` lines go and `export` words with them. That is enough because
the modules follow rules that are checked here: named imports from relative paths only, and no top-level name twice.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..errors import FileError

STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import \{[^}]*\} from "([./\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=class|function|async function|const)", re.MULTILINE)
_TOP = re.compile(r"^(?:class|(?:async )?function|const|let) (\w+)", re.MULTILINE)
_DESTRUCTURED = re.compile(r"^(?:import|export|const \{)", re.MULTILINE)


def client_dir() -> Path:
    """The client's modules: inside an installed package, or beside the sources."""
    for place in (STATIC / "client", Path(__file__).parents[3] / "client" / "src"):
        if place.is_dir():
            return place
    raise FileError("the JavaScript client is missing from this installation")


@cache
def bundle(entry: str) -> str:
    """The module `entry` (a name in the client or in the page's folder) with all it imports, as one script."""
    parts: dict[str, str] = {}
    _collect(entry, parts, ())
    names: dict[str, str] = {}
    for module, text in parts.items():
        if found := _DESTRUCTURED.search(text):
            raise AssertionError(f"{module}: cannot be bundled at {text[found.start() : found.start() + 40]!r}")
        for name in _TOP.findall(text):
            if name in names:
                raise AssertionError(f"{name} is defined in {names[name]} and in {module}: a bundle has one scope")
            names[name] = module
    body = "\n".join(parts.values())
    return f'// SPDX-License-Identifier: Apache-2.0\n(() => {{\n"use strict";\n{body}\n}})();\n'


def _collect(module: str, parts: dict[str, str], above: tuple[str, ...]) -> None:
    if module in parts:
        return
    if module in above:
        raise AssertionError(f"modules import each other: {' -> '.join((*above, module))}")
    text = _source(module)
    for wanted in _IMPORT.findall(text):
        _collect(Path(wanted).name, parts, (*above, module))
    parts[module] = _EXPORT.sub("", _IMPORT.sub("", text)).strip() + "\n"


def _source(module: str) -> str:
    for place in (STATIC, client_dir()):
        path = place / f"{module}.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileError(f"the JavaScript module '{module}' is missing from this installation")
