# SPDX-License-Identifier: Apache-2.0
"""Stays, recurrent places and made-up commuters."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic.errors import InputError, MissingExtraError
from geoelastic.evaluation.commuters import synthetic_commuters
from geoelastic.fences.places import Stay, find_places, find_stays, local_clock, weighted_median
from geoelastic.sources.traces import Trace, haversine_m, read_traces

GEOLIFE = Path(__file__).parents[2] / "shared" / "data" / "gps" / "geolife_sample_skmob.txt.gz"
MONDAY = datetime(2026, 3, 2, tzinfo=UTC).timestamp()
HOUR = 3600.0
M = 1 / 111_195  # a metre in degrees of latitude


def trace_of(rows):
    """A trace from (hours since Monday, metres north, metres east at the equator)."""
    table = np.array(sorted(rows), dtype=float)
    return Trace("", table[:, 1] * M, 10 + table[:, 2] * M, MONDAY + HOUR * table[:, 0])


def days_of(days, plan):
    """`plan`: (begin hour, end hour, north, east) of each stay, with a fix every quarter of an hour."""
    return [(24 * d + h, n, e) for d in days for b, end, n, e in plan for h in np.arange(b, end + 0.01, 0.25)]


def slow_stays(trace, radius_m=200, min_s=1200, gap_s=18 * HOUR):
    """The definition, word by word."""
    stays, i = [], 0
    while i < len(trace):
        j = i + 1
        while (
            j < len(trace)
            and haversine_m(trace.lat[i], trace.lon[i], trace.lat[j], trace.lon[j]) <= radius_m
            and trace.time_s[j] - trace.time_s[j - 1] <= gap_s
        ):
            j += 1
        if trace.time_s[j - 1] - trace.time_s[i] >= min_s:
            stays.append((trace.time_s[i], trace.time_s[j - 1]))
            i = j
        else:
            i += 1
    return stays


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0.01, 25), st.sampled_from([0, 30, 150, 190, 210, 390]), st.sampled_from([0, 60, 140, 1000])
        ),
        min_size=1,
        max_size=25,
    )
)
def test_stays_are_those_of_the_definition(rows):
    hours = np.cumsum([row[0] / 10 for row in rows])
    trace = trace_of([(h, n, e) for h, (_, n, e) in zip(hours, rows, strict=True)])
    assert [(s.begin_s, s.end_s) for s in find_stays(trace)] == slow_stays(trace)


def test_a_silent_logger_is_at_home():
    walk = [(18 + k / 360, 1000 - 14 * k, 0) for k in range(72)]  # arrives at north 0 after 12 minutes
    back = [(32 + k / 360, 14 * k, 0) for k in range(72)]
    (stay,) = find_stays(trace_of(walk + back))
    assert abs(stay.lat / M) < 20
    assert stay.hours == pytest.approx(13.8, abs=0.2)


def test_a_long_silence_ends_a_stay():
    rows = [(0, 0, 0), (1, 0, 0), (40, 0, 0), (41, 0, 0)]
    assert [s.hours for s in find_stays(trace_of(rows))] == [1, 1]
    assert [s.hours for s in find_stays(trace_of(rows), max_gap_hours=48)] == [41]


def test_stays_across_the_180th_meridian():
    lon = np.array([179.9995, -179.9998, 179.9999, -179.9999, 180.0])
    (stay,) = find_stays(Trace("", np.zeros(5), lon, np.arange(5) * 1800.0))
    assert min(abs(stay.lon - 180), abs(stay.lon + 180)) < 0.0006


def test_weighted_median():
    assert weighted_median(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 1.0])) == 3
    assert weighted_median(np.array([5.0, 1.0, 3.0]), np.array([10.0, 1.0, 1.0])) == 5
    assert weighted_median(np.array([7.0]), np.array([0.0])) == 7


HOME, WORK, GYM, FLAT = (0, 0), (3000, 0), (0, 4000), (9000, 9000)


def labels(rows, **options):
    return [
        (p.label, round(p.lat / M, -2), round((p.lon - 10) / M, -2)) for p in find_places(trace_of(rows), **options)
    ]


def test_home_work_and_a_third_place():
    rows = days_of(range(5), [(0, 7, *HOME), (8, 17, *WORK), (18, 19, *GYM), (20, 23.9, *HOME)])
    places = find_places(trace_of(rows), timezone="UTC")
    assert [(p.label, p.days, p.nights, p.workdays) for p in places] == [
        ("home", 5, 5, 0), ("work", 5, 0, 5), ("place", 5, 0, 0),
    ]  # fmt: skip
    assert labels(rows) == [("home", *HOME), ("work", *WORK), ("place", *GYM)]


def test_a_second_home_is_a_home():
    rows = days_of(range(5), [(0, 7, *HOME), (8, 17, *WORK), (19, 23.9, *HOME)])
    rows += days_of((5, 6, 12, 13), [(0, 23.9, *FLAT)]) + days_of(range(7, 12), [(0, 7, *HOME), (8, 17, *WORK)])
    assert labels(rows) == [("home", *HOME), ("home", *FLAT), ("work", *WORK)]


def test_working_hours_are_not_those_of_the_weekend():
    rows = days_of((5, 6, 12, 13), [(0, 8, *HOME), (9, 17, *WORK)])
    assert [(p.label, p.workdays) for p in find_places(trace_of(rows))] == [("home", 0), ("place", 0)]


def test_the_time_zone_turns_day_into_night():
    rows = days_of(range(5), [(0, 8, *HOME), (9, 17, *WORK)])
    assert labels(rows, timezone="UTC") == [("home", *HOME), ("work", *WORK)]
    assert labels(rows, timezone="Asia/Tokyo") == [("home", *WORK), ("work", *HOME)]
    with pytest.raises(InputError, match="'timezone' must be a name such as Europe/Paris, got 'Mars/Base'"):
        labels(rows, timezone="Mars/Base")


def test_clocks():
    summer, winter = (datetime(2026, month, 1, 12, tzinfo=UTC).timestamp() for month in (7, 1))
    paris = local_clock("Europe/Paris", 0.0)
    assert (paris(summer) - summer, paris(winter) - winter) == (2 * HOUR, HOUR)
    assert local_clock(None, 116.3)(0) == 8 * HOUR
    assert local_clock(None, -123.1)(0) == -8 * HOUR


def test_places_on_two_continents():
    """A flight across the world: the places on both sides are found, and nothing in between."""
    lat = np.concatenate([np.full(200, 48.85), np.linspace(48, -33, 20), np.full(200, -33.87)])
    lon = np.concatenate([np.full(200, 2.35), np.linspace(3, 151, 20), np.full(200, 151.2)])
    time_s = MONDAY + np.concatenate([np.arange(200), 200 + np.arange(20), 221 + np.arange(200)]) * 1800.0
    places = find_places(Trace("", lat, lon, time_s))
    assert sorted((round(p.lat), round(p.lon)) for p in places) == [(-34, 151), (49, 2)]


def test_traces_that_show_nothing():
    with pytest.raises(InputError, match="at least two fixes to show a stay, got 1"):
        find_places(trace_of([(0, 0, 0)]))
    with pytest.raises(InputError, match="at least two fixes to show a stay, got 0"):
        find_places(Trace("", np.zeros(0), np.zeros(0), np.zeros(0)))
    with pytest.raises(InputError, match="100 fixes but no stay"):
        find_places(trace_of([(k / 60, 500 * k, 0) for k in range(100)]))
    with pytest.raises(InputError, match="1 stays on 1 days but no recurrent place"):
        find_places(trace_of([(10 + k / 4, 0, 0) for k in range(20)]))
    with pytest.raises(InputError, match="'min_days' must be"):
        find_places(trace_of([(0, 0, 0), (1, 0, 0)]), min_days=0)


def test_one_recurrent_place_from_as_few_days_as_asked():
    rows = days_of((0, 1), [(0, 6, *HOME)])
    assert labels(rows, min_days=2) == [("home", *HOME)]
    with pytest.raises(InputError, match="no recurrent place"):
        labels(rows)


def test_clustering_needs_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(MissingExtraError, match=r"scikit-learn.*pip install 'geoelastic\[traces\]'"):
        labels(days_of(range(4), [(0, 6, *HOME)]))


def test_a_stay_knows_its_length():
    assert Stay(0, 0, 0, 5400).hours == 1.5


def test_homes_of_commuters_are_found():
    people = synthetic_commuters(20, seed=5)
    errors = []
    for person in people:
        places = {p.label: p for p in reversed(find_places(person.trace))}
        errors.append(
            [
                float(haversine_m(*truth, places[k].lat, places[k].lon))
                for k, truth in (("home", person.home), ("work", person.work))
            ]
        )
    home, work = np.array(errors).T
    assert np.count_nonzero(home <= 200) >= 18
    assert np.count_nonzero(work <= 200) >= 18
    assert np.median(home) < 50


def test_commuters_are_the_same_for_the_same_seed_and_anywhere():
    first, again, other = (synthetic_commuters(1, seed=s, days=3)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(first.trace.lat, again.trace.lat)
    assert first.home == again.home != other.home
    far = synthetic_commuters(2, seed=1, days=5, lat=-41.3, lon=174.8)
    assert all(-42 < p.home[0] < -40.5 and len(p.trace) > 100 for p in far)
    with pytest.raises(InputError, match="'count' must be"):
        synthetic_commuters(0, seed=1)


@pytest.mark.data
@pytest.mark.skipif(not GEOLIFE.exists(), reason="needs ../shared/data")
def test_geolife_users_have_a_home():
    first, second = (find_places(trace, timezone="Asia/Shanghai") for trace in read_traces(GEOLIFE))
    assert [p.label for p in first][:2] == ["home", "work"]
    assert first[0].nights >= 25
    assert first[1].workdays >= 20
    assert second[0].label == "home"
    # both lived and worked in the university quarter of Beijing
    assert all(39.9 < p.lat < 40.1 and 116.2 < p.lon < 116.4 for p in (first[0], first[1], second[0]))
