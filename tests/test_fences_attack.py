# SPDX-License-Identifier: Apache-2.0
"""The endpoint attack: right where it must be right, and much worse on our fences than on centred circles."""

from __future__ import annotations

import numpy as np
import pytest

from geoelastic.area import Area
from geoelastic.errors import InputError
from geoelastic.evaluation.fence_attack import (
    ESTIMATORS,
    attack,
    compare_with_circle,
    drawn_fences,
    given_fences,
    known_cases,
    trace_cases,
    visible_endpoints,
)
from geoelastic.fences.crowds import area_crowd
from geoelastic.fences.places import Place
from geoelastic.fences.shapes import disc
from geoelastic.randomness import SeededRandom
from geoelastic.sources.traces import Trace, read_traces

LAT, LON = 48.85, 2.35
PLANE = Area.around(LAT, LON, size_km=20)


def walks(angles, *, goal=(0.0, 0.0), reach_m=2000.0, pause_s=3600.0):
    """Straight ways from a circle around the fence to the goal and back, at 5 m/s with a fix every 2 s."""
    rows, now = [], 0.0
    for angle in angles:
        start = reach_m * np.array([np.cos(angle), np.sin(angle)])
        steps = np.arange(0, 1, 10 / np.hypot(*(start - goal)))
        for share, wait in ((steps, pause_s), (1 - steps, 7200.0)):
            xy = start + share[:, None] * (np.array(goal) - start)
            rows.append(np.column_stack([xy, now + 2.0 * np.arange(len(xy))]))
            now = rows[-1][-1, 2] + wait
    x, y, time_s = np.vstack(rows).T
    lat, lon = PLANE.to_latlon(x, y)
    return Trace("", lat, lon, time_s)


def small_fences(rng, margin_m=300.0):
    return drawn_fences(lambda p: area_crowd(p.lat, p.lon, margin_m=margin_m, cell_m=150), rng=rng)


def place_at(x, y):
    lat, lon = PLANE.to_latlon(x, y)
    return float(lat), float(lon)


def test_endpoints_lie_just_outside_and_point_inwards():
    seen, _ = visible_endpoints(walks([0.3, 2.0, 4.0]), disc(LAT, LON, 700))
    assert len(seen) == 6
    radius = np.hypot(*seen.xy.T)
    assert np.all((radius > 699) & (radius < 712))
    np.testing.assert_allclose(seen.inward, -seen.xy / radius[:, None], atol=1e-2)
    np.testing.assert_allclose(np.hypot(*seen.far.T), 2000, atol=12)


def test_a_passage_is_no_endpoint():
    lat, lon = PLANE.to_latlon(np.linspace(-2000, 2000, 400), np.full(400, 100.0))
    seen, _ = visible_endpoints(Trace("", lat, lon, np.arange(400) * 2.0), disc(LAT, LON, 700))
    assert len(seen) == 0


def test_a_centred_circle_is_seen_through():
    errors = attack(walks(np.linspace(0, 5, 7)), disc(LAT, LON, 700), (LAT, LON))
    assert errors.keys() == ESTIMATORS.keys()
    assert errors["centre of the fence"] < 1
    assert errors["circle through the endpoints"] < 10
    # from one side only the circle still gives it away
    errors = attack(walks([0.0, 0.4, 0.8]), disc(LAT, LON, 700), (LAT, LON))
    assert errors["circle through the endpoints"] < 100
    assert errors["mean of the endpoints"] > 500


def test_straight_ways_meet_at_an_off_centre_place():
    goal = (200.0, -250.0)
    errors = attack(walks(np.linspace(0, 5, 9), goal=goal), disc(LAT, LON, 700), place_at(*goal))
    assert errors["centre of the fence"] == pytest.approx(np.hypot(*goal), abs=1)
    assert errors["where the headings meet"] < 40
    assert errors["least detour"] < 60


def test_without_endpoints_the_guess_is_the_centre():
    far = Trace("", np.full(5, 10.0), np.full(5, 10.0), np.arange(5) * 60.0)
    errors = attack(far, disc(LAT, LON, 500), place_at(300, 0))
    assert all(error == pytest.approx(300, abs=1) for error in errors.values())


def test_ours_are_clearly_harder_than_centred_circles():
    cases = known_cases(6, seed=3)
    result = compare_with_circle(cases, small_fences(SeededRandom(2)))
    assert result["attacks"] == 12
    assert result["ok"]
    assert result["best"]["circle"]["median_m"] < 30
    assert result["estimators"]["circle"]["circle through the endpoints"]["within_100_m"] > 0.7
    assert result["best"]["ours"]["median_m"] > 250
    assert max(row["within_100_m"] for row in result["estimators"]["ours"].values()) < 0.4


def test_the_margin_is_what_keeps_tracks_away():
    """Without it the place is often next to the border, and endpoints give it away."""
    cases = known_cases(4, seed=4)
    median = {
        margin_m: compare_with_circle(cases, small_fences(SeededRandom(5), margin_m))["best"]["ours"]["median_m"]
        for margin_m in (0.0, 300.0)
    }
    assert median[300.0] > 1.3 * median[0.0]


def test_given_fences_are_attacked_as_they_are():
    trace = walks(np.linspace(0, 5, 7))
    inside, outside = (Place("home", *place_at(x, 0.0), 0, 0, 0) for x in (0.0, 5000.0))
    result = compare_with_circle([(trace, inside), (trace, outside)], given_fences([disc(LAT, LON, 700)]))
    assert result["attacks"] == 1
    assert result["median_area_km2"] == pytest.approx(np.pi * 0.49, rel=0.01)
    assert not result["ok"]  # a circle is no better than a circle
    with pytest.raises(InputError, match="got 1 places outside all of them"):
        compare_with_circle([(trace, outside)], given_fences([disc(LAT, LON, 700)]))


def test_traces_without_a_home_cannot_be_attacked():
    noon = np.concatenate([d * 86_400 + 12 * 3600 + np.arange(0, 3000, 300.0) for d in range(4)])
    trace = Trace("", np.full(len(noon), 0.5), np.full(len(noon), 0.5), noon)
    with pytest.raises(InputError, match="must show a home or a workplace to attack, got 1 other places"):
        trace_cases([trace])


@pytest.mark.data
def test_geolife_homes_are_harder_to_find_in_ours(data_dir):
    cases = trace_cases(read_traces(data_dir / "gps" / "geolife_sample_skmob.txt.gz"), timezone="Asia/Shanghai")
    assert len(cases) >= 3
    assert all(isinstance(place, Place) for _, place in cases)
    result = compare_with_circle(cases, small_fences(SeededRandom(1)), draws=2)
    assert result["best"]["circle"]["median_m"] < 30
    assert result["best"]["ours"]["median_m"] > 250
