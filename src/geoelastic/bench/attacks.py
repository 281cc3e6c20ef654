# SPDX-License-Identifier: Apache-2.0
"""Attacks: how near adversaries come to the home of one who uses the default, in every way there is to report.

Homes are drawn by mass in a square of 3 km in the middle of the map, whose cells are the candidates; the adversaries
know the mechanism and use Bayes' rule with its exact law (`evaluation.home_attacks`). The second map is the same land
built without a cartogram. `guess off` is the mean distance between the best guess and the home, `found` how often the
very cell is the likeliest.
"""

from __future__ import annotations

from typing import Any

from ..evaluation.home_attacks import attack_rows
from ..evaluation.study_areas import StudyArea
from ..mass import Mass
from ..metric import build_metric
from ._maps import chosen_map
from ._tools import Tell, markdown, quiet, warm_up

RECORDED = {"real": True}
_SIDE_CELLS = 90
_HOME_KM = 3.0


def run(
    *, tell: Tell = quiet, map_file: str | None = None, real: bool = False, folder: str | None = None
) -> dict[str, Any]:
    """The table, on a map, on the real Vancouver, or on a made-up city."""
    warm_up()
    metric = chosen_map(map_file, real=real, city="vancouver", folder=folder, made_up="city", side=_SIDE_CELLS).whole()
    mass = Mass(metric.grid, (metric.mass / metric.locations.area_cells)[metric.locations.owner], metric.info)
    tell("another map", of=7)
    second = build_metric(mass, requirement=metric.requirement, cartogram=False)
    area = StudyArea("homes", *metric.grid.area.middle, _HOME_KM)
    rows = attack_rows(metric, area, second=second, tell=tell)
    return {"rows": rows, "text": markdown(rows)}
