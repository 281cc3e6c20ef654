# SPDX-License-Identifier: Apache-2.0
"""How the house is kept: one name for one thing, and ARCHITECTURE.md names what is there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/geoelastic"
#: Folders whose modules are named after what they serve: a command, a measurement and a kernel have the name of the
#: module whose work they ask for, measure or do.
MIRRORS = ("cli", "bench", "_kernels")


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if not path.stem.startswith("__")]


def twice(found: dict[str, list[Path]]) -> dict[str, list[Path]]:
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_a_file_name_says_which_module_it_is() -> None:
    found = defaultdict(list)
    for path in modules():
        if path.relative_to(SOURCE).parts[0] not in MIRRORS:
            found[path.stem].append(path)
    assert twice(found) == {}


def test_a_class_name_says_which_class_it_is() -> None:
    found = defaultdict(list)
    for path in modules():
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[name].append(path)
    assert twice(found) == {}


def test_types_of_arrays_are_named_in_one_place() -> None:
    named = re.compile(r"^\w+ = npt\.NDArray\[np\.(int32|int64|float64|bool_|uint8)\]", re.MULTILINE)
    assert [path.name for path in modules() if named.search(path.read_text(encoding="utf-8"))] == ["arrays.py"]


def test_pages_name_modules_that_are_there() -> None:
    packages = "|".join(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")
    pages = [ROOT / "ARCHITECTURE.md", ROOT / "README.md", ROOT / "proof/README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        # outside ARCHITECTURE.md a name without its ending may be a folder of a user's
        ending = r"(?:\.py)?" if page.name == "ARCHITECTURE.md" else r"\.py"
        for name in re.findall(rf"`((?:{packages})/\w+){ending}`", page.read_text(encoding="utf-8")):
            assert (SOURCE / f"{name}.py").is_file(), (page.name, name)


def test_no_package_has_two_turns_on_a_way_through_the_house() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    ways = re.findall(r"^- \*(One [a-z ]+)\*: (.*?)(?=\n- |\n\n|\n  One thing)", text, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in ways] == ["One report", "One build", "One tiled build"]
    for name, way in ways:
        turns = [[part.split("/")[0] for part in re.findall(r"`(\w+/\w+)`", turn)] for turn in way.split("->")]
        visited = [package for turn in turns for package in sorted(set(turn))]
        assert len(visited) == len(set(visited)), (name, visited)
        assert len(visited) >= 5, name


def test_a_change_touches_at_most_five_files() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (an? [^|]+) \| ([^|]+) \|$", text.partition("## Where a change goes")[2], re.MULTILINE)
    assert len(rows) >= 12
    for change, files in rows:
        named = re.findall(r"`([\w/]+\.py)`", files)
        assert len(named) <= 5, change
        for name in named:
            assert any((folder / name).is_file() for folder in (SOURCE, ROOT)), name
