# SPDX-License-Identifier: Apache-2.0
"""Everything that can report, by brute force: all pairs of places and all reports of small maps, in integers.

For each kind the largest ln(K(x)(z) / K(x')(z)) / d(x, x') is at most 1, and above 0.9 on a map made for it: a dead end
beside a dense block, where nothing of the promise is left over. Sampled reports follow the very probabilities that were
compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.fences import cells_to_shape
from geoelastic.judge import verify
from geoelastic.locations import Grid, uniform
from geoelastic.mechanism.geox_mechanism import load_mechanism, save_mechanism
from geoelastic.mechanism.sticky import Sticky
from geoelastic.metric import Graph
from geoelastic.tiles import InlineEngine
from maps import PARIS
from reference.mechanism import exact_rows, worst_use
from statistical.toolbox import NEVER, assert_chi_square
from test_laplace import cell_probability

STEPS, HEAVY, FENCED, BEYOND = 3, 40, 4, 6
STEP_UNITS = 3000


def dead_end(*, fenced: bool = False, beyond: bool = False) -> Any:
    """Light places that lead to many that are all in one; then perhaps a fence, and a part that will be cut off."""
    inner = STEPS + HEAVY
    n = inner + (FENCED if fenced else 0) + (BEYOND if beyond else 0)
    edges = [(k, k + 1, STEP_UNITS) for k in range(STEPS)] + [(STEPS, STEPS + k, 0) for k in range(1, HEAVY)]
    if beyond:
        edges += [(STEPS + k, n - 1 - k, 2000 + k) for k in range(BEYOND)]
    mass = np.ones(n, np.int64) << 20
    mass[STEPS:inner] <<= 11
    fence = np.zeros(n, np.int32)
    fence[inner : inner + FENCED] = 1 if fenced else 0
    return ge.Metric(
        uniform(Grid.of_shape((1, n), 100, PARIS)), mass, Graph.from_edges(n, *zip(*edges, strict=True)), fence,
        "paper", requirement=ge.Step(0.9, 2.0**-13), l_from=0.5, l_top=1.0,
    )  # fmt: skip


@dataclass(frozen=True)
class Reporter:
    """What reports, the metric that it is private for, its reports in integers by place, and a way to draw them."""

    metric: Any
    rows: list[list[int]]
    draw: Callable[[int, int], Any]


def elastic(mechanism: Any) -> Reporter:
    metric = mechanism.metric.whole()
    rows = exact_rows(mechanism)
    for i in np.flatnonzero(metric.fence > 0):
        inside = metric.fence == metric.fence[i]
        rows[int(i)] = np.where(inside, metric.locations.area_cells, 0).tolist()
    return Reporter(metric, rows, lambda i, size: mechanism.sample(i, size, rng=ge.SeededRandom(i)))


def cut() -> Any:
    whole = dead_end(beyond=True)
    inner = STEPS + HEAVY
    middle = (inner - whole.n) / 2 * 100
    lat, lon = whole.grid.area.to_latlon(middle, 0.0)
    part = ge.extract(whole, ge.Area(float(lat), float(lon), (inner - 0.5) * 100, 50))
    assert part.n == inner
    return part


def read_again(mechanism: Any, folder: Path) -> Any:
    save_mechanism(mechanism, folder / "m.geox")
    return load_mechanism(folder / "m.geox")


def remapped(mechanism: Any) -> Reporter:
    """Each report is replaced by a guess: rows are summed over the reports with one guess."""
    plain, guessing = elastic(mechanism), ge.Remapped(mechanism, np.ones(mechanism.metric.n), loss="binary")
    cells = [int(guessing.metric.grid.xy_to_cell(*guessing.remap(z))[1]) for z in range(plain.metric.n)]
    rows = [np.zeros(plain.metric.n, object) for _ in plain.rows]
    for row, given in zip(rows, plain.rows, strict=True):
        for z, value in enumerate(given):
            row[cells[z]] += value

    def draw(i: int, size: int) -> Any:
        return guessing.sample_cells(np.full(size, i), rng=ge.SeededRandom(i))[1]

    return Reporter(plain.metric, [row.tolist() for row in rows], draw)


def sticky(mechanism: Any) -> Reporter:
    """One report a key: drawn keys stand for draws."""

    def draw(i: int, size: int) -> Any:
        keys = (k.to_bytes(32, "big") for k in range(min(size, 3000)))
        return np.array([int(Sticky(mechanism, key).sample_cells([i])[1][0]) for key in keys])

    return replace(elastic(mechanism), draw=draw)


KINDS: dict[str, Callable[[Path], Reporter]] = {
    "plain": lambda _: elastic(ge.ElasticMechanism(dead_end())),
    "uniform": lambda _: elastic(ge.ElasticMechanism(dead_end(), output="uniform")),
    "never": lambda _: elastic(ge.ElasticMechanism(dead_end(), never=np.arange(STEPS + HEAVY) == 1)),
    "sharpened": lambda _: elastic(ge.ElasticMechanism(ge.sharpen(dead_end()))),
    "fenced": lambda _: elastic(ge.ElasticMechanism(dead_end(fenced=True))),
    "fenced and sharpened": lambda _: elastic(ge.ElasticMechanism(ge.sharpen(dead_end(fenced=True)))),
    "extract": lambda _: elastic(ge.ElasticMechanism(cut())),
    "extract, sharpened": lambda _: elastic(ge.ElasticMechanism(ge.sharpen(cut()))),
    ".geox": lambda folder: elastic(read_again(ge.ElasticMechanism(dead_end(fenced=True)), folder)),
    ".geox, sharpened": lambda folder: elastic(read_again(ge.ElasticMechanism(ge.sharpen(dead_end())), folder)),
    "remapped": lambda _: remapped(ge.ElasticMechanism(dead_end(), output="uniform")),
    "remapped, sharpened": lambda _: remapped(
        ge.ElasticMechanism(ge.sharpen(dead_end(), output="uniform"), output="uniform")
    ),
    "sticky": lambda _: sticky(ge.ElasticMechanism(dead_end())),
    "sticky, sharpened": lambda _: sticky(ge.ElasticMechanism(ge.sharpen(dead_end()))),
}


@pytest.mark.jit  # a million quotients of long integers each
@pytest.mark.parametrize("kind", KINDS)
def test_all_pairs_and_all_reports(kind: str, tmp_path: Path) -> None:
    reporter = KINDS[kind](tmp_path)
    assert 0.9 < worst_use(reporter.metric, reporter.rows) <= 1
    for i in (0, reporter.metric.n - 1):
        chances = np.array([value / sum(reporter.rows[i]) for value in reporter.rows[i]])
        drawn = np.asarray(reporter.draw(i, 20_000))
        assert_chi_square(np.bincount(drawn, minlength=chances.size), chances, alpha=NEVER)


@pytest.mark.jit
def test_a_little_more_than_a_relief_allows_is_too_much_and_is_seen() -> None:
    """Just beyond: the heights that pass, and the same with a step taken out where it is needed."""
    sharp = ge.sharpen(dead_end())
    assert verify(ge.ElasticMechanism(sharp))["relief"]["ok"]
    height = sharp.relief.height.copy()
    height[:] = (height - height.min()) * 9 // 10
    flatter = replace(sharp, relief=replace(sharp.relief, height=height))
    assert not verify(ge.ElasticMechanism(flatter))["relief"]["ok"]
    with pytest.raises(AssertionError):
        worst_use(flatter, exact_rows(ge.ElasticMechanism(flatter)))


@pytest.mark.no_cover
@pytest.mark.jit
@pytest.mark.parametrize("fenced", [True, False], ids=["fenced", "no fence"])
@pytest.mark.parametrize("sharpen", [True, False], ids=["sharpened", "by half"])
def test_tiles(tmp_path: Path, sharpen: bool, fenced: bool) -> None:
    """A map in two tiles: private by the same count, and its reports those of the map in one piece."""
    cells = np.full((256, 128), 0.3 / (256 * 128))
    cells[:, 64:] /= 50
    cells[96:98, 32:34] = 0.1
    mass = ge.Mass.from_array(cells, cell_m=100, origin=PARIS)
    tiled: Any = ge.build_tiles(
        mass, str(tmp_path / "map"), tile=128, l_from=0.3, l_top=0.4, frame=0.0, sharpen=sharpen, engine=InlineEngine()
    )
    if fenced:  # one location of each tile, so that none is divided
        corners = [tuple(int(part) for part in tiled.leaves(i)) for i in (1, tiled.n - 2)]
        masks = [np.zeros(tiled.grid.shape, bool) for _ in corners]
        for mask, (row, col, side) in zip(masks, corners, strict=True):
            mask[row : row + side, col : col + side] = True
        tiled.with_fences([cells_to_shape(tiled.grid, mask) for mask in masks]).save(tmp_path / "fenced")
        tiled = ge.load(tmp_path / "fenced")
        assert tiled.totals["fences"] == 2
    mechanism = ge.ElasticMechanism(tiled)
    assert mechanism.sharpened is sharpen
    reporter = elastic(mechanism)
    assert 0.9 < worst_use(reporter.metric, reporter.rows) <= 1
    chances = np.array([value / sum(reporter.rows[0]) for value in reporter.rows[0]])
    assert_chi_square(np.bincount(reporter.draw(0, 20_000), minlength=chances.size), chances, alpha=NEVER)
    assert not fenced or set(reporter.draw(1, 50).tolist()) == {1}


@pytest.mark.parametrize("truncated", [True, False])
def test_planar_laplace_on_a_grid(truncated: bool) -> None:
    grid = Grid.of_shape((1, 4), 100, PARIS)
    mechanism = ge.GridLaplace(0.03, grid, truncated=truncated)
    rows = [[cell_probability(mechanism, *map(float, grid.cell_to_xy(0, x)), 0, z) for z in range(4)] for x in range(4)]
    use = [
        max(math.log(a / b) for a, b in zip(rows[x], rows[y], strict=True)) / (0.03 * 100 * abs(x - y))
        for x in range(4) for y in range(4) if x != y
    ]  # fmt: skip
    assert 0.9 < max(use) <= 1 + 1e-6


def test_planar_laplace_in_the_plane() -> None:
    """Of densities at all reports of a lattice: at most epsilon x distance, and all of it behind the two places."""
    mechanism = ge.PlanarLaplace(0.01)
    x, y = np.meshgrid(np.arange(-3000, 3001, 50.0), np.arange(-3000, 3001, 50.0))
    places = [(0.0, 0.0), (130.0, 40.0), (-700.0, 300.0), (1000.0, 1000.0)]
    for a in places:
        for b in places:
            if a == b:
                continue
            p, q = (mechanism.density(np.hypot(x - u, y - v)) for u, v in (a, b))
            use = np.abs(np.log(p / q)).max() / (0.01 * math.dist(a, b))
            assert 0.9 < use <= 1 + 1e-9
