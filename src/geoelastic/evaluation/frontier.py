# SPDX-License-Identifier: Apache-2.0
"""The frontier: how far off reports are against how far off an adversary is, as curves, in a city and in a suburb.

A point of a mechanism means little; a curve shows who dominates where. The default build is varied by `r_small` (the
disc in the city that holds one unit), planar Laplace by epsilon such that in the first area it errs as much as each of
these, squares by their side or by the people they hold. The end of the line is no report at all, where an adversary
guesses by the prior alone.

What decides between mechanisms of equal error is told by four laws over the locations of one map, measure x exp(-rate x
distance): distances that follow the crowd, as the map has them, or straight ones; reports by mass, or even over the
land. The rate of each is such that all err as much on average, so that only the shape differs. The first is what a
sharpened map reports, and straight distances with even reports are planar Laplace; the two between keep no promise at
these rates and only tell the two choices apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..figures.draw import new_figure
from ..levels import LEVEL_UNIT
from ..locations import Grid
from ..metric import Metric
from ..metric.relief import reporting_metric
from .adversary import Guesser
from .attacks import Acquaintance
from .baselines import density_snap_channel, grid_snap_channel, laplace_channel
from .channel import Channel, Outputs, channel_from_matrix, read
from .elastic_channel import DistanceTable, distance_table, law_channel, reporting_channel
from .prior import Prior, metres_between
from .study_areas import StudyArea
from .study_stages import Stages
from .utility import DistanceReader, measure_utility

GRID_M = (1000, 2000, 4000, 8000)
PEOPLE = (1_000, 10_000, 100_000, 1_000_000)
#: the worst-off tenth: users from whom an adversary is at most this far off
_WORST = 10
_OWN_USERS = 100


_COLOURS = {
    "elastic": "#0f7b6c",
    "elastic by mass^3": "#5fbf7a",
    "planar Laplace": "#e4572e",
    "grid": "#8d6a9f",
    "squares by density": "#b59a3a",
}
_NAMES = {"elastic": "elastic, the default", "grid": "grid*", "squares by density": "squares by density*"}


@dataclass(frozen=True)
class Mechanism:
    """A kind of mechanism with its setting, what it is kept under, and how to make its channel."""

    kind: str
    setting: str
    guarantee: bool
    key: Any
    channel: Callable[[Prior], Channel]


def sharpened(metric: Metric, digest: str, r_small: float) -> Mechanism:
    """What a sharpened map reports: all of the lowered distances, by the measure that its relief is for."""
    assert metric.relief is not None, "a default build is sharpened"
    output = metric.relief.output
    kind = "elastic" if output == "mass" else f"elastic by {output}"
    return Mechanism(kind, f"r_small {r_small:g} m", True, [digest, r_small], partial(reporting_channel, metric))


def baselines(grid: Grid, epsilons: Sequence[float], people: FloatArray) -> list[Mechanism]:
    """Planar Laplace, coarse grids, and squares by density."""
    laplace = [
        Mechanism("planar Laplace", f"epsilon {e:.3g} a metre", True, e, partial(laplace_channel, grid=grid, epsilon=e))
        for e in epsilons
    ]
    grids = [
        Mechanism("grid", f"{m / 1000:g} km", False, m, partial(grid_snap_channel, grid=grid, side_m=m)) for m in GRID_M
    ]
    make = partial(density_snap_channel, grid=grid, people=people)
    crowds = [
        Mechanism("squares by density", f"{n:,} people", False, [n, float(people.sum())], partial(make, people_min=n))
        for n in PEOPLE
    ]
    return [*laplace, *grids, *crowds]


def no_report(prior: Prior) -> Channel:
    """One output whatever the secret: what an adversary knows without any report."""
    outputs = Outputs(np.zeros((1, 2)), np.ones(1, dtype=np.int64), 100.0)
    return channel_from_matrix("no report", np.ones((1, 1)), outputs, np.zeros(prior.n_places, dtype=np.int64))


def point(channel: Channel, prior: Prior, *, reports: bool = True, density: FloatArray | None = None) -> dict[str, Any]:
    """Error and adversaries of a channel, in whole metres: over the prior, the median user, the worst-off tenth.

    The adversary's strategy comes from the prior of all, or from a user's own (an even sample of users who have several
    places; those with one have nothing to hide from somebody who knows it). `density`: of each place's surroundings,
    by the tenths of which error and adversary are told as well.
    """
    distances, guesser = DistanceReader(channel, prior), Guesser(channel, prior)
    habits = Acquaintance(channel, prior, max_users=_OWN_USERS)
    read(channel, distances, guesser, habits)
    utility = distances.utility() if reports else None
    guessed = guesser.error().per_place
    adversary = prior.per_user(guessed)
    own = habits.euclidean_m[habits.places > 1]
    errors = None if utility is None else prior.per_user(utility.per_place_m)
    tenths = {}
    if utility is not None and density is not None:
        tenths["tenths"] = by_density(prior, density, error_m=utility.per_place_m, adversary_m=guessed)
    return tenths | {
        "error_m": None if utility is None else round(utility.expected_m),
        "error_median_user_m": None if errors is None else round(float(np.median(errors))),
        "adversary_median_m": round(float(np.median(adversary))),
        "adversary_worst_tenth_m": round(float(np.percentile(adversary, _WORST))),
        "own_prior_median_m": round(float(np.median(own))),
        "own_prior_worst_tenth_m": round(float(np.percentile(own, _WORST))),
    }


def area_rows(
    area: StudyArea, prior: Prior, mechanisms: Sequence[Mechanism], stages: Stages, density: FloatArray | None = None
) -> list[dict[str, Any]]:
    """A row for each mechanism in an area, each kept as it is done, and one for no report."""
    about = {"area": area.to_json(), "prior": prior.info}
    rows = []
    for m in mechanisms:
        found = stages.run(
            f"frontier {area.name} {m.kind} {m.setting}",
            about | {"kind": m.kind, "key": m.key},
            lambda m=m: point(m.channel(prior), prior, density=density),  # type: ignore[misc]
        )
        rows.append({"area": area.name, "mechanism": m.kind, "setting": m.setting, "guarantee": m.guarantee, **found})
    end = f"frontier {area.name} no report"
    nothing = stages.run(end, about, lambda: point(no_report(prior), prior, reports=False))
    rows.append({"area": area.name, "mechanism": "no report", "setting": "", "guarantee": True, **nothing})
    return rows


def equal_utility(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The elastic mechanism over planar Laplace that errs as much in the first area, setting by setting.

    `error` is the ratio of errors there, 1 up to rounding in the first area; `adversary` that of what is left of each
    adversary for the median user and for the worst-off tenth: above 1 the elastic mechanism hides more.
    """
    ratios = []
    for area in dict.fromkeys(row["area"] for row in rows):
        here = [row for row in rows if row["area"] == area]
        ours, theirs = ([r for r in here if r["mechanism"].startswith(kind)] for kind in ("elastic", "planar Laplace"))
        for our, their in zip(ours, theirs, strict=True):
            ratio = {key: round(our[key] / their[key], 2) for key in our if key.endswith("_m") and their[key]}
            name = f"{our['mechanism']}, {our['setting']}"
            ratios.append({"area": area, "elastic": name, "planar Laplace": their["setting"], **ratio})
    return ratios


