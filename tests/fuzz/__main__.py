# SPDX-License-Identifier: Apache-2.0
"""`./run fuzz --minutes N`: damaged inputs of every kind. What fails is kept in tests/fuzz/kept, where the tests run it
again ever after; the exit code is 1 if anything did."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from .kinds import ALL, KEPT, KINDS, warm_up
from .supervise import Tally, supervise

_SMALL = 200_000


def main() -> int:
    """Parse, run, keep, tell."""
    begun = time.monotonic()
    parser = argparse.ArgumentParser(prog="./run fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long, in all (default: 1)")
    parser.add_argument(
        "--only", choices=sorted(KINDS), action="append", help="only this kind of input; can be repeated"
    )
    parser.add_argument("--seed", help="of the inputs (default: another one each time)")
    parser.add_argument("--inputs", type=int, help="stop after so many")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="children at once (default: one per core)"
    )
    parser.add_argument("--no-keep", action="store_true", help="do not write down what fails")
    options = parser.parse_args()
    seed = options.seed or os.urandom(6).hex()
    kinds = [KINDS[name] for name in options.only] if options.only else ALL
    warm_up(kinds)
    until = begun + 60 * options.minutes
    tally = supervise(kinds, seed=seed, until=until, first=options.first, most=options.inputs, jobs=options.jobs)
    for key, failure in tally.failures.items():
        print(f"{key} ({tally.alike[key]} times)\n{failure.details}", file=sys.stderr)
        if not options.no_keep and len(failure.payload) <= _SMALL:
            KEPT.mkdir(exist_ok=True)
            (KEPT / failure.file_name).write_bytes(failure.payload)
    print(json.dumps(_result(tally, seed, time.monotonic() - begun), indent=1))
    return 1 if tally.failures else 0


def _result(tally: Tally, seed: str, seconds: float) -> dict[str, Any]:
    kinds = tally.by_kind()
    return {
        "seed": seed,
        "inputs": sum(kind["inputs"] for kind in kinds.values()),
        "kinds": kinds,
        "failures": dict(tally.alike),
        "more_memory_mb": round(tally.peak_bytes / 2**20),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
