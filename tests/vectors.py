# SPDX-License-Identifier: Apache-2.0
"""Test vectors that Python, Node and the browser share: a portable file, random bytes, and the reports they give.

``python tests/vectors.py`` writes them anew (the map is made up, the bytes are SHA-256 in counter mode: always alike).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import geoelastic as ge
from geoelastic.mechanism.geox_mechanism import load_mechanism, save_mechanism
from geoelastic.mechanism.sticky import Sticky

HERE = Path(__file__).resolve().parents[1] / "client" / "test"
FILE, SHARP, VECTORS = HERE / "town.geox", HERE / "sharp.geox", HERE / "vectors.json"
KEY = bytes(range(32))


def town() -> ge.Metric:
    """A small made-up town with a fence, its leaves of several sizes."""
    quality = ge.synthetic_quality("city", rows=56, cols=60, seed=5)
    fence = {
        "type": "Polygon",
        "coordinates": [[[2.352, 48.860], [2.357, 48.860], [2.357, 48.864], [2.352, 48.864], [2.352, 48.860]]],
    }
    return ge.build_metric(ge.mass_from_quality(quality), fences=[fence], sharpen=False)


def vectors(mechanism: ge.ElasticMechanism, count: int) -> dict[str, Any]:
    """Reports from places all over the map, inside the fence too; the bytes of each are those of a seeded source."""
    metric = mechanism.metric
    secrets = [int(i) for i in metric.secret.nonzero()[0]]
    fenced = [i for i in secrets if metric.fence[i] > 0]
    reports, sticky = [], []
    for k in range(count):
        i = fenced[k % len(fenced)] if fenced and k % 8 == 7 else secrets[k * 7919 % len(secrets)]
        source = ge.SeededRandom(k)
        lat, lon = mechanism.sanitize(*metric.latlon(i), rng=source)
        reports.append({"from": i, "seed": k, "to": [int(v) for v in metric.grid.locate(lat, lon)]})
    for k in range(min(count, 40)):
        i = fenced[k % len(fenced)] if fenced and k % 8 == 7 else secrets[k * 104729 % len(secrets)]
        user = "Zoë" if k % 2 else ""
        rows, cols = Sticky(mechanism, KEY, user).sample_cells([i])
        sticky.append({"from": i, "user": user, "to": [int(rows[0]), int(cols[0])]})
    return {"reports": reports, "sticky": sticky, "key": KEY.hex()}


def many(mechanism: ge.ElasticMechanism, i: int, seed: int) -> dict[str, Any]:
    """Five locations drawn from one place, which share a search."""
    return {"from": i, "seed": seed, "to": mechanism.sample(i, 5, rng=ge.SeededRandom(seed)).tolist()}


def main() -> None:
    save_mechanism(ge.ElasticMechanism(town()), FILE)
    save_mechanism(ge.ElasticMechanism(ge.sharpen(town())), SHARP)
    mechanism = load_mechanism(FILE)
    made = vectors(mechanism, 400)
    places = [report["from"] for report in made["reports"][:60:3] if not mechanism.metric.fence[report["from"]]]
    made["many"] = [many(mechanism, i, 5000 + k) for k, i in enumerate(places)]
    probe = int(mechanism.metric.secret.nonzero()[0][100])
    made["probabilities"] = {"from": probe, "values": mechanism.probabilities(probe).tolist()}
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in made.pop("reports"))
    text = json.dumps(made, ensure_ascii=False)[:-1] + f', "reports": [\n{rows}\n]}}\n'
    VECTORS.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{FILE.stat().st_size} and {VECTORS.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
