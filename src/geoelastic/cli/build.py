# SPDX-License-Identifier: Apache-2.0
"""`geoelastic build`"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from ._common import LATLON, LEVEL, geo_command, option, place_columns, show_progress
from ._describe import describe

_GROUPS = {
    "Source and area": (
        "center", "size_km", "height_km", "cell_m", "recipe", "at", "lat_column", "lon_column", "weight_column",
        "context",
    ),
    "How private": (
        "r_small_m", "r_large_m", "city", "requirement", "l_star", "l_from", "l_top", "frame", "fences", "sharpen"
    ),
    "How it is built": ("method", "layout", "cartogram", "strategy", "literal", "workers"),
    "In tiles": ("tile", "cluster", "update", "resume"),
}  # fmt: skip


@geo_command(groups=_GROUPS, short_help="Build a metric from a map source and check it.")
@click.argument("source")
@option("--center", type=LATLON, help="Centre of the area.")
@option("--size", "size_km", type=float, metavar="KM", help="Side of the area [default: the source's own extent].")
@option("--height", "height_km", type=float, metavar="KM", help="Height, if the area is not square.")
@option("--cell", "cell_m", type=float, metavar="M", help="Side of a cell [default: 100].")
@option(
    "--recipe",
    metavar="TOML",
    help="What counts as quality, and how much [default: places and buildings, no furniture].",
)
@option("--at", metavar="TIME", help="Local time for opening hours: a name of the recipe, 'Tue 14:00', or a date.")
@place_columns
@option("--weight-column", metavar="COLUMN", help="What a row of a table is worth [default: 1].")
@option(
    "--r-small",
    "r_small_m",
    type=float,
    default=300,
    metavar="M",
    help="Radius of a disc that hides enough in the city.",
)
@option("--r-large", "r_large_m", type=float, default=3000, metavar="M", help="The same in empty land.")
@option("--city", metavar="REGION", help="LAT,LON,RADIUS_M or a GeoJSON file [default: where quality is].")
@option(
    "--requirement", default="quadratic", metavar="KIND",
    help="How the crowd grows with the level: quadratic, linear or step.",
)  # fmt: skip
@option("--l-star", type=LEVEL, default="ln2", help="Level of one unit of mass.")
@option("--l-from", type=LEVEL, help="Level from which the requirement is enforced [default: 0.35; paper: 0].")
@option("--l-top", type=LEVEL, help="Level up to which it is enforced [default: ln6].")
@option("--method", type=click.Choice(["conformal", "paper"]), default="conformal")
@option("--layout", type=click.Choice(["uniform", "adaptive"]), help="[default: adaptive; paper: uniform]")
@option("--cartogram/--no-cartogram", default=True, help="Redraw the map for even crowds first: tighter.")
@option("--strategy", default="fourfold", help="Candidate order of the paper's builder.")
@option("--literal", is_flag=True, help="The paper's listing to the letter: levels rise once per pass.")
@option("--frame", type=float, default=0.03, help="Width of the rim that cannot be hidden, as a share of the side.")
@option("--fence", "fences", multiple=True, metavar="GEOJSON", help="Regions to fence off (may be repeated).")
@option(
    "--workers", type=click.IntRange(1), metavar="N", help="Threads, or processes with --tile [default: all cores]."
)
@option(
    "--tile", type=int, metavar="CELLS", help="Build in tiles of this many cells a side (a power of two) into a folder."
)
@option("--cluster", metavar="ADDRESS", help="Build the tiles on this Dask scheduler, e.g. tcp://host:8786.")
@option("--update", type=float, metavar="PART", help="Rebuild only the tiles of OUT that changed by more than PART.")
@option("--resume/--no-resume", default=True, help="With --tile, resume what an earlier run left.")
@option("--sharpen/--no-sharpen", default=True, help="Let reports by mass use nearly all of each distance.")
@option(
    "--context/--no-context", default=True, help="Keep the extract's water, main roads and names to draw under maps."
)
@option("-o", "--output", required=True, metavar="OUT", help="The .geoelastic file to write.")
def command(output: str, resume: bool, **options: Any) -> dict[str, Any]:
    """Build a metric from SOURCE, check it at every location, sharpen it, and write it to OUT.

    SOURCE is an OpenStreetMap extract (.osm.pbf, .osm), a PostGIS database (postgresql://...), a table of points or
    polygons (.parquet, .geojson, .csv, .gpkg), a raster (.tif), an array of masses (.npy, with --center and --cell),
    or a made-up map (synthetic:city, synthetic:paris, synthetic:even, synthetic:country).

    A stopped build resumes where it stopped when the same command is given again. With --tile (or --cluster) OUT is
    a folder of tiles: memory is bounded by a tile, and a worker that dies costs no more than the tiles it was at.
    """
    from ..pipeline import Config, run

    begin = time.perf_counter()
    metric = run(Config(**options), output, resume=resume, progress=show_progress())
    result = describe(metric, Path(output)) | {"seconds": round(time.perf_counter() - begin, 2)}
    result["text"] += f"\nbuilt in {result['seconds']} s: {output}"
    return result
