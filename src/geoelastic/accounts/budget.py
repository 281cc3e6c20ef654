# SPDX-License-Identifier: Apache-2.0
"""`Budget`: what the reports of one user may cost together, ever or in a window of time. Beyond it, none is released.

What counts is the smaller of both bounds (`accounting`), for places at a stated distance from each other. A window ends
at the report in question: if each report keeps the window before it within the budget, every window of that length is.
Hours are counted whole, so that a window is up to an hour longer than asked for, never shorter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import CheckError, InputError, require_positive
from ..levels import LN2
from .accounting import DELTA
from .ledger import KEPT_HOURS, Ledger, this_hour


@dataclass(frozen=True)
class Budget:
    """`most` is the largest cost at distance `level` of all reports within `hours` hours (None: of all)."""

    most: float
    level: float = LN2
    hours: int | None = None
    delta: float = DELTA

    def __post_init__(self) -> None:
        require_positive("budget", self.most)
        require_positive("level", self.level)
        if self.hours is not None and not 1 <= self.hours <= KEPT_HOURS:
            raise InputError(f"the window of a budget must be 1 to {KEPT_HOURS} hours, got {self.hours!r}")

    def require(self, ledger: Ledger, users: Iterable[str], *, ends: Iterable[int] | None = None) -> None:
        """Raise unless each of these users is within the budget. Names stay out of the message: any column may hold
        them. `ends`: the last hours of the windows to look at, by default the one that ends now."""
        asked = list(users)
        costs = [self._cost(ledger, user, ends) for user in asked]
        over = [cost for cost in costs if not cost <= self.most]
        if over:
            window = "in all" if self.hours is None else f"within {self.hours} hours"
            who = "it" if len(asked) == 1 else f"{len(over)} of {len(asked)} users"
            raise CheckError(
                f"nothing was reported: {who} would cost {max(over):.4g} {window}, more than the budget of "
                f"{self.most:.4g} (places {self.level:.4g} apart)"
            )

    @classmethod
    def asked(cls, most: float | None, level: float, hours: int | None, ledger: str | None) -> Budget | None:
        """The budget that options stand for, if they ask for one."""
        if most is None and hours is not None:
            raise InputError("a window of time (--per) belongs to a budget: give --budget too")
        if most is not None and ledger is None:
            raise InputError("a budget needs the ledger that it is held against: give --ledger too")
        return None if most is None else cls(most, level=level, hours=hours)

    def _cost(self, ledger: Ledger, user: str, ends: Iterable[int] | None) -> float:
        if self.hours is None:
            return ledger.cost(user, self.level, delta=self.delta).best
        if ends is None:
            return ledger.cost(user, self.level, delta=self.delta, since=this_hour() - self.hours).best
        windows = [(end - self.hours, end) for end in ends]
        return max(
            (ledger.cost(user, self.level, delta=self.delta, since=a, until=b).best for a, b in windows), default=0.0
        )
