# SPDX-License-Identifier: Apache-2.0
"""Whole distances from the locations that traces visit, kept for a while: a day sees the same few again and again."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from ..arrays import IndexArray, IntArray
from ..metric import AnyMetric
from ..metric.threads import worker_count

__all__ = ["Searches"]

_KEPT_BYTES = 1 << 28


class Searches:
    """Rows of distances by location, in memory only."""

    def __init__(self, metric: AnyMetric, *, workers: int | None = None) -> None:
        self._metric, self._workers = metric, workers
        self._rows: OrderedDict[int, IndexArray] = OrderedDict()

    def __call__(self, places: IntArray) -> dict[int, IndexArray]:
        """The rows of these locations."""
        wanted = [int(place) for place in places]
        missing = [place for place in wanted if place not in self._rows]
        found = self._search(missing) if missing else {}
        rows = {place: found[place] if place in found else self._rows[place] for place in wanted}
        self._keep(rows)
        return rows

    def _search(self, places: list[int]) -> dict[int, IndexArray]:
        threads = min(worker_count(self._workers), len(places))
        with ThreadPoolExecutor(threads) as pool:
            return dict(zip(places, pool.map(self._metric.distance_units_from, places), strict=True))

    def _keep(self, rows: dict[int, IndexArray]) -> None:
        for place, row in rows.items():
            self._rows[place] = row
            self._rows.move_to_end(place)
        most = max(1, _KEPT_BYTES // (4 * self._metric.n))
        while len(self._rows) > most:
            self._rows.popitem(last=False)
