# SPDX-License-Identifier: Apache-2.0
"""`CountedReports`: all that an estimate needs of reports, counted batch by batch.

Reports that nobody is named for are counted and forgotten: what is kept of a hundred million is no more than of a
thousand. Of named ones a few bytes each are kept, since everybody counts once however often they report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from .information import sums

#: Parts into which people are divided, each left out once.
FOLDS = 5
_RESAMPLES = 1000
#: More rows of people than this are put together at random, which changes no mean and hardly a spread.
_MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Reporters:
    """Whose reports lie where, in as few rows as can be: one for each person (or handful, of very many), or, where
    everybody reported once, one for each report that `often` people made. `entry`: (row, column, weight) of each report
    or kind of report; `effective`: how many people, each counting the same, would tell as much."""

    often: FloatArray
    weight: FloatArray
    entry: tuple[IntArray, IntArray, FloatArray]
    effective: float

    @property
    def total(self) -> float:
        return float(self.often @ self.weight)

    def say(self, operator: FloatArray) -> FloatArray:
        """What each row's reports add to the shares."""
        from scipy.sparse import csr_matrix

        row, column, weight = self.entry
        held = csr_matrix((weight, (row, column)), shape=(self.often.size, operator.shape[1]))
        return np.asarray(held @ operator.T)

    def resampled(self, says: FloatArray) -> FloatArray:
        """Shares from people drawn again with replacement (bootstrap), with seeded draws."""
        rng, count = np.random.default_rng(1), round(self.often.sum())
        chance, draws = self.often / self.often.sum(), []
        for _ in range(0, _RESAMPLES, 100):
            chosen = rng.multinomial(count, chance, 100).astype(np.float64)
            draws.append(chosen @ says / (chosen @ self.weight)[:, None])
        return np.concatenate(draws)


@dataclass(frozen=True, eq=False)
class CountedReports:
    """`by_part`: the weight of the reports of each column, by the part that is left out with them; `zones`: the weight
    of those that fall into each zone, elsewhere last."""

    by_part: FloatArray
    zones: FloatArray
    people: Reporters


def count_reports(survey: Any, sources: Iterable[Iterable[Any]], *, seed: int) -> CountedReports:
    """Count batches of `ReadReports`, an iterable of them for each mechanism of a survey."""
    columns, zones, rng = survey.first_column[-1], survey.zones.n + 1, np.random.default_rng(seed)
    counts, raw = np.zeros(FOLDS * columns), np.zeros(zones)
    named: list[tuple[IntArray, IntArray, IntArray]] = []
    people = 0
    for k, batches in enumerate(sources):
        persons = 0
        for batch in batches:
            column, zone = survey.columns(k, batch), survey.zone_numbers(batch)
            if batch.person is None:
                part = rng.integers(0, FOLDS, len(batch))
                counts += np.bincount(part * columns + column, minlength=counts.size)
                raw += np.bincount(zone, minlength=zones)
            else:
                # who is in two tables is two persons
                named.append((column.astype(np.int32), zone.astype(np.int32), batch.person + people))
                persons = max(persons, int(batch.person.max()) + 1)
        people += persons
    if not named:
        return _anonymous(counts.reshape(FOLDS, columns), raw)
    if counts.any():
        raise InputError("either all reports must say whose they are or none")
    column, zone, person = (np.concatenate(part) for part in zip(*named, strict=True))
    often = np.bincount(person)
    return counted_reports(columns, zones, column, zone, person, (1 / often)[person], seed=seed)


def _anonymous(by_part: FloatArray, raw: FloatArray) -> CountedReports:
    counts = by_part.sum(axis=0)
    seen = np.flatnonzero(counts)
    one = np.ones(seen.size)
    return CountedReports(
        by_part, raw, Reporters(counts[seen], one, (np.arange(seen.size), seen, one), float(counts.sum()))
    )


def counted_reports(
    columns: int, zones: int, column: IntArray, zone: IntArray, person: IntArray, weight: FloatArray, *, seed: int
) -> CountedReports:
    """Reports of known columns and zones, of people who are numbered, each with its weight."""
    who = np.unique(person, return_inverse=True)[1]
    rng, count = np.random.default_rng(seed), int(who.max()) + 1
    part = rng.integers(0, FOLDS, count)[who]
    by_part = sums(part * columns + column, weight, FOLDS * columns).reshape(FOLDS, columns)
    each = sums(who, weight)
    effective = float(each.sum() ** 2 / (each**2).sum())
    row = who if count <= _MOST_ROWS else rng.integers(0, _MOST_ROWS, count)[who]
    held = sums(row, weight)
    people = Reporters(np.ones(held.size), held, (row, column, weight), effective)
    return CountedReports(by_part, sums(zone, weight, zones), people)
