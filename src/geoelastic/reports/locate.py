# SPDX-License-Identifier: Apache-2.0
"""Places to locations of a map, many at a time, with a stated policy for those that cannot be a secret there.

A place can be missing, outside the map, or in its frame. What happens then is the caller's policy, and it is counted:

- ``"error"`` (the default): nothing is reported, the error says how many;
- ``"drop"``: such rows are left out;
- ``"snap"``: the place is first moved to the border of the map and from there to the nearest cell that can be a secret;
  the guarantee then is the one of the place it was moved to. A missing place cannot be moved and stays an error.

Dropping tells that somebody was outside, which no mechanism on the map protects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import FrameError, InputError, OutsideError, require_choice
from ..locations import Grid
from ..metric import AnyMetric
from ..randomness import RandomSource
from .protocols import Mechanism, ReportsLocations, ReportsPlaces, over_a_map

POLICIES = ("error", "drop", "snap")


@dataclass(frozen=True)
class Tally:
    """What became of the rows: `reports` were made; the rest says why a row was dropped or moved, by the policy."""

    rows: int = 0
    reports: int = 0
    missing: int = 0
    outside: int = 0
    frame: int = 0
    policy: str = "error"

    def __add__(self, other: Tally) -> Tally:
        counts = ("rows", "reports", "missing", "outside", "frame")
        return replace(other, **{name: getattr(self, name) + getattr(other, name) for name in counts})


@dataclass(frozen=True, eq=False)
class LocatedReports:
    """Reported places of the rows that were `kept`; `index` are their true locations on the map, if there is one."""

    lat: FloatArray
    lon: FloatArray
    kept: BoolArray
    tally: Tally
    index: IntArray | None = field(repr=False)


class Ground:
    """Places to cells of a map (or of a bare grid, where every cell can be a secret), by a policy."""

    def __init__(self, under: AnyMetric | Grid, policy: str = "error") -> None:
        self.policy = require_choice("outside", policy, POLICIES)
        self._metric = None if isinstance(under, Grid) else under
        self.grid = under if isinstance(under, Grid) else under.grid

    def cells(
        self, lat: FloatArray, lon: FloatArray, missing: BoolArray
    ) -> tuple[IntArray, IntArray, BoolArray, Tally]:
        """The cell of each place after the policy, which rows to keep, and the count."""
        area = self.grid.area
        x, y = area.to_xy(np.where(missing, area.lat, lat), np.where(missing, area.lon, lon))
        row, col = self.grid.xy_to_cell(x, y)
        outside = (row < 0) & ~missing
        self._require_order(lat[~missing], lon[~missing], outside[~missing])
        frame = ~missing & ~outside
        inside = row[frame], col[frame]  # of a metric in tiles, only the tiles of these cells are opened
        frame[frame] = ~(self._secret_cells[inside] if self._metric is None else self._metric.at_cells(*inside)[1])
        kept, tally = _judge(self.policy, missing, outside, frame)
        if self.policy == "snap":
            row, col = self._snap(x, y)
        return row, col, kept, tally

    def locations(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> tuple[IntArray, Tally]:
        """The location on the map of every place that the policy lets through, and the count."""
        assert self._metric is not None, "a bare grid has no locations"
        lats, lons = as_degrees(lat), as_degrees(lon)
        _require_degrees(lats, lons)
        row, col, kept, tally = self.cells(lats, lons, np.zeros(lats.shape, np.bool_))
        return self._metric.at_cells(row[kept], col[kept])[0], tally

    @cached_property
    def _secret_cells(self) -> BoolArray:
        if self._metric is None:
            return np.ones(self.grid.shape, dtype=np.bool_)
        whole = self._metric.whole()
        return whole.secret[whole.locations.owner]

    @cached_property
    def _nearest_secret(self) -> IntArray:
        """For every cell the (row, col) of the nearest that can be a secret."""
        from scipy.ndimage import distance_transform_edt

        nearest: IntArray = distance_transform_edt(~self._secret_cells, return_distances=False, return_indices=True)
        return nearest

    def _snap(self, x: FloatArray, y: FloatArray) -> tuple[IntArray, IntArray]:
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
            raise OutsideError("some places are too far from the map to be moved; leave them out (--outside drop)")
        grid, nearest = self.grid, self._nearest_secret
        row = np.clip(np.floor(y / grid.cell_m + grid.rows / 2), 0, grid.rows - 1).astype(np.int64)
        col = np.clip(np.floor(x / grid.cell_m + grid.cols / 2), 0, grid.cols - 1).astype(np.int64)
        return nearest[0][row, col].astype(np.int64), nearest[1][row, col].astype(np.int64)

    def _require_order(self, lat: FloatArray, lon: FloatArray, outside: BoolArray) -> None:
        """Where most places miss the map but would hit it with the columns swapped, the columns are swapped."""
        if 2 * np.count_nonzero(outside) <= lat.size:
            return
        could_be = outside & (np.abs(lon) <= 90)
        swapped = self.grid.latlon_to_cell(lon[could_be], lat[could_be])[0] >= 0
        if 2 * np.count_nonzero(swapped) > lat.size:
            which = "the place lies" if lat.size == 1 else "most places lie"
            raise InputError(f"latitude and longitude look mixed up: {which} on the map only when swapped")


def _where_words(places: int, beyond: int, framed: int) -> str:
    """Why places cannot be secrets, and what can be done with them."""
    if places == 1:
        where = "outside the map" if beyond else "in the frame of the map, too close to its border"
        return (
            f"the place lies {where}: it cannot be a secret there; take a map that reaches further, or move the place "
            "inside (--outside snap)"
        )
    parts = [f"{beyond:,} outside the map"] * bool(beyond) + [f"{framed:,} in the frame"] * bool(framed)
    return (
        f"of {places:,} places {' and '.join(parts)} cannot be secrets; leave them out (--outside drop) or move them "
        "inside (--outside snap)"
    )


class Placement:
    """Places to reports of one mechanism, by a policy. Made once for many batches."""

    def __init__(self, mechanism: Mechanism, policy: str = "error") -> None:
        self.policy = require_choice("outside", policy, POLICIES)
        self._on_map, self._anywhere = over_a_map(mechanism), cast(ReportsPlaces, mechanism)
        under = self._anywhere.grid if self._on_map is None else self._on_map.metric
        self._ground = None if under is None else Ground(under, policy)

    def report(
        self,
        lat: npt.ArrayLike,
        lon: npt.ArrayLike,
        *,
        rng: RandomSource | None = None,
        users: Sequence[Any] | None = None,
    ) -> LocatedReports:
        """A report for every place the policy lets through; `users` says whose each is, where reports depend on it."""
        lats, lons = as_degrees(lat), as_degrees(lon)
        if lats.ndim != 1 or lats.shape != lons.shape:
            raise InputError(f"'lat' and 'lon' must be two rows of equal length, got {lats.shape} and {lons.shape}")
        missing = ~(np.isfinite(lats) & np.isfinite(lons))
        _require_degrees(lats[~missing], lons[~missing])
        if self._ground is None:
            kept, tally = _judge(self.policy, missing, np.zeros_like(missing), np.zeros_like(missing))
            return LocatedReports(*self._anywhere.sanitize_many(lats[kept], lons[kept], rng=rng), kept, tally, None)
        row, col, kept, tally = self._ground.cells(lats, lons, missing)
        centre, grid = (row[kept], col[kept]), self._ground.grid
        if self._on_map is None:
            return LocatedReports(
                *self._anywhere.sanitize_many(*grid.cell_to_latlon(*centre), rng=rng), kept, tally, None
            )
        whose = None if users is None else [user for user, keep in zip(users, kept, strict=True) if keep]
        index = self._on_map.metric.at_cells(*centre)[0]
        lat2, lon2 = grid.cell_to_latlon(*_draw(self._on_map, index, rng, whose))
        return LocatedReports(np.asarray(lat2), np.asarray(lon2), kept, tally, index)


def _draw(
    mechanism: ReportsLocations, index: IntArray, rng: RandomSource | None, users: list[Any] | None
) -> tuple[IntArray, IntArray]:
    if users is None or mechanism.for_user("") is mechanism:
        return mechanism.sample_cells(index, rng=rng)
    row, col = np.empty_like(index), np.empty_like(index)
    for name, mine in groups(users):
        row[mine], col[mine] = mechanism.for_user(name).sample_cells(index[mine], rng=rng)
    return row, col


def _judge(policy: str, missing: BoolArray, outside: BoolArray, frame: BoolArray) -> tuple[BoolArray, Tally]:
    lost, beyond, framed = (int(np.count_nonzero(which)) for which in (missing, outside, frame))
    if lost and policy != "drop":
        raise InputError(f"{lost} of {missing.size} places are missing; leave them out (--outside drop)")
    if policy == "error" and beyond + framed:
        kind = OutsideError if beyond else FrameError
        raise kind(_where_words(missing.size, beyond, framed))
    kept = ~missing if policy == "snap" else ~(missing | outside | frame)
    return kept, Tally(missing.size, int(np.count_nonzero(kept)), lost, beyond, framed, policy)


def groups(names: Sequence[Any]) -> Iterator[tuple[str, IntArray]]:
    """Each different name, as text, with the positions where it stands."""
    if not len(names):
        return
    unique, inverse = np.unique(np.array([str(name) for name in names], dtype=object), return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=unique.size))
    for name, positions in zip(unique, np.split(order, ends[:-1]), strict=True):
        yield str(name), positions


def as_degrees(values: npt.ArrayLike) -> FloatArray:
    """Numbers, whatever they came as. What is none is not repeated: it may be a place."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("'lat' and 'lon' must be numbers of degrees, one place or rows of equal length") from None


def _require_degrees(lat: FloatArray, lon: FloatArray) -> None:
    if np.all(np.abs(lat) <= 90) and np.all(np.abs(lon) <= 360):
        return
    if np.all(np.abs(lat) <= 360) and np.all(np.abs(lon) <= 90):
        raise InputError("latitude and longitude look mixed up: some latitudes are beyond 90 degrees; swap the columns")
    if np.any(np.abs(lat) > 360):
        raise InputError("places must be in degrees; these look like metres of a projection")
    raise InputError("places must be (lat, lon) in degrees with lat in [-90, 90] and lon in [-180, 180]")
