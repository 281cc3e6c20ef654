# SPDX-License-Identifier: Apache-2.0
"""`ReportModel`: how likely each report is from each part of the map, which is public and exactly known.

The parts are *atoms*: pieces of zones, each small enough that what is inside hardly matters, with a public guess (the
mass, or a prior) of how its places are spread. For a mechanism K, row a of the matrix is sum over x in a of
spread(x) K(x)(z), over all reports z: the mechanism's own integers, divided once.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..errors import InputError, OutsideError
from ..locations import Grid
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.expected_errors import weight_tables
from ..mechanism.laplace import PlanarLaplace
from ..metric import AnyMetric
from ..metric.threads import worker_count
from ..progress import progress_bar
from ..reports.protocols import Mechanism
from .zones import LARGEST_PIECE, Zones, leaf_zones

__all__ = ["Atoms", "ReportModel", "elastic_matrix", "make_atoms", "report_model"]

#: A matrix has at most so many entries (0.8 GB): beyond it, reports that lie together are counted together.
MOST_ENTRIES = 100_000_000
#: Atoms besides the zones themselves: enough to follow what is inside a zone of some kilometres.
FINE_ATOMS = 1500
#: Atoms that a thread takes at once.
_PART = 16


@dataclass(frozen=True, eq=False)
class Atoms:
    """Pieces of zones: cell -> atom, atom -> zone (-1 elsewhere), and the public share of people in each.

    The entries (atom, location, share) say how the places of an atom are spread over locations; `cell`, `cell_atom` and
    `cell_share` the same over cells, in the order of the atoms. The shares of an atom add up to 1.
    """

    zones: Zones
    zone: IntArray
    prior: FloatArray
    entry_atom: IntArray
    entry_location: IndexArray
    entry_share: FloatArray
    cell: IntArray
    cell_atom: IntArray
    cell_share: FloatArray

    @property
    def n(self) -> int:
        return int(self.zone.size)

    def by_zone(self, values: FloatArray) -> FloatArray:
        """Sums over the atoms of each zone, and of elsewhere in the last entry."""
        return np.asarray(np.bincount(np.where(self.zone < 0, self.zones.n, self.zone), values, self.zones.n + 1))

    @cached_property
    def digest(self) -> str:
        """A name of all that the atoms are made of."""
        parts = (self.entry_atom, self.entry_location, self.entry_share, self.zone)
        return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def make_atoms(
    metric: AnyMetric,
    zones: Zones,
    *,
    prior: npt.ArrayLike | None = None,
    elsewhere: bool = True,
    fine: int = FINE_ATOMS,
) -> Atoms:
    """The zones, the larger ones cut along a quadtree of about `fine` squares of like prior mass; only what can be a
    secret.

    `prior`: a public guess of how many people are in each cell, (rows, cols) [default: the metric's mass]. Without
    `elsewhere` nobody is assumed to have been outside the zones.
    """
    at, secret = metric.locations, metric.secret
    guess = (metric.mass / at.area_cells)[at.owner] if prior is None else np.asarray(prior, dtype=np.float64)
    if guess.shape != metric.grid.shape or not np.all(np.isfinite(guess) & (guess >= 0)):
        raise InputError(f"'prior' must be a finite number >= 0 for each of {metric.grid.shape} cells")
    # nowhere quite 0: a place that the guess rules out could never be found
    guess = np.where(secret[at.owner], guess + guess.mean() * 1e-3, 0.0)
    label = zones.label.astype(np.int64)
    leaves = _cuts(metric.grid, label, guess, fine)
    used = secret[at.owner] & ((label >= 0) | elsewhere)
    if not used.any():
        raise InputError("'zones' must hold places that can be secrets; these lie in the frame of the map")
    keys, atom = np.unique((label[used] + 1) * (int(leaves.max()) + 1) + leaves[used], return_inverse=True)
    weight = guess[used]
    total = np.bincount(atom, weight)
    pairs, entry = np.unique(atom * np.int64(at.n) + at.owner[used], return_inverse=True)
    entry_atom = pairs // at.n
    share = np.bincount(entry, weight) / total[entry_atom]
    order = np.argsort(atom, kind="stable")
    return Atoms(
        zones, keys // (int(leaves.max()) + 1) - 1, total / total.sum(), entry_atom,
        (pairs % at.n).astype(np.int32), share, np.flatnonzero(used)[order], atom[order],
        (weight / total[atom])[order],
    )  # fmt: skip


def _cuts(grid: Grid, label: IntArray, guess: FloatArray, fine: int) -> IndexArray:
    """The square of the quadtree that each cell lies in; 0 throughout a zone that is no larger than a square."""
    if not fine:
        return np.zeros(grid.shape, np.int32)
    leaves = leaf_zones(grid, guess, fine).label
    held = np.bincount((label + 1).ravel(), guess.ravel())
    large = held > LARGEST_PIECE * guess.sum() / fine
    return np.where(large[label + 1], leaves, 0).astype(np.int32)


@dataclass(frozen=True, eq=False)
class ReportModel:
    """`matrix[a, g]`: the chance that a report from atom a falls into group g of reports."""

    atoms: Atoms
    matrix: FloatArray
    _of_place: Any

    def outputs(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> IntArray:
        """The group of each report."""
        return np.asarray(self._of_place(np.asarray(lat, float), np.asarray(lon, float)), dtype=np.int64)


def report_model(
    mechanism: Mechanism,
    atoms: Atoms,
    *,
    cache: str | Path | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> ReportModel:
    """The model of a mechanism's reports, from a metric or planar Laplace; kept in the folder `cache` by content."""
    if isinstance(mechanism, PlanarLaplace):
        from .laplace_model import laplace_model

        return laplace_model(mechanism, atoms)
    if not isinstance(mechanism, ElasticMechanism):
        raise InputError(
            f"reports of a {type(mechanism).__name__} cannot be used: their probabilities are those of what it was "
            "made from; give the mechanism without remapping"
        )
    metric = mechanism.metric.whole()
    group = _groups(metric, MOST_ENTRIES // atoms.n)
    matrix = elastic_matrix(mechanism, atoms, group, cache=cache, workers=workers, progress=progress)

    def of_place(lat: FloatArray, lon: FloatArray) -> IntArray:
        row, col = metric.grid.latlon_to_cell(lat, lon)
        if np.any(row < 0):
            raise OutsideError(
                f"{np.count_nonzero(row < 0)} of {row.size} reports lie outside the map: not of this map"
            )
        return np.asarray(group[metric.locations.owner[row, col]])

    return ReportModel(atoms, matrix, of_place)


def _groups(metric: AnyMetric, most: int) -> IndexArray:
    """The group of each location: itself, or, if there are too many, what lies in the same square."""
    at, side = metric.locations, 1
    if metric.n <= most:
        return np.arange(metric.n, dtype=np.int32)
    while True:
        side *= 2
        square = (at.row // side).astype(np.int64) * (metric.grid.cols // side + 1) + at.col // side
        found, group = np.unique(square, return_inverse=True)
        if found.size <= most:
            return np.asarray(group, np.int32)


def elastic_matrix(
    mechanism: ElasticMechanism, atoms: Atoms, group: IndexArray, *, cache: str | Path | None = None,
    workers: int | None = None, progress: bool = False,
) -> FloatArray:  # fmt: skip
    """The chance of a report in each group of locations (-1: not asked for), a row an atom; kept in `cache`."""
    matrix = _kept(cache, mechanism, atoms, group)
    if matrix is None:
        matrix = _elastic_matrix(mechanism, atoms, group, workers, progress)
        _keep(cache, mechanism, atoms, group, matrix)
    return matrix


def _elastic_matrix(
    mechanism: ElasticMechanism, atoms: Atoms, group: IndexArray, workers: int | None, progress: bool
) -> FloatArray:
    metric, graph = mechanism.metric.whole(), mechanism.reporting.graph
    tables, periods = weight_tables([mechanism.weights])
    matrix = np.zeros((atoms.n, int(group.max()) + 1))
    fenced = metric.fence[atoms.entry_location] > 0
    for number in np.unique(metric.fence[atoms.entry_location[fenced]]):
        # inside a fence reports are even over the fence, whatever the place
        cells = np.where(metric.fence == number, metric.locations.area_cells, 0)
        even = np.bincount(group[group >= 0], cells[group >= 0], matrix.shape[1])
        here = fenced & (metric.fence[atoms.entry_location] == number)
        held = np.bincount(atoms.entry_atom[here], atoms.entry_share[here], atoms.n)
        matrix += held[:, None] * (even / cells.sum())[None, :]
    entry = np.flatnonzero(~fenced)

    def rows(first: int) -> int:
        span = (atoms.entry_atom[entry] >= first) & (atoms.entry_atom[entry] < first + _PART)
        chosen = entry[span]
        chosen = chosen[np.argsort(atoms.entry_location[chosen], kind="stable")]
        sources, begin = np.unique(atoms.entry_location[chosen], return_index=True)
        kernels.zone_rows(
            graph.start, graph.index, graph.weight, graph.buckets, mechanism.measure, tables, periods, sources,
            np.append(begin, chosen.size).astype(np.int64), atoms.entry_atom[chosen], atoms.entry_share[chosen], group,
            matrix,
        )  # fmt: skip
        return int(sources.size)

    with (
        progress_bar("model", atoms.n, show=progress) as bar,
        ThreadPoolExecutor(worker_count(workers)) as pool,
    ):
        for done, _ in enumerate(pool.map(rows, range(0, atoms.n, _PART)), start=1):
            bar.update(min(done * _PART, atoms.n))
    return matrix


def _cache_name(cache: str | Path, mechanism: ElasticMechanism, atoms: Atoms, group: IndexArray) -> Path:
    digest = hashlib.sha256(atoms.digest.encode())
    graph = mechanism.reporting.graph
    for part in (graph.start, graph.index, graph.weight, mechanism.measure, mechanism.metric.whole().fence, group):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(str(mechanism.exponent).encode())
    return Path(cache) / f"model-{digest.hexdigest()[:32]}.npy"


def _kept(cache: str | Path | None, mechanism: ElasticMechanism, atoms: Atoms, group: IndexArray) -> FloatArray | None:
    if cache is None:
        return None
    path = _cache_name(cache, mechanism, atoms, group)
    try:
        found: FloatArray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found if found.shape == (atoms.n, int(group.max()) + 1) else None


def _keep(
    cache: str | Path | None, mechanism: ElasticMechanism, atoms: Atoms, group: IndexArray, matrix: FloatArray
) -> None:
    if cache is None:
        return
    from ..store.atomic import writing

    path = _cache_name(cache, mechanism, atoms, group)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as temporary, Path(temporary).open("wb") as file:
        np.save(file, matrix)
