# SPDX-License-Identifier: Apache-2.0
"""What the service counts about itself, in the text format of Prometheus. Nothing in it tells who, what or where: a
request is its method, the template of its route and its status."""

from __future__ import annotations

import mmap
import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

_METHODS = frozenset(["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"])
#: Upper ends of the classes of times, in seconds.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass
class Meter:
    """Counts since the start of a process."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    classes: Counter[float] = field(default_factory=Counter)
    seconds: float = 0.0
    reports: int = 0
    in_progress: int = 0

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request that was answered."""
        self.requests[method if method in _METHODS else "other", route, status] += 1
        self.seconds += seconds
        self.classes[next((end for end in _SECONDS if seconds <= end), float("inf"))] += 1

    def __add__(self, other: Meter) -> Meter:
        return Meter(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Meter)))

    def text(self) -> str:
        """All of it, to be scraped."""
        lines = ["# TYPE geoelastic_requests_total counter"]
        for (method, route, status), count in sorted(self.requests.items()):
            lines.append(f'geoelastic_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE geoelastic_request_seconds histogram")
        total = 0
        for end in (*_SECONDS, float("inf")):
            total += self.classes[end]
            shown = "+Inf" if end == float("inf") else repr(end)
            lines.append(f'geoelastic_request_seconds_bucket{{le="{shown}"}} {total}')
        lines += [f"geoelastic_request_seconds_sum {self.seconds:.6f}", f"geoelastic_request_seconds_count {total}"]
        lines += ["# TYPE geoelastic_reports_total counter", f"geoelastic_reports_total {self.reports}"]
        lines += ["# TYPE geoelastic_requests_in_progress gauge", f"geoelastic_requests_in_progress {self.in_progress}"]
        return "\n".join(lines) + "\n"


class Board:
    """Memory that processes share, with a place for the counts of each: whichever is asked can tell them all.

    A place holds two copies, written in turns, and which of them is whole: a reader never sees half of one.
    """

    _SIZE = 1 << 16

    def __init__(self, places: int) -> None:
        self._places = places
        self._memory = mmap.mmap(-1, places * (1 + 2 * self._SIZE))

    def write(self, place: int, meter: Meter) -> None:
        """The counts of one process, for the others. Routes and statuses are few: they fit."""
        start = place * (1 + 2 * self._SIZE)
        turn = 2 if self._memory[start] == 1 else 1
        content = pickle.dumps(meter)
        if len(content) <= self._SIZE:
            at = start + 1 + (turn - 1) * self._SIZE
            self._memory[at : at + len(content)] = content
            self._memory[start] = turn

    def others(self, place: int) -> Sequence[Meter]:
        """The counts of all processes but this one, as they last wrote them."""
        found: list[Meter] = []
        for other in range(self._places):
            start = other * (1 + 2 * self._SIZE)
            turn = self._memory[start]
            if other != place and turn:
                at = start + 1 + (turn - 1) * self._SIZE
                found.append(pickle.loads(self._memory[at : at + self._SIZE]))
        return found
