# SPDX-License-Identifier: Apache-2.0
"""Recipes from TOML: every setting is checked, all faults are reported at once. They are described in
``docs/recipes.md``.
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from ..sources.features import TagRule
from ..sources.vector import Condition, SourceTable
from .recipe import DEFAULT_FLOOR, Cap, Diversity, Hours, Layer, Match, Recipe, RecipePrior, Sensitive, parse_moment

#: what a layer's `source` is when it reads the OpenStreetMap data that the caller names
MAP_SOURCE = "map"
#: Wider than any crowd: a slip of units, not a model.
MOST_SPREAD_M = 10_000.0
_TESTS = ("equals", "not_equals", "one_of", "none_of", "at_least", "at_most")


class Fields:
    """One table of a document. Asking for a field marks it as known; what is wrong is noted, in all tables together."""

    def __init__(self, table: Any, where: str = "", document: Fields | None = None) -> None:
        self._where, self._known = where, set[str]()
        self.faults: list[str] = [] if document is None else document.faults
        self._tables: list[Fields] = [] if document is None else document._tables
        self._tables.append(self)
        if not isinstance(table, dict):
            self.faults.append(f"'{where}' must be a table, got {table!r}")
            table = {}
        self._table: dict[str, Any] = table

    def require_sound(self, document: str) -> None:
        """Raise what was noted, and the fields that nobody has asked for."""
        found = [*self.faults, *(message for table in self._tables for message in table._unknown())]
        if found:
            raise InputError(f"{document}: " + "; ".join(found))

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def path(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def fault(self, name: str, must: str) -> None:
        self.faults.append(f"'{self.path(name)}' must be {must}, got {self._table.get(name)!r}")

    def raw(self, name: str, default: Any = None) -> Any:
        self._known.add(name)
        return self._table.get(name, default)

    def text(self, name: str, default: str | None = None, *, needed: bool = False) -> str:
        value = self.raw(name, default)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value):
            self.fault(name, "a text")
            return ""
        return value

    def choice(self, name: str, options: Iterable[str], default: str) -> str:
        value = self.raw(name, default)
        names = list(options)
        if value not in names:
            self.fault(name, "one of " + ", ".join(map(repr, names)))
            return default
        return str(value)

    def number(
        self, name: str, default: float, *, least: float = 0.0, most: float = math.inf, open_: bool = False
    ) -> float:
        """A number in [least, most], or in (least, most] with `open_`."""
        value = self.raw(name, default)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        good = good and (isinstance(value, float) or abs(value) <= sys.float_info.max)  # digits are not limited there
        if not (good and (least < value if open_ else least <= value) and value <= most):
            bounds = f"{'>' if open_ else '>='} {least:g}" + (f" and <= {most:g}" if most < math.inf else "")
            self.fault(name, f"a number {bounds}")
            return default
        return float(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.raw(name, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.fault(name, "a list of texts")
            return ()
        return tuple(value)

    def items(self, name: str) -> list[Any]:
        value = self.raw(name, [])
        if not isinstance(value, list):
            self.fault(name, "a list")
            return []
        return value

    def table(self, name: str) -> Fields:
        return Fields(self.raw(name, {}), self.path(name), self)

    def rest(self) -> dict[str, Any]:
        """All fields not asked for yet, now known."""
        found = {k: v for k, v in self._table.items() if k not in self._known}
        self._known.update(found)
        return found

    def _unknown(self) -> list[str]:
        known = ", ".join(sorted(self._known))
        rest = sorted(set(self._table) - self._known)
        return [f"'{self.path(name)}' is not a known setting (known: {known})" for name in rest]


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    every = [file.name for file in files(__package__).joinpath("recipes").iterdir()]
    return sorted(name.removesuffix(".toml") for name in every if name.endswith(".toml"))


def load_recipe(recipe: str | Path | Recipe | None = None) -> Recipe:
    """A recipe by name (``default``, ``paper`` or another of `recipe_names`), or from a ``.toml`` file."""
    if isinstance(recipe, Recipe):
        return recipe
    name = "default" if recipe is None else str(recipe)
    if name in recipe_names():
        text = files(__package__).joinpath("recipes", f"{name}.toml").read_text(encoding="utf-8")
        return _parse(text, f"recipe {name}", Path())
    path = Path(name)
    if path.suffix != ".toml":
        raise InputError(
            f"'recipe' must be one of {', '.join(map(repr, recipe_names()))} or a .toml file, got {name!r}"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise FileError(f"{path}: cannot be read as a recipe") from None
    return _parse(text, path.name, path.resolve().parent)


def _parse(text: str, document: str, folder: Path) -> Recipe:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{document}: not valid TOML: {error}") from None
    top = Fields(data)
    layers = tuple(_layer(Fields(item, f"layer[{i}]", top), folder) for i, item in enumerate(top.items("layer")))
    names = [layer.name for layer in layers]
    if not layers or len(set(names)) != len(names):
        top.faults.append("'layer' must be one or more tables with different names")
    centre, size_km, cell_m = _area(top.table("area"))
    recipe = Recipe(
        name=top.text("name", needed=True),
        about=top.text("about"),
        layers=layers,
        diversity=_diversity(top.table("diversity"), names) if "diversity" in top else None,
        hours=_hours(top.table("hours"), names) if "hours" in top else None,
        sensitive=_sensitive(top.table("sensitive")) if "sensitive" in top else None,
        prior=_prior(top.table("prior"), folder) if "prior" in top else None,
        cap=_cap(top.table("cap")) if "cap" in top else None,
        spread_m=top.number("spread_m", 0.0, most=MOST_SPREAD_M),
        centre=centre,
        size_km=size_km,
        cell_m=cell_m,
        city=_city(top.table("city")) if "city" in top else None,
        folder=folder,
    )
    top.require_sound(document)
    return recipe


def _layer(fields: Fields, folder: Path) -> Layer:
    source = fields.text("source", MAP_SOURCE)
    weight = fields.number("weight", 1.0)
    name, credit = fields.text("name", needed=True), fields.text("credit")
    if source == MAP_SOURCE:
        matches = tuple(_match(item, fields, i) for i, item in enumerate(fields.items("match")))
        if not matches:
            fields.fault("match", "a list of tag keys or tables for a layer of the map")
        levels = fields.table("levels")
        return Layer(
            name,
            weight,
            matches,
            levels="levels" in fields,
            levels_unknown=levels.number("unknown", 1.0),
            levels_most=levels.number("most", 100.0, least=1.0),
            credit=credit,
        )
    return Layer(name, weight, file=_file(fields, source, folder), credit=credit)


def _match(item: Any, fields: Fields, i: int) -> Match:
    table = {"key": item} if isinstance(item, str) else item
    match = Fields(table, f"{fields.path('match')}[{i}]", fields)
    values = match.texts("values")
    rule = TagRule(
        match.text("key", needed=True),
        frozenset(values) if values else None,
        frozenset(match.texts("without")),
        match.choice("geometry", ("any", "node", "area"), "any"),
    )
    return Match(rule, match.number("weight", 1.0))


def _file(fields: Fields, source: str, folder: Path) -> SourceTable:
    conditions = []
    for i, item in enumerate(fields.items("where")):
        test = Fields(item, f"{fields.path('where')}[{i}]", fields)
        column, rest = test.text("column", needed=True), test.rest()
        if len(rest) != 1 or next(iter(rest)) not in _TESTS:
            fields.faults.append(
                f"'{test.path('column')}' must come with one test of {', '.join(_TESTS)}, got {sorted(rest)}"
            )
        else:
            conditions.append(Condition(column, *next(iter(rest.items()))))
    return SourceTable(
        path=source if "://" in source else str(folder / source),
        lat=fields.text("lat") or None,
        lon=fields.text("lon") or None,
        value=fields.text("value") or None,
        class_column=fields.text("class_column") or None,
        where=tuple(conditions),
        side_m=fields.number("side_m", 0.0, open_=True) if "side_m" in fields else None,
        side_crs=fields.text("side_crs") or None,
        table=fields.text("table") or None,
        band=int(fields.number("band", 1, least=1)),
        per=fields.choice("per", ("pixel", "km2"), "pixel"),
    )


def _centre(fields: Fields) -> tuple[float, float] | None:
    centre = fields.raw("center")
    pair = isinstance(centre, list) and len(centre) == 2 and all(isinstance(v, int | float) for v in centre)
    if not (pair and abs(centre[0]) <= 90 and abs(centre[1]) <= 180):
        fields.fault("center", "[lat, lon]")
        return None
    return float(centre[0]), float(centre[1])


def _city(fields: Fields) -> tuple[float, float, float] | None:
    centre, radius_km = _centre(fields), fields.number("radius_km", 5.0, open_=True)
    return None if centre is None else (*centre, 1000 * radius_km)


def _area(fields: Fields) -> tuple[tuple[float, float] | None, float | None, float | None]:
    centre = _centre(fields) if "center" in fields else None
    size = fields.number("size_km", 75.0, open_=True) if "size_km" in fields else None
    cell = fields.number("cell_m", 100.0, open_=True) if "cell_m" in fields else None
    return centre, size, cell


def _diversity(fields: Fields, layers: list[str]) -> Diversity:
    chosen = fields.texts("layers") or tuple(layers)
    if not set(chosen) <= set(layers):
        fields.fault("layers", f"names of layers ({', '.join(layers)})")
    return Diversity(fields.number("order", 1.0), fields.number("strength", 0.5, most=1.0), chosen)


def _hours(fields: Fields, layers: list[str]) -> Hours:
    unknown, closed = fields.number("unknown", 1.0, most=1.0), fields.number("closed", 0.0, most=1.0)
    default, chosen = fields.text("at") or None, fields.texts("layers")
    if not set(chosen) <= set(layers):
        fields.fault("layers", f"names of layers ({', '.join(layers)})")
    times = {}
    for name, value in fields.rest().items():
        try:
            times[name] = parse_moment(value)
        except InputError:
            fields.fault(name, "a time such as 'Tue 14:00' or '2026-11-17T14:00'")
    return Hours(times, unknown=unknown, closed=closed, default=default, layers=chosen)


def _sensitive(fields: Fields) -> Sensitive:
    cover, table = fields.number("cover", 0.1, most=1.0), fields.table("groups")
    groups = {name: table.texts(name) for name in fields.raw("groups", {})}
    if not groups:
        fields.fault("groups", "a table of lists of classes such as 'amenity=hospital'")
    return Sensitive(cover, groups)


def _prior(fields: Fields, folder: Path) -> RecipePrior:
    source = fields.text("source")
    file = _file(fields, source, folder) if source else None
    return RecipePrior(file, fields.number("floor", DEFAULT_FLOOR, most=1.0), fields.number("smooth_m", 0.0))


def _cap(fields: Fields) -> Cap:
    rule = fields.choice("rule", ("value", "quantile", "mean_std"), "mean_std")
    return Cap(rule, fields.number("amount", 2.0, open_=True, most=1.0 if rule == "quantile" else float("inf")))
