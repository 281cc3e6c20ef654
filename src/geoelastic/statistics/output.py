# SPDX-License-Identifier: Apache-2.0
"""Estimates as tables, shapes, rasters and pictures."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

from ..arrays import FloatArray
from ..errors import InputError, MissingExtraError
from ..figures.draw import pictures_png
from ..figures.save import write_geotiff
from ..store import require_writable, write_bytes
from ..store.atomic import writing
from .estimate import Estimate
from .estimate_page import estimate_page
from .estimate_pictures import estimate_pictures

OUTPUT_KINDS = (".csv", ".geojson", ".parquet", ".tif", ".png", ".html")


def require_output(path: str | Path) -> Path:
    """`path` if an estimate can be written there; asked before the work of making one."""
    target = Path(path)
    if target.suffix.lower() not in OUTPUT_KINDS:
        raise InputError(f"an estimate's file must end in {', '.join(OUTPUT_KINDS)}, got {target.name!r}")
    return require_writable(target)


def estimate_rows(estimate: Estimate) -> list[dict[str, Any]]:
    """A row for each zone: raw share, best guess, the zones' group, and the group's estimate with its interval."""
    low, high = estimate.groups.interval()
    rows = []
    for k, name in enumerate(estimate.zones.names):
        g = int(estimate.groups.of_zone[k])
        row = {"zone": name, "raw": float(estimate.raw[k]), "share": float(estimate.shares[k]), "group": g}
        known = g >= 0
        row |= {
            "group_share": float(estimate.groups.shares[g]) if known else None,
            "group_low": float(low[g]) if known else None, "group_high": float(high[g]) if known else None,
            "told_apart": bool(estimate.alone[k]),
        }  # fmt: skip
        rows.append(row)
    return rows


def save_estimate(estimate: Estimate, path: str | Path, *, truth: FloatArray | None = None) -> None:
    """Write an estimate as .csv, .geojson, .parquet (GeoParquet), .tif (shares per square kilometre), .png, or .html (a
    page that needs nothing else)."""
    target = require_output(path)
    kind = target.suffix.lower()
    if kind == ".csv":
        text = io.StringIO()
        rows = estimate_rows(estimate)
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_bytes(target, text.getvalue().encode())
    elif kind == ".geojson":
        write_bytes(target, json.dumps(_geojson(estimate), allow_nan=False).encode())
    elif kind == ".parquet":
        _write_parquet(estimate, target)
    elif kind == ".tif":
        write_geotiff(estimate_pictures(estimate)[1], target)
    elif kind == ".html":
        write_bytes(target, estimate_page(estimate, truth=truth).encode())
    else:
        write_bytes(target, pictures_png(estimate_pictures(estimate, truth)))


def _geojson(estimate: Estimate) -> dict[str, Any]:
    from shapely.geometry import mapping

    features = [
        {"type": "Feature", "geometry": mapping(shape), "properties": _finite(row)}
        for shape, row in zip(estimate.zones.shapes, estimate_rows(estimate), strict=True)
    ]
    return {"type": "FeatureCollection", "features": features}


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def _write_parquet(estimate: Estimate, target: Path) -> None:
    try:
        import geopandas
    except ImportError:
        raise MissingExtraError("geopandas", "geo") from None
    frame = geopandas.GeoDataFrame(estimate_rows(estimate), geometry=list(estimate.zones.shapes), crs=4326)
    with writing(target) as temporary:
        frame.to_parquet(temporary)
