# SPDX-License-Identifier: Apache-2.0
"""Opening hours at a given local time, so that day and night get their own grids."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError, MissingExtraError

__all__ = ["Hours", "open_factor", "parse_moment"]

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
    try:
        from opening_hours import OpeningHours
    except ImportError:
        raise MissingExtraError("opening-hours-py", "osm") from None
    factors = np.empty(len(texts) + 1)
    kinds = np.empty(len(texts) + 1, dtype=np.int64)
    factors[-1], kinds[-1] = hours.unknown, 2
    for i, text in enumerate(texts):
        try:
            known = OpeningHours(text)
            kinds[i] = 0 if known.is_open(moment) else 1 if known.is_closed(moment) else 2
        except Exception:  # the parser's own exception class has changed between its versions
            factors[i], kinds[i] = hours.unknown, 3
            continue
        factors[i] = (1.0, hours.closed, hours.unknown)[kinds[i]]
    count = np.bincount(kinds[index], minlength=4)
    names = ("open", "closed", "hours unknown", "hours unreadable")
    return factors[index], {name: int(n) for name, n in zip(names, count, strict=True)}
