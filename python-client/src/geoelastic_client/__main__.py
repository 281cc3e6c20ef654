# SPDX-License-Identifier: Apache-2.0
"""python -m geoelastic_client: a report, or a check. Exit 0 done, 1 a check failed, 2 bad input."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import CheckError, Elastic, GeoelasticError, Sticky, __version__, load_key, new_key, updating, verify


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="geoelastic-client", description="Location reports from a .geox map.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="print a report for a place")
    report.add_argument("map")
    report.add_argument("lat", type=float)
    report.add_argument("lon", type=float)
    report.add_argument("--sticky-key", metavar="FILE", help="a place's report stays the same; made if not there")
    report.add_argument("--user", default="")
    report.add_argument("--ledger", metavar="FILE", help="count the report there, before it is drawn")
    report.add_argument("--budget", type=float, help="the most that all reports in the ledger may cost")
    check = commands.add_parser("verify", help="check a map from its bytes alone (slow)")
    check.add_argument("map")
    check.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    try:
        return _report(given) if given.command == "report" else _verify(given)
    except GeoelasticError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1 if isinstance(error, CheckError) else 2


def _report(given: argparse.Namespace) -> int:
    mechanism = Elastic.open(given.map)
    place = mechanism.metric.locate_secret(given.lat, given.lon)
    by: Elastic | Sticky = mechanism
    if given.sticky_key:
        key = load_key(given.sticky_key) if Path(given.sticky_key).exists() else new_key(given.sticky_key)
        by = Sticky(mechanism, key, given.user)
    if given.ledger:
        with updating(given.ledger) as ledger:
            ledger.charge(by, place, user=given.user)
            if given.budget is not None:
                ledger.require(given.budget, given.user)
    drawn = by.report_from(place)
    sys.stdout.write(f"{drawn.lat:.6f} {drawn.lon:.6f}\n")
    return 0


def _verify(given: argparse.Namespace) -> int:
    told = sys.stderr.isatty()

    def progress(part: float) -> None:
        sys.stderr.write(f"\r{100 * part:3.0f} %")

    found = verify(Elastic.open(given.map), workers=given.workers, progress=progress if told else None)
    sys.stderr.write("\n" if told else "")
    sys.stdout.write(f"{found['claim']}\n")
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
