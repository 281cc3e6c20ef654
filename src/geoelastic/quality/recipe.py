# SPDX-License-Identifier: Apache-2.0
"""`Recipe`: which features count and how much, as data (TOML) rather than code. Settings are described in
``docs/recipes.md``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError, import_extra
from ..sources.features import TagRule
from ..sources.vector import SourceTable

#: what stays of the quality where a prior says that nobody goes
DEFAULT_FLOOR = 0.1


@dataclass(frozen=True)
class Match:
    """Map objects that count, and how much each."""

    rule: TagRule
    weight: float


@dataclass(frozen=True)
class Layer:
    """One addend of the quality: objects of the map (`matches`) or a file (`file`)."""

    name: str
    weight: float
    matches: tuple[Match, ...] = ()
    file: SourceTable | None = None
    levels: bool = False
    levels_unknown: float = 1.0
    levels_most: float = 100.0
    credit: str = ""


@dataclass(frozen=True)
class Diversity:
    """Quality of the named layers is multiplied by D^strength, D the Hill number of `order` over the classes in the
    cell.
    """

    order: float
    strength: float
    layers: tuple[str, ...]


@dataclass(frozen=True)
class Sensitive:
    """A cell whose share s comes from one group is worth 1 - (1 - cover) s^2 of its quality."""

    cover: float
    groups: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class RecipePrior:
    """How likely this group of users is to be in each cell; `floor` of the quality stays where they never are."""

    file: SourceTable | None
    floor: float
    smooth_m: float


@dataclass(frozen=True)
class Cap:
    """No cell counts for more than this: a value, a quantile of the cells that have any, or mean + k standard
    deviations.
    """

    rule: str
    amount: float


@dataclass(frozen=True)
class Recipe:
    """What counts, how much, and what is done to the sum. `spread_m`: in the end each cell's quality is spread over its
    surroundings by a Gaussian of this standard deviation."""

    name: str
    about: str
    layers: tuple[Layer, ...]
    diversity: Diversity | None = None
    hours: Hours | None = None
    spread_m: float = 0.0
    sensitive: Sensitive | None = None
    prior: RecipePrior | None = None
    cap: Cap | None = None
    centre: tuple[float, float] | None = None
    size_km: float | None = None
    cell_m: float | None = None
    city: tuple[float, float, float] | None = None
    folder: Path = field(default_factory=Path)

    def opens(self, layer: Layer) -> bool:
        """Whether what is in a layer opens and closes: a building stays where it is at night."""
        if self.hours is not None and self.hours.layers:
            return layer.name in self.hours.layers
        return bool(layer.matches) and all(match.rule.key != "building" for match in layer.matches)

    @property
    def reads_map(self) -> bool:
        """Whether a layer needs the OpenStreetMap data that the caller names."""
        return any(layer.file is None for layer in self.layers)


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: a Monday in a week without public holidays in most of the world and with ordinary seasonal hours
_REFERENCE_MONDAY = dt.datetime(2026, 3, 9)


@dataclass(frozen=True)
class Hours:
    """Named local times; a feature counts for `closed` when it is closed then and for `unknown` if it has no hours.

    `layers`: which layers open and close; none named means all layers of the map that have no rule for buildings.
    """

    times: Mapping[str, dt.datetime] = field(default_factory=dict)
    unknown: float = 1.0
    closed: float = 0.0
    default: str | None = None
    layers: tuple[str, ...] = ()

    def moment(self, at: str | dt.datetime | None) -> dt.datetime | None:
        """The time that `at` names (a name of the recipe, a weekday with a time, a date with a time), None for no
        time.
        """
        at = self.default if at is None else at
        if at is None or isinstance(at, dt.datetime):
            return at
        return self.times[at] if at in self.times else parse_moment(at, names=tuple(self.times))


def parse_moment(text: object, *, names: Sequence[str] = ()) -> dt.datetime:
    """'Tue 14:00' (in an ordinary week) or '2026-11-17T14:00', as a local time."""
    if isinstance(text, dt.datetime):
        return text.replace(tzinfo=None)
    found = re.fullmatch(r"([A-Za-z]{3})[a-z]* +(\d{1,2}):(\d{2})", str(text).strip())
    if found and found[1].lower() in _DAYS and int(found[2]) < 24 and int(found[3]) < 60:
        day = _DAYS.index(found[1].lower())
        return _REFERENCE_MONDAY + dt.timedelta(days=day, hours=int(found[2]), minutes=int(found[3]))
    try:
        return dt.datetime.fromisoformat(str(text)).replace(tzinfo=None)
    except ValueError:
        also = f", or one of {', '.join(map(repr, names))}" if names else ""
        raise InputError(f"'at' must be a time such as 'Tue 14:00' or '2026-11-17T14:00'{also}, got {text!r}") from None


def open_factor(
    texts: Sequence[str], index: IntArray, hours: Hours, moment: dt.datetime
) -> tuple[FloatArray, dict[str, int]]:
    """What each feature counts for at `moment`, and how many were open, closed, without hours and with unreadable
    ones.
    """
    opening_hours = import_extra("opening_hours", "osm", package="opening-hours-py")
    factors = np.empty(len(texts) + 1)
    kinds = np.empty(len(texts) + 1, dtype=np.int64)
    factors[-1], kinds[-1] = hours.unknown, 2
    for i, text in enumerate(texts):
        try:
            known = opening_hours.OpeningHours(text)
            kinds[i] = 0 if known.is_open(moment) else 1 if known.is_closed(moment) else 2
        except Exception:  # the parser's own exception class has changed between its versions
            factors[i], kinds[i] = hours.unknown, 3
            continue
        factors[i] = (1.0, hours.closed, hours.unknown)[kinds[i]]
    count = np.bincount(kinds[index], minlength=4)
    names = ("open", "closed", "hours unknown", "hours unreadable")
    return factors[index], {name: int(n) for name, n in zip(names, count, strict=True)}
