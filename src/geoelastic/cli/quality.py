# SPDX-License-Identifier: Apache-2.0
"""`geoelastic quality`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._common import LATLON, geo_command, option, show_progress
from ._describe import account_lines

if TYPE_CHECKING:
    from ..quality import Quality


@geo_command(short_help="Count what is around every cell: q(x) from open data.")
@click.argument("source")
@option("--center", type=LATLON, help="Centre of the area [default: the source's own box].")
@option("--size", "size_km", type=float, metavar="KM", help="Side of the area.")
@option("--height", "height_km", type=float, metavar="KM", help="Height, if the area is not square.")
@option("--cell", "cell_m", type=float, metavar="M", help="Side of a cell [default: 100].")
@option("--recipe", metavar="NAME", help="What counts, and how much: default, paper, places or a .toml file.")
@option("--at", metavar="TIME", help="Local time for opening hours: a name of the recipe, 'Tue 14:00', or a date.")
@option("--lat-column", "--lat", "lat", metavar="COLUMN", help="Latitudes of a table [default: by its name].")
@option("--lon-column", "--lon", "lon", metavar="COLUMN", help="Longitudes of a table [default: by its name].")
@option("--weight-column", "--weight", "weight", metavar="COLUMN", help="What a row is worth [default: 1].")
@option("-o", "--output", required=True, metavar="OUT", help="The .parquet file to write.")
def command(source: str, output: str, **options: Any) -> dict[str, Any]:
    """Compute the quality of every cell from SOURCE and write it to OUT, with an account of what went in.

    SOURCE is an OpenStreetMap extract (.osm.pbf, .osm, .osm.bz2), a PostGIS database (postgresql://...), a table of
    points or polygons (.parquet, .geojson, .csv, .gpkg), a raster (.tif), or a recipe (.toml) that names its own files.
    """
    from ..area import Area
    from ..errors import InputError
    from ..quality import quality_from_source, save_quality
    from ..store.atomic import require_writable

    require_writable(output)
    center, size_km, height_km = (options.pop(name) for name in ("center", "size_km", "height_km"))
    if (center is None) != (size_km is None):
        raise InputError("an area must be given by both --center LAT,LON and --size KM")
    area = None if center is None else Area.around(*center, size_km=size_km, height_km=height_km)
    cell_m, recipe = options.pop("cell_m"), options.pop("recipe")
    quality = quality_from_source(source, area, cell_m, recipe, progress=show_progress(), **options)
    save_quality(quality, output)
    return _describe(quality, Path(output))


def _describe(quality: Quality, output: Path) -> dict[str, Any]:
    grid, info = quality.grid, quality.info
    facts: dict[str, Any] = {
        "output": str(output),
        "bytes": output.stat().st_size,
        "center": list(grid.area.middle),
        "cells": [grid.rows, grid.cols],
        "cell_m": grid.cell_m,
        "quality": float(quality.cells.sum()),
        "cells_with_quality": int((quality.cells > 0).sum()),
        "most_in_a_cell": float(quality.cells.max()),
        "info": info,
    }
    (lat, lon), km = facts["center"], grid.cell_m / 1000
    lines = [
        ("area", f"{grid.cols * km:g} x {grid.rows * km:g} km around {lat:.5f}, {lon:.5f}"),
        ("", f"{grid.rows} x {grid.cols} cells of {grid.cell_m:g} m"),
        ("quality", f"{facts['quality']:,.1f} in {facts['cells_with_quality']:,} cells"),
        ("", f"at most {facts['most_in_a_cell']:,.1f} in a cell"),
        *account_lines(info),
        ("written", f"{facts['output']} ({facts['bytes'] / 1000:,.0f} kB)"),
    ]
    return facts | {"text": "\n".join(f"{name:>12}  {text}" for name, text in lines)}
