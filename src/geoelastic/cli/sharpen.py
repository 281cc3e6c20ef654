# SPDX-License-Identifier: Apache-2.0
"""`geoelastic sharpen`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option, show_progress
from ._describe import relief_line


@geo_command(short_help="Sharpen a map that was built without it, or for another measure.")
@click.argument("file")
@option("-o", "--output", metavar="OUT", help="The file to write [default: FILE itself].")
@option("--measure", default="mass", help="Output measure: mass, uniform or mass^GAMMA.")
@option("--resume/--no-resume", default=True, help="Resume what an earlier run left.")
@option("--workers", type=click.IntRange(1), metavar="N", help="Threads [default: all cores].")
def command(file: str, output: str | None, **options: Any) -> dict[str, Any]:
    """Find and certify, edge by edge, how much of each distance reports may use: nearly all, instead of half.

    Distances, crowds and the guarantee stay as they are; reports err much less. `build`, `extract` and `fence carve` do
    this by themselves, for output by mass: this command is for files that were made without it, and for another
    measure. The cost grows like the number of locations: about a millisecond of one core for each.
    """
    from ..mechanism.sharpen_file import sharpen_file

    told = sharpen_file(file, output or file, progress=show_progress(), **options)
    before, after = told["error_before_m"], told["error_after_m"]
    text = (
        f"{told['file']}: expected error {before:,.0f} m before, {after:,.0f} m now ({after / before:.2f}), at "
        f"{told['places']} places drawn by mass; {told['passes']} passes, {told['seconds']:.0f} s\n{relief_line(told)}"
    )
    return told | {"text": text}
