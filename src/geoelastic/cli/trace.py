# SPDX-License-Identifier: Apache-2.0
"""`geoelastic trace`: release, cost, attack, map"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import click

from ._common import (
    LATLON,
    LEVEL,
    Kind,
    budget_and_seed,
    geo_command,
    option,
    place_columns,
    show_progress,
    with_options,
)


def _moment(text: str) -> float:
    """Seconds since 1970."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_NUMBER = Kind("NUMBER", Fraction, "a number such as 0.5 or 1/2")
_TIME = Kind("TIME", _moment, "a time such as 2026-03-02 or 2026-03-02T08:00Z")

_mechanism_options = with_options(
    option("--rate", type=_NUMBER, default="1/2", help="Cost of an hour, per unit of level."),
    option("--step", "step_minutes", type=_NUMBER, default="10", help="Minutes between ticks."),
    option("--block", "block_hours", type=float, default=24, help="Hours released by one draw."),
    option("--measure", default="mass", help="Output measure (mass, uniform, mass^GAMMA)."),
)
_truth_options = with_options(
    option("--truth", multiple=True, required=True, metavar="TRACES", help="The true traces."),
    option("--user", help="Only this person."),
    place_columns,
    _mechanism_options,
)


@click.group(short_help="Release whole traces with one guarantee: a day, a commute, a tour.")
def command() -> None:
    """Traces: one draw for all of it, instead of one report after another. Guide: docs/traces.md."""


@geo_command(under=command, name="release", short_help="Release traces on a public clock.")
@click.argument("file")
@click.argument("traces", nargs=-1, required=True)
@option("-o", "--output", required=True, metavar="OUT", help="The .gpx, .csv, .parquet or .geojson to write.")
@_mechanism_options
@option("--moves", type=float, default=2, help="Expected changes of place per day.")
@option("--habit", type=float, default=0.5, help="Share of the measure that is taken from --past.")
@option("--past", multiple=True, metavar="RELEASED", help="Files of earlier releases (never true traces).")
@option("--from", "start_s", type=_TIME, help="Public start [default: the first fix, which is then public].")
@option("--until", "end_s", type=_TIME, help="Public end [default: the last fix, which is then public].")
@option("--user", help="Only the traces of this person.")
@place_columns
@option("--ledger", metavar="LEDGER", help="Charge the release to this file (.json or .parquet) before it is made.")
@option("--account", default="me", help="Whose traces without a name are, in the ledger.")
@budget_and_seed
def release(file: str, traces: tuple[str, ...], output: str, **options: Any) -> dict[str, Any]:
    """Release TRACES (GPX, CSV, Parquet, GeoJSON, GeoLife, Takeout, OwnTracks; files or folders, many people at once)
    over the map FILE.

    One place per tick of a public clock. Gaps hold the last place; entering or leaving a fence cuts the trace, and a
    stay in it is released as the fence; places off the map count as the nearest on it, and are counted here.
    """
    from ..release.trace_request import release_request

    return release_request(file, traces, output, progress=show_progress(), **options)


@geo_command(under=command, name="cost", short_help="What a release costs, in words.")
@click.argument("file")
@_mechanism_options
@option("--hours", type=float, default=24, help="Length of the release.")
@option("--level", type=LEVEL, default="ln2", help="Distance of the places to tell apart.")
@option("--at", type=LATLON, help="Use the level of the places around this one instead; it is not stored.")
@option("--within", "within_m", type=float, default=300, help="How far around, in metres.")
def cost(file: str, **options: Any) -> dict[str, Any]:
    """Say what a release over the map FILE gives away."""
    from ..release.trace_request import cost_request

    return cost_request(file, **options)


@geo_command(under=command, name="attack", short_help="What adversaries make of released traces.")
@click.argument("file")
@click.argument("released")
@_truth_options
def attack(
    file: str, released: str, truth: tuple[str, ...], user: str | None, lat_column: str | None,
    lon_column: str | None, **choices: Any,
) -> dict[str, Any]:  # fmt: skip
    """Track who made RELEASED over the map FILE by forward-backward smoothing and by running means, and look for the
    home by averaging and by Bayes; only errors come out. --rate and --step must be those of the release: the adversary
    knows them.
    """
    from ..evaluation.traces.trace_attack import attack_releases
    from ..release.trace_request import open_traces

    found = attack_releases(open_traces(file, **choices), released, truth, user=user, lat=lat_column, lon=lon_column)
    head = f"{'user':<16}{'release':>10}{'tracking':>10}{'running mean':>14}{'home, mean':>12}{'home, Bayes':>13}"
    return found | {"text": "\n".join([head, *map(_attack_line, found["users"])])}


def _attack_line(row: dict[str, Any]) -> str:
    home = "".join(
        f"{row[k]:>{w}.0f} m" if k in row else " " * (w + 2) for k, w in (("home_mean_m", 10), ("home_bayes_m", 11))
    )
    return (
        f"{row['user']:<16}{row['release_m']:>8.0f} m{row['tracking_m']:>8.0f} m{row['running_mean_m']:>12.0f} m{home}"
    )


@geo_command(
    under=command, name="map", short_help="The true track, its release and what an adversary believes, as a page."
)
@click.argument("file")
@click.argument("released")
@_truth_options
@option("-o", "--output", required=True, metavar="HTML", help="The page to write, for your eyes only.")
def map_(
    file: str, released: str, truth: tuple[str, ...], user: str | None, lat_column: str | None,
    lon_column: str | None, output: str, **choices: Any,
) -> dict[str, Any]:  # fmt: skip
    """Draw RELEASED over the map FILE hour by hour, with a time slider. The page holds the true track and loads
    nothing: keep it to yourself.
    """
    from ..evaluation.traces.trace_attack import map_release
    from ..release.trace_request import open_traces

    done = map_release(open_traces(file, **choices), released, truth, output, user=user, lat=lat_column, lon=lon_column)
    return done | {"text": f"{output}: holds the true track, for your eyes only"}
