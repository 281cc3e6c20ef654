# SPDX-License-Identifier: Apache-2.0
"""`ReportModel`: how likely each report is from each atom, which is public and exactly known.

For a mechanism K, row a of the matrix is sum over x in a of spread(x) K(x)(z), over all reports z: the mechanism's own
integers, divided once. It depends on the map and the zones alone, so it is made once for any reports, and kept in a
folder under a digest of all that it is made from.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..errors import FileError, InputError, OutsideError
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.expected_errors import weight_tables
from ..mechanism.laplace import PlanarLaplace
from ..metric import Metric
from ..metric.threads import worker_count
from ..metric.weights import Weights
from ..progress import progress_bar
from ..reports.protocols import Mechanism
from ..store.atomic import writing
from ..store.digest import digest
from ..store.kept import kept
from .atoms import Atoms, entries_of

#: A matrix has at most so many entries (0.4 GB): beyond it, reports that lie together are counted together.
MOST_ENTRIES = 100_000_000
#: Beyond so many, single precision is enough: reports are far fewer than 10^7.
LARGE = 10_000_000
#: Atoms that a thread takes at once.
_PART = 16
#: The bins of planar Laplace.
_BINS_PER_ERROR, _MOST_BINS = 8, 40_000
#: Places on each axis over which a density is averaged.
_POINTS = 8


@dataclass(frozen=True, eq=False)
class Law:
    """How reports are drawn: from x, location z has a chance in proportion to measure(z) x weight of the distance from
    x to z over `graph`; in a fence all cells of it are alike."""

    metric: Metric
    graph: Any
    measure: IntArray
    weights: Weights


def law_of(mechanism: ElasticMechanism) -> Law:
    """The law of a mechanism's reports."""
    return Law(mechanism.metric.whole(), mechanism.reporting.graph, mechanism.measure, mechanism.weights)


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
    mechanism: Mechanism | Law,
    atoms: Atoms,
    *,
    cache: str | Path | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> ReportModel:
    """The model of a mechanism's reports; kept in the folder `cache` by content."""
    if isinstance(mechanism, PlanarLaplace):
        return _laplace_model(mechanism, atoms)
    if not isinstance(mechanism, ElasticMechanism | Law):
        raise InputError(
            f"reports of a {type(mechanism).__name__} cannot be used: their probabilities are those of what it was "
            "made from; give the mechanism without remapping"
        )
    law = mechanism if isinstance(mechanism, Law) else law_of(mechanism)
    grid, owner = law.metric.grid, law.metric.locations.owner
    group = _groups(law.metric, MOST_ENTRIES // atoms.n)
    path = None if cache is None else Path(cache) / f"model-{_digest(law, atoms, group)}.npy"
    shape = atoms.n, int(group.max()) + 1
    matrix = kept(path, lambda p: _read(p, shape), lambda: _matrix(law, atoms, group, workers, progress), _write)

    def of_place(lat: FloatArray, lon: FloatArray) -> IntArray:
        row, col = grid.latlon_to_cell(lat, lon)
        if np.any(row < 0):
            raise OutsideError(
                f"{np.count_nonzero(row < 0)} of {row.size} reports lie outside the map: not of this map"
            )
        return np.asarray(group[owner[row, col]])

    return ReportModel(atoms, matrix, of_place)


def _groups(metric: Metric, most: int) -> IndexArray:
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


def _matrix(law: Law, atoms: Atoms, group: IndexArray, workers: int | None, progress: bool) -> FloatArray:
    """The chance of a report in each group of locations, a row an atom."""
    count = int(group.max()) + 1
    matrix = np.empty((atoms.n, count), np.float64 if atoms.n * count <= LARGE else np.float32)
    atom, location, share = entries_of(law.metric, atoms)
    free, tables, graph = np.flatnonzero(law.metric.fence[location] == 0), weight_tables([law.weights]), law.graph

    def rows(first: int) -> None:
        chosen = free[(atom[free] >= first) & (atom[free] < first + _PART)]
        chosen = chosen[np.argsort(location[chosen], kind="stable")]
        sources, begin = np.unique(location[chosen], return_index=True)
        part = np.zeros((min(_PART, atoms.n - first), count))
        kernels.zone_rows(
            graph.start, graph.index, graph.weight, graph.buckets, law.measure, *tables, sources,
            np.append(begin, chosen.size).astype(np.int64), atom[chosen] - first, share[chosen], group, part,
        )  # fmt: skip
        matrix[first : first + _PART] = part

    with (
        progress_bar("model", atoms.n, show=progress) as bar,
        ThreadPoolExecutor(worker_count(workers)) as pool,
    ):
        for done, _ in enumerate(pool.map(rows, range(0, atoms.n, _PART)), start=1):
            bar.update(min(done * _PART, atoms.n))
    fence = law.metric.fence[location]
    for number in np.unique(fence[fence > 0]):
        # inside a fence reports are even over the fence, whatever the place
        cells = np.where(law.metric.fence == number, law.metric.locations.area_cells, 0)
        even = np.bincount(group, cells, count) / cells.sum()
        held = np.bincount(atom[fence == number], share[fence == number], atoms.n)
        matrix[held > 0] += held[held > 0, None] * even
    return matrix


def _digest(law: Law, atoms: Atoms, group: IndexArray) -> str:
    graph = law.graph
    arrays = (graph.start, graph.index, graph.weight, law.measure, law.metric.fence, group)
    return digest(atoms.digest, *arrays, str(law.weights.exponent))[:32]


def _read(path: Path, shape: tuple[int, int]) -> FloatArray:
    try:
        found: FloatArray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise FileError(f"{path}: not a model") from None
    if found.shape != shape:
        raise FileError(f"{path}: not a model of these zones")
    return found


def _write(matrix: FloatArray, path: Path) -> None:
    with writing(path) as temporary, temporary.open("wb") as file:
        np.save(file, matrix)


def _laplace_model(mechanism: PlanarLaplace, atoms: Atoms) -> ReportModel:
    """The model of a `PlanarLaplace` over the map of the zones: bins of a grid, and one for all that falls outside it.

    A report is put into a square bin of about an eighth of the mean error (more on large maps), which is done after the
    fact and so loses a little information but no truth. The chance of a bin is the mean of the density over people
    spread evenly inside the bins that hold them, summed to 1 with what lies outside.
    """
    grid = atoms.zones.grid
    side = max(1, int(2 / mechanism.epsilon / _BINS_PER_ERROR / grid.cell_m))
    while -(-grid.rows // side) * -(-grid.cols // side) > min(_MOST_BINS, MOST_ENTRIES // atoms.n):
        side += 1
    rows, cols = -(-grid.rows // side), -(-grid.cols // side)
    chance = _chances(mechanism, rows, cols, side * grid.cell_m)
    matrix = np.zeros((atoms.n, rows * cols + 1), np.float64 if atoms.n * rows * cols <= LARGE else np.float32)
    bins = atoms.cell // grid.cols // side * cols + atoms.cell % grid.cols // side
    pairs, entry = np.unique(atoms.cell_atom * np.int64(rows * cols) + bins, return_inverse=True)
    people = np.bincount(entry, atoms.cell_share)
    for pair, held in zip(pairs.tolist(), people.tolist(), strict=True):
        atom, row, col = pair // (rows * cols), pair // cols % rows, pair % cols
        seen = chance[rows - 1 - row : 2 * rows - 1 - row, cols - 1 - col : 2 * cols - 1 - col]
        matrix[atom, :-1] += held * seen.ravel()
    matrix[:, -1] = np.maximum(1 - matrix[:, :-1].sum(axis=1, dtype=np.float64), 0)

    def of_place(lat: FloatArray, lon: FloatArray) -> IntArray:
        row, col = grid.latlon_to_cell(lat, lon)
        return np.where(row < 0, rows * cols, row // side * cols + col // side)

    return ReportModel(atoms, matrix, of_place)


def _chances(mechanism: PlanarLaplace, rows: int, cols: int, side_m: float) -> FloatArray:
    """The chance of a bin so many bins away, (2 rows - 1, 2 cols - 1), for people spread evenly over theirs: the
    density at the mean over the difference of two places in squares, whose law is a triangle on each axis."""
    down, across = np.arange(1 - rows, rows) * side_m, np.arange(1 - cols, cols) * side_m
    step = (np.arange(_POINTS) + 0.5) / _POINTS * 2 - 1
    weight = (1 - np.abs(step)) / (1 - np.abs(step)).sum()
    chance = np.zeros((down.size, across.size))
    for a, u in zip(step * side_m, weight, strict=True):
        for b, v in zip(step * side_m, weight, strict=True):
            chance += u * v * mechanism.density(np.hypot(down[:, None] + a, across[None, :] + b))
    chance *= side_m**2
    return chance / max(1.0, float(chance.sum()))
