# SPDX-License-Identifier: Apache-2.0
"""A town as an OpenStreetMap extract, made up: shops and houses, thinner from the centre outwards."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

CENTRE = (35.8989, 14.5146)


def write_town(path: Path, *, count: int = 3000, radius_m: float = 3000.0, seed: int = 7) -> None:
    import osmium
    from osmium.osm.mutable import Node

    rng = np.random.default_rng(seed)
    # many near the centre, some everywhere
    away = radius_m * rng.random(count) ** np.where(rng.random(count) < 0.7, 1.2, 0.5)
    angle = 2 * math.pi * rng.random(count)
    north, east = away * np.sin(angle), away * np.cos(angle)
    tags = [("amenity", "cafe"), ("shop", "bakery"), ("building", "house"), ("amenity", "school"), ("shop", "clothes")]
    with osmium.SimpleWriter(str(path)) as out:
        for k in range(count):
            lat = CENTRE[0] + north[k] / 111_132
            lon = CENTRE[1] + east[k] / (111_320 * math.cos(math.radians(CENTRE[0])))
            key, value = tags[k % len(tags)]
            out.add_node(Node(id=k + 1, location=(lon, lat), tags={key: value}))
