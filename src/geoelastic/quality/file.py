# SPDX-License-Identifier: Apache-2.0
"""A quality on disk: a Parquet table that any tool can read (row, col, lat, lon, quality), with its account in the
metadata.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..area import Area
from ..errors import FileError, InputError
from ..locations import Grid
from ..store.atomic import writing
from .grid import Quality

__all__ = ["is_quality_file", "load_quality", "save_quality"]

_KEY = b"geoelastic.quality"
_VERSION = 1


def save_quality(quality: Quality, path: str | Path) -> None:
    """Write the cells that have any quality; the others are 0."""
    if Path(path).suffix != ".parquet":
        raise InputError(f"a quality is written to a .parquet file, got {Path(path).name!r}")
    grid, area = quality.grid, quality.grid.area
    row, col = np.nonzero(quality.cells)
    lat, lon = grid.cell_to_latlon(row, col)
    head = {
        "version": _VERSION,
        "area": [area.lat, area.lon, area.width_m, area.height_m, area.east_m, area.north_m],
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
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(head, ensure_ascii=False, allow_nan=False)})
    with writing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def is_quality_file(path: str | Path) -> bool:
    """Whether `save_quality` wrote this file."""
    try:
        return _KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def load_quality(path: str | Path) -> Quality:
    """What `save_quality` wrote."""
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
