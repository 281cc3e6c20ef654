# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geoelastic import pipeline
from geoelastic.errors import InputError
from geoelastic.mass import Linear, Quadratic, Step
from geoelastic.opening import load
from geoelastic.pipeline import Config, run

pytestmark = pytest.mark.jit  # whole metrics are built here


@pytest.fixture
def points(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    lat, lon = 48.85 + rng.normal(0, 0.003, 400), 2.35 + rng.normal(0, 0.004, 400)
    path = tmp_path / "points.csv"
    path.write_text("lat,lon\n" + "\n".join(f"{a:.6f},{b:.6f}" for a, b in zip(lat, lon, strict=True)))
    return path


def config_of(points: Path, **options: Any) -> Config:
    return Config(str(points), center=(48.85, 2.35), size_km=2, cell_m=100, l_top=0.8, **options)


class Stopped(Exception):
    pass


def stop(*_: Any, **__: Any) -> Any:
    raise Stopped


def stopped_before_building(points: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    out = folder / "out.geoelastic"
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "_build", stop)
        with pytest.raises(Stopped):
            run(config_of(points), out)
    return out


def test_a_stopped_run_is_taken_up(points: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = stopped_before_building(points, tmp_path, monkeypatch)
    assert not out.exists()
    assert [p.suffix for p in (tmp_path / "out.geoelastic.work").iterdir()] == [".parquet"]
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "quality_from_source", stop)
        metric = run(config_of(points), out)
    assert metric.certificate["ok"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.geoelastic", "points.csv"]
    assert np.array_equal(load(out).mass, metric.mass)


def test_a_changed_source_is_read_again(points: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = stopped_before_building(points, tmp_path, monkeypatch)
    points.write_text(points.read_text() + "\n48.85,2.35")
    monkeypatch.setattr(pipeline, "quality_from_source", stop)
    with pytest.raises(Stopped):
        run(config_of(points), out)


def test_a_finished_run_is_not_repeated_unless_something_changed(
    points: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.geoelastic"
    first = run(config_of(points), out)
    monkeypatch.setattr(pipeline, "_build", stop)
    again = run(config_of(points, workers=1), out)
    assert again.certificate == first.certificate
    for change in ({"r_small_m": 200}, {"requirement": "linear"}, {"city": "48.85,2.35,500"}, {"l_star": 0.5}):
        with pytest.raises(Stopped):
            run(config_of(points, **change), out)
    out.write_bytes(out.read_bytes()[:-1])
    with pytest.raises(Stopped):
        run(config_of(points), out)


def test_a_failed_run_leaves_nothing(points: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="l_top"):
        run(Config("synthetic:even", size_km=1, l_top=9.5), tmp_path / "out.geoelastic")
    assert [p.name for p in tmp_path.iterdir()] == ["points.csv"]


def test_the_files_behind_a_recipe_are_part_of_the_key(points: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "r"\nabout = "points"\n[[layer]]\nname = "p"\nsource = "points.csv"\nweight = 2\n')
    config = Config(str(recipe), center=(48.85, 2.35), size_km=2)
    before = pipeline._key("quality", config)
    points.write_text(points.read_text() + "\n48.85,2.35")
    after = pipeline._key("quality", config)
    assert before is not None
    assert before != after
    recipe.write_text(recipe.read_text().replace("weight = 2", "weight = 3"))
    assert pipeline._key("quality", config) not in (before, after)


def test_a_database_has_no_key_and_its_password_is_told_to_nobody() -> None:
    config = Config("postgresql://me:secret@host:5432/osm?sslpassword=secret", center=(0, 0), size_km=1)
    assert pipeline._key("quality", config) is None
    assert config.public()["source"] == "postgresql://host:5432/osm"
    assert "secret" not in json.dumps(config.public())


def test_what_is_written_of_the_options_names_no_folder(points: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text("")
    public = config_of(points, recipe=str(recipe), city=str(recipe), fences=("a.geojson",), workers=3).public()
    assert str(tmp_path) not in json.dumps(public)
    assert (public["source"], public["recipe"], public["city"], public["fences"]) == (
        "points.csv", "mine.toml", "mine.toml", 1,
    )  # fmt: skip
    assert "workers" not in public


def test_requirements_by_name() -> None:
    kinds = {"quadratic": Quadratic(0.5), "linear": Linear(0.5), "step": Step(0.5)}
    for name, expected in kinds.items():
        assert Config("synthetic:even", requirement=name, l_star=0.5).make_requirement() == expected
    with pytest.raises(InputError, match="'requirement' must be one of"):
        Config("synthetic:even", requirement="cubic")


def test_areas() -> None:
    assert Config("synthetic:even").area is None
    assert Config("synthetic:even", size_km=3).area is not None
    area = Config("x.csv", center=(1, 2), size_km=3, height_km=4).area
    assert area is not None
    assert (area.width_m, area.height_m) == (3000, 4000)
    for half in ({"center": (1, 2)}, {"size_km": 3}, {"height_km": 3}):
        with pytest.raises(InputError, match="both its center"):
            _ = Config("x.csv", **half).area  # type: ignore[arg-type]
