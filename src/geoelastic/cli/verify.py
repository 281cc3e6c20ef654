# SPDX-License-Identifier: Apache-2.0
"""`geoelastic verify`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option, show_progress
from ._describe import verdict_lines


@geo_command(short_help="Re-check a metric from scratch.")
@click.argument("file")
@option("--every", is_flag=True, help="Check every location (the default; here so that a script can say so).")
@option("--sample", type=click.IntRange(1), metavar="N", help="Check only N locations, spread evenly: a quick look.")
@option("--require", "policy", metavar="TOML", help="A policy in place of the README's promise (docs/guarantee.md).")
@option("--l-star", type=float, help="Require (l / L_STAR)^2 units of mass [default: ln 2].")
@option("--l-from", type=float, help="Require it from this level on [default: 0.35].")
@option("--l-top", type=float, help="Require it up to this level [default: ln 6].")
@option("--share", "share_of_mass", type=float, help="Require that secrets hold this share of the mass [default: 0.1].")
@option("--stated", is_flag=True, help="Require nothing but what the file itself states.")
@option("--proved", is_flag=True, help="Ask the checker of the machine-checked proof instead (docs/proof.md).")
@option("--workers", type=click.IntRange(1), metavar="N", help="Threads [default: all cores].")
def command(file: str, **options: Any) -> dict[str, Any]:
    """Check FILE from what will be sampled, by code that shares nothing with the builders, and say what it claims.

    Checked are the requirement at every level of every secret, fences, weights and, if FILE was sharpened, the relief
    on every edge, for the very measure that reports go by. The claim is then held against the README's promise, or
    against another policy.

    Exit 0 if all of it holds and is at least what is required; 1 if not.
    """
    from ..judge import verify_request

    found = verify_request(file, progress=show_progress(), **options)
    return found | {"text": "\n".join(verdict_lines(found))}