def frontier_png(rows: Sequence[dict[str, Any]], credit: str) -> bytes:
    """Error of reports against the Euclidean adversary's, the median user (full) and the worst-off tenth (dashed)."""
    areas = list(dict.fromkeys(row["area"] for row in rows))
    figure = new_figure(5.2 * len(areas), 4.6)
    panels = figure.subplots(1, len(areas), sharey=True, squeeze=False)[0]
    for panel, area in zip(panels, areas, strict=True):
        _draw(panel, [row for row in rows if row["area"] == area])
        panel.set_title(area)
        panel.set_xlabel("error of a report (km, on average)")
    most = max(row[key] for row in rows for key in ("adversary_median_m", "adversary_worst_tenth_m"))
    panels[0].set_ylim(0, 1.05 * most / 1000)
    panels[0].set_ylabel("error of the best guess (km)")
    panels[0].legend(loc="upper left", bbox_to_anchor=(0, 0.93), fontsize=8, frameon=False)
    note = "Full: the median user. Dashed: the worst-off tenth. Grey: no report at all. * no guarantee."
    figure.supxlabel(f"{note}\n{credit}", fontsize=7, color="#555555", x=0.01, ha="left")
    with BytesIO() as content:
        figure.savefig(content, format="png", dpi=130)
        return content.getvalue()


