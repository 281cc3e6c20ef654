# SPDX-License-Identifier: Apache-2.0
"""Made-up maps for demonstrations, tests and benchmarks: always at hand, always the same.

| name | cells of 100 m | what is on it |
|---|---|---|
| `even` | 120 x 120 | the same quality everywhere |
| `city` | 120 x 120 | one centre, four sub-centres, a river, open land around |
| `paris` | 750 x 750 | a dense core, suburbs, 90 towns, forests, a river; city mass about 100 times that of empty
land |
| `country` | 5000 x 5000 | 700 towns from metropolis to village (Zipf's law), forests, a river |

`paris` names its own city (`info["city_disc"]`), a disc of 5.6 km about as large as Paris proper; the others leave it
to the default. A map is a sum of *bumps* ``density (1 - r²/radius²)²``, roughened by patches of some hundred metres,
emptied where there is forest or water, and rounded up or down at random to whole counts. Only +, -, x, / and square
roots are used, which IEEE 754 rounds correctly, and the random stream is numpy's PCG64, so a name and a seed give the
same counts on every machine. The map is made in bands of rows: beside the result itself, memory does not grow with
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError, require_choice, require_count, require_positive
from ..locations import Grid
from .quality import Quality

PARIS = (48.8567, 2.3487)
_BAND_ROWS = 256
_PATCH_CELLS = 6


@dataclass(frozen=True)
class _Bump:
    """Built-up land, or forest, around a point given in metres east and north of the map's centre."""

    x_m: float
    y_m: float
    radius_m: float
    density: float


@dataclass(frozen=True)
class _River:
    """Water along a curve through (x, y) points in the order of x, smooth between them."""

    points_m: tuple[tuple[float, float], ...]
    width_m: float

    def offset_m(self, x: FloatArray) -> FloatArray:
        """How far north the river runs at each x."""
        north = np.full(x.shape, self.points_m[0][1])
        for (x0, y0), (x1, y1) in zip(self.points_m, self.points_m[1:], strict=False):
            t = np.clip((x - x0) / (x1 - x0), 0, 1)
            north = north + (y1 - y0) * (t * t * (3 - 2 * t))
        return north


@dataclass(frozen=True)
class _Scene:
    towns: Sequence[_Bump]
    forests: Sequence[_Bump] = ()
    river: _River | None = None
    farms: float = 0.0
    city_radius_m: float | None = None
    story: dict[str, Any] = field(default_factory=dict)


def _city(side_m: float, rng: np.random.Generator) -> _Scene:
    unit = side_m / 12_000
    towns = [_Bump(0, 0, 3200 * unit, 24), _Bump(0, 0, 1300 * unit, 24)]
    for x, y, radius, density in [
        (3600, 2300, 1300, 14),
        (-3500, 1900, 1200, 12),
        (2500, -3700, 1000, 10),
        (-2700, -3300, 900, 9),
    ]:
        towns.append(_Bump(x * unit, y * unit, radius * unit, density))
    points = ((-6000, 1500), (-2500, -900), (600, 900), (3200, -1500), (6000, -600))
    river = _River(tuple((x * unit, y * unit) for x, y in points), 160 * unit)
    story = {"centres": 1, "sub_centres": 4, "river": True}
    return _Scene(towns, river=river, farms=0.02, story=story)


def _paris(side_m: float, rng: np.random.Generator) -> _Scene:
    unit = side_m / 75_000
    towns = [
        _Bump(0, 0, 9000 * unit, 18),
        _Bump(0, 0, 21_000 * unit, 7),
        _Bump(-500 * unit, 700 * unit, 3200 * unit, 7),
    ]
    for x, y in _scatter(rng, 45, side_m, 8_000 * unit, 21_000 * unit):
        towns.append(_Bump(x, y, (900 + 1600 * rng.random()) * unit, 4 + 9 * rng.random()))
    for x, y in _scatter(rng, 45, side_m, 21_000 * unit, 50_000 * unit):
        towns.append(_Bump(x, y, (600 + 1300 * rng.random()) * unit, 3 + 8 * rng.random()))
    forests = [_Bump(-6800 * unit, 600 * unit, 1900 * unit, 1), _Bump(7000 * unit, -1500 * unit, 2100 * unit, 1)]
    for x, y in _scatter(rng, 26, side_m, 11_000 * unit, 45_000 * unit):
        forests.append(_Bump(x, y, (1200 + 3200 * rng.random()) * unit, 1))
    points = (
        (-37_500, 9_000), (-20_000, 13_000), (-9_000, 5_500), (-6_000, -3_200), (-1_500, 1_400), (5_000, -5_200),
        (16_000, -9_000), (26_000, -19_000), (37_500, -14_000),
    )  # fmt: skip
    river = _River(tuple((x * unit, y * unit) for x, y in points), 200 * unit)
    story = {"core": 1, "towns": 90, "forests": 28, "river": True}
    return _Scene(towns, forests, river, farms=0.2, city_radius_m=5600 * unit, story=story)


def _country(side_m: float, rng: np.random.Generator) -> _Scene:
    half, count = side_m / 2, 700
    towns = []
    for rank in range(1, count + 1):
        x, y = (half * (2 * rng.random() - 1) for _ in range(2))
        radius = max(600.0, 15_000 / np.sqrt(float(rank))) * (side_m / 500_000) * (0.7 + 0.6 * rng.random())
        density = (4 + 26 / np.sqrt(np.sqrt(float(rank)))) * (0.7 + 0.6 * rng.random())
        towns += [_Bump(x, y, radius, density * 0.35), _Bump(x, y, radius * 0.45, density * 0.65)]
    forests = [
        _Bump(half * (2 * rng.random() - 1), half * (2 * rng.random() - 1), half * (0.01 + 0.03 * rng.random()), 1)
        for _ in range(160)
    ]
    points = tuple((half * (k / 8 - 1), half * 0.6 * (2 * rng.random() - 1)) for k in range(17))
    story = {"towns": count, "forests": 160, "river": True}
    return _Scene(towns, forests, _River(points, 400), farms=0.003, story=story)


