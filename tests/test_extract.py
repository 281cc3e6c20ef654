# SPDX-License-Identifier: Apache-2.0
"""Extracts are private by themselves and small; portable files come back as they were and notice any damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError, OutsideError
from geoelastic.mechanism.geox_mechanism import load_mechanism, mechanism_bytes, save_mechanism
from geoelastic.metric.extract import extract
from geoelastic.metric.geox_file import _arrays, _encoded, read_portable

CENTRE = (48.8567, 2.3487)


@pytest.fixture(scope="module")
def city() -> ge.Metric:
    mass = ge.mass_from_quality(ge.synthetic_quality("city", seed=2))
    fence = {
        "type": "Polygon",
        "coordinates": [[[2.345, 48.858], [2.352, 48.858], [2.352, 48.862], [2.345, 48.862], [2.345, 48.858]]],
    }
    return ge.build_metric(mass, fences=[fence])


@pytest.fixture(scope="module")
def part(city: ge.Metric) -> ge.Metric:
    return extract(city, ge.Area.around(48.85, 2.36, size_km=5))


@pytest.mark.jit
def test_cells_and_scales_are_those_of_the_map(city: ge.Metric, part: ge.Metric) -> None:
    assert part.n < 0.6 * city.n
    for i in range(0, part.n, 17):
        lat, lon = part.latlon(i)
        j = city.locate(lat, lon)
        assert city.latlon(j) == pytest.approx((lat, lon), abs=1e-10)
        assert (part.mass_units[i], part.locations.size[i]) == (city.mass_units[j], city.locations.size[j])
        assert part.scale is not None
        assert city.scale is not None
        assert part.scale[i] == city.scale[j]
        assert (part.fence[i] > 0) == (city.fence[j] > 0)


@pytest.mark.jit
def test_the_cut_is_verified_in_itself_and_its_border_is_frame(city: ge.Metric, part: ge.Metric) -> None:
    fresh = ge.verify(part)
    assert fresh["ok"]
    assert fresh["checked"] == np.count_nonzero(part.secret & (part.fence == 0)) > 100
    statement = part.info["extract"]
    assert 0 < statement["framed"] < part.n
    assert "learns" in statement["reveals"]
    # without its frame the cut would not hold: the frame is needed, not decoration
    from dataclasses import replace

    assert not ge.verify(replace(part, framed=None, certificate={}))["ok"]
    # distances in the cut are never shorter than in the map: paths outside are gone
    i = int(np.flatnonzero(part.secret & (part.fence == 0))[50])
    there = city.distance_units_from(city.locate(*part.latlon(i)))
    here = part.distance_units_from(i)
    numbers = [city.locate(*part.latlon(k)) for k in range(0, part.n, 5)]
    assert np.all(here[::5] >= there[numbers])


@pytest.mark.jit
def test_every_secret_has_the_same_outputs(part: ge.Metric) -> None:
    mechanism = ge.ElasticMechanism(part)
    outside = np.flatnonzero(part.secret & (part.fence == 0))
    supports = {tuple(np.flatnonzero(mechanism.probabilities(int(i)) > 0)) for i in outside[:: outside.size // 12]}
    assert len(supports) == 1
    i, j = int(outside[10]), int(outside[60])
    assert mechanism.loss(i, j) <= part.distances_from(i)[j] + 1e-9


@pytest.mark.jit
def test_a_fence_can_be_carved_into_an_extract(part: ge.Metric) -> None:
    ring = [[2.362, 48.846], [2.368, 48.846], [2.368, 48.850], [2.362, 48.850], [2.362, 48.846]]
    carved = part.with_fences([{"type": "Polygon", "coordinates": [ring]}])
    assert carved.fence.max() == 2
    assert ge.verify(carved)["ok"]
    frame = int(np.flatnonzero(~part.secret)[0])
    assert not carved.is_secret(carved.locate(*part.latlon(frame)))


@pytest.mark.jit
def test_files_of_an_extract_come_back(part: ge.Metric, tmp_path: Path) -> None:
    part.save(tmp_path / "p.geoelastic")
    mechanism = ge.ElasticMechanism(part)
    size = save_mechanism(mechanism, tmp_path / "p.geox")
    assert size == (tmp_path / "p.geox").stat().st_size < 40_000
    for back in (ge.load(tmp_path / "p.geoelastic"), ge.load(tmp_path / "p.geox")):
        assert np.array_equal(back.secret, part.secret)
        assert np.array_equal(back.graph.weight, part.graph.weight)
        assert back.locate(48.85, 2.36) == part.locate(48.85, 2.36)
        assert ge.verify(back)["same_graph_as_certified"]
    again = load_mechanism(tmp_path / "p.geox")
    assert np.array_equal(again.measure, mechanism.measure)
    assert mechanism_bytes(again) == (tmp_path / "p.geox").read_bytes()


@pytest.mark.jit
def test_edge_lists_can_be_cut_too() -> None:
    mass = ge.mass_from_quality(ge.synthetic_quality("city", rows=30, cols=30), r_small=200, r_large=600)
    whole = ge.build_metric(mass, method="paper", l_top=0.8)
    part = extract(whole, ge.Area.around(*CENTRE, size_km=2))
    assert part.grid.shape == (20, 20)
    assert ge.verify(part)["ok"]


@pytest.mark.jit
def test_what_cannot_be_cut_is_refused(city: ge.Metric) -> None:
    with pytest.raises(OutsideError, match="overlap"):
        extract(city, ge.Area.around(40, 2, size_km=5))
    with pytest.raises(InputError, match="larger region"):
        extract(city, ge.Area.around(*CENTRE, size_km=0.4))


@pytest.mark.jit
def test_damage_is_noticed(part: ge.Metric, tmp_path: Path) -> None:
    content = mechanism_bytes(ge.ElasticMechanism(part))
    path = tmp_path / "d.geox"
    for at in range(0, len(content), max(1, len(content) // 60)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(FileError):
            ge.load(path)
    for cut in (content[:200], content[:-1], content[:8]):
        path.write_bytes(cut)
        with pytest.raises(FileError, match="truncated"):
            read_portable(path)


@given(st.lists(st.integers(0, 2**53 - 1), max_size=40))
def test_numbers_come_back(numbers: list[int]) -> None:
    values = np.array(numbers, dtype=np.int64)
    described = [{"name": "a", "count": len(numbers)}, {"name": "b", "count": 2}]
    arrays = _arrays(described, _encoded(values, None) + _encoded(np.array([5, 3]), None))
    assert arrays["a"].tolist() == numbers
    assert arrays["b"].tolist() == [5, 3]


@pytest.mark.jit
def test_the_command_writes_both_kinds(city: ge.Metric, tmp_path: Path) -> None:
    city.save(tmp_path / "city.geoelastic")
    source = str(tmp_path / "city.geoelastic")
    for name in ("part.geox", "part.geoelastic"):
        arguments = ["extract", source, "--center", "48.85,2.36", "--size", "5", "-o", str(tmp_path / name), "--json"]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        told = json.loads(done.output)
        assert told["bytes"] == (tmp_path / name).stat().st_size
        assert told["secret"] > 100
        assert ge.load(tmp_path / name).n == told["locations"]
    whole = CliRunner().invoke(main, ["extract", source, "-o", str(tmp_path / "all.geox"), "--client", "--json"])
    assert whole.exit_code == 0, whole.output
    assert ge.load(tmp_path / "all.geox").n == city.n
    assert "installGeolocation" in (tmp_path / "geolocation.js").read_text(encoding="utf-8")
    bad = CliRunner().invoke(main, ["extract", source, "-o", str(tmp_path / "x.zip")])
    assert bad.exit_code == 2
    assert "must end in" in bad.output
