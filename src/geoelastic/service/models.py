# SPDX-License-Identifier: Apache-2.0
"""The shapes of what goes in and out over HTTP; the OpenAPI description is made of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Lat = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False, strict=True)]
Lon = Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False, strict=True)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Fault(_Strict):
    """What went wrong: a code for programs, a sentence for people. It never repeats a place."""

    code: str
    message: str


class Problem(_Strict):
    """The one shape of every error."""

    error: Fault


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request cannot be read"},
    401: {"model": Problem, "description": "The token is missing or wrong"},
    404: {"model": Problem, "description": "There is no such thing, or the place is not one that the map can hide"},
    421: {"model": Problem, "description": "The service is not known by this name"},
    422: {"model": Problem, "description": "The request can be read but not served"},
    503: {"model": Problem, "description": "Too many at once: ask again"},
}


class Point(_Strict):
    """A place in degrees."""

    lat: Lat
    lon: Lon


class SanitizeRequest(_Strict):
    """Places to be replaced by reports, in one metric (default: the first that is served)."""

    points: Annotated[list[Point], Field(min_length=1)]
    metric: str | None = None

    @property
    def places(self) -> list[tuple[float, float]]:
        return [(point.lat, point.lon) for point in self.points]


class OnePlace(Point):
    """A single place to be replaced by a report."""

    metric: str | None = None

    @property
    def places(self) -> list[tuple[float, float]]:
        return [(self.lat, self.lon)]


class Reports(_Strict):
    """One report for each place, in the order of the places."""

    metric: str
    reports: list[Point]


class Health(_Strict):
    ok: bool
    version: str


class Content(_Strict):
    bytes: int
    etag: str


class Description(_Strict):
    """What is public about a metric."""

    name: str
    locations: int
    rows: int
    cols: int
    cell_m: float
    middle: list[float]
    bounds: list[float]
    method: str
    layout: str
    l_from: float
    l_top: float
    fences: int
    output: str
    exponent: str
    verified: bool
    file: Content | None
    portable: Content | None


class Metrics(_Strict):
    metrics: list[Description]


class Extract(_Strict):
    name: str
    bounds: list[float]


class Extracts(_Strict):
    extracts: list[Extract]
