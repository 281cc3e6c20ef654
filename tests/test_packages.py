# SPDX-License-Identifier: Apache-2.0
"""What is published: metadata, sizes, the same bytes each time, and nothing that breaks outside the repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "python-client"
HOME = "https://example.org/owner/geoelastic"


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def built(folder: Path, out: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    return {"geoelastic": built(ROOT, folder / "package"), "client": built(CLIENT, folder / "client")}


def metadata(wheel: Path) -> Any:
    with zipfile.ZipFile(wheel) as files:
        name = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(files.read(name).decode())


@pytest.mark.parametrize("name", ["geoelastic", "client"])
def test_a_wheel_says_what_it_is_and_its_page_has_no_link_into_the_repository(
    wheels: dict[str, Path], name: str
) -> None:
    said = metadata(wheels[name])
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Author"]
    assert said["Requires-Python"]
    assert said["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in said.get_all("Classifier")
    body = said.get_payload()
    assert len(body) > 1000
    assert re.findall(r"\]\((?!https?:)[^)]*\)", body) == []
    with zipfile.ZipFile(wheels[name]) as files:
        names = files.namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("/py.typed") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the packages are made of, with the address of who publishes them."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("client", "python-client", "src"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    addressed(tree, HOME, "maintainers@example.org").check_returncode()
    return tree


def addressed(tree: Path, home: str, email: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / ".ci/address"), str(tree), home, email]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("folder", ["", "python-client"])
def test_who_publishes_is_named_and_links_lead_there(published: Path, tmp_path: Path, folder: str) -> None:
    said = metadata(built(published / folder, tmp_path))
    assert said["Author-email"] == "The geoelastic maintainers <maintainers@example.org>"
    urls = dict(row.split(", ") for row in said.get_all("Project-URL"))
    assert urls["Source"] == HOME
    assert all(where.startswith(HOME) for where in urls.values())
    links = re.findall(r"\]\(([^)]*)\)", said.get_payload())
    assert all(link.startswith("https://") for link in links)
    assert folder or sum(link.startswith(f"{HOME}/blob/v") for link in links) >= 5


def test_the_npm_package_names_its_repository(published: Path) -> None:
    said = json.loads((published / "client/package.json").read_text(encoding="utf-8"))
    assert said["repository"] == {"type": "git", "url": f"git+{HOME}.git", "directory": "client"}
    assert said["name"] == "geoelastic-client"


@pytest.mark.parametrize(
    ("home", "email"),
    [
        ("http://example.org/a/b", "a@example.org"),
        ("https://user:secret@example.org/a/b", "a@example.org"),
        ('https://example.org/a"\nname = "x', "a@example.org"),
        (HOME, "nobody"),
        (HOME, 'a@example.org" }]\nname = "x'),
        (HOME, "maintainers@example.org"),  # it has one already
    ],
)
def test_an_address_that_is_none_is_refused_in_one_line(published: Path, home: str, email: str) -> None:
    before = (published / "pyproject.toml").read_bytes()
    done = addressed(published, home, email)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert (published / "pyproject.toml").read_bytes() == before


def test_sizes_stay_small(wheels: dict[str, Path]) -> None:
    assert wheels["geoelastic"].stat().st_size < 1_500_000
    assert wheels["client"].stat().st_size < 100_000
    assert metadata(wheels["client"]).get_all("Requires-Dist") is None


def test_a_wheel_is_the_same_each_time(wheels: dict[str, Path], tmp_path: Path) -> None:
    assert built(CLIENT, tmp_path).read_bytes() == wheels["client"].read_bytes()


def test_with_an_address_links_of_the_readme_become_absolute() -> None:
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "![a](docs/a.png) [b](docs/b.md#c) [d](https://example.org) [e](#f)"
    absolute = module.readme_for_index(text, "https://example.org/x/", "1.2")
    assert absolute == (
        "![a](https://example.org/x/raw/v1.2/docs/a.png) [b](https://example.org/x/blob/v1.2/docs/b.md#c) "
        "[d](https://example.org) [e](#f)"
    )
    assert module.readme_for_index(text, None, "1.2") == " b [d](https://example.org) [e](#f)"


def test_one_version_everywhere() -> None:
    version = project(ROOT)["version"]
    assert f'__version__ = "{version}"' in (CLIENT / "src/geoelastic_client/__init__.py").read_text(encoding="utf-8")
    assert json.loads((ROOT / "client/package.json").read_text(encoding="utf-8"))["version"] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_constraints_name_a_version_of_each_dependency_that_fits() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    said = project(ROOT)
    kinds = said["optional-dependencies"]
    extras = [row for name, rows in kinds.items() if name not in ("all", "docs", "test") for row in rows]
    for text in [*said["dependencies"], *extras]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(pinned[canonicalize_name(wanted.name)]), text
        assert ">=" in str(wanted.specifier), f"{text}: the lowest version must be named, and is tested"


def test_all_is_every_extra() -> None:
    extras = project(ROOT)["optional-dependencies"]
    assert Requirement(extras["all"][0]).extras == set(extras) - {"all", "bridges", "docs", "test"}


def test_the_npm_package_holds_its_sources_types_and_licence_and_no_test() -> None:
    said = json.loads((ROOT / "client/package.json").read_text(encoding="utf-8"))
    assert said["files"] == ["src", "LICENSE"]
    assert said["license"] == "Apache-2.0"
    for target in (said["types"], *said["exports"]["."].values()):
        assert target.startswith("./src/")
        assert (ROOT / "client" / target).is_file()
    assert (
        (ROOT / "client/LICENSE").read_bytes() == (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    )
    assert sum(path.stat().st_size for path in (ROOT / "client/src").iterdir()) < 400_000


def test_what_a_container_is_made_of_is_there() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert "constraints.txt" in text
    assert '"geoelastic", "serve"' in text
    assert "\nUSER geoelastic\n" in text
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv"} <= set(ignored)
