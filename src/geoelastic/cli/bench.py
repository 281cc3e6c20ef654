# SPDX-License-Identifier: Apache-2.0
"""`geoelastic bench`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, show_progress


@geo_command(short_help="Measure, and compare with the targets.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "only_list", is_flag=True, help="Only list the measurements there are.")
@click.option("--whole", is_flag=True, help="scale: also the whole country, 25 million cells.")
@click.option(
    "--seams", is_flag=True, help="scale: also a city both ways, in tiles and in one piece: errors at seams, a table."
)
@click.option("--folder", metavar="DIR", help="Long ones: keep work here, and resume what an earlier run left.")
@click.option(
    "--map", "map_file", metavar="FILE", help="optimum, attacks, peers, client: on this map [default: a made-up one]."
)
@click.option("--checkins", metavar="FILE", help="peers: at the places of these [default: by the mass of the map].")
@click.option("--places", type=click.IntRange(2, 40), help="optimum: places per side [default: 15].")
@click.option(
    "--size",
    "size_km",
    type=click.FloatRange(0, min_open=True),
    help="optimum, frontier, reproduce: over this many km [default: 5, 75, 75].",
)
@click.option(
    "--certificate", metavar="FILE", help="optimum: keep the proof of the bound here (examples/check_optimum.py)."
)
@click.option("--write", is_flag=True, help="Record what is measured in DOCS/measured, and write it into the pages.")
@click.option("--pages", is_flag=True, help="Measure nothing: only write the pages anew from the record.")
@click.option("--docs", metavar="DOCS", default="docs", show_default=True, help="The folder of the pages.")
def command(
    names: tuple[str, ...], only_list: bool, write: bool, pages: bool, docs: str, **options: Any
) -> dict[str, Any]:
    """Run the measurements called NAME, or all of them (which takes long), and print one table each.

    Ratios are measured side by side in one process, compilation is warmed up first and measured apart.
    """
    from ..bench import bench_names, run_benches, write_docs

    if only_list:
        found = bench_names()
        return {"names": list(found), "text": "\n".join(f"{name:<12} {title}" for name, title in found.items())}
    if pages:
        written = write_docs(docs)
        return {"written": written, "text": "\n".join(f"written: {path}" for path in written) or "nothing changed"}
    return run_benches(names, progress=show_progress(), options=options, docs=docs if write else None)
