# SPDX-License-Identifier: Apache-2.0
"""Features + grid + recipe to q(x), with an account of everything that went in and was left out."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from ..locations import Grid
from ..sources.features import Features
from .quality import Quality
from .recipe import DEFAULT_FLOOR, Hours, Layer, Recipe, open_factor
from .score import Amounts, Shares, apply_cap, apply_prior, apply_sensitive, share_features, spread, sum_with_diversity

_MOST_CLASSES = 60
_WHOLE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class FeatureBatch:
    """Features of one source, for the layers `layers` of the recipe; rules are numbered through these layers."""

    layers: tuple[int, ...]
    features: Features


@dataclass(frozen=True, eq=False)
class _Placed:
    """A batch on the grid: one entry per feature and cell, and what is reported about it."""

    shares: Shares
    layer: IntArray
    weight: FloatArray
    batch: FeatureBatch
    hours: dict[str, int]


def assemble(
    recipe: Recipe,
    grid: Grid,
    batches: Sequence[FeatureBatch],
    *,
    moment: dt.datetime | None = None,
    prior: FloatArray | None = None,
    notes: Sequence[str] = (),
) -> Quality:
    """The quality of every cell and the account in its `info`."""
    placed = [_place(recipe, grid, batch, moment) for batch in batches]
    amounts = _amounts(recipe, grid, placed)
    info = _account(recipe, placed, amounts)
    empty = [name for name, layer in info["layers"].items() if layer["features"] == 0]
    info["notes"] = [*notes, *(f"layer '{name}' found nothing in the area" for name in empty)]
    if not amounts.amount.any():
        raise InputError(_nothing_found(recipe, info))
    cells = sum_with_diversity(amounts, recipe.diversity)
    if recipe.diversity is not None:
        info["diversity"] = {"order": recipe.diversity.order, "strength": recipe.diversity.strength}
    if recipe.sensitive is not None:
        cells, info["sensitive"] = apply_sensitive(cells, amounts, recipe.sensitive)
    if prior is not None:
        floor = recipe.prior.floor if recipe.prior is not None else DEFAULT_FLOOR
        cells, info["prior"] = apply_prior(cells, prior.ravel(), floor=floor)
    if recipe.cap is not None:
        cells, info["cap"] = apply_cap(cells, recipe.cap)
    if recipe.spread_m > 0:
        cells = spread(cells.reshape(grid.shape), grid.cell_m, recipe.spread_m).ravel()
        info["spread_m"] = recipe.spread_m
    if moment is not None:
        counts: Counter[str] = Counter()
        for part in placed:
            counts.update(part.hours)
        info["hours"] = {"at": moment.isoformat(timespec="minutes"), "features": dict(counts)}
    info["total"] = float(cells.sum())
    return Quality(grid, cells.reshape(grid.shape), info)


def grid_sum(features: Features, grid: Grid, *, smooth_m: float = 0.0) -> FloatArray:
    """The features' values on the grid, (rows, cols); with `smooth_m`, spread by a Gaussian of that standard
    deviation.
    """
    shares = share_features(features, grid)
    value = shares.share * features.value[shares.feature]
    flat = np.bincount(shares.cell, weights=value, minlength=grid.rows * grid.cols)
    cells: FloatArray = flat.astype(np.float64).reshape(grid.shape)
    return spread(cells, grid.cell_m, smooth_m, mode="constant") if smooth_m > 0 else cells


def _place(recipe: Recipe, grid: Grid, batch: FeatureBatch, moment: dt.datetime | None) -> _Placed:
    features = batch.features
    layer_of_rule, weight_of_rule = [], []
    for index in batch.layers:
        layer = recipe.layers[index]
        for factor in [m.weight for m in layer.matches] or [1.0]:
            layer_of_rule.append(index)
            weight_of_rule.append(layer.weight * factor)
    layer_ = np.array(layer_of_rule, dtype=np.int64)[features.rule]
    weight = np.array(weight_of_rule)[features.rule] * _worth(recipe.layers, layer_, features.value)
    counts: dict[str, int] = {}
    if moment is not None:
        timed = np.array([recipe.opens(layer) for layer in recipe.layers])[layer_]
        share, counts = open_factor(features.hours_text, features.hours[timed], recipe.hours or Hours(), moment)
        weight[timed] *= share
    return _Placed(share_features(features, grid), layer_, weight, batch, counts)


def _worth(layers: Sequence[Layer], layer_of: IntArray, value: FloatArray) -> FloatArray:
    """What features are worth before weights: a column's value, or the storeys where the layer asks for them, or 1."""
    worth = np.ones(len(value))
    for index, layer in enumerate(layers):
        rows = layer_of == index
        if layer.file is not None:
            worth[rows] = value[rows]
        elif layer.levels:
            known = np.where(np.isnan(value[rows]), layer.levels_unknown, value[rows])
            worth[rows] = np.minimum(known, layer.levels_most)
    return worth


