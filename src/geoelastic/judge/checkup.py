# SPDX-License-Identifier: Apache-2.0
"""`checkup`: how far off the reports of a map will be, how much its border matters, and whether it is large enough.

People are taken to be where the mass is. Places are chosen among those that can be hidden, evenly along the mass, so
that each stands for as many people, and the expected error of each is computed, not drawn: the same file has the same
checkup everywhere. Of a map in tiles the tiles around these places are opened, and what is left out there is where at
most one report in a thousand falls.

A report is *held by the border* if it falls farther from the true place than the border of the map is. In another
direction a report that goes so far would have left the map; there the map has nothing to report, and reports go
elsewhere instead. It is a measure of what the border changes, not of privacy, which holds at every distance from it.

`examine` reads a metric's file as a friend would read it, and says what to do next.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanism.elastic import ElasticMechanism
from ..metric import AnyMetric
from .check import open_mechanism

#: Places that are looked at: fewer on maps where one takes long, and at least so many.
_MOST, _LEAST, _WORK = 101, 21, 3_000_000
#: On a map in tiles, what is looked at around a place holds so many times what may be left out.
_TIMES = 1000
#: A map is large enough if at most this share of reports is held by its border and at least this share of people can be
#: hidden on it; it is too small if it falls short of the second pair.
_HELD, _HIDDEN = 0.10, 0.90
_HELD_BADLY, _HIDDEN_BADLY = 0.30, 0.50
#: How many times as wide as the error of a person in the middle a map should be: on made-up and real cities of the
#: same errors, so wide a map holds about a tenth of reports.
_WIDE = 12


@dataclass(frozen=True)
class Checkup:
    """`error_m`: the expected error of one person in twenty, of half, and of all but one in twenty, at most. `held`:
    share of reports that the border holds. `hidden`: share of people who can be hidden. `framed`: places that cannot.
    `size`: "large enough", "small" or "too small". Errors are None where they were not computed."""

    places: int
    error_m: tuple[float, float, float] | None
    held: float | None
    hidden: float
    framed: int
    locations: int
    km: tuple[float, float]
    sharpened: bool
    holds: bool

    @property
    def size(self) -> str:
        held = 0.0 if self.held is None else self.held
        if held > _HELD_BADLY or self.hidden < _HIDDEN_BADLY:
            return "too small"
        return "small" if held > _HELD or self.hidden < _HIDDEN else "large enough"

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.holds:
            return "do not use this map: it does not hold what it states, or nobody has checked"
        if self.size == "large enough":
            return "good: the map is large enough for its reports"
        share = f"{self.hidden:.0%} of people can be hidden on it"
        held = "" if self.held is None else f", and its border holds {self.held:.0%} of their reports"
        return f"{'poor' if self.size == 'too small' else 'fair'}: the map is {self.size}: {share}{held}"

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do about it; nothing if all is well."""
        todo = []
        if not self.holds:
            todo.append("run 'geoelastic verify' on it, and build it again if that fails")
        if self.size != "large enough":
            wide = 0.0 if self.error_m is None else _WIDE * self.error_m[1] / 1000
            side = math.ceil(max(wide, max(self.km) + 2))
            todo.append(
                f"take in more around it: about {side} km (--size {side}), from a larger source if this one ends"
            )
        if not self.sharpened:
            todo.append("run 'geoelastic sharpen' on it: reports then err about half as much")
        return tuple(todo)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """(name, text) to read."""
        lines = []
        if self.error_m is not None and self.held is not None:
            low, middle, high = (metres(value) for value in self.error_m)
            lines += [
                ("reports", f"are off by {middle} on average for a person in the middle; by less than {low} for one "
                            f"person in twenty, by more than {high} for another"),
                ("border", f"holds {self.held:.1%} of reports; {self.hidden:.1%} of people can be hidden"),
            ]  # fmt: skip
        else:
            lines.append(("border", f"{self.hidden:.1%} of people can be hidden; errors were not computed"))
        lines.append(("verdict", self.verdict))
        return lines + [("next" if k == 0 else "", text) for k, text in enumerate(self.advice)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"size": self.size, "verdict": self.verdict, "advice": list(self.advice)}


