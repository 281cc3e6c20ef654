# SPDX-License-Identifier: Apache-2.0
"""A search that walks from tile to tile and opens a tile when it comes to it, not before.

Open tiles lie one after the other in growing arrays, in the order in which they were opened. A vertex of the search is
a place there; `numbers` says which location of the whole map it is. Distances and what is settled do not depend on
which tiles happen to be open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..errors import FileError
from ..levels import IntArray
from .metric import TiledMetric
from .window import ROW_START

__all__ = ["TiledSearch"]

IndexArray = npt.NDArray[np.int32]

#: A search begins with this many buckets and takes more when a weight asks for it.
_BUCKETS = 1 << 13
#: With this many tiles open the next search begins with none, so that memory is bounded over many reports.
_MAX_OPEN = 48
_USUAL_TILES = 12
_NOT_OPEN = -1


class _Grown:
    """An array to whose end others are put, with room to spare."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._room: npt.NDArray[Any] = np.empty(0, dtype)
        self._n = 0

    @property
    def array(self) -> npt.NDArray[Any]:
        return self._room[: self._n]

    def add(self, part: npt.ArrayLike, n: int) -> None:
        """Put `n` values (or one value `n` times) to the end."""
        self.add_room(n)
        self._room[self._n - n : self._n] = part

    def add_room(self, n: int) -> None:
        """Put `n` values to the end that are still to be written."""
        if self._n + n > self._room.size:
            # as a rule a report needs that many tiles, and room that is not written to costs nothing
            wider = np.empty(max(2 * self._room.size, _USUAL_TILES * n), self._room.dtype)
            wider[: self._n] = self.array
            self._room = wider
        self._n += n

    def drop_last(self) -> None:
        """Forget the last value."""
        self._n -= 1


