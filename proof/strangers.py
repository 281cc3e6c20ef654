# SPDX-License-Identifier: Apache-2.0
"""Hostile files (client/test/hostile.json): what is read at all, the proved checker and `verify` must judge alike.

Prints how many there were of each kind; exit 1 if they differ on any.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import geoelastic as ge
from geoelastic.errors import GeoelasticError
from geoelastic.judge import open_mechanism
from geoelastic.judge.check import proved_check
from geoelastic.mass import Custom

VECTORS = Path(__file__).parents[1] / "client" / "test" / "hostile.json"


def verified_parts(mechanism: Any) -> dict[str, bool]:
    """What `verify` says, in the checker's words."""
    certificate = ge.verify(mechanism)
    fences = certificate["fences"]
    return {
        "graph": fences["leaking_edges"] == 0 and fences["not_closed"] == 0,
        "requirement": certificate["violations"] == 0,
        "reports": "relief" not in certificate or bool(certificate["relief"]["ok"]),
    }


def main() -> int:
    """Judge all of them twice."""
    refused, good, bad, other, differ = 0, 0, 0, 0, []
    with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder:
        path = Path(folder) / "map.geox"
        for row in json.loads(VECTORS.read_text(encoding="utf-8")):
            path.write_bytes(base64.b64decode(row["bytes"]))
            try:
                mechanism = open_mechanism(path)
            except GeoelasticError:
                refused += 1
                continue
            if isinstance(mechanism.metric.requirement, Custom):
                other += 1  # a file keeps the table of such a requirement, not its code
                continue
            said, parts = proved_check(mechanism), verified_parts(mechanism)
            if any(said[part] != parts[part] for part in parts):
                differ.append(row["name"])
            good, bad = good + all(parts.values()), bad + (not all(parts.values()))
    print(
        f"{refused} refused when read; of those that are read both say yes to {good} and no to {bad}, "
        f"{other} with a requirement of their own are left out; they differ on {len(differ)}: {differ}"
    )
    return 1 if differ or not good or not bad else 0


if __name__ == "__main__":
    sys.exit(main())
