# SPDX-License-Identifier: Apache-2.0
"""`examine`: a metric's file read as a friend would read it, and what to do next."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable
from typing import Any

from ..mechanism.elastic import ElasticMechanism
from ..metric import AnyMetric
from .check import open_mechanism
from .checkup import checkup

__all__ = ["examine"]

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
    day = today or dt.date.today()
    found = checkup(subject)
    lat, lon = metric.grid.area.middle
    km = [side * metric.grid.cell_m / 1000 for side in (metric.grid.cols, metric.grid.rows)]
    said: dict[str, Any] = {
        "area": f"{km[0]:g} x {km[1]:g} km around {lat:.5f}, {lon:.5f}",
        "strays": _said(_strays, quality),
        "recipe": _said(_recipe, quality),
        "data": _said(lambda stated: _data(stated, day), quality),
        "fences": _fences(int(metric.totals["fences"])),
        "sharpened": "yes" if metric.relief is not None else "no",
    }
    lines = [(name, text) for name, text in said.items() if text]
    todo = [] if found is None else list(found.advice)
    if found is None:
        lines.append(("reports", "not looked at: there is nobody on the map"))
    else:
        lines += [line for line in found.lines if line[0] not in ("next", "")]
    if (_said(lambda stated: _years(stated, day), quality) or 0.0) > _OLD_YEARS:
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


def _said(reader: Callable[[dict[str, Any]], Any], quality: dict[str, Any]) -> Any:
    """What a file says about itself, which may be anything."""
    try:
        return reader(quality)
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


def _years(quality: dict[str, Any], day: dt.date) -> float:
    oldest = _oldest(quality)
    return 0.0 if oldest is None else (day - oldest).days / 365.25


def _data(quality: dict[str, Any], day: dt.date) -> str:
    oldest, years = _oldest(quality), round(_years(quality, day))
    if oldest is None:
        return "of a date that the file does not state"
    age = f"{years} years old" if years > 1 else "a year old" if years == 1 else "less than a year old"
    return f"of {oldest}, {age}"


def _fences(number: int) -> str:
    return "none" if number == 0 else "1" if number == 1 else str(number)
