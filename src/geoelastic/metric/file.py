# SPDX-License-Identifier: Apache-2.0
"""Metrics on disk: one ``.geoelastic`` container.

A conformal metric is its layout, one integer per location and, if the map was redrawn for it, each location's place
there: the graph is recomputed on load, bit for bit. A paper metric is its layout and its edge list. Masses are stored
as the integers that were verified.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa

from .. import __version__
from ..area import Area
from ..errors import FileError, GeoelasticError
from ..locations import Grid, Locations, from_exponents, uniform
from ..mass import requirement_from_dict
from ..store import read_container, write_container
from .cartogram import neighbours_between
from .conformal import conformal_graph
from .graph import Graph
from .metric import Metric
from .portable import is_portable, read_portable
from .relief import Relief

__all__ = ["KIND", "load", "metric_from_parts", "metric_to_parts", "save"]

KIND = "metric"


def save(metric: Metric, path: str | os.PathLike[str]) -> None:
    """Write a metric to one file, atomically."""
    manifest, tables = metric_to_parts(metric)
    write_container(path, KIND, manifest, tables)


def load(path: str | os.PathLike[str]) -> Metric:
    """Read a metric in one file; `FileError` if it is not a whole, sound metric of a version we know."""
    if is_portable(path):
        return read_portable(path)[0]
    manifest, tables = read_container(path, kind=KIND)
    try:
        return metric_from_parts(manifest, tables)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, GeoelasticError) and isinstance(error, FileError):
            raise
        raise FileError(f"{os.fspath(path)}: the metric in this file is not sound ({error})") from error


def metric_to_parts(metric: Metric) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """A metric as plain data and tables."""
    grid = metric.grid
    manifest = {
        "geoelastic": __version__,
        "grid": {
            "lat": grid.area.lat, "lon": grid.area.lon, "width_m": grid.area.width_m, "height_m": grid.area.height_m,
            "cell_m": grid.cell_m, "rows": grid.rows, "cols": grid.cols,
            "east_m": grid.area.east_m, "north_m": grid.area.north_m,
        },
        "layout": metric.locations.kind,
        "method": metric.method,
        "requirement": metric.requirement.to_dict(),
        "l_from": metric.l_from,
        "l_top": metric.l_top,
        "frame_cells": metric.frame_cells,
        "certificate": metric.certificate,
        "info": metric.info,
    }  # fmt: skip
    columns: dict[str, Any] = {"mass": metric.mass_units}
    if metric.locations.kind == "adaptive":
        columns["exponent"] = metric.locations.exponents()
    if metric.fence.any():
        columns["fence"] = metric.fence
    if metric.framed is not None:
        columns["framed"] = metric.locations.first_of(metric.framed)
    if metric.scale is not None:
        columns["scale"] = metric.scale
    if metric.place is not None:
        columns |= {"place_east": metric.place[:, 0], "place_north": metric.place[:, 1]}
    if metric.relief is not None:
        relief = metric.relief
        columns["height"] = relief.height
        manifest["relief"] = {
            "output": relief.output, "made_for": relief.made_for, "certificate": relief.certificate,
        }  # fmt: skip
    tables = {"locations": pa.table(columns)}
    if metric.scale is None:
        tail, tip, weight = metric.graph.edges()
        tables["edges"] = pa.table({"i": tail, "j": tip, "level": weight})
    return manifest, tables


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column as an array; by way of DLPack where that knows the type, for Arrow's own way loads pandas."""
    if pa.types.is_boolean(column.type):
        return np.array(column)
    return np.from_dlpack(column.combine_chunks())


def metric_from_parts(manifest: dict[str, Any], tables: dict[str, pa.Table]) -> Metric:
    """The metric that `metric_to_parts` described."""
    where = manifest["grid"]
    area = Area(
        where["lat"], where["lon"], where["width_m"], where["height_m"],
        where.get("east_m", 0.0), where.get("north_m", 0.0),
    )  # fmt: skip
    grid = Grid(area, where["cell_m"], where["rows"], where["cols"])
    table = tables["locations"]
    columns = {name: _numbers(table[name]) for name in table.column_names}
    if manifest["layout"] == "adaptive":
        locations: Locations = from_exponents(grid, columns["exponent"].astype(np.uint8))
    else:
        locations = uniform(grid)
    if columns["mass"].size != locations.n:
        raise FileError(f"the layout has {locations.n} locations but the file describes {columns['mass'].size}")
    fence = columns.get("fence", np.zeros(locations.n, np.int32)).astype(np.int32)
    framed = columns["framed"].astype(bool)[locations.owner] if "framed" in columns else None
    scale = columns["scale"].astype(np.int32) if "scale" in columns else None
    place = None
    if "place_east" in columns:
        place = np.column_stack([columns["place_east"], columns["place_north"]]).astype(np.int32)
    if scale is not None:
        graph = conformal_graph(neighbours_between(locations, fence, place), scale)
    else:
        edges = tables["edges"]
        ends = [np.array(edges[name]).astype(np.int32) for name in ("i", "j", "level")]
        if ends[0].size and (min(part.min() for part in ends) < 0 or max(ends[0].max(), ends[1].max()) >= locations.n):
            raise FileError("an edge leads to a location that does not exist")
        graph = Graph.from_edges(locations.n, *ends)
    relief = None
    if "height" in columns:
        relief = Relief(columns["height"].astype(np.int32), **manifest["relief"])
    return Metric(
        locations, columns["mass"].astype(np.int64), graph, fence, manifest["method"],
        requirement=requirement_from_dict(manifest["requirement"]), l_from=manifest["l_from"], l_top=manifest["l_top"],
        frame_cells=manifest["frame_cells"], framed=framed, scale=scale, place=place,
        certificate=manifest["certificate"], info=manifest["info"], relief=relief,
    )  # fmt: skip
