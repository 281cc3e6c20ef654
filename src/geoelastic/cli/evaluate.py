# SPDX-License-Identifier: Apache-2.0
"""`geoelastic evaluate`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option, place_columns, show_progress


@geo_command(short_help="Compare mechanisms under Bayesian adversaries on check-ins.")
@click.argument("file")
@option("--checkins", metavar="FILE", help="SNAP, Foursquare, or any table that `sanitize` reads.")
@option("--traces", multiple=True, metavar="TRACES", help="Evaluate released traces on these instead.")
@option("--days", type=click.IntRange(min=2), help="Traces: at most this many days per person [default: all].")
@option("--commuters", type=click.IntRange(min=0), default=24, help="Traces: made-up people to find at home.")
@option("--areas", metavar="GEOJSON", help="Polygons, or points with 'size_km' [default: the middle 10 km].")
@option("--format", type=click.Choice(["auto", "snap", "foursquare", "table"]), default="auto")
@option(
    "--count", type=click.Choice(["visits", "checkins"]), default="visits",
    help="Count a user at a place once, or every check-in.",
)  # fmt: skip
@place_columns
@option("--workers", type=int, default=2, metavar="N", help="Threads.")
@option("-o", "--output", required=True, metavar="DIR", help="Folder for tables, figures and the report.")
def command(
    file: str, output: str, checkins: str | None, traces: tuple[str, ...], areas: str | None, lat_column: str | None,
    lon_column: str | None, days: int | None, commuters: int, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """The paper's evaluation of the metric in FILE: tables, figures and an HTML report in DIR.

    Planar Laplace gets the utility of each elastic mechanism in the first area and is used unchanged in the others. A
    stopped run resumes where it stopped when the same command is given again.

    With --traces: released traces against clocks and the predictive mechanism at equal costs, tracking, homes.
    """
    if (checkins is None) == (not traces):
        raise click.UsageError("give either --checkins or --traces")
    if checkins is None:
        return _traces(file, traces, output, most_days=days, commuters=commuters, lat=lat_column, lon=lon_column)
    from ..evaluation import evaluate, mechanism_rows, read_areas

    chosen = None if areas is None else read_areas(areas)
    done = evaluate(
        file, checkins, output, areas=chosen, lat=lat_column, lon=lon_column, progress=show_progress(), **options
    )
    rows = mechanism_rows(done["result"])
    return {
        "files": done["files"],
        "mechanisms": rows,
        "epsilons": done["result"]["epsilons"],
        "text": _text(done, rows),
    }


def _traces(file: str, traces: tuple[str, ...], output: str, **options: Any) -> dict[str, Any]:
    from ..evaluation.traces.trace_report import evaluate_traces, report_lines
    from ..mechanism import ElasticMechanism
    from ..opening import load

    done = evaluate_traces(ElasticMechanism(load(file)), traces, output, progress=show_progress(), **options)
    return done | {"text": "\n".join([*report_lines(done)[1:], f"report: {done['files']['report']}"])}


def _text(done: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    lines = [f"{'area':<16}{'mechanism':<24}{'expected':>10}{'binary':>9}{'Euclidean':>11}  guarantee"]
    lines += [
        f"{r['area']:<16}{r['mechanism']:<24}{r['expected_m']:>8.0f} m{r['binary_median']:>9.3f}"
        f"{r['euclidean_median_m']:>9.0f} m  {'yes' if r['guarantee'] else 'no'}"
        for r in rows
    ]
    return "\n".join([*lines, f"report: {done['files']['report']}"])
