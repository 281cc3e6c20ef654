# SPDX-License-Identifier: Apache-2.0
"""Documentation that cannot rot: the reference is what the code says, and links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import geoelastic

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(p for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/reference/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "python.md", "../../src/geoelastic/__init__.pyi"])
def test_the_reference_is_what_the_code_says(page: str) -> None:
    written = (ROOT / "docs/reference" / page).read_text(encoding="utf-8")
    assert written == generator().PAGES[page](), "run .venv/bin/python docs/reference/generate.py"


def test_every_command_and_every_name_has_its_heading() -> None:
    module = generator()
    from geoelastic.cli import main

    cli = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    names = [name for name, _ in module.commands(main)]
    assert len(names) > 6
    for name in names:
        assert f"\n## {name}\n" in cli
    python = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    for name in geoelastic.__all__:
        assert f"\n## {name}\n" in python


def test_every_option_says_what_it_does() -> None:
    import click

    from geoelastic.cli import main

    for name, command in generator().commands(main):
        assert command.help, name
        for option in command.params:
            if isinstance(option, click.Option) and not isinstance(option.type, click.Choice):
                assert option.help, f"{name} {option.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_of_docs_is_in_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/**/*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "index.md" or f"({name})" in index, f"docs/index.md does not link to {name}"


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_every_source_file_names_its_licence() -> None:
    files = [p for p in tracked() if p.suffix in (".py", ".js", ".mjs", ".sh", ".toml") and "vendor" not in p.parts]
    if not files:
        pytest.skip("not a git checkout: the list of files is git's")
    missing = [
        str(p.relative_to(ROOT)) for p in files if "SPDX-License-Identifier: Apache-2.0" not in p.read_text()[:300]
    ]
    assert missing == []


def test_pictures_are_small_enough_to_clone() -> None:
    assert [p.name for p in ROOT.glob("docs/**/*.png") if p.stat().st_size > 400_000] == []


def test_the_changelog_has_a_section_for_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[?Unreleased\]?", text, flags=re.MULTILINE)
    assert re.search(r"^### Added", text, flags=re.MULTILINE)
