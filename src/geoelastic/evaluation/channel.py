# SPDX-License-Identifier: Apache-2.0
"""`Channel`: what evaluation sees of a mechanism, the probabilities of its outputs given its inputs.

Rows are inputs (locations or cells that hold secrets), columns are outputs. A channel hands out blocks of columns, so
that neither it nor an adversary needs the whole table: thousands of inputs against hundreds of thousands of outputs.

An output is a square of `side` x `side` cells whose report is a cell centre drawn evenly inside it (a leaf of an
adaptive layout; a single cell if `side` is 1). The adversary learns the output; the draw inside it tells nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError

#: columns per block: 1024 x 3000 doubles are 24 MB, small enough to stay near the processor, large enough for BLAS
BLOCK = 1024


class BlockReader(Protocol):
    """Sums something over the outputs of a channel, a block at a time."""

    def add(self, part: slice, block: FloatArray) -> None:
        """Take in the (inputs, outputs) probabilities of the outputs `part`."""


Reader = TypeVar("Reader", bound=BlockReader)


@dataclass(frozen=True, eq=False)
class Outputs:
    """Centres in metres (m, 2), and sides in cells of `cell_m` metres (m,)."""

    xy: FloatArray
    side: IntArray
    cell_m: float

    def __post_init__(self) -> None:
        if self.xy.shape != (len(self.side), 2):
            raise InputError(f"'xy' must have one row of two numbers an output, got shape {self.xy.shape}")

    @property
    def n(self) -> int:
        return len(self.side)


@dataclass(frozen=True, eq=False)
class Channel:
    """`name`, what each place's input row is (`row_of_place`), the outputs, and `block(start, stop)`.

    `block` gives the (inputs, stop - start) probabilities of outputs start..stop-1. `sound` is False where the
    mechanism gives no guarantee (its support depends on the secret, or it is deterministic); reports say so.
    """

    name: str
    row_of_place: IntArray
    outputs: Outputs
    block: Callable[[int, int], FloatArray]
    sound: bool = True

    @property
    def n_inputs(self) -> int:
        return int(self.row_of_place.max()) + 1

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[slice, FloatArray]]:
        """All outputs, `size` columns at a time."""
        for start in range(0, self.outputs.n, size):
            stop = min(start + size, self.outputs.n)
            yield slice(start, stop), self.block(start, stop)

    def row(self, i: int | IntArray) -> FloatArray:
        """The probabilities of every output for one input, or for some, a row each."""
        return np.concatenate([block[i] for _, block in self.blocks()], axis=-1)

    def total(self) -> FloatArray:
        """Sum of each row: 1 up to rounding, or the channel is not one."""
        total = np.zeros(self.n_inputs)
        for _, block in self.blocks():
            total += block.sum(axis=1)
        return total


def read(channel: Channel, first: Reader, *others: BlockReader) -> Reader:
    """Show every block to all readers: it is computed once, however many look at it. The first is handed back."""
    readers: tuple[BlockReader, ...] = (first, *others)
    for part, block in channel.blocks():
        for reader in readers:
            reader.add(part, block)
    return first


def channel_from_matrix(
    name: str, matrix: FloatArray, outputs: Outputs, row_of_place: IntArray, *, sound: bool = True
) -> Channel:
    """A channel from a whole table of probabilities (inputs, outputs)."""
    if matrix.ndim != 2 or matrix.shape[1] != outputs.n:
        raise InputError(f"'matrix' must have one column an output ({outputs.n}), got shape {matrix.shape}")
    if matrix.shape[0] != int(row_of_place.max()) + 1:
        raise InputError(f"'matrix' must have one row an input ({int(row_of_place.max()) + 1}), got {matrix.shape[0]}")
    if not (np.all(matrix >= 0) and np.allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-9)):
        raise InputError("'matrix' must hold probabilities >= 0 with rows that sum to 1")
    return Channel(name, row_of_place, outputs, lambda start, stop: matrix[:, start:stop], sound)
