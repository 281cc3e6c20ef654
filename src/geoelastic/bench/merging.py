# SPDX-License-Identifier: Apache-2.0
"""The paper's builder with merged land and with merged submaps, next to its plain run.

Two improvements that the paper suggests and leaves open. The last map is the full `synthetic:paris`, where each build
of single cells takes many minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..progress import progress_bar
from ._tools import markdown, synthetic_mass, warm_up
from .strategies import variant_rows

__all__ = ["run"]

SIDES = (240, 750)
VARIANTS: tuple[dict[str, Any], ...] = ({}, {"layout": "adaptive"}, {"submaps": 2}, {"submaps": 3})


def run(*, progress: bool = False, sides: Sequence[int] = SIDES) -> dict[str, Any]:
    """One row per map of `synthetic:paris` and variant."""
    warm_up()
    rows: list[dict[str, Any]] = []
    with progress_bar("bench merging", len(sides) * len(VARIANTS), show=progress) as bar:
        for side in sides:
            done, size = len(rows), f"{side} x {side}"
            found = variant_rows(
                synthetic_mass("paris", side),
                VARIANTS,
                lambda k, done=done, size=size: bar.update(done + k, note=f"{size}: {VARIANTS[k]}"),
            )
            rows += [{"cells": size} | row for row in found]
    return {"rows": rows, "text": markdown(rows)}