def _scatter(
    rng: np.random.Generator, count: int, side_m: float, inner_m: float, outer_m: float
) -> list[tuple[float, float]]:
    """Points of the map drawn evenly between two distances from its centre; rejection keeps the arithmetic exact."""
    points: list[tuple[float, float]] = []
    while len(points) < count:
        x, y = (side_m * (rng.random() - 0.5) for _ in range(2))
        if inner_m * inner_m <= x * x + y * y <= outer_m * outer_m:
            points.append((x, y))
    return points


#: The cells a side, the seed and the landscape of each map.
_MAPS: dict[str, tuple[int, int, Callable[[float, np.random.Generator], _Scene] | None]] = {
    "city": (120, 20150, _city),
    "country": (5000, 20153, _country),
    "even": (120, 0, None),
    "paris": (750, 20151, _paris),
}

#: The maps that `synthetic_quality` knows.
SYNTHETIC_NAMES = tuple(sorted(_MAPS))


def synthetic_quality(
    name: str,
    *,
    rows: int | None = None,
    cols: int | None = None,
    cell_m: float = 100,
    origin: tuple[float, float] = PARIS,
    seed: int | None = None,
) -> Quality:
    """The made-up map `name` (with or without the prefix ``synthetic:``): see the table above.

    The landscape is stretched to `rows` x `cols` cells of `cell_m` metres around `origin` = (lat, lon); another
    `seed` gives another landscape of the same kind. `even` has q = 1 in every cell.
    """
    name = require_choice("name", str(name).removeprefix("synthetic:"), SYNTHETIC_NAMES)
    side, usual_seed, make_scene = _MAPS[name]
    rows = side if rows is None else require_count("rows", rows)
    cols = side if cols is None else require_count("cols", cols)
    seed = usual_seed if seed is None else seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"'seed' must be a whole number >= 0, got {seed!r}")
    grid = Grid.of_shape((rows, cols), require_positive("cell_m", cell_m), origin)
    info: dict[str, Any] = {"source": f"synthetic:{name}", "seed": seed, "attribution": "made-up data (geoelastic)"}
    if make_scene is None:
        return Quality(grid, np.ones(grid.shape), info)
    rng = np.random.Generator(np.random.PCG64(seed))
    scene = make_scene(min(grid.area.width_m, grid.area.height_m), rng)
    if scene.city_radius_m is not None:
        info["city_disc"] = [*origin, scene.city_radius_m]
    return Quality(grid, _render(scene, grid, rng), info | scene.story)


def _render(scene: _Scene, grid: Grid, rng: np.random.Generator) -> FloatArray:
    """Whole counts for every cell, band of rows by band of rows."""
    patches = rng.random((grid.rows // _PATCH_CELLS + 3, grid.cols // _PATCH_CELLS + 3))
    cells = np.empty(grid.shape)
    for start in range(0, grid.rows, _BAND_ROWS):
        band = np.arange(start, min(start + _BAND_ROWS, grid.rows))
        density = _bumps(scene.towns, grid, band, np.zeros((len(band), grid.cols)))
        density *= 0.3 + 1.4 * _patchwork(patches, band, grid.cols)
        density += scene.farms
        density *= 0.6 + 0.8 * rng.random(density.shape)
        if scene.forests:
            density[_bumps(scene.forests, grid, band, np.zeros(density.shape)) > 0] = 0
        if scene.river is not None:
            x, y = grid.cell_to_xy(band[:, None], np.arange(grid.cols)[None, :])
            density[np.abs(y - scene.river.offset_m(x)) <= scene.river.width_m / 2] = 0
        cells[start : start + len(band)] = np.floor(density + rng.random(density.shape))
    return cells


def _bumps(bumps: Sequence[_Bump], grid: Grid, band: np.ndarray[Any, Any], onto: FloatArray) -> FloatArray:
    """Add the bumps to the rows of a band, each only where it reaches."""
    x, y = grid.cell_to_xy(0, np.arange(grid.cols))[0], grid.cell_to_xy(band, 0)[1]
    for bump in bumps:
        c0, c1 = np.searchsorted(x, [bump.x_m - bump.radius_m, bump.x_m + bump.radius_m])
        r0, r1 = np.searchsorted(y, [bump.y_m - bump.radius_m, bump.y_m + bump.radius_m])
        if c0 < c1 and r0 < r1:
            dx, dy = x[None, c0:c1] - bump.x_m, y[r0:r1, None] - bump.y_m
            inside = np.maximum(0.0, 1 - (dx * dx + dy * dy) / (bump.radius_m * bump.radius_m))
            onto[r0:r1, c0:c1] += bump.density * (inside * inside)
    return onto


def _patchwork(patches: FloatArray, band: np.ndarray[Any, Any], cols: int) -> FloatArray:
    """Random values on a coarse lattice, bilinear in between: neighbourhoods that are busier than others."""
    r, c = band / _PATCH_CELLS, np.arange(cols) / _PATCH_CELLS
    i, j = np.floor(r).astype(np.int64), np.floor(c).astype(np.int64)
    u, v = (r - i)[:, None], (c - j)[None, :]
    corner = [patches[np.ix_(i + di, j + dj)] for di in (0, 1) for dj in (0, 1)]
    return (1 - u) * ((1 - v) * corner[0] + v * corner[1]) + u * ((1 - v) * corner[2] + v * corner[3])
