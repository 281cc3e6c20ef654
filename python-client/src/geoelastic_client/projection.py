# SPDX-License-Identifier: Apache-2.0
"""Transverse Mercator on WGS 84 by Krüger's series to the sixth order (Karney 2011, equations 7 to 36): the plane of a
map, to less than a micrometre of PROJ's."""

from __future__ import annotations

import math

_MAJOR_M = 6378137.0
_FLATTENING = 1 / 298.257223563
_THIRD = _FLATTENING / (2 - _FLATTENING)
_ECCENTRICITY = math.sqrt(_FLATTENING * (2 - _FLATTENING))


def _series(coefficients: list[float]) -> float:
    total = 0.0
    for coefficient in reversed(coefficients):
        total = total * _THIRD + coefficient
    return total


_RADIUS_M = (_MAJOR_M / (1 + _THIRD)) * _series([1, 0, 1 / 4, 0, 1 / 64, 0, 1 / 256])
_FORWARD = [
    _series(row)
    for row in (
        [0, 1 / 2, -2 / 3, 5 / 16, 41 / 180, -127 / 288, 7891 / 37800],
        [0, 0, 13 / 48, -3 / 5, 557 / 1440, 281 / 630, -1983433 / 1935360],
        [0, 0, 0, 61 / 240, -103 / 140, 15061 / 26880, 167603 / 181440],
        [0, 0, 0, 0, 49561 / 161280, -179 / 168, 6601661 / 7257600],
        [0, 0, 0, 0, 0, 34729 / 80640, -3418889 / 1995840],
        [0, 0, 0, 0, 0, 0, 212378941 / 319334400],
    )
]
_INVERSE = [
    -_series(row)
    for row in (
        [0, 1 / 2, -2 / 3, 37 / 96, -1 / 360, -81 / 512, 96199 / 604800],
        [0, 0, 1 / 48, 1 / 15, -437 / 1440, 46 / 105, -1118711 / 3870720],
        [0, 0, 0, 17 / 480, -37 / 840, -209 / 4480, 5569 / 90720],
        [0, 0, 0, 0, 4397 / 161280, -11 / 504, -830251 / 7257600],
        [0, 0, 0, 0, 0, 4583 / 161280, -108847 / 3991680],
        [0, 0, 0, 0, 0, 0, 20648693 / 638668800],
    )
]


def _twisted(coefficients: list[float], xi: float, eta: float) -> tuple[float, float]:
    a, b = xi, eta
    for k, c in enumerate(coefficients, start=1):
        a += c * math.sin(2 * k * xi) * math.cosh(2 * k * eta)
        b += c * math.cos(2 * k * xi) * math.sinh(2 * k * eta)
    return a, b


def _conformal(tangent: float) -> float:
    """Tangent of the conformal latitude from the tangent of the latitude."""
    sine = tangent / math.hypot(1, tangent)
    sigma = math.sinh(_ECCENTRICITY * math.atanh(_ECCENTRICITY * sine))
    return tangent * math.hypot(1, sigma) - sigma * math.hypot(1, tangent)


def _geographic(target: float) -> float:
    """Its inverse by Newton's method (Karney 2011, equations 19 to 21)."""
    rest = 1 - _ECCENTRICITY * _ECCENTRICITY
    tangent = target / rest
    for _ in range(6):
        here = _conformal(tangent)
        slope = (1 + rest * tangent * tangent) / (rest * math.hypot(1, tangent))
        step = (target - here) / math.hypot(1, here) * slope
        tangent += step
        if not abs(step) > 1e-15 * max(1, abs(tangent)):
            break
    return tangent


class Projection:
    """Metres east and north of the point that lies (east_m, north_m) from (lat, lon)."""

    def __init__(self, lat: float, lon: float, east_m: float = 0.0, north_m: float = 0.0) -> None:
        self._lon, self._east_m, self._north_m = lon, east_m, north_m
        self._origin = _twisted(_FORWARD, math.atan(_conformal(math.tan(math.radians(lat)))), 0.0)[0]

    def to_xy(self, lat: float, lon: float) -> tuple[float, float]:
        away = math.radians((lon - self._lon + 180) % 360 - 180)
        t = _conformal(math.tan(math.radians(lat)))
        xi = math.atan2(t, math.cos(away))
        eta = math.asinh(math.sin(away) / math.hypot(t, math.cos(away)))
        a, b = _twisted(_FORWARD, xi, eta)
        return _RADIUS_M * b - self._east_m, _RADIUS_M * (a - self._origin) - self._north_m

    def to_latlon(self, x: float, y: float) -> tuple[float, float]:
        across, up = (x + self._east_m) / _RADIUS_M, (y + self._north_m) / _RADIUS_M + self._origin
        xi, eta = _twisted(_INVERSE, up, across)
        t = math.sin(xi) / math.hypot(math.sinh(eta), math.cos(xi))
        lon = self._lon + math.degrees(math.atan2(math.sinh(eta), math.cos(xi)))
        return math.degrees(math.atan(_geographic(t))), (lon + 540) % 360 - 180