def checkup(subject: AnyMetric | ElasticMechanism) -> Checkup | None:
    """The checkup of a metric or of a mechanism over one; None where there is nobody."""
    metric = subject.metric if isinstance(subject, ElasticMechanism) else subject
    grid, people = metric.grid, metric.people(min(_MOST, max(_LEAST, _WORK // metric.n)))
    if not people.mass_units:
        return None
    places, error_m, held = people.places, None, None
    if places.size:
        output = "mass" if metric.relief is None else metric.relief.output
        mechanism = subject if isinstance(subject, ElasticMechanism) else ElasticMechanism(metric, output=output)
        error, share = _reports(mechanism, places)
        low, middle, high = np.quantile(error, (0.05, 0.5, 0.95), method="inverted_cdf").tolist()
        error_m, held = (low, middle, high), float(share.mean())
    return Checkup(
        places=int(places.size), error_m=error_m, held=held, framed=people.framed, locations=metric.n,
        hidden=people.hidden_units / people.mass_units,
        km=(grid.cols * grid.cell_m / 1000, grid.rows * grid.cell_m / 1000),
        sharpened=metric.relief is not None, holds=metric.certificate.get("ok") is True,
    )  # fmt: skip


def metres(value: float) -> str:
    """A distance as one says it."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:g} m" if rounded < 1000 else f"{rounded / 1000:g} km"


def _reports(mechanism: ElasticMechanism, places: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of each place, the expected error in metres and the share of reports that fall beyond the border's distance."""
    metric, (rows, cols) = mechanism.metric, mechanism.metric.grid.shape
    error, held = np.empty(places.size), np.empty(places.size)
    for k, place in enumerate(places.tolist()):
        if k and place == places[k - 1]:
            error[k], held[k] = error[k - 1], held[k - 1]
            continue
        if metric.at_hand:
            probability, away = mechanism.probabilities(place), mechanism.distances_m(place)
        else:
            probability, away = mechanism.nearby(place, times=_TIMES)
        row, col, size = (int(part) for part in metric.leaves(place))
        middle = abs(row + size / 2 - rows / 2), abs(col + size / 2 - cols / 2)
        border = min(rows / 2 - middle[0], cols / 2 - middle[1]) * metric.grid.cell_m
        error[k] = float(probability @ away)
        held[k] = float(probability[away > border].sum())
    return error, held


#: Cities change by a few per cent a year; data older than this is worth a look.
_OLD_YEARS = 2.0


def examine(path: str | os.PathLike[str], *, today: dt.date | None = None) -> dict[str, Any]:
    """Area, strays, recipe, border, error by people, fences, age of the data, sharpening, and what to do next, of the
    metric in a file; "text" is for people. What the file says about its sources is believed; nothing is verified.
    """
    subject = open_mechanism(path)
    metric: AnyMetric = subject.metric if isinstance(subject, ElasticMechanism) else subject
    quality = metric.info.get("quality", metric.info)
    quality = quality if isinstance(quality, dict) else {}
    oldest = as_stated(_oldest, quality)
    years = 0.0 if oldest is None else ((today or dt.date.today()) - oldest).days / 365.25
    found = checkup(subject)
    lat, lon = metric.grid.area.middle
    km = [side * metric.grid.cell_m / 1000 for side in (metric.grid.cols, metric.grid.rows)]
    said: dict[str, Any] = {
        "area": f"{km[0]:g} x {km[1]:g} km around {lat:.5f}, {lon:.5f}",
        "strays": as_stated(_strays, quality),
        "recipe": as_stated(_recipe, quality),
        "data": "of a date that the file does not state" if oldest is None else f"of {oldest}, {_age(round(years))}",
        "fences": str(metric.totals["fences"] or "none"),
        "sharpened": "yes" if metric.relief is not None else "no",
    }
    lines = [(name, text) for name, text in said.items() if text]
    todo = [] if found is None else list(found.advice)
    if found is None:
        lines.append(("reports", "not looked at: there is nobody on the map"))
    else:
        lines += [line for line in found.lines if line[0] not in ("next", "")]
    if years > _OLD_YEARS:
        todo.append("build it again from newer data")
    if not metric.totals["fences"]:
        todo.append("fence off home and work, where one is night after night: 'geoelastic fence'")
    lines += [("next" if k == 0 else "", f"{k + 1}. {text}") for k, text in enumerate(todo)]
    return {
        "ok": found is None or found.holds,
        **said,
        "checkup": None if found is None else found.to_dict(),
        "next": todo,
        "text": "\n".join(f"{name:>12}  {text}" for name, text in lines),
    }


def as_stated(reader: Callable[[Any], Any], stated: Any) -> Any:
    """What is read of what a file says about itself, which may be anything; None if it cannot be."""
    try:
        return reader(stated)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None


def _strays(quality: dict[str, Any]) -> str:
    strays = quality.get("strays")
    if strays is None:
        return "none"
    return (
        f"{int(strays['objects']):,} objects up to {float(strays['farthest_km']):.1f} km away from the dense part "
        "were left out"
    )


def _recipe(quality: dict[str, Any]) -> str:
    recipe = quality.get("recipe")
    if recipe is None:
        return "none: made-up or given masses" if quality.get("source") else ""
    counted = ", ".join(f"{layer['features']:,} {name}" for name, layer in quality.get("layers", {}).items())
    return f"{recipe['name']}: {counted}" if counted else str(recipe["name"])


def _oldest(quality: dict[str, Any]) -> dt.date | None:
    """The day of the oldest data."""
    stamp = quality.get("timestamp")
    stamps = list(stamp.values()) if isinstance(stamp, dict) else [stamp]
    days = [dt.date.fromisoformat(str(text)[:10]) for text in stamps if re.match(r"\d{4}-\d\d-\d\d", str(text))]
    return min(days, default=None)


def _age(years: int) -> str:
    return f"{years} years old" if years > 1 else "a year old" if years == 1 else "less than a year old"
