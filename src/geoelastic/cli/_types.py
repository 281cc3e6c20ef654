# SPDX-License-Identifier: Apache-2.0
"""Kinds of arguments that several commands share."""

from __future__ import annotations

import math
import re
from typing import Any

import click

__all__ = ["HOURS", "LEVEL"]


class _Level(click.ParamType):  # type: ignore[type-arg]
    """A level as a number or as the logarithm it stands for: 0.693, ln2, ln(2)."""

    name = "LEVEL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        logarithm = re.fullmatch(r"ln\s*\(?\s*([0-9.]+)\s*\)?", str(value).strip())
        try:
            level = math.log(float(logarithm[1])) if logarithm else float(value)
        except ValueError:
            level = math.nan
        if not 0 <= level < math.inf:
            self.fail(f"must be a level >= 0 such as 0.35 or ln6, got {value!r}", param, ctx)
        return level


class _Hours(click.ParamType):  # type: ignore[type-arg]
    """A length of time in whole hours: 24h, 7d, day, week."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        named = {"hour": "1h", "day": "1d", "week": "7d"}.get(str(value).strip(), str(value).strip())
        found = re.fullmatch(r"([0-9]{1,4})\s*([hd])", named)
        if found is None or int(found[1]) == 0:
            self.fail(f"must be hours or days such as 24h or 7d, got {value!r}", param, ctx)
        return int(found[1]) * (24 if found[2] == "d" else 1)


LEVEL, HOURS = _Level(), _Hours()
