# SPDX-License-Identifier: Apache-2.0
"""`geoelastic verify`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, show_progress
from ._describe import certificate_lines, relief_line


@geo_command(short_help="Re-check a metric from scratch.")
@click.argument("file")
@click.option("--every", is_flag=True, help="Check every location (the default; here so that a script can say so).")
@click.option("--sample", type=int, metavar="N", help="Check only N locations, spread evenly: a quick look.")
@click.option("--workers", type=int, metavar="N", help="Threads [default: all cores].")
def command(file: str, every: bool, sample: int | None, workers: int | None) -> dict[str, Any]:
    """Recompute the certificate of FILE from its graph alone, by code that shares nothing with the builders.

    If FILE was sharpened, its relief is checked too: on every edge, or with --sample on those around N locations.

    Exit 0 if the requirement holds at every level at every location that was checked, and the relief on every edge; 1
    if not.
    """
    from ..errors import InputError
    from ..metric import verify
    from ..opening import load

    if every and sample is not None:
        raise InputError("--every and --sample exclude each other")
    metric = load(file).whole()
    certificate = verify(metric, sample=sample, workers=workers, progress=show_progress())
    lines = certificate_lines(certificate)
    if metric.relief is not None:
        from ..metric.verify_relief import check_relief

        relief = check_relief(metric, sample=sample, workers=workers, progress=show_progress())
        certificate |= {"ok": certificate["ok"] and relief["ok"], "relief": relief}
        lines.append(relief_line(relief))
    return certificate | {"text": "\n".join(lines)}