def _amounts(recipe: Recipe, grid: Grid, placed: Sequence[_Placed]) -> Amounts:
    classes: dict[str, int] = {}
    found: list[tuple[Any, ...]] = []
    for part in placed:
        of = part.shares.feature
        renumber = np.array([classes.setdefault(c, len(classes)) for c in part.batch.features.classes], dtype=np.int64)
        codes = renumber[part.batch.features.code[of]] if len(of) else np.empty(0, np.int64)
        found.append((part.shares.cell, codes, part.layer[of], part.shares.share * part.weight[of]))
    names = tuple(item.name for item in recipe.layers)
    cell, code, layer, amount = (np.concatenate(column) for column in zip(*found, strict=True))
    return Amounts(grid.rows * grid.cols, cell, code, layer, amount, tuple(classes), names)


def _account(recipe: Recipe, placed: Sequence[_Placed], amounts: Amounts) -> dict[str, Any]:
    layers = {}
    for part in placed:
        for index in part.batch.layers:
            layers[recipe.layers[index].name] = _layer_account(part, index, amounts, recipe.layers[index])
    sources = [part.batch.features.info for part in placed]
    stamps = {str(s["source"]): s["timestamp"] for s in sources if s.get("timestamp")}
    licences = [s.get("licence") for s in sources] + [layer.credit for layer in recipe.layers]
    return {
        "kind": "quality",
        "source": [s.get("source") for s in sources],
        "timestamp": stated_date(stamps),
        "licence": "; ".join(sorted({text for text in licences if text})),
        "recipe": {"name": recipe.name, "about": recipe.about, "layers": [_describe(layer) for layer in recipe.layers]},
        "layers": layers,
        "dropped": {str(p.batch.features.info.get("source")): dict(p.batch.features.dropped) for p in placed},
    }


def stated_date(stamps: Mapping[str, str]) -> Any:
    """The date of the only source, or the dates of all, or None."""
    return next(iter(stamps.values())) if len(stamps) == 1 else (dict(stamps) or None)


def count_classes(features: Features, chosen: Any) -> Counter[str]:
    """How many of the chosen features there are of each class."""
    count = np.bincount(features.code[chosen], minlength=len(features.classes))
    return Counter({features.classes[code]: int(count[code]) for code in np.flatnonzero(count).tolist()})


def most_frequent(classes: Counter[str]) -> dict[str, int]:
    """Counts of the most frequent classes, and of all others together."""
    ordered = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    named = dict(ordered[:_MOST_CLASSES])
    if len(ordered) > _MOST_CLASSES:
        named["others"] = sum(count for _, count in ordered[_MOST_CLASSES:])
    return named


def _layer_account(part: _Placed, index: int, amounts: Amounts, layer: Layer) -> dict[str, Any]:
    features, inside = part.batch.features, part.shares.inside
    mine = (part.layer == index) & (inside > 0)
    return {
        "features": int(np.count_nonzero(mine)),
        "cut by the area's edge": int(np.count_nonzero(mine & (inside < _WHOLE))),
        "weight": layer.weight,
        "quality": float(amounts.amount[amounts.layer == index].sum()),
        "classes": most_frequent(count_classes(features, mine)),
    }


def _describe(layer: Layer) -> dict[str, Any]:
    """A layer as plain data, without the folders of this machine."""
    entry: dict[str, Any] = {"name": layer.name, "weight": layer.weight}
    if layer.file is None:
        entry["match"] = [
            {"key": m.rule.key, "values": sorted(m.rule.values or ()) or "any", "without": sorted(m.rule.without),
             "geometry": m.rule.geometry, "weight": m.weight}
            for m in layer.matches
        ]  # fmt: skip
        if layer.levels:
            entry["levels"] = {"unknown": layer.levels_unknown, "most": layer.levels_most}
        return entry
    file = layer.file
    entry |= {"value": file.value, "per": file.per, "side_m": file.side_m}
    entry["where"] = [f"{c.column} {c.op} {c.value}" for c in file.where]
    return entry


def _nothing_found(recipe: Recipe, info: dict[str, Any]) -> str:
    keys = sorted({m.rule.key for layer in recipe.layers for m in layer.matches})
    looked = f" with the tags {', '.join(keys)}" if keys else ""
    outside = sum(reasons.get("outside the area", 0) for reasons in info["dropped"].values())
    hint = f"; {outside} lie outside the area" if outside else "; is it an extract of roads only?" if keys else ""
    where = ", ".join(str(s) for s in info["source"])
    return f"{where}: nothing that recipe '{recipe.name}' counts{looked} lies in the area{hint}"


def as_prior(prior: Any, grid: Grid) -> FloatArray:
    """A prior given as an array or as another `Quality` on the same grid."""
    cells = np.asarray(getattr(prior, "cells", prior), dtype=np.float64)
    if cells.shape != grid.shape:
        raise InputError(f"'prior' must have the grid's shape {grid.shape}, got {cells.shape}")
    return cells
