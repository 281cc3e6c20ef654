# SPDX-License-Identifier: Apache-2.0
"""Notebooks: cards, pictures, pages without requests, tables; and the walk through a city runs from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import geoelastic as ge
from maps import small_mass, small_metric

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "city.ipynb"


@pytest.mark.jit
@pytest.mark.filterwarnings("default")  # the kernel's own libraries may warn; what the cells do is checked by them
def test_the_walk_through_a_city_has_ten_cells_and_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) == 10
    assert not any(cell.outputs for cell in code)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in code for output in cell.outputs]
    assert all(output.output_type != "error" for output in shown)
    assert sum("image/png" in output.get("data", {}) for output in shown) == 3
    assert (tmp_path / "city.geox").is_file()


def test_every_kind_of_thing_has_a_card():
    metric = small_metric()
    elastic = ge.ElasticMechanism(metric)
    for thing, words in (
        (ge.synthetic_quality("city", rows=9, cols=8), ("Quality", "synthetic:city")),
        (small_mass(), ("Mass", "units")),
        (metric, ("Metric", "can be hidden", "holds")),
        (elastic, ("ElasticMechanism", "half of each distance", "can be hidden")),
        (ge.Sticky(elastic, b"k" * 32), ("Sticky", "reports by")),
        (ge.PlanarLaplace(0.01), ("PlanarLaplace", "0.01 per metre")),
    ):
        card = thing._repr_html_()
        assert all(word in card for word in words)
        assert "kkkk" not in card
    bad = ge.Quality(metric.grid, np.ones(metric.grid.shape), {"source": "<script>alert(1)</script>"})
    assert "<script" not in bad._repr_html_()


def test_a_page_in_a_cell_holds_all_it_needs(tmp_path):
    for thing in (small_metric(), ge.synthetic_quality("city", rows=9, cols=8), small_mass()):
        page = thing.explore()
        cell = page._repr_html_()
        assert cell.startswith('<iframe sandbox="allow-scripts"')
        assert "allow-same-origin" not in cell
        if isinstance(thing, ge.Metric):  # the app could ask a service; the browser does not let it
            assert 0 < page.text.index("default-src 'none'") < min(map(page.text.index, ("<script", "<style", "<link")))
        else:
            assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page.text)
            assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|@import|import\(", page.text)
        page.save(tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text() == page.text


def test_pictures_are_png_and_say_what_they_cannot_draw(tmp_path):
    metric = small_metric()
    picture = metric.plot("ball")
    assert picture._repr_png_()[:4] == b"\x89PNG"
    picture.save(tmp_path / "ball.png")
    assert picture.figure.axes
    with pytest.raises(ge.InputError, match="'kind' must be one of 'mass'"):
        metric.plot("crowd")
    with pytest.raises(ge.InputError, match="there is one picture of a mass"):
        small_mass().plot("ball")


def test_maps_as_tables_have_their_squares_where_they_are():
    metric = small_metric()
    frame = metric.to_geodataframe()
    assert len(frame) == metric.n
    assert frame.crs.to_epsg() == 4326
    assert frame["mass"].sum() == pytest.approx(metric.mass.sum())
    plane = frame.to_crs(metric.grid.area.crs.to_wkt())
    assert np.allclose(plane.geometry.area, frame["side_m"] ** 2, rtol=1e-6)
    assert np.allclose(np.column_stack([plane.geometry.centroid.x, plane.geometry.centroid.y]), metric.xy, atol=0.01)
    quality = ge.synthetic_quality("city", rows=9, cols=8)
    cells = quality.to_geodataframe()
    assert cells["quality"].sum() == pytest.approx(quality.cells.sum())
    lat, lon = quality.grid.cell_to_latlon(cells["row"].to_numpy(), cells["col"].to_numpy())
    assert np.allclose(cells.geometry.bounds[["minx", "maxx"]].mean(axis=1), lon, atol=1e-5)
    assert np.allclose(cells.geometry.bounds[["miny", "maxy"]].mean(axis=1), lat, atol=1e-5)
