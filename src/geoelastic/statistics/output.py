# SPDX-License-Identifier: Apache-2.0
"""Estimates as tables, shapes, rasters, pictures of one scale, and one page that needs nothing else."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError, import_extra
from ..figures.draw import pictures_png
from ..figures.page import report_page
from ..figures.picture import Picture
from ..figures.save import write_geotiff
from ..store import require_writable, write_bytes
from ..store.atomic import writing
from .estimate import Estimate

OUTPUT_KINDS = (".csv", ".geojson", ".parquet", ".tif", ".png", ".html")
#: Groups of zones in the page's table, the largest first.
_ROWS = 40

_ABOUT = """<p>The reports were blurred on purpose, by a mechanism that is public and exactly known; the estimate takes
the blur out of totals. It is made from reports alone and tells nothing more about anybody than their reports did.</p>
<ul><li>The <b>estimate</b> is the best guess for each zone: reports and, where they cannot tell, the public guess.</li>
<li>The <b>intervals</b> are of groups of zones: what so many reports cannot tell apart is merged. They cover chance,
not a wrong idea of how people are spread inside a group; they may reach below 0, since their estimate is unbiased.</li>
<li>A small share is an estimate like any other: read its interval before you read it as people.</li></ul>"""


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
    geopandas = import_extra("geopandas", "geo")
    frame = geopandas.GeoDataFrame(estimate_rows(estimate), geometry=list(estimate.zones.shapes), crs=4326)
    with writing(target) as temporary:
        frame.to_parquet(temporary)


def estimate_pictures(estimate: Estimate, truth: FloatArray | None = None) -> list[Picture]:
    """Raw histogram, best guess, width of the interval, and the truth if it is known: shares per square kilometre."""
    zones = estimate.zones
    km2 = zones.cells * (zones.grid.cell_m / 1000) ** 2
    low, high = estimate.groups.interval()
    of_zone = estimate.groups.of_zone[:-1]
    group_km2 = np.bincount(np.maximum(of_zone, 0), km2 * (of_zone >= 0), estimate.groups.n)
    wide = ((high - low) / 2 / np.where(group_km2 > 0, group_km2, np.inf))[of_zone]
    shown = [("Reports as they are", estimate.raw / km2), ("Estimate", estimate.shares / km2)]
    shown += [("Half the 95 % interval, by group", np.where(of_zone >= 0, wide, np.nan))]
    if truth is not None:
        shown.append(("Truth", truth / km2))
    top = max(float(np.nanmax(values)) for _, values in shown)
    return [
        Picture(
            zones.grid, np.where(zones.label >= 0, values[zones.label], np.nan), title, "share of people per km²",
            log=True, low=top / 3000, high=top, note=f"{estimate.n:,.0f} people" if title == "Estimate" else "",
        )
        for title, values in shown
    ]  # fmt: skip


def estimate_page(estimate: Estimate, *, truth: FloatArray | None = None) -> str:
    """Reports, estimate, interval and, if it is known, truth, with a table of groups."""
    png = pictures_png(estimate_pictures(estimate, truth))
    sections = [
        ("Side by side", f"<p>{html.escape(_in_words(estimate, truth))}</p>", png),
        ("What these reports tell apart", _table(estimate), None),
        ("How to read it", _ABOUT, None),
    ]
    return report_page("How people were spread", sections, footer="Made from private reports by geoelastic.")


def _in_words(estimate: Estimate, truth: FloatArray | None) -> str:
    words = (
        f"{estimate.n:,.0f} people, {estimate.zones.n:,} zones in {estimate.groups.n:,} groups that their reports tell "
        f"apart; {estimate.elsewhere:.1%} of the people elsewhere."
    )
    if truth is None:
        return words
    raw, best = (abs(shares - truth).sum() / 2 for shares in (estimate.raw, estimate.shares))
    return f"{words} Total variation distance to the truth: reports {raw:.3f}, estimate {best:.3f}."


def _table(estimate: Estimate) -> str:
    rows = sorted(estimate.merged, key=lambda row: -row["share"])
    head = "<thead><tr><th>zones</th><th>share</th><th>95 % interval</th></tr></thead>"
    body = "".join(_row(row) for row in rows[:_ROWS])
    more = f"<p>and {len(rows) - _ROWS:,} smaller groups</p>" if len(rows) > _ROWS else ""
    return f"<table>{head}<tbody>{body}</tbody></table>{more}"


def _row(row: dict[str, Any]) -> str:
    cells = (html.escape(short_name(row["zones"])), f"{row['share']:.2%}", f"{row['low']:.2%} to {row['high']:.2%}")
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def short_name(names: list[str]) -> str:
    """A group of zones in a few words."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more zones"
