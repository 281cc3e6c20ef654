# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of a quality, a mass, a metric and a mechanism.

These sit low in the house and pictures sit high. So `figures.notebook` is looked up by name when a notebook asks, as
the public names of the package are: nothing here depends on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _views() -> Any:
    return import_module("geoelastic.figures.notebook")


class Card:
    """Something that a notebook shows as a small table of facts."""

    def _repr_html_(self) -> str:
        return str(_views().card(self))


class Shown(Card):
    """Something with a map: pictures of it, a page of it, a table of it."""

    def plot(
        self, kind: str | None = None, *, at: tuple[float, float] | None = None, measure: str = "mass",
        points: int = 4000, reports: int = 300, seed: int | None = None,
    ) -> Any:  # fmt: skip
        """A picture, which a notebook shows; `.figure` is matplotlib's, `.save(path)` writes it as PNG.

        `kind`: of a metric, what `geoelastic map` can draw ("mass" if none is given, "error", "ball", "report",
        "slack", "cartogram", "fences"), at a place `at` where it needs one. `seed` makes reports in it reproducible.
        """
        return _views().plot(self, kind, at=at, measure=measure, points=points, reports=reports, seed=seed)

    def explore(
        self, kind: str | None = None, *, at: tuple[float, float] | None = None, measure: str = "mass",
        points: int = 4000, reports: int = 300, seed: int | None = None,
    ) -> Any:  # fmt: skip
        """A page inside the notebook: all of it is in the cell, and no request leaves it. `.save(path)` writes it.

        Of a metric, without a `kind`, it is the page of `geoelastic serve`: choose a place, see who hides it and what
        others are told. With a `kind`, or of anything else, the picture, to be dragged, zoomed and pointed at.
        """
        return _views().explore(self, kind, at=at, measure=measure, points=points, reports=reports, seed=seed)

    def to_geodataframe(self) -> Any:
        """One row per location (or a cell that has something in it), with its square in degrees, for GeoPandas."""
        return _views().to_geodataframe(self)
