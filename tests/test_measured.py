# SPDX-License-Identifier: Apache-2.0
"""Figures in the docs are those of the record, and the record says where they come from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from geoelastic import bench
from geoelastic.bench import _pages as pages
from geoelastic.bench import _reach
from geoelastic.bench import _record as record
from geoelastic.bench._tools import apart
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: Numbers with a unit that a page states without the record, a line a page; its head says what belongs there.
GIVEN_FILE = ROOT / "tests/given_figures.txt"
_FIGURE = re.compile(r"\d[\d,.]*\d?\s?(?:%|(?:ms|s|min|minutes|hours|m|km|kB|MB|GB|times|reports|µs)\b)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_marked_places_say_what_the_record_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == pages.filled(text, record.read_record(ROOT / "docs"), page.name), "run geoelastic bench --pages"
    opened, closed = text.count("<!-- measured:"), text.count("<!-- end -->")
    assert opened == closed == len(pages._PLACE.findall(text)), "a marked place is not closed"


def test_the_page_of_measurements_is_the_record() -> None:
    found = record.read_record(ROOT / "docs")
    page = (ROOT / "docs/measured.md").read_text(encoding="utf-8")
    assert page == pages.measured_page(found, bench.bench_names(), bench._summaries()), "run geoelastic bench --pages"


def given_figures() -> dict[str, set[str]]:
    told = GIVEN_FILE.read_text(encoding="utf-8").splitlines()
    lines = [line.partition(": ") for line in told if not line.startswith("#")]
    return {page: set(figures.split("; ")) for page, _, figures in lines}


def own_figures(text: str) -> set[str]:
    """The figures of a page outside code and outside places that are written from the record."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", pages._PLACE.sub("", text), flags=re.DOTALL)
    return {" ".join(figure.split()) for figure in _FIGURE.findall(prose)}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "measured.md"], ids=lambda page: page.name)
def test_a_page_has_no_figure_that_is_neither_recorded_nor_given(page: Path) -> None:
    found = own_figures(page.read_text(encoding="utf-8"))
    recorded = own_figures((ROOT / "docs/measured.md").read_text(encoding="utf-8").replace("`", ""))
    new = found - recorded - given_figures().get(page.name, set())
    assert not new, f"mark the place (<!-- measured: NAME/PART -->), or, if nothing was measured, add to {GIVEN_FILE}"


def test_nothing_is_given_that_no_page_says() -> None:
    """What is gone from a page is gone from the list, so that it does not let the next one in."""
    texts = {page.name: own_figures(page.read_text(encoding="utf-8")) for page in PAGES}
    unused = {page: figures - texts[page] for page, figures in given_figures().items() if figures - texts[page]}
    assert not unused, f"delete from {GIVEN_FILE}"


def test_a_figure_without_a_record_is_seen() -> None:
    assert set(_FIGURE.findall("3.8 ms, 17,496 places, 42 % of 1.2 MB, or 1,478 m")) == {
        "3.8 ms", "42 %", "1.2 MB", "1,478 m",
    }  # fmt: skip


