# SPDX-License-Identifier: Apache-2.0
"""Reports of one other library, in its own environment: run as a script, imports nothing of this package.

Reads one JSON object per line from standard input, {"lat": [...], "lon": [...]}, and answers with the reports and the
seconds that they took. The first line that it writes says which version answers, or why none does.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import pathlib
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any
from unittest.mock import MagicMock

Point = tuple[float, float]
Many = Callable[[Sequence[float], Sequence[float]], list[Point]]

A, E2 = 6378137.0, 0.0066943799901413165  # WGS84


def moved(lat: float, lon: float, east: float, north: float) -> Point:
    """The place some metres east and north, by the ellipsoid's radii at the latitude."""
    phi = math.radians(lat)
    w = math.sqrt(1 - E2 * math.sin(phi) ** 2)
    return (
        lat + math.degrees(north / (A * (1 - E2) / w**3)),
        lon + math.degrees(east / (A / w * math.cos(phi))),
    )


def each(one: Callable[[float, float], Point]) -> Many:
    return lambda lats, lons: [one(a, b) for a, b in zip(lats, lons, strict=True)]


def qif_planar(epsilon: float, error: float) -> tuple[str | None, Many]:
    import qif

    def one(lat: float, lon: float) -> Point:
        noise = qif.mechanism.geo_ind.planar_laplace_sample(epsilon)
        return moved(lat, lon, noise.x, noise.y)

    return "qif", each(one)


def opendp_laplace(epsilon: float, error: float) -> tuple[str | None, Many]:
    """Each coordinate by itself; |east| + |north| is at most sqrt(2) times the distance."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    measurement = dp.m.make_laplace(*space, scale=math.sqrt(2) / epsilon)
    assert measurement.map(math.sqrt(2)) <= epsilon * (1 + 1e-9)

    def many(lats: Sequence[float], lons: Sequence[float]) -> list[Point]:
        noise = measurement([0.0] * (2 * len(lats)))
        return [moved(a, b, *noise[2 * k : 2 * k + 2]) for k, (a, b) in enumerate(zip(lats, lons, strict=True))]

    return "opendp", many


def maskmypy_donut(epsilon: float, error: float) -> tuple[str | None, Many]:
    import geopandas
    from maskmypy import donut

    def many(lats: Sequence[float], lons: Sequence[float]) -> list[Point]:
        plane = f"+proj=aeqd +lat_0={sum(lats) / len(lats)} +lon_0={sum(lons) / len(lons)} +ellps=WGS84"
        points = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(lons, lats), crs=4326).to_crs(plane)
        masked = donut(points, low=error / 2, high=error * 3 / 2).to_crs(4326).geometry
        return list(zip(masked.y.tolist(), masked.x.tolist(), strict=True))

    return "maskmypy", many


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for what a library imports itself and does not need here (privkit: faces, street maps, pictures)."""

    def __init__(self, package: str) -> None:
        spec = importlib.util.find_spec(package)
        assert spec is not None, package
        sources = [p for root in spec.submodule_search_locations or [] for p in pathlib.Path(root).rglob("*.py")]
        text = "\n".join(p.read_text(encoding="utf-8") for p in sources)
        self._names = set(re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.MULTILINE))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        known = name.split(".")[0] in self._names
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: Any) -> Any:
        module = MagicMock(name=spec.name)
        module.__path__, module.__version__ = [], "0"
        return module

    def exec_module(self, module: Any) -> None:
        pass


def privkit_planar(epsilon: float, error: float) -> tuple[str | None, Many]:
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401  (first, so that what these try to import is really absent)

    sys.meta_path.append(_Absent("privkit"))
    from privkit.ppms import PlanarLaplace

    mechanism = PlanarLaplace(epsilon)
    return "privkit", each(lambda lat, lon: mechanism.get_obfuscated_point(lat, lon)[:2])


def location_guard(epsilon: float, error: float) -> tuple[str | None, Many]:
    """The published formula of the browser extension: polar noise along a great circle, radius 6,378,137 m."""
    from scipy.special import lambertw

    def one(lat: float, lon: float) -> Point:
        angle = 2 * math.pi * random.random()
        reach = -(lambertw((random.random() - 1) / math.e, -1).real + 1) / epsilon / A
        phi, lam = math.radians(lat), math.radians(lon)
        there = math.asin(math.sin(phi) * math.cos(reach) + math.cos(phi) * math.sin(reach) * math.cos(angle))
        east = math.atan2(
            math.sin(angle) * math.sin(reach) * math.cos(phi), math.cos(reach) - math.sin(phi) * math.sin(there)
        )
        return math.degrees(there), math.degrees(lam + east)

    return None, each(one)


def made_up(epsilon: float, error: float) -> tuple[str | None, Many]:
    """For tests: noise in degrees, as if a degree were 111 km in all directions everywhere."""

    def one(lat: float, lon: float) -> Point:
        angle, radius = 2 * math.pi * random.random(), random.gammavariate(2, 1 / epsilon)
        return lat + radius * math.sin(angle) / 111_195, lon + radius * math.cos(angle) / 111_195

    return None, each(one)


PEERS = {f.__name__: f for f in (qif_planar, opendp_laplace, maskmypy_donut, privkit_planar, location_guard, made_up)}


def main(name: str, epsilon: float, error: float) -> None:
    out = sys.stdout
    sys.stdout = sys.stderr  # a library that prints does not disturb the answers
    try:
        package, many = PEERS[name](epsilon, error)
        told = {"ready": version(package) if package else "formula"}
    except Exception as fault:
        told = {"fault": f"{type(fault).__name__}: {fault}"}
    print(json.dumps(told), file=out, flush=True)
    if "fault" in told:
        return
    for line in sys.stdin:
        asked = json.loads(line)
        begin = time.perf_counter()
        places = many(asked["lat"], asked["lon"])
        took = time.perf_counter() - begin
        answer = {"lat": [float(p[0]) for p in places], "lon": [float(p[1]) for p in places], "seconds": took}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
