# SPDX-License-Identifier: Apache-2.0
"""`geoelastic ledger`: show, cost, map"""

from __future__ import annotations

from typing import Any

import click

from ._common import HOURS, LATLON, LEVEL, geo_command, option

_DELTA = option("--delta", type=float, default=1e-6, help="Chance that the concentrated bound may fail.")


@click.group(short_help="What repeated use has cost, and which places are still close.")
def command() -> None:
    """Count reports and say what they cost together: n reports are n d-private, and less by concentrated accounting."""


@geo_command(under=command, name="show", short_help="Accounts and costs in a ledger.")
@click.argument("ledger")
@option("--user", help="Only this user.")
@option("--level", type=LEVEL, default="ln2", help="Distance of the places to tell apart.")
@option("--per", "hours", type=HOURS, help="Only what was reported within this time, e.g. 24h or 7d.")
@_DELTA
def show(ledger: str, user: str | None, level: float, hours: int | None, delta: float) -> dict[str, Any]:
    """Show the reports in LEDGER (.json or .parquet) and what they cost: the smaller of the pure bound (n d) and the
    concentrated one (zCDP, except with probability delta), which both hold. With --json: both.
    """
    from ..accounts.ledger import Ledger
    from ..errors import FileError

    book = Ledger.load(ledger)
    if not book.users:
        raise FileError(f"{ledger}: there is no ledger with reports in it")
    rows = book.summary(user, level, delta=delta, hours=hours)
    head = f"{'user':<16}{'fresh':>7}{'repeated':>10}{'fenced':>8}{'cost':>9}  bound"
    lines = [
        f"{r['user']:<16}{r['fresh']:>7}{r['repeated']:>10}{r['fenced']:>8}{r['best']:>9.2f}  {r['bound']}"
        for r in rows
    ]
    window = "" if hours is None else f"; fresh reports and cost of the last {hours} hours"
    told = f"places {level:.4g} apart; concentrated holds except with probability {delta:g}{window}"
    return {"level": level, "delta": delta, "hours": hours, "users": rows, "text": "\n".join([told, head, *lines])}


@geo_command(under=command, name="cost", short_help="What a number of reports costs.")
@option("--reports", type=int, required=True, help="Number of fresh reports.")
@option("--level", type=LEVEL, default="ln2", help="Distance of the places to tell apart.")
@option("--budget", type=LEVEL, help="Also say how many reports stay within this level.")
@_DELTA
def cost_of(reports: int, level: float, budget: float | None, delta: float) -> dict[str, Any]:
    """Compute what a number of reports costs, without any ledger."""
    from ..accounts.accounting import cost, reports_within

    spent = cost(reports, level, delta=delta)
    result = spent.as_dict()
    text = f"{reports} reports, places {level:.4g} apart, cost {spent.best:.2f} ({spent.bound} bound)"
    if budget is not None:
        result |= {"budget": budget, "reports_within": reports_within(budget, level, delta=delta)}
        text += f"\n{result['reports_within']} reports stay within {budget:.4g}"
    return result | {"text": text}


@geo_command(under=command, name="map", short_help="Which places are still within a level after n reports.")
@click.argument("file")
@option("--at", type=LATLON, required=True, help="The place the reports were made from; it is not stored.")
@option("--reports", type=int, help="Number of fresh reports [default: those of --ledger and --user].")
@option("--ledger", metavar="LEDGER", help="The ledger that has counted them.")
@option("--user", default="me", help="Whose reports, in the ledger.")
@option("--level", type=LEVEL, default="ln2", help="The level to stay within.")
@_DELTA
@option("-o", "--output", required=True, metavar="OUT", help="The .png, .html or .tif file to write.")
def map_(file: str, at: tuple[float, float], output: str, level: float, delta: float, **count: Any) -> dict[str, Any]:
    """Draw, on the map of FILE, the places that somebody who has seen all reports can still not tell from yours by more
    than a level.
    """
    from ..figures.picture_request import ledger_map_request

    return ledger_map_request(file, at, output, level=level, delta=delta, **count)
