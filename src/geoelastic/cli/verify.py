# SPDX-License-Identifier: Apache-2.0
"""`geoelastic verify`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, show_progress
from ._describe import certificate_lines, proved_line, relief_line


@geo_command(short_help="Re-check a metric from scratch.")
@click.argument("file")
@click.option("--every", is_flag=True, help="Check every location (the default; here so that a script can say so).")
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Check only N locations, spread evenly: a quick look."
)
@click.option(
    "--require", "policy", metavar="TOML", help="A policy in place of the README's promise (docs/guarantee.md)."
)
@click.option("--l-star", type=float, help="Require (l / L_STAR)^2 units of mass [default: ln 2].")
@click.option("--l-from", type=float, help="Require it from this level on [default: 0.35].")
@click.option("--l-top", type=float, help="Require it up to this level [default: ln 6].")
@click.option("--share", type=float, help="Require that secrets hold this share of the mass [default: 0.1].")
@click.option("--stated", is_flag=True, help="Require nothing but what the file itself states.")
@click.option("--proved", is_flag=True, help="Ask the checker of the machine-checked proof instead (docs/proof.md).")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Threads [default: all cores].")
def command(
    file: str, every: bool, sample: int | None, policy: str | None, l_star: float | None, l_from: float | None,
    l_top: float | None, share: float | None, stated: bool, proved: bool, workers: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Check FILE from what will be sampled, by code that shares nothing with the builders, and say what it claims.

    Checked are the requirement at every level of every secret, fences, weights and, if FILE was sharpened, the relief
    on every edge, for the very measure that reports go by. The claim is then held against the README's promise, or
    against another policy.

    Exit 0 if all of it holds and is at least what is required; 1 if not.
    """
    from ..errors import InputError
    from ..judge import open_mechanism, policy_of, verify

    if every and sample is not None:
        raise InputError("--every and --sample exclude each other")
    if proved:
        if sample is not None or any(x is not None for x in (policy, l_star, l_from, l_top, share)):
            raise InputError("--proved checks all of what the file states: it goes with no policy and no --sample")
        from ..judge.proved_checker import proved_check

        said = proved_check(open_mechanism(file))
        return said | {"text": proved_line(said)}
    require = None if stated else policy_of(policy, l_star=l_star, l_from=l_from, l_top=l_top, share_of_mass=share)
    found = verify(open_mechanism(file), require=require, sample=sample, workers=workers, progress=show_progress())
    lines = [found["claim"], *certificate_lines(found | {"ok": not found["faults"]})]
    if "relief" in found:
        lines.append(relief_line(found["relief"]))
    return found | {"text": "\n".join(lines)}