class TiledSearch:
    """Searches in a tiled metric, one at a time. `measure`: the whole output measure of each vertex."""

    def __init__(self, metric: TiledMetric, output: str) -> None:
        self._metric, self._output = metric, output
        self._forget()

    def _forget(self) -> None:
        self._ranks: dict[int, int] = {}
        self._offset = np.zeros(1, np.int64)
        self._around = np.zeros((0, kernels.SLOTS), np.int64)
        names = {"row": np.int32, "col": np.int32, "size": np.int32, "scale": np.int32, "measure": np.int64}
        self._columns = {name: _Grown(dtype) for name, dtype in names.items()}
        self._start, self._slot, self._step = _Grown(np.int64), _Grown(np.uint8), _Grown(np.int32)
        self._start.add(0, 1)
        self._dist, self._order = _Grown(np.int32), _Grown(np.int32)
        self._entry_vertex, self._entry_next = _Grown(np.int32), _Grown(np.int32)
        for entry in (self._entry_vertex, self._entry_next):
            entry.add_room(1)
        self._head = np.full(_BUCKETS, -1, np.int32)
        self._state = np.zeros(5, np.int64)
        self._span = np.zeros(4, np.int64)

    def begin(self, source: int) -> None:
        """Put a location of the map at distance 0."""
        if len(self._ranks) >= _MAX_OPEN:
            self._forget()
        kernels.clear(self._dist.array, self._head, self._entry_vertex.array, self._state)
        tile = self._metric.tile_of(source)
        self._open(tile)
        vertex = int(self._offset[self._ranks[tile]]) + source - int(self._metric.first[tile])
        dist, head, vertices, links, _, state = self.space
        kernels.begin(vertex, dist, head, vertices, links, state)
        row, col, size = self.leaf(vertex)
        self._span[:] = (2 * row + size, 2 * row + size, 2 * col + size, 2 * col + size)

    def expand(self, limit: int) -> bool:
        """Settle everything within `limit`; False when nothing is left beyond."""
        while (told := self._run(limit)) != kernels.ALL_SETTLED:
            if told == kernels.FEW_BUCKETS:
                dist, head, vertices, links, _, state = self.space
                self._head = kernels.more_buckets(head, vertices, links, dist, state, 2 * head.size)
                continue
            if told < 0:
                raise self._misfit()
            rank, slot = divmod(told, kernels.SLOTS)
            self._open(self._metric.tiling.around(list(self._ranks)[rank])[slot])
        return bool(self._state[kernels.LIVE])

    def _misfit(self) -> FileError:
        return FileError(f"{self._metric.store.root}: corrupt: its tiles do not fit together")

    def _run(self, limit: int) -> int:
        at = self._columns
        return int(
            kernels.expand_tiles(
                self._offset, self._around, self._start.array, self._slot.array, self._step.array,
                at["row"].array, at["col"].array, at["size"].array, at["scale"].array, *self.space, self._span, limit,
            )
        )  # fmt: skip

    @property
    def space(self) -> tuple[npt.NDArray[Any], ...]:
        """dist, head, entry_vertex, entry_next, order, state: as `kernels.workspace` has them."""
        pools = self._entry_vertex.array, self._entry_next.array
        return self._dist.array, self._head, *pools, self._order.array, self._state

    @property
    def settled(self) -> IndexArray:
        """The settled vertices, by distance."""
        return self._order.array[: self._state[kernels.SETTLED]]

    @property
    def measure(self) -> IntArray:
        """The whole output measure of each vertex."""
        return self._columns["measure"].array

    @property
    def touched(self) -> tuple[float, float, float, float]:
        """The least and the largest row, and column, of the centres of all locations that have been touched."""
        low, high, left, right = (self._span / 2).tolist()
        return low, high, left, right

    def cells(self, vertices: IndexArray) -> tuple[IndexArray, IndexArray]:
        """South-west cells of vertices in the whole map."""
        return self._columns["row"].array[vertices], self._columns["col"].array[vertices]

    def leaf(self, vertex: int) -> tuple[int, int, int]:
        """(row, column, size) of a vertex in the whole map."""
        row, col, size = (int(self._columns[name].array[vertex]) for name in ("row", "col", "size"))
        return row, col, size

    def numbers(self, vertices: npt.NDArray[Any]) -> IntArray:
        """The number in the whole map of each vertex."""
        ranks = np.searchsorted(self._offset, vertices, side="right") - 1
        shift = self._metric.first[list(self._ranks)] - self._offset[:-1]
        numbers: IntArray = vertices + shift[ranks]
        return numbers

    def _open(self, tile: int) -> None:
        """Put a tile behind those that are open."""
        if tile in self._ranks:
            return
        if tile < 0:
            raise self._misfit()
        metric = self._metric
        columns, edges, leaves = metric.open_tile(tile)
        n, arcs = leaves.shape[0], edges["slot"].size
        begins = np.flatnonzero(edges["slot"] >= ROW_START)
        if begins.size != n:
            raise self._misfit()
        for name, part in zip(("row", "col", "size"), leaves.T, strict=True):
            self._columns[name].add(part, n)
        self._columns["scale"].add(columns["scale"], n)
        self._columns["measure"].add(metric.measure_of(columns, self._output), n)
        before = self._slot.array.size
        self._start.drop_last()
        self._start.add(before + begins, n)
        self._start.add(before + arcs, 1)
        for arc, part in ((self._slot, edges["slot"]), (self._step, edges["step"])):
            arc.add(part, arcs)
        for entry in (self._entry_vertex, self._entry_next):
            entry.add_room(arcs)
        self._dist.add(kernels.UNREACHABLE, n)
        self._order.add_room(n)
        self._ranks[tile] = len(self._ranks)
        self._offset = np.append(self._offset, self._offset[-1] + n)
        rows = [[self._ranks.get(k, _NOT_OPEN) for k in metric.tiling.around(one)] for one in self._ranks]
        self._around = np.array(rows, np.int64)