def test_the_record_knows_its_measurements() -> None:
    """An entry is a measurement there is, or is noted; each says its circumstances and no path of a machine."""
    for name, entry in record.read_record(ROOT / "docs").items():
        assert "noted" in entry or name in bench.bench_names()
        assert not re.search(r"/(work|home|tmp|root|Users)\b", json.dumps(entry)), name


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a README and one page, and a measurement called `sums` that returns `value`."""
    module = types.ModuleType("geoelastic.bench.sums", "Sums of things.\n\nMore.")
    module.value = 4  # type: ignore[attr-defined]

    def run(*, progress: bool, whole: bool = False) -> dict[str, Any]:
        value = module.value  # type: ignore[attr-defined]
        return {"rows": [{"value": value, "whole": whole}], "text": "| value |", "parts": {"sum": f"{value} m"}}

    module.run = run  # type: ignore[attr-defined]
    module.summary = lambda rows: [("a sum", "5", f"{rows[0]['value']} m")]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(bench.pkgutil, "iter_modules", lambda _: [types.SimpleNamespace(name="sums")])
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "README.md").write_text("It is <!-- measured: sums/sum -->0 m<!-- end --> long.\n", encoding="utf-8")
    (folder / "page.md").write_text("# Page\n\n<!-- measured: sums -->\n<!-- end -->\n", encoding="utf-8")
    return folder


def geoelastic(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_measurement_is_recorded_and_shown(docs: Path) -> None:
    done = geoelastic("bench", "all", "--write", "--whole", "--docs", docs)
    assert done.exit_code == 0, done.output
    entry = json.loads((docs / "measured/sums.json").read_text(encoding="utf-8"))
    assert entry["command"] == "geoelastic bench sums --whole"
    assert entry["rows"] == [{"value": 4, "whole": True}]
    assert entry["machine"]["cores"] >= 1
    assert entry["took"]["wall_s"] >= 0
    assert set(entry["versions"]) >= {"python", "numpy", "geoelastic"}
    assert "| a sum | 5 | 4 m | `geoelastic bench sums --whole` |" in (docs / "measured.md").read_text(encoding="utf-8")
    readme = (docs / "../README.md").read_text(encoding="utf-8")
    assert readme == "It is <!-- measured: sums/sum -->4 m<!-- end --> long.\n"
    assert "| value |" in (docs / "page.md").read_text(encoding="utf-8")
    assert geoelastic("bench", "--pages", "--docs", docs).stdout == "nothing changed\n"


def test_only_what_is_measured_again_changes(docs: Path) -> None:
    geoelastic("bench", "sums", "--write", "--docs", docs)
    other = docs / "measured/other.json"
    other.write_bytes((docs / "measured/sums.json").read_bytes())
    before = other.read_bytes()
    sys.modules["geoelastic.bench.sums"].value = 6  # type: ignore[attr-defined]
    geoelastic("bench", "sums", "--write", "--docs", docs)
    assert other.read_bytes() == before
    assert "6 m" in (docs / "../README.md").read_text(encoding="utf-8")


def test_all_goes_on_where_it_was(docs: Path) -> None:
    """Recorded today by the same code: not again, unless asked; a change of the code is a reason."""
    code = docs.parent / "src/code.py"
    code.parent.mkdir()
    code.write_text("1\n", encoding="utf-8")

    def git(*arguments: str) -> None:
        name = ("-c", "user.name=n", "-c", "user.email=n@example.org")
        subprocess.run(["git", *name, *arguments], cwd=docs.parent, check=True, capture_output=True)

    def measured() -> bool:
        path = docs / "measured/sums.json"
        before = path.read_bytes() if path.is_file() else b""
        sums = sys.modules["geoelastic.bench.sums"]
        sums.value += 1  # type: ignore[attr-defined]
        done = geoelastic("bench", "all", "--write", "--docs", docs, *again)
        assert done.exit_code == 0, done.output
        return path.read_bytes() != before

    again: list[str] = []
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "code")
    assert "?" in geoelastic("bench", "--list", "--docs", docs).stdout
    assert measured()
    listed = geoelastic("bench", "all", "--list", "--docs", docs).stdout
    assert "recorded today" in listed
    assert "0 min of processor time, and 0 that were not recorded yet" in listed
    assert not measured()
    git("add", ".")
    git("commit", "-qm", "the record is no change of the code")
    assert not measured()
    again = ["--again"]
    assert measured()
    again = []
    code.write_text("2\n", encoding="utf-8")
    assert measured()  # and what is measured with changes that no commit has is never taken for done
    assert measured()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of some modules, in a repository."""
    files = {
        "__init__.py": "", "levels.py": "", "other.py": "from .levels import x",
        "bench/__init__.py": "from . import sums, rest", "bench/rest.py": "from ..other import x",
        "bench/sums.py": "from ..metric import build\nfrom .. import kernels as k\ndef run():\n    k.paths(build)",
        "metric/__init__.py": "from .builder import build\nfrom .verify import check",
        "metric/builder.py": "def build():\n    from ..levels import x", "metric/verify.py": "import numpy",
        "kernels/__init__.py": "from .paths import paths\nfrom .sums import sums", "kernels/paths.py": "",
        "kernels/sums.py": "",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / "src/package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "src/package"


def test_a_measurement_reaches_what_it_imports_and_nothing_else(package: Path) -> None:
    found = {path.relative_to(package).as_posix() for path in _reach.closure(package, "bench.sums")}
    assert found == {
        "bench/sums.py", "metric/__init__.py", "metric/builder.py", "levels.py", "kernels/__init__.py",
        "kernels/paths.py",
    }  # fmt: skip
    (package / "bench/sums.py").write_text("from . import rest, missing\nfrom ..metric import unknown\n")
    _reach._imports.cache_clear()
    found = {path.relative_to(package).as_posix() for path in _reach.closure(package, "bench.sums")}
    assert "other.py" in found
    assert {"metric/builder.py", "metric/verify.py"} <= found, "who knows where an unknown name comes from"


#: Prints the files of ours whose functions are called by a measurement (those of imports are not: they have no result).
_CALLED = """
import sys, threading
import geoelastic.bench, geoelastic.bench.limit as bench
files = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & 1:
        files.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
bench.run(side=30)
sys.setprofile(None)
print(*files, sep="\\n")
"""


@pytest.mark.jit
def test_what_is_called_is_reached() -> None:
    told = subprocess.run([sys.executable, "-c", _CALLED], capture_output=True, text=True, check=True).stdout
    called = {Path(line) for line in told.splitlines() if Path(line).is_relative_to(_reach._PACKAGE)}
    assert len(called) > 20
    assert called <= _reach.closure(_reach._PACKAGE, "bench.limit")


def test_a_change_elsewhere_leaves_a_record_as_it_is(
    docs: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_reach, "_PACKAGE", package)
    name = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    for arguments in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "code"]):
        subprocess.run(["git", *arguments], cwd=docs.parent, check=True, capture_output=True)
    geoelastic("bench", "sums", "--write", "--docs", docs)
    assert record.is_recorded(docs, "sums")
    (package / "metric/verify.py").write_text("import scipy\n", encoding="utf-8")
    (package / "kernels/new.py").write_text("", encoding="utf-8")
    assert record.is_recorded(docs, "sums")
    levels = package / "levels.py"
    levels.write_text("x = 2\n", encoding="utf-8")
    assert not record.is_recorded(docs, "sums")
    levels.write_text("", encoding="utf-8")
    assert record.is_recorded(docs, "sums")
    (package / "kernels/paths.py").write_text("from .new import x\n", encoding="utf-8")
    _reach._imports.cache_clear()
    assert not record.is_recorded(docs, "sums")


