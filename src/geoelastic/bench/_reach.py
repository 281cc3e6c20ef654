# SPDX-License-Identifier: Apache-2.0
"""The code that a measurement reaches: its module and, over and over, what that imports, read from the source.

A record is as old as the code that it depends on, and not as old as the last change of anything. Imports inside of
functions count. Of a package only those names count that are asked for: they are followed through its `__init__` to the
modules that define them. What is imported by a name in a string (commands, pictures in notebooks) is not followed.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_ALL = ("src",)
#: What the commands that measurements start may come to: all but what answers requests and what measures, which only
#: `serve`, `bench` and a few other commands import. What a measurement imports of it counts all the same.
_COMMANDS = tuple(
    f"src/{_PACKAGE.name}/{path.name}"
    for path in sorted(_PACKAGE.iterdir())
    if path.name not in ("service", "bench", "__pycache__")
)
#: Files of the project that measurements reach in other ways: processes of their own, browsers, other clients.
BESIDES = {
    "browsing": ("client", "extension"),
    "client": ("python-client",),
    "commands": _COMMANDS,
    "device": (*_COMMANDS, "client"),
    "extension": (*_COMMANDS, "client", "extension"),
    "osm": _COMMANDS,
    "packs": (*_COMMANDS, "client", "extension"),
    "scale": _COMMANDS,
    "service": (*_ALL, "client"),
    "statistics": _COMMANDS,
    "traces": ("client",),
}

#: A module, and the name that is asked of it; without one, all of it.
_Asked = tuple[str, str | None]


def reached(name: str) -> list[str]:
    """What the measurement called `name` depends on, as git names paths from the top of a repository."""
    module = f"bench.{name}"
    if _file(_PACKAGE, module) is None:
        return [f":/{folder}" for folder in _ALL]
    files = closure(_PACKAGE, module)
    data = {
        path
        for folder in {file.parent for file in files}
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".toml", ".json")
    }
    ours = [f":/src/{_PACKAGE.name}/{path.relative_to(_PACKAGE).as_posix()}" for path in files | data]
    return sorted([*ours, *(f":/{folder}" for folder in BESIDES.get(name, ()))])


def closure(package: Path, module: str) -> set[Path]:
    """The files of the package in a folder that `module` imports ("bench.error", from its root), itself included."""
    files: set[Path] = set()
    seen: set[_Asked] = set()
    todo: list[_Asked] = [(module, None)]
    while todo:
        asked = todo.pop()
        path = _file(package, asked[0])
        if asked in seen or path is None:
            continue
        seen.add(asked)
        files.add(path)
        todo += _asked_for(package, path, *asked)
    return files


def _asked_for(package: Path, path: Path, module: str, name: str | None) -> list[_Asked]:
    """What a module asks others for, if all of it is used, or only one name that it may pass on."""
    if name is not None and _file(package, inner := f"{module}.{name}".lstrip(".")) is not None:
        return [(inner, None)]
    passes_on = name is None or path.name == "__init__.py"
    imports = _imports(package, path, module) if passes_on else ()
    asked = [(source, known) for source, known, bound in imports if name in (None, bound)]
    return asked if asked or name is None else [(module, None)]


@cache
def _imports(package: Path, path: Path, module: str) -> tuple[tuple[str, str | None, str], ...]:
    """Every import of the package in a file: from which module, which name, and what it is called there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = module.split(".") if module else []
    above = here if path.name == "__init__.py" else here[:-1]
    found: list[tuple[str, str | None, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            source = ".".join([*above[: len(above) - node.level + 1], *filter(None, [node.module])])
            found += [(source, one.name, one.asname or one.name) for one in node.names]
    # of a package that is imported as such, `kernels` for `kernels.paths`, what is used of it
    packages = {bound: inner for source, name, bound in found if _is_package(package, inner := f"{source}.{name}")}
    used = {
        (packages[node.value.id].lstrip("."), node.attr, node.value.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages
    }
    known = {bound for _, _, bound in used}
    return (*(one for one in found if one[2] not in known), *sorted(used))


def _is_package(package: Path, module: str) -> bool:
    path = _file(package, module.lstrip("."))
    return path is not None and path.name == "__init__.py"


@cache
def _file(package: Path, module: str) -> Path | None:
    """The file of a module of the package."""
    base = package.joinpath(*module.split(".")) if module else package
    candidates = [base / "__init__.py", base.with_suffix(".py")]
    return next((path for path in candidates if path.is_file()), None)
