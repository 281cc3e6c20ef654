# SPDX-License-Identifier: Apache-2.0
"""A week of browsing: what is told in it, and that those who know it all know it all."""

from __future__ import annotations

import numpy as np
import pytest

import vectors
from geoelastic.errors import InputError
from geoelastic.evaluation.browsing import DAYS, WEEKLY, browsing_rows, week_of
from geoelastic.metric import Metric
from geoelastic.opening import load
from geoelastic.sources.traces import Trace

pytestmark = pytest.mark.jit
HOME, WORK = (700.0, -900.0), (-1200.0, 800.0)


@pytest.fixture(scope="module")
def metric() -> Metric:
    whole = load(vectors.SHARP).whole()
    assert isinstance(whole, Metric)
    return whole


def commuter(metric: Metric, *, days: int = 9) -> Trace:
    """Home but from nine to five, where there is a fix every minute on the first days, and on the others two a day."""
    lon = metric.grid.area.middle[1]
    offset = 3600.0 * round(lon / 15)
    hours = [np.arange(0, 24, 1 / 60) if day < 8 else np.array([8.0, 9.0]) for day in range(days)]
    hour = np.concatenate(hours)
    day = np.repeat(np.arange(days), [one.size for one in hours])
    at_work = (hour >= 9) & (hour < 17)
    xy = np.where(at_work[:, None], WORK, HOME)
    lats, lons = metric.grid.area.to_latlon(xy[:, 0], xy[:, 1])
    return Trace("one", np.asarray(lats), np.asarray(lons), (20_000 + day) * 86_400.0 + hour * 3600 - offset)


def test_a_week_is_the_one_that_is_known_best(metric: Metric) -> None:
    week = week_of(commuter(metric), metric.grid.area, seed=1)
    assert week.xy.shape == (140, 2)
    assert week.home == pytest.approx(HOME, abs=1)
    at_home = np.hypot(*(week.xy - HOME).T) < 1
    assert np.all(at_home[week.night])
    assert np.all(np.hypot(*(week.xy[~at_home] - WORK).T) < 1)
    assert 25 < np.sum(~at_home) < 70  # a third of the day
    with pytest.raises(InputError, match=f"at least {DAYS} days"):
        week_of(commuter(metric, days=6), metric.grid.area, seed=1)


def test_two_places_cost_two_reports_and_a_fence_says_no_more_than_itself(metric: Metric) -> None:
    """By hand: a commuter has two places, so two sticky reports; of a fence nothing is seen inside."""
    week = week_of(commuter(metric), metric.grid.area, seed=1)
    rows = {row["what_stands_between"]: row for row in browsing_rows(metric, [week], runs=8, area_km=2)}
    none, exact, guard, _, fresh, sticky, fenced = rows.values()
    assert (exact["guess_off_m"], exact["found"], exact["told"]) == (0, 1.0, 140)
    assert (none["told"], none["found"]) == (0, 0.0)
    assert sticky["told"] == fenced["told"] == fresh["told"] == 140
    assert (sticky["fresh"], fenced["fresh"], fresh["fresh"]) == (2, 2, 140)
    # whoever knows the fence guesses inside it, by where people are: every week the same
    assert fenced["found"] in (0.0, 1.0)
    assert fenced["guess_off_m"] < 600
    # fifty fresh reports from home give it away, one does not
    assert max(guard["guess_off_m"], fresh["guess_off_m"]) < 0.5 * sticky["guess_off_m"]
    assert guard["sites_are_off_m"] == pytest.approx(500, rel=0.15)
    assert WEEKLY > 2


def test_a_week_that_is_used_up_tells_nothing_more(metric: Metric) -> None:
    """Somebody who is always elsewhere has 60 answers."""
    trace = commuter(metric)
    rng = np.random.default_rng(2)
    secret = np.flatnonzero(metric.secret & (metric.fence == 0))
    lat, lon = np.array([metric.latlon(int(i)) for i in rng.choice(secret, len(trace.lat))]).T
    week = week_of(Trace("two", lat, lon, trace.time_s), metric.grid.area, seed=3)
    rows = {row["what_stands_between"]: row for row in browsing_rows(metric, [week], runs=1, area_km=2)}
    sticky = rows["the extension: sticky reports"]
    assert sticky["fresh"] == WEEKLY
    assert WEEKLY <= sticky["told"] < 140
