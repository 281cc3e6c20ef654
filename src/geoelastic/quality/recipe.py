# SPDX-License-Identifier: Apache-2.0
"""`Recipe`: which features count and how much, as data (TOML) rather than code. Settings are described in
``docs/recipes.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..sources.features import TagRule
from ..sources.vector import Condition
from .hours import Hours

__all__ = ["DEFAULT_FLOOR", "Cap", "Diversity", "Layer", "Match", "Recipe", "RecipePrior", "Sensitive", "SourceTable"]

#: what stays of the quality where a prior says that nobody goes
DEFAULT_FLOOR = 0.1


@dataclass(frozen=True)
class Match:
    """Map objects that count, and how much each."""

    rule: TagRule
    weight: float


@dataclass(frozen=True)
class SourceTable:
    """A file with its reading settings: a table of points, polygons or squares, or a raster."""

    path: str
    lat: str | None = None
    lon: str | None = None
    value: str | None = None
    class_column: str | None = None
    where: tuple[Condition, ...] = ()
    side_m: float | None = None
    side_crs: str | None = None
    table: str | None = None
    band: int = 1
    per: str = "pixel"


@dataclass(frozen=True)
class Layer:
    """One addend of the quality: objects of the map (`matches`) or a file (`file`)."""

    name: str
    weight: float
    matches: tuple[Match, ...] = ()
    file: SourceTable | None = None
    levels: bool = False
    levels_unknown: float = 1.0
    levels_most: float = 100.0
    credit: str = ""


@dataclass(frozen=True)
class Diversity:
    """Quality of the named layers is multiplied by D^strength, D the Hill number of `order` over the classes in the
    cell.
    """

    order: float
    strength: float
    layers: tuple[str, ...]


@dataclass(frozen=True)
class Sensitive:
    """A cell whose share s comes from one group is worth 1 - (1 - cover) s^2 of its quality."""

    cover: float
    groups: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class RecipePrior:
    """How likely this group of users is to be in each cell; `floor` of the quality stays where they never are."""

    file: SourceTable | None
    floor: float
    smooth_m: float


@dataclass(frozen=True)
class Cap:
    """No cell counts for more than this: a value, a quantile of the cells that have any, or mean + k standard
    deviations.
    """

    rule: str
    amount: float


@dataclass(frozen=True)
class Recipe:
    """What counts, how much, and what is done to the sum. `spread_m`: in the end each cell's quality is spread over its
    surroundings by a Gaussian of this standard deviation."""

    name: str
    about: str
    layers: tuple[Layer, ...]
    diversity: Diversity | None = None
    hours: Hours | None = None
    sensitive: Sensitive | None = None
    prior: RecipePrior | None = None
    cap: Cap | None = None
    spread_m: float = 0.0
    centre: tuple[float, float] | None = None
    size_km: float | None = None
    cell_m: float | None = None
    city: tuple[float, float, float] | None = None
    folder: Path = field(default_factory=Path)

    def opens(self, layer: Layer) -> bool:
        """Whether what is in a layer opens and closes: a building stays where it is at night."""
        if self.hours is not None and self.hours.layers:
            return layer.name in self.hours.layers
        return bool(layer.matches) and all(match.rule.key != "building" for match in layer.matches)

    @property
    def reads_map(self) -> bool:
        """Whether a layer needs the OpenStreetMap data that the caller names."""
        return any(layer.file is None for layer in self.layers)
