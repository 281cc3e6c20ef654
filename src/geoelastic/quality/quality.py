# SPDX-License-Identifier: Apache-2.0
"""`Quality`: how much of a crowd each cell offers, and where that number comes from.

On disk it is a GeoParquet table that any tool can read (row, col, lat, lon, quality, the centre of each cell as a
point), with its account in the metadata.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..area import Area
from ..arrays import FloatArray, read_only
from ..errors import FileError, InputError, require_path
from ..locations import Grid
from ..shown import Shown
from ..store.atomic import writing


@dataclass(frozen=True, eq=False, repr=False)
class Quality(Shown):
    """q(x) for every cell of a grid.

    `info` is plain JSON data that says where the numbers come from: source, timestamp, licence, recipe, counts per
    class, what was dropped and why. It is written into every file made from this quality.
    """

    grid: Grid
    cells: FloatArray
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = np.array(self.cells, dtype=np.float64)
        if cells.shape != self.grid.shape:
            raise InputError(f"'cells' must have the grid's shape {self.grid.shape}, got {cells.shape}")
        if not np.all(np.isfinite(cells) & (cells >= 0)):
            raise InputError("'cells' must be finite numbers >= 0 in every cell")
        object.__setattr__(self, "cells", read_only(cells))

    def __repr__(self) -> str:
        source = self.info.get("source")
        return f"Quality({self.cells.sum():,.4g} in all{f' from {source}' if source else ''}, {self.grid.extent})"


_KEY = b"geoelastic.quality"
_VERSION = 1
#: What GeoParquet 1.0 asks for; coordinates are longitudes and latitudes unless it says otherwise.
_GEO = {
    "version": "1.0.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}},
}


def save_quality(quality: Quality, path: str | Path) -> None:
    """Write the cells that have any quality; the others are 0."""
    require_path("path", path)
    if Path(path).suffix != ".parquet":
        raise InputError(f"a quality is written to a .parquet file, got {Path(path).name!r}")
    grid = quality.grid
    row, col = np.nonzero(quality.cells)
    lat, lon = grid.cell_to_latlon(row, col)
    head = {
        "version": _VERSION,
        "area": astuple(grid.area),
        "cell_m": grid.cell_m,
        "rows": grid.rows,
        "cols": grid.cols,
        "info": quality.info,
    }
    columns = {
        "row": row.astype(np.int32),
        "col": col.astype(np.int32),
        "lat": np.asarray(lat, dtype=np.float64),
        "lon": np.asarray(lon, dtype=np.float64),
        "quality": quality.cells[row, col],
    }
    table = pa.table(columns | {"geometry": _points(np.asarray(lat), np.asarray(lon))})
    account = json.dumps(head, ensure_ascii=False, allow_nan=False)
    table = table.replace_schema_metadata({_KEY: account, b"geo": json.dumps(_GEO)})
    with writing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _points(lat: FloatArray, lon: FloatArray) -> Any:
    """Places as points in well-known binary: little-endian, of type 1, x and y."""
    points = np.zeros(lat.size, np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")]))
    points["order"], points["type"], points["x"], points["y"] = 1, 1, lon, lat
    width = points.dtype.itemsize
    packed = pa.Array.from_buffers(pa.binary(width), lat.size, [None, pa.py_buffer(points.tobytes())])
    return packed.cast(pa.binary())


def is_quality_file(path: str | Path) -> bool:
    """Whether `save_quality` wrote this file."""
    try:
        return _KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def load_quality(path: str | Path) -> Quality:
    """What `save_quality` wrote."""
    require_path("path", path)
    if not Path(path).is_file():
        raise FileError(f"{path}: there is no such file")
    try:
        table = pq.read_table(path)
        head = json.loads((table.schema.metadata or {})[_KEY])
        if head["version"] > _VERSION:
            raise FileError(f"{Path(path).name}: written by a newer geoelastic")
        grid = Grid(Area(*head["area"]), head["cell_m"], head["rows"], head["cols"])
        cells = np.zeros(grid.shape)
        cells[table["row"].to_numpy(), table["col"].to_numpy()] = table["quality"].to_numpy()
        return Quality(grid, cells, head["info"])
    except FileError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, IndexError):
        raise FileError(f"{Path(path).name}: not a quality file of geoelastic, or not a whole one") from None
