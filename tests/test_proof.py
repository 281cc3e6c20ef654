# SPDX-License-Identifier: Apache-2.0
"""The checker that comes out of the proof says what `verify` says, on good maps and on spoilt ones.

Runs where `./run proof --only-checker` has built it. GEOELASTIC_PROOF_MAPS: how many maps (./run test --more: 1,000).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.fences import disc
from geoelastic.judge.check import BUILT, proved_check, write_dump
from geoelastic.mass import Linear, Quadratic, Requirement, Step
from geoelastic.metric.graph import Graph
from geoelastic.metric.relief import Relief
from maps import PARIS, small_mass

pytestmark = pytest.mark.skipif(not BUILT.is_file(), reason="no proved checker: ./run proof --only-checker builds it")

MAPS = int(os.environ.get("GEOELASTIC_PROOF_MAPS", "16"))


def judged(subject: Any) -> dict[str, bool]:
    """What Python says, in the checker's words."""
    certificate = ge.verify(subject)
    fences = certificate["fences"]
    return {
        "graph": fences["leaking_edges"] == 0 and fences["not_closed"] == 0,
        "requirement": certificate["violations"] == 0,
        "reports": "relief" not in certificate or bool(certificate["relief"]["ok"]),
    }


def built(seed: int) -> Any:
    """A small metric of any kind."""
    rng = np.random.default_rng(seed)
    rows, cols = (int(k) for k in rng.integers(5, 10, 2))
    fences = [disc(*PARIS, float(rng.uniform(75, 160)))] if seed % 3 == 0 else []
    method, layout = [("conformal", "adaptive"), ("conformal", "uniform"), ("paper", "uniform")][seed % 3]
    return ge.build_metric(
        small_mass(rows, cols, seed), method=method, layout=layout, fences=fences, frame=0.0,
        l_top=float(rng.uniform(0.4, 1.2)), l_from=0.2, workers=1, sharpen=seed % 2 == 0,
    )  # fmt: skip


def spoilt(metric: Any, seed: int) -> Any:
    """The metric with one thing wrong, or changed so little that it may still be right."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3 if metric.relief is not None else 2)
    if kind == 0:  # one edge longer
        tail, tip, weight = (part.copy() for part in metric.graph.edges())
        weight[rng.integers(weight.size)] += int(rng.choice([1, 50, 5000]))
        return rooted(metric, Graph.from_edges(metric.n, tail, tip, weight))
    if kind == 1:  # a crowd that is not there
        mass = metric.mass_units.copy()
        mass[rng.integers(metric.n)] //= int(rng.choice([2, 10]))
        return rooted(replace(metric, mass_units=mass), metric.graph)
    height = metric.relief.height.copy()
    height[rng.integers(metric.n)] += int(rng.choice([1, 100, 3000]))
    return replace(metric, relief=replace(metric.relief, height=height))


def rooted(metric: Any, graph: Graph) -> Any:
    """With another graph; the relief says that it is for it, so that what is judged is the inequality."""
    other = replace(metric, graph=graph, scale=None, place=None, relief=None)
    if metric.relief is None:
        return other
    return replace(other, relief=Relief(metric.relief.height.copy(), metric.relief.output, Relief.key(other)))


def maps() -> Iterator[tuple[str, Any]]:
    for seed in range(MAPS // 4):
        metric = built(seed)
        yield f"{seed}", metric
        for k in range(3):
            yield f"{seed} spoilt {k}", spoilt(metric, 3 * seed + k)


def test_the_proved_checker_says_what_verify_says() -> None:
    told, kinds = [], Counter[str]()
    for name, metric in maps():
        said, found = proved_check(metric), judged(metric)
        told.append((name, {part: said[part] for part in found}, found))
        assert said["table"] is True
        kinds[f"{'good' if all(found.values()) else 'bad'}, {'plain' if metric.relief is None else 'sharpened'}"] += 1
    print(dict(kinds))  # pytest -s
    assert [row for row in told if row[1] != row[2]] == []
    assert set(kinds) == {"good, plain", "good, sharpened", "bad, plain", "bad, sharpened"}


def test_strangers_files_that_are_read_are_judged_alike() -> None:
    script = Path(__file__).parents[1] / "proof" / "strangers.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("geoelastic-dump 3", "geoelastic-dump 2"), ("locations", "places"), ("edge\n", "edge\n0x1 "),
        ("end\n", ""), ("sharpened 0", "sharpened 2"), ("location\n", "location\n99999999999999999999 "),
        ("edges ", "edges -"), ("top ", "top 99999999999"), ("power 2", "power 3"), ("over ", "over -"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_dump_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "dump.txt"
    write_dump(built(1), path)
    text = path.read_text(encoding="ascii")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="ascii")
    done = subprocess.run([BUILT, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_negative_weight_or_an_edge_through_a_fence_is_no_yes(tmp_path: Path) -> None:
    write_dump(built(0), tmp_path / "good.txt")
    text = (tmp_path / "good.txt").read_text(encoding="ascii")
    head, edges = text.split("edge\n", 1)
    first, rest = edges.split("\n", 1)
    i, j, weight = first.split()
    for line in (f"{i} {j} -{weight}", f"{i} {10**6} {weight}"):
        path = tmp_path / "dump.txt"
        path.write_text(f"{head}edge\n{line}\n{rest}", encoding="ascii")
        assert subprocess.run([BUILT, path], capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize("kind", [Quadratic, Linear, Step])
def test_the_table_follows_from_its_recipe_or_is_refused(tmp_path: Path, kind: type[Requirement]) -> None:
    """Tables are computed in double precision, a hair too low now and then; the proof allows for 2^-40, and no more."""
    rng, good = np.random.default_rng(5), built(1)
    for l_top in (0.5, np.log(6), rng.uniform(1, 10)):
        asked = kind(float(rng.uniform(0.1, 3)))
        path = tmp_path / "dump.txt"
        write_dump(replace(good, requirement=asked, l_from=0.35, l_top=float(l_top)), path)
        text = path.read_text(encoding="ascii")
        head, rest = text.split("required\n")
        row = rng.integers(2868, asked.table(0.35, float(l_top)).size)
        lines = rest.split("\n")
        lines[row] = str(int(lines[row]) - 1)
        assert table_said(path, text) is (None if kind is Step else True)
        assert table_said(path, head + "required\n" + "\n".join(lines)) is (None if kind is Step else False)


def table_said(path: Path, text: str) -> bool | None:
    path.write_text(text, encoding="ascii")
    said = json.loads(subprocess.run([BUILT, path], capture_output=True, check=False).stdout)
    assert said["ok"] <= (said["table"] is not False)
    return said["table"]
