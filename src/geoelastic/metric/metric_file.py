# SPDX-License-Identifier: Apache-2.0
"""Metrics on disk: one ``.geoelastic`` container.

A conformal metric is its layout, one integer per location and, if the map was redrawn for it, each location's place
there, and one small number per pair of neighbours: the graph is recomputed on load, bit for bit. A paper metric is its
layout and its edge list. Masses are stored as the integers that were verified.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa

from .. import __version__
from ..context import Context, context_from_parts, context_to_parts
from ..errors import FileError
from ..store import read_container, table_of, write_container
from .decode import decode_metric, require_manifest
from .geox_file import is_portable, read_portable
from .metric import Metric

KIND = "metric"
_COLUMNS = {
    "locations": {
        "mass": pa.int64(), "exponent": pa.uint8(), "fence": pa.int32(), "framed": pa.bool_(), "scale": pa.int32(),
        "place_east": pa.int32(), "place_north": pa.int32(), "height": pa.int32(),
    },
    "context": {"begins": pa.uint8(), "x": pa.int32(), "y": pa.int32()},
    "edges": {"i": pa.int32(), "j": pa.int32(), "level": pa.int32(), "rise": pa.uint8()},
}  # fmt: skip


def save(metric: Metric, path: str | os.PathLike[str]) -> None:
    """Write a metric to one file, atomically."""
    manifest, tables = metric_to_parts(metric)
    write_container(path, KIND, manifest, tables)


def load(path: str | os.PathLike[str]) -> Metric:
    """Read a metric in one file; `FileError` if it is not a whole, sound metric of a version we know."""
    if is_portable(path):
        return read_portable(path)[0]
    manifest, tables = read_container(path, kind=KIND, columns=_COLUMNS)
    try:
        return metric_from_parts(manifest, tables)
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: the metric in this file is not sound: {error}") from None


def metric_to_parts(metric: Metric) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """A metric as plain data and tables."""
    grid = metric.grid
    manifest = {
        "geoelastic": __version__,
        "grid": asdict(grid.area) | {"cell_m": grid.cell_m, "rows": grid.rows, "cols": grid.cols},
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
        columns["height"] = metric.relief.height
        manifest["relief"] = metric.relief.stated()
    tables = {"locations": table_of(columns)}
    if metric.scale is None:
        tail, tip, weight = metric.graph.edges()
        tables["edges"] = table_of({"i": tail, "j": tip, "level": weight})
    elif metric.rise is not None:
        tables["edges"] = table_of({"rise": metric.rise})
    if metric.context is not None:
        manifest["context"], corners = context_to_parts(metric.context)
        tables["context"] = table_of(corners)
    return manifest, tables


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column as an array; by way of DLPack where that knows the type, for Arrow's own way loads pandas."""
    if column.null_count:
        raise FileError("a column must have a number in each row")
    if pa.types.is_boolean(column.type):
        return np.array(column)
    return np.from_dlpack(column.combine_chunks())


def metric_from_parts(manifest: dict[str, Any], tables: dict[str, pa.Table]) -> Metric:
    """The metric that `metric_to_parts` described; a `FileError` names what is not as it must be."""
    content = {name: value for name, value in manifest.items() if name not in ("kind", "context")}
    require_manifest(content)
    if "locations" not in tables:
        raise FileError("the table 'locations' is missing")
    table = tables["locations"]
    columns = {name: _numbers(table[name]) for name in table.column_names}
    if "edges" in tables:
        columns |= {f"edge_{name}": _numbers(tables["edges"][name]) for name in tables["edges"].column_names}
    metric = decode_metric(content, columns)
    if ("context" in manifest) != ("context" in tables):
        raise FileError("the entry 'context' and the table 'context' belong together")
    return replace(metric, context=_context(metric, manifest, tables)) if "context" in tables else metric


def _context(metric: Metric, manifest: dict[str, Any], tables: dict[str, pa.Table]) -> Context:
    columns = {name: _numbers(tables["context"][name]) for name in tables["context"].column_names}
    grid = metric.grid
    return context_from_parts(manifest["context"], columns, grid.cols * grid.cell_m, grid.rows * grid.cell_m)
