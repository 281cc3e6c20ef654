# SPDX-License-Identifier: Apache-2.0
"""`Context`: lines and names in whole metres from the middle of a map, as plain columns; nothing depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import ByteArray, IndexArray, Locked
from ..errors import FileError
from ..store import schema

#: What a line is, by its number; of water it is a ring, and all its rings are filled together by the even-odd rule.
KINDS = ("", "water", "river", "coast", "road", "street")
#: Corners and names that a map may have, letters of a name, and ranks: 0 is a city, 3 a neighbourhood.
CORNERS, NAMES, TEXT, RANKS = 2**16, 100, 80, 4
#: the least corners of a line and of a ring
LEAST_LINE, LEAST_RING = 2, 3


class Name(NamedTuple):
    """What a place is called, in metres from the middle of the map; the lower the rank, the better known."""

    x: int
    y: int
    rank: int
    text: str


@dataclass(frozen=True, eq=False)
class Context(Locked):
    """`begins`: at the first corner of each line what it is, by its number in `KINDS`, and 0 at its others."""

    begins: ByteArray
    x: IndexArray
    y: IndexArray
    names: tuple[Name, ...] = ()

    def __repr__(self) -> str:
        return f"Context({np.count_nonzero(self.begins)} lines of {self.x.size} corners, {len(self.names)} names)"

    def lines(self, kind: str) -> Iterator[IndexArray]:
        """The corners of each line of a kind, (corners, 2)."""
        first = np.flatnonzero(self.begins)
        corners = np.column_stack([self.x, self.y])
        for begin, end in pairwise([*first, self.x.size]):
            if self.begins[begin] == KINDS.index(kind):
                yield corners[begin:end]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a page: by kind, lists of x, y, x, y, ... in metres; and the names."""
        lines = {kind: [line.ravel().tolist() for line in self.lines(kind)] for kind in KINDS[1:]}
        return {"lines": lines, "names": [list(name) for name in self.names]}


def context_to_parts(context: Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """An entry of a file's manifest, and columns of a table."""
    names = [list(name) for name in context.names]
    return {"names": names}, {"begins": context.begins, "x": context.x, "y": context.y}


def context_from_parts(entry: Any, columns: Mapping[str, npt.NDArray[Any]], width_m: float, height_m: float) -> Context:
    """The context that a file describes, of a map of this size; `FileError` names what is not as it must be."""
    schema.closed(entry, "context", needs=("names",))
    schema.closed(dict.fromkeys(columns), "context", needs=("begins", "x", "y"))
    size = columns["begins"].size
    if size > CORNERS or any(columns[name].shape != (size,) for name in ("x", "y")):
        raise FileError(f"'begins', 'x' and 'y' of the context must be equally long, at most {CORNERS}")
    most = int(width_m // 2), int(height_m // 2)
    begins = schema.within(columns, "begins", 0, len(KINDS) - 1)
    x, y = (schema.within(columns, name, -limit, limit) for name, limit in zip("xy", most, strict=True))
    first = np.flatnonzero(begins)
    if size and begins[0] == 0:
        raise FileError("the first corner of the context must begin a line")
    if np.any(np.diff(np.append(first, size)) < np.where(begins[first] == 1, LEAST_RING, LEAST_LINE)):
        raise FileError(f"a line of the context must have {LEAST_LINE} corners or more, a ring {LEAST_RING}")
    names = [_name(each, most) for each in schema.listed(entry["names"], "names", most=NAMES)]
    return Context(begins.astype(np.uint8), x.astype(np.int32), y.astype(np.int32), tuple(names))


def _name(given: Any, most: tuple[int, int]) -> Name:
    x, y, rank, text = schema.listed(given, "name", least=4, most=4)
    east, north = schema.whole(x, "x", -most[0], most[0]), schema.whole(y, "y", -most[1], most[1])
    said = schema.text(text, "name")
    if not (1 <= len(said) <= TEXT and said.isprintable()):
        raise FileError(f"a name must have 1 to {TEXT} letters that can be printed")
    return Name(east, north, schema.whole(rank, "rank of a name", 0, RANKS - 1), said)
