# SPDX-License-Identifier: Apache-2.0
"""Output measures, and sharpened reports: expected error and a Bayesian adversary's, at the same guarantee.

Places lie at even steps of the mass along the map's curve. The adversary knows the mechanism and that the place is one
of every fifth of these, and guesses the one with the least expected distance. Errors in metres; `suburb`: the half of
the places with less density. `by_chance`: the standard error of `error_to_uniform`, from eighths of the places, each
spread over all of the map as they are. `seconds`: what sharpening took.

The last rows are for comparison. Two are no mechanisms to use: they say what is left to gain on this metric. One has
the heights that ln S leads to if edges give up their difference and nothing besides, which leaves no room for heights
that are not exact; the other uses all of each distance. The very last is even output on the metric without ascent, as
it was when 0.42 of even output was first spoken of: since then that has come nearer too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanism import ElasticMechanism
from ..mechanism.expected_errors import expected_errors
from ..metric import Metric, build_metric
from ..metric.graph import Graph
from ..metric.measures import output_measure
from ..metric.resharpen import STEP
from ..metric.sharpen import log_units, sharpen
from ..metric.totals import in_walking_order, totals_within
from ..metric.weights import WHOLE, make_weights
from ._tools import Tell, markdown, places_at_even_steps, quiet, synthetic_mass, synthetic_metric, timed, warm_up

DEFAULT, FREE, BEFORE = "mass, sharpened", "mass, without slack (no mechanism)", "uniform, without ascent"
OUTPUTS = ("uniform", "mass^0.5", "mass", "mass^1.5", "mass^2", "mass^3")
_PLACES = 2000
#: The adversary's places are one in so many of them; and what is left to chance is found from so many parts.
_FEWER, _PARTS = 5, 8
#: Passes without slack, from heights that were found with it, and how far they look, in levels.
FREE_PASSES, FREE_LOOK = 4, 6.0


def run(*, tell: Tell = quiet, side: int = 750) -> dict[str, Any]:
    """One row an output measure, one more for reports by mass that are sharpened, and what is left to gain by mass."""
    warm_up()
    metric = synthetic_metric("paris", side, sharpened=False)
    places = places_at_even_steps(metric, _PLACES)
    density = metric.mass[places] / metric.locations.area_cells[places]
    suburb = density <= np.median(density)
    # errors of the places and what the adversary is off by, by output
    found: dict[str, tuple[FloatArray, float | None]] = {}
    for output in OUTPUTS:
        tell(output, of=len(OUTPUTS) + 4)
        found[output] = _measure(metric, places, output)
    tell("sharpening mass")
    sharp = timed(partial(sharpen, metric, output="mass"))
    found[DEFAULT] = _measure(sharp.value, places, "mass")
    for name, one in ((FREE, without_slack(sharp.value)), ("mass, all of each distance (no mechanism)", metric)):
        tell(name)
        found[name] = _all_used(one, places), None
    tell(BEFORE)
    before = build_metric(synthetic_mass("paris", side), ascent=False, sharpen=False)
    found[BEFORE] = _measure(before, places, "uniform")
    rows = [{"output": output} | _row(*both, *found["uniform"], suburb) for output, both in found.items()]
    sharpened = next(row for row in rows if row["output"] == DEFAULT)
    sharpened["seconds"] = round(sharp.wall_s, 1)
    ratio = {row["output"]: str(row["error_to_uniform"]) for row in rows}
    parts = {"by-mass": ratio["mass"], "sharpened": ratio[DEFAULT], "of-before": _of_before(rows)}
    return {"rows": rows, "text": markdown(rows), "parts": parts | {"by-chance": str(sharpened["by_chance"])}}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The sharpened default against even output."""
    by_mass, sharp, free = (next(r for r in rows if r["output"] == name) for name in ("mass", DEFAULT, FREE))
    metres = f"{sharp['error_m']:,} m of {rows[0]['error_m']:,} m; by chance ± {sharp['by_chance']}"
    found = (
        f"{sharp['error_to_uniform']} sharpened ({metres}), {by_mass['error_to_uniform']} by mass alone; "
        f"{free['error_to_uniform']} if heights needed no slack; {_of_before(rows)} of even output without ascent"
    )
    return [("error of the default output / of even output, `synthetic:paris`", "0.42", found)]


