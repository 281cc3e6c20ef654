# SPDX-License-Identifier: Apache-2.0
"""What a map that is read part by part was made of: the data's date, counts per class, what was left out.

A feature that lies in several parts is counted in the first of them, so that the sums are those of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..locations import Grid
from ..quality.assemble import FeatureBatch, count_classes, most_frequent, stated_date
from ..quality.recipe import Recipe
from ..quality.score import share_features
from ..sources.features import Features
from .tiling import Tiling

_WHOLE = 1 - 1e-9


def account_of_part(
    recipe: Recipe, batches: Sequence[FeatureBatch], grid: Grid, whole: Grid, tiling: Tiling, part: int
) -> dict[str, Any]:
    """Plain data about one part; `grid` is the part's own, `whole` the map's."""
    layers: dict[str, Any] = {}
    for batch in batches:
        features = batch.features
        mine, inside = _counted_here(features, grid, whole, tiling, part)
        rule_of = [index for index in batch.layers for _ in recipe.layers[index].matches or (None,)]
        layer_of = np.array(rule_of, dtype=np.int64)[features.rule]
        for index in batch.layers:
            rows = mine & (layer_of == index)
            cut = int(np.count_nonzero(rows & (inside < _WHOLE)))
            layers[recipe.layers[index].name] = {"cut": cut, "classes": dict(count_classes(features, rows))}
    infos = [batch.features.info for batch in batches]
    return {
        "stamps": {str(info["source"]): info["timestamp"] for info in infos if info.get("timestamp")},
        "objects": {
            str(info.get("source")): {k: list(v) for k, v in info.get("objects", {}).items()} for info in infos
        },
        "layers": layers,
    }


def _counted_here(
    features: Features, grid: Grid, whole: Grid, tiling: Tiling, part: int
) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], FloatArray]:
    """Which features have this part as their first, and which share of each lies on the whole map."""
    inside = share_features(features, grid).inside
    mine = inside > 0
    cut = np.flatnonzero(mine & (inside < _WHOLE))  # areas: a point lies in one part
    if len(cut):
        areas = features.areas.take(cut - len(features.lat))
        shares = share_features(Features.of_rows([], [], areas), whole)
        first: IntArray = np.full(len(cut), tiling.n)
        row, col = np.divmod(shares.cell, whole.cols)
        number = np.array(
            [[tiling.tile_of(r, c) for c in _corners(whole.cols, tiling)] for r in _corners(whole.rows, tiling)]
        )
        np.minimum.at(first, shares.feature, number[row // tiling.side, col // tiling.side])
        mine[cut], inside[cut] = first == part, shares.inside
    return mine, inside


def _corners(cells: int, tiling: Tiling) -> range:
    """The first row or column of each part."""
    return range(0, cells, tiling.side)


def account_of_whole(recipe: Recipe, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of all parts, as `geoelastic.quality.assemble` words them."""
    layers = {}
    for layer in recipe.layers:
        mine = [part["layers"][layer.name] for part in parts]
        classes: Counter[str] = sum((Counter(part["classes"]) for part in mine), Counter())
        layers[layer.name] = {
            "features": classes.total(),
            "cut by the area's edge": sum(part["cut"] for part in mine),
            "weight": layer.weight,
            "quality": sum(part["quality"] for part in mine),
            "classes": most_frequent(classes),
        }
    stamps = {source: stamp for part in parts for source, stamp in part["stamps"].items()}
    return {
        "timestamp": stated_date(stamps),
        "layers": layers,
        "dropped": _dropped(parts),
    }


def _dropped(parts: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many objects were left out by reason, each once, however many parts met it."""
    names: dict[str, dict[str, set[str]]] = {}
    for part in parts:
        for source, reasons in part["objects"].items():
            mine = names.setdefault(source, {})
            for reason, listed in reasons.items():
                mine.setdefault(reason, set()).update(listed)
    return {source: {reason: len(found) for reason, found in reasons.items()} for source, reasons in names.items()}