def _draw(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    for kind, colour in _COLOURS.items():
        line = sorted((row for row in rows if row["mechanism"] == kind), key=lambda row: row["error_m"])
        error = [row["error_m"] / 1000 for row in line]
        for key, style, marker in (("adversary_median_m", "-", "o"), ("adversary_worst_tenth_m", "--", ".")):
            label = _NAMES.get(kind, kind) if style == "-" else None
            adversary = [row[key] / 1000 for row in line]
            panel.plot(error, adversary, style, marker=marker, ms=4.5, lw=1.5, color=colour, label=label)
    for row in (row for row in rows if row["mechanism"] == "no report"):
        for key, style in (("adversary_median_m", "-"), ("adversary_worst_tenth_m", "--")):
            panel.axhline(row[key] / 1000, ls=style, lw=1, color="#999999", zorder=0)
    panel.set_xscale("log")
    panel.set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    panel.minorticks_off()
    panel.grid(alpha=0.25, lw=0.5)


#: straight distances are kept in whole parts of a metre
_PER_METRE = 10
_CLOSE = 1e-3
_STEPS = 8
_TENTHS = 10


def by_density(prior: Prior, density: FloatArray, **per_place: FloatArray) -> list[dict[str, float]]:
    """Averages over tenths of the visits, from the emptiest surroundings to the densest."""
    order = np.argsort(density, kind="stable")
    tenth = np.minimum((np.cumsum(prior.weights[order]) * _TENTHS).astype(np.int64), _TENTHS - 1)
    rows = []
    for k in range(_TENTHS):
        some = order[tenth == k]
        if len(some):
            columns = {"density": density, **per_place}
            found = {name: float(np.average(v[some], weights=prior.weights[some])) for name, v in columns.items()}
            rows.append({"tenth": k + 1, **found})
    return rows


def four_laws(metric: Metric, prior: Prior, area: StudyArea) -> list[dict[str, Any]]:
    """A row a law, all with the mean error of what the map reports."""
    assert metric.relief is not None, "a default build is sharpened"
    table = distance_table(reporting_metric(metric), prior)
    xy = np.asarray(metric.xy)
    straight = replace(table, units=np.rint(_PER_METRE * metres_between(xy[table.inputs], xy)).astype(np.int32))
    inside = np.asarray(area.contains(*metric.grid.area.to_latlon(*xy.T)))
    goal = measure_utility(law_channel(table, "mass", LEVEL_UNIT), prior).expected_m
    rows = []
    for distances, over, start in (("the map's", table, LEVEL_UNIT), ("straight", straight, 2 / goal / _PER_METRE)):
        for output, fall in (("mass", "by mass"), ("uniform", "even")):

            def error(rate: float, over: DistanceTable = over, output: str = output) -> float:
                return measure_utility(law_channel(over, output, rate), prior).expected_m

            found = _row(law_channel(over, output, rate_of_error(error, goal, start)), prior, inside)
            rows.append({"distances": distances, "reports": fall, **found})
    return rows


def rate_of_error(error: Callable[[float], float], goal: float, start: float) -> float:
    """The rate at which `error`, which falls with it about like 1/rate, is `goal`: secants in logarithms."""
    known: list[tuple[float, float]] = []
    at = math.log(start)
    for _ in range(_STEPS):
        off = math.log(error(math.exp(at)) / goal)
        if abs(off) < _CLOSE:
            break
        slope = (off - known[-1][1]) / (at - known[-1][0]) if known else -1.0
        known.append((at, off))
        at -= off / slope
    return math.exp(at)


class _Outside:
    """Reads how likely reports fall outside an area."""

    def __init__(self, channel: Channel, inside: Any) -> None:
        self._inside, self.chance = inside, np.zeros(channel.n_inputs)

    def add(self, part: slice, block: FloatArray) -> None:
        self.chance += block[:, ~self._inside[part]].sum(axis=1)


def _row(channel: Channel, prior: Prior, inside: Any) -> dict[str, Any]:
    distances, guesser, outside = DistanceReader(channel, prior), Guesser(channel, prior), _Outside(channel, inside)
    read(channel, distances, guesser, outside)
    utility, adversary = distances.utility((0.5, 0.95)), guesser.error()
    users = prior.per_user(adversary.per_place)
    return {
        "error_m": round(utility.expected_m),
        "half_of_reports_within_m": round(utility.quantile_m[0.5]),
        "95_percent_within_m": round(utility.quantile_m[0.95]),
        "outside_the_square": round(float(prior.weights @ outside.chance[channel.row_of_place]), 3),
        "adversary_m": round(adversary.overall),
        "adversary_median_m": round(float(np.median(users))),
        "adversary_worst_tenth_m": round(float(np.percentile(users, 10))),
    }