def _of_before(rows: list[dict[str, Any]]) -> str:
    """The sharpened default as a part of even output on the metric without ascent."""
    metres = {row["output"]: row["error_m"] for row in rows}
    return f"{metres[DEFAULT] / metres[BEFORE]:.3f}"


def _row(
    errors: FloatArray, adversary: float | None, even: FloatArray, adversary_even: float | None, suburb: Any
) -> dict[str, Any]:
    """Means over the places, beside those of even output."""
    means = {"error_m": errors.mean(), "error_city_m": errors[~suburb].mean(), "error_suburb_m": errors[suburb].mean()}
    row: dict[str, Any] = {name: round(float(metres)) for name, metres in means.items()}
    ratio = float(errors.mean() / even.mean())
    parts = [errors[k::_PARTS].mean() / even[k::_PARTS].mean() for k in range(_PARTS)]
    by_chance = float(np.std(parts, ddof=1) / np.sqrt(_PARTS))
    row |= {"error_to_uniform": round(ratio, 3), "by_chance": round(by_chance, 4)}
    if adversary is not None and adversary_even is not None:
        row |= {"adversary_m": round(adversary), "adversary_to_uniform": round(adversary / adversary_even, 3)}
    return row


def without_slack(metric: Metric) -> Metric:
    """What reports of a sharpened metric would go by if heights were exactly ln S and edges gave up their difference
    alone: passes from its own heights on. Nothing certifies it."""
    assert metric.relief is not None, "the heights did not settle"
    graph, measure = metric.graph, output_measure(metric, "mass")
    sources = in_walking_order(metric.locations, graph, metric.fence == 0)
    parts = graph.components
    reach = np.bincount(parts, weights=measure.astype(np.float64))[parts]
    height = metric.relief.height.astype(np.float64)
    for _ in range(FREE_PASSES):
        found = totals_within(_lowered_by(graph, height), measure, sources, FREE_LOOK, tail=False)
        height += STEP * (log_units(found.estimate(reach)) - height)
    lowered = _lowered_by(graph, height)
    return replace(metric, graph=lowered, method="lowered", scale=None, place=None, rise=None, relief=None)


def _lowered_by(graph: Graph, height: FloatArray) -> Graph:
    """The graph with weights w - |difference of heights|, at least 0."""
    slope = np.abs(np.repeat(height, np.diff(graph.start)) - height[graph.index])
    return Graph(graph.start, graph.index, np.maximum(np.rint(graph.weight - slope), 0).astype(np.int32))


def _all_used(metric: Metric, places: IntArray) -> FloatArray:
    """Errors at the places of reports by mass and all of each distance, whether or not that is private."""
    return expected_errors(ElasticMechanism(metric), locations=places, weights=make_weights(WHOLE))["mean"]


def _measure(metric: Metric, places: Any, output: str) -> tuple[FloatArray, float]:
    """Expected errors of the places, and the adversary's expected distance with an even prior over fewer of them."""
    mechanism = ElasticMechanism(metric, output=output)
    few = places[::_FEWER]
    channel = np.array([mechanism.probabilities(int(i)) for i in few])
    apart = np.hypot(*(metric.xy[few][:, None] - metric.xy[few][None]).T)
    loss = 0.0
    for first in range(0, metric.n, 4096):
        posterior = channel[:, first : first + 4096] / len(few)
        loss += float((apart @ posterior).min(axis=0).sum())
    return mechanism.expected_errors(locations=places)["mean"], loss
