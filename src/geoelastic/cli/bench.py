# SPDX-License-Identifier: Apache-2.0
"""`geoelastic bench`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option, show_progress


@geo_command(short_help="Measure, and compare with the targets.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option(
    "--list", "only_list", is_flag=True,
    help="Measure nothing: list what would be, in which order, and the processor time that each took when recorded.",
)  # fmt: skip
@option("--again", is_flag=True, help="all --write: also what was recorded today by the same code.")
@option("--real", is_flag=True, help="optimum, peers: on the real Paris, attacks: on Vancouver, of GEOELASTIC_DATA.")
@option(
    "--whole",
    is_flag=True,
    help="scale: also 25 million cells. tightness: also sums over all of the real Paris. statistics: a million more.",
)
@option(
    "--seams", is_flag=True, help="scale: also a city both ways, in tiles and in one piece: errors at seams, a table."
)
@option("--folder", metavar="DIR", help="Long ones: keep work here, and resume what an earlier run left.")
@option(
    "--map",
    "map_file",
    metavar="FILE",
    help="optimum, attacks, peers, client, extension, packs: on this map [default: a made-up one].",
)
@option("--checkins", metavar="FILE", help="peers: at the places of these [default: by the mass of the map].")
@option("--places", type=click.IntRange(2, 40), help="optimum: places per side [default: 15].")
@option(
    "--size",
    "size_km",
    type=click.FloatRange(0, min_open=True),
    help="optimum, frontier, reproduce: over this many km [default: 5, 75, 75].",
)
@option("--certificate", metavar="FILE", help="optimum: keep the proof of the bound here (examples/check_optimum.py).")
@option("--write", is_flag=True, help="Record what is measured in DOCS/measured, and write it into the pages.")
@option("--pages", is_flag=True, help="Measure nothing: only write the pages anew from the record.")
@option("--docs", metavar="DOCS", default="docs", help="The folder of the pages.")
def command(
    names: tuple[str, ...], only_list: bool, again: bool, write: bool, pages: bool, docs: str, **options: Any
) -> dict[str, Any]:
    """Run the measurements called NAME, or all of them (which takes long), and print one table each.

    `all --write` records each as soon as it is done; stopped and started again on the same day and code it goes on.

    Ratios are measured side by side in one process, compilation is warmed up first and measured apart.
    """
    from ..bench import run_benches, write_docs

    if only_list:
        return _listed(names, docs, again)
    if pages:
        written = write_docs(docs)
        return {"written": written, "text": "\n".join(f"written: {path}" for path in written) or "nothing changed"}
    return run_benches(names, progress=show_progress(), options=options, docs=docs if write else None, again=again)


def _listed(names: tuple[str, ...], docs: str, again: bool) -> dict[str, Any]:
    """What `bench NAMES --write` would do."""
    from pathlib import Path

    from ..bench import plan

    found = plan(names, docs=docs if Path(docs).is_dir() else None, again=again)
    known = [one.cpu_s for one in found if one.cpu_s is not None and not one.done]
    lines = []
    for one in found:
        took = "recorded today" if one.done else "?" if one.cpu_s is None else f"{one.cpu_s:,.0f} s"
        lines.append(f"{one.name:<12} {took:>14}  {one.title}")
    unknown = sum(one.cpu_s is None and not one.done for one in found)
    lines.append(f"{sum(known) / 60:.0f} min of processor time, and {unknown} that were not recorded yet")
    return {"names": [one.name for one in found], "cpu_s": sum(known), "text": "\n".join(lines)}
