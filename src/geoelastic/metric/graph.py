# SPDX-License-Identifier: Apache-2.0
"""`Graph`: an undirected graph with non-negative integer weights, as the kernels read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import IndexArray, IntArray, Locked
from ..levels import UNREACHABLE


@dataclass(frozen=True, eq=False)
class Graph(Locked):
    """Compressed rows: the neighbours of i are index[start[i]:start[i + 1]], at weight[...] level units."""

    start: IntArray
    index: IndexArray
    weight: IndexArray

    @classmethod
    def from_edges(cls, n: int, tail: npt.ArrayLike, tip: npt.ArrayLike, weight: npt.ArrayLike) -> Graph:
        """The graph of an edge list, each undirected edge once."""
        empty = np.zeros(0, np.int32)
        edges = (np.ascontiguousarray(part, dtype=np.int32) for part in (tail, tip, weight))
        return cls(*kernels.merge_edges(np.zeros(n + 1, np.int64), empty, empty, *edges))

    @property
    def n(self) -> int:
        return int(self.start.size - 1)

    @cached_property
    def buckets(self) -> int:
        """A power of two larger than every weight."""
        return 1 << int(self.weight.max(initial=0)).bit_length()

    @property
    def rows(self) -> tuple[IntArray, IndexArray, IndexArray]:
        """(start, index, weight), as kernels take them."""
        return self.start, self.index, self.weight

    def edges(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """(i, j, weight) with i < j, each undirected edge once."""
        tail = np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.start))
        keep = tail < self.index
        return tail[keep], self.index[keep], self.weight[keep]

    def simplified(self) -> Graph:
        """The same metric with the shorter of parallel edges only, in an order that depends on nothing else."""
        tail, tip, weight = self.edges()
        order = np.lexsort((weight, tip, tail))
        tail, tip, weight = tail[order], tip[order], weight[order]
        first = np.ones(tail.size, bool)
        first[1:] = (tail[1:] != tail[:-1]) | (tip[1:] != tip[:-1])
        return Graph.from_edges(self.n, tail[first], tip[first], weight[first])

    def distances(self, source: int, limit: int) -> IndexArray:
        """Level units from a vertex to all others; UNREACHABLE beyond `limit`."""
        return self.distances_from_any(np.array([source], np.int32), limit)

    def distances_from_any(self, sources: npt.NDArray[np.integer], limit: int = UNREACHABLE - 1) -> IndexArray:
        """Level units from the nearest of several vertices to all others; UNREACHABLE beyond `limit`."""
        dist: IndexArray = kernels.distances_from_any(*self.rows, self.buckets, sources.astype(np.int32), limit)
        return dist

    @cached_property
    def components(self) -> npt.NDArray[Any]:
        """The number of the connected component of each vertex."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(self.index.size, np.int8)
        matrix = csr_matrix((ones, self.index, self.start), shape=(self.n, self.n))
        labels: npt.NDArray[Any] = connected_components(matrix, directed=False)[1]
        return labels
