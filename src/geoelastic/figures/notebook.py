# SPDX-License-Identifier: Apache-2.0
"""Cards, pictures, pages and tables for notebooks: what `geoelastic.shown` asks for."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import shapely

from ..errors import InputError, import_extra
from ..locations import Grid
from ..mass import Mass
from ..metric import AnyMetric, Metric
from ..quality import Quality
from ..store import write_bytes
from .draw import draw_picture, new_figure, to_png
from .maps import quality_map
from .page import picture_page
from .picture import Picture, credit_of
from .picture_request import picture_of

_HEIGHT_PX = 640


@dataclass(frozen=True, eq=False)
class DrawnPicture:
    """A picture that a notebook shows."""

    picture: Picture = field(repr=False)

    @cached_property
    def figure(self) -> Any:
        """matplotlib's figure."""
        figure = new_figure(7.2, 6.0)
        draw_picture(figure.subplots(), self.picture)
        return figure

    def _repr_png_(self) -> bytes:
        return to_png(self.figure)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as PNG."""
        write_bytes(path, self._repr_png_())


@dataclass(frozen=True)
class Page:
    """A page that a notebook shows, all of it in the cell."""

    text: str = field(repr=False)

    def _repr_html_(self) -> str:
        # a sandbox without a network of its own: the page's script runs and can reach nothing else
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:{_HEIGHT_PX}px;border:0" '
            f'srcdoc="{html.escape(self.text, quote=True)}"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page as a file."""
        write_bytes(path, self.text.encode())


def plot(thing: Any, kind: str | None, **options: Any) -> DrawnPicture:
    """The picture of something."""
    return DrawnPicture(_picture(thing, kind, options))


def explore(thing: Any, kind: str | None, **options: Any) -> Page:
    """The page of something: of a metric the whole app, unless one of its pictures is asked for."""
    if kind is None and not isinstance(thing, Quality | Mass) and thing.by_paths:
        # the app sits above pictures: it is looked up by name, as this module is by `geoelastic.shown`
        app = import_module("geoelastic.service.service_page")
        return Page(app.standalone_page(thing, output=options.get("measure", "mass"), closed=True))
    return Page(picture_page(_picture(thing, kind, options)))


def _picture(thing: Any, kind: str | None, options: dict[str, Any]) -> Picture:
    if not isinstance(thing, Quality | Mass):
        return picture_of(thing, kind or "mass", **options)
    if kind is not None:
        raise InputError(
            f"'kind' is for metrics; there is one picture of a {type(thing).__name__.lower()}, got {kind!r}"
        )
    if isinstance(thing, Quality):
        return quality_map(thing)
    cells = np.where(thing.cells > 0, thing.cells, np.nan)
    return Picture(thing.grid, cells, "Privacy mass", "mass per cell", log=True, credit=credit_of(thing.info))


def to_geodataframe(thing: Any) -> Any:
    """One row per location of a metric, or a cell of a quality or a mass that has something in it."""
    geopandas = import_extra("geopandas", "geo")
    grid: Grid = thing.grid
    row: Any
    col: Any
    size: Any
    if isinstance(thing, Quality | Mass):
        row, col = np.nonzero(thing.cells)
        size = np.ones(row.size, np.int64)
        name = "quality" if isinstance(thing, Quality) else "mass"
        columns = {"row": row, "col": col, name: thing.cells[row, col]}
    else:
        metric: Metric = thing.whole()
        row, col, size = metric.leaves(slice(None))
        columns = {
            "location": np.arange(metric.n), "mass": metric.mass, "secret": metric.secret, "fence": metric.fence,
            "side_m": size * grid.cell_m,
        }  # fmt: skip
    # corners counter-clockwise from the south-west, in the plane and then in degrees
    down, across = np.array([0, 0, 1, 1, 0]), np.array([0, 1, 1, 0, 0])
    y = (row[:, None] + size[:, None] * down - grid.rows / 2) * grid.cell_m
    x = (col[:, None] + size[:, None] * across - grid.cols / 2) * grid.cell_m
    lat, lon = grid.area.to_latlon(x, y)
    squares = shapely.polygons(np.stack([np.asarray(lon), np.asarray(lat)], axis=-1))
    return geopandas.GeoDataFrame(columns, geometry=squares, crs=4326)


def card(thing: Any) -> str:
    """A table of facts as HTML."""
    rows = "".join(
        f'<tr><th style="text-align:right;padding-right:1em">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in _facts(thing)
        if value not in (None, "", [])
    )
    return f"<b>{html.escape(type(thing).__name__)}</b><table>{rows}</table>"


def _facts(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, Quality):
        return [("area", thing.grid.extent), ("quality in all", f"{thing.cells.sum():,.4g}"), *_source(thing.info)]
    if isinstance(thing, Mass):
        return [("area", thing.grid.extent), ("mass in all", f"{thing.total:,.4g} units"), *_source(thing.info)]
    if hasattr(thing, "whole"):
        return _metric_facts(thing)
    inner = getattr(thing, "mechanism", thing)
    metric = getattr(inner, "metric", None)
    facts: list[tuple[str, Any]] = []
    if hasattr(inner, "output"):
        how = "all of each distance, over a relief" if inner.sharpened else "half of each distance"
        facts += [("reports by", inner.output), ("which use", how)]
    if hasattr(inner, "epsilon"):
        facts.append(("epsilon", f"{inner.epsilon:.4g} per metre"))
    return facts + ([] if metric is None else _metric_facts(metric))


def _metric_facts(metric: AnyMetric) -> list[tuple[str, Any]]:
    totals = metric.totals
    ok = metric.certificate.get("ok")
    checked = "holds" if ok is True else "was not checked" if ok is None else "DOES NOT HOLD"
    return [
        ("area", metric.grid.extent), ("locations", f"{metric.n:,}, of which {totals['secrets']:,} can be hidden"),
        ("mass in all", f"{totals['mass']:,.4g} units"), ("requirement", checked),
        ("fences", totals["fences"] or "none"),
        ("sharpened", "yes" if metric.relief is not None else "no"), *_source(metric.info),
    ]  # fmt: skip


def _source(info: dict[str, Any]) -> list[tuple[str, Any]]:
    quality = info.get("quality")
    stated = quality if isinstance(quality, dict) else info
    source = stated.get("source")
    return [("source", ", ".join(map(str, source)) if isinstance(source, list) else source),
            ("as of", stated.get("timestamp")), ("licence", stated.get("licence"))]  # fmt: skip