def test_times_of_a_busy_machine_are_measured_again(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_git", lambda *_: "")  # nothing has changed
    geoelastic("bench", "sums", "--write", "--docs", docs)
    path = docs / "measured/sums.json"
    entry = json.loads(path.read_text(encoding="utf-8"))
    for load, counts in ((0.5, True), (2 * entry["machine"]["cores"], False), (None, True)):
        entry["machine"]["load"] = load
        path.write_text(json.dumps(entry), encoding="utf-8")
        assert record.is_recorded(docs, "sums", timed=True) is counts
        assert record.is_recorded(docs, "sums")


def test_what_starts_processes_says_what_it_reaches() -> None:
    """Imports do not tell what a command or a browser runs. Other libraries' code is none of ours."""
    assert set(bench.TIMED) | set(_reach.BESIDES) <= set(bench.bench_names())
    for name in bench.bench_names():
        source = (ROOT / f"src/geoelastic/bench/{name}.py").read_text(encoding="utf-8")
        starts = re.search(r"sys\.executable|chromium|import spawn|, spawn|subprocess", source)
        assert not starts or name in {*_reach.BESIDES, "peers"}, name
    assert all((ROOT / path).exists() for paths in _reach.BESIDES.values() for path in paths)


def test_times_come_first_and_then_what_takes_longest() -> None:
    planned = bench.plan(docs=ROOT / "docs", again=True)
    assert tuple(due.name for due in planned[: len(bench.TIMED)]) == bench.TIMED
    rest = [due.cpu_s or 0 for due in planned[len(bench.TIMED) :]]
    assert rest == sorted(rest, reverse=True)


def test_one_that_cannot_be_measured_does_not_stop_the_others(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = types.ModuleType("geoelastic.bench.broken", "Broken.")

    def run(*, progress: bool) -> dict[str, Any]:
        raise FileError("the data are not here")

    broken.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, broken.__name__, broken)
    both = [types.SimpleNamespace(name="broken"), types.SimpleNamespace(name="sums")]
    monkeypatch.setattr(bench.pkgutil, "iter_modules", lambda _: both)
    # a process of its own would not know what is made up here
    monkeypatch.setattr(bench, "apart", lambda function, *arguments: function(*arguments))
    done = geoelastic("bench", "all", "--write", "--docs", docs)
    assert done.exit_code == 1
    assert "not measured: broken: the data are not here" in done.stdout
    assert (docs / "measured/sums.json").is_file()
    assert not (docs / "measured/broken.json").exists()
    assert geoelastic("bench", "broken").exit_code == 2


def test_each_of_several_has_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert apart(os.getpid) != os.getpid()
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    done = bench.run_benches(["frontier", "statistics"])
    assert list(done["failed"]) == ["frontier", "statistics"]
    assert not done["ok"]
    assert f"not measured: statistics: {done['failed']['statistics']}" in done["text"]
    assert str(tmp_path) in done["failed"]["statistics"]
    monkeypatch.setattr(bench, "apart", lambda *_: apart(os._exit, 1))
    assert set(bench.run_benches(["frontier", "statistics"])["failed"].values()) == {
        "its process was ended before it was done"
    }


def test_what_is_recorded_has_the_options_of_the_record(docs: Path) -> None:
    sys.modules["geoelastic.bench.sums"].RECORDED = {"whole": True}  # type: ignore[attr-defined]
    assert json.loads(geoelastic("bench", "sums", "--json").stdout)["benches"]["sums"][0]["whole"] is False
    geoelastic("bench", "sums", "--write", "--docs", docs)
    entry = json.loads((docs / "measured/sums.json").read_text(encoding="utf-8"))
    assert (entry["command"], entry["rows"][0]["whole"]) == ("geoelastic bench sums --whole", True)


def test_an_option_that_no_measurement_takes_is_an_error() -> None:
    result = geoelastic("bench", "device", "--map", "a.geoelastic")
    assert result.exit_code == 2
    assert "'--map' must be an option of device; it is one of attacks, client, extension, optimum" in result.stderr
    assert result.stderr.count("\n") == 1
    with pytest.raises(InputError, match="'--size' must be an option of limit, report; it is one of frontier"):
        bench.run_benches(["limit", "report"], options={"size_km": 5.0})


def test_a_page_cannot_show_what_is_not_recorded(docs: Path) -> None:
    geoelastic("bench", "--pages", "--docs", docs)
    told = "*not recorded yet: `geoelastic bench sums --write`*"
    assert (docs / "page.md").read_text(encoding="utf-8") == f"# Page\n\n<!-- measured: sums -->{told}<!-- end -->\n"
    assert "0 m" not in (docs / "../README.md").read_text(encoding="utf-8")
    geoelastic("bench", "sums", "--write", "--docs", docs)
    with pytest.raises(InputError, match="the record of sums has no such part"):
        pages.filled("<!-- measured: sums/none --><!-- end -->", record.read_record(docs))


def test_what_is_noted_stays_until_it_is_recorded(docs: Path) -> None:
    page = docs / "page.md"
    page.write_text("<!-- measured: sums/sum noted -->3 m, last year<!-- end -->\n", encoding="utf-8")
    geoelastic("bench", "--pages", "--docs", docs)
    assert "3 m, last year" in page.read_text(encoding="utf-8")
    geoelastic("bench", "sums", "--write", "--docs", docs)
    assert page.read_text(encoding="utf-8") == "<!-- measured: sums/sum -->4 m<!-- end -->\n"


def test_nothing_is_recorded_without_being_asked_or_nowhere(docs: Path) -> None:
    geoelastic("bench", "sums", "--docs", docs)
    assert not (docs / "measured").exists()
    result = geoelastic("bench", "sums", "--write", "--docs", docs / "nowhere")
    assert result.exit_code == 2
    assert "'docs' must be the folder of the project's pages" in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not readable JSON"),
        ("[]", "must hold one object"),
        ("{}", "must say its 'command'"),
        ('{"command": "", "date": "", "commit": "", "machine": {}, "versions": {}}', "either 'rows' or 'noted'"),
    ],
)
def test_a_broken_record_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured/x.json").write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        record.read_record(tmp_path)
