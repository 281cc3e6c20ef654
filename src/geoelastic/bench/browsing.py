# SPDX-License-Identifier: Apache-2.0
"""A week of browsing: what ten sites together learn about a home, with and without the extension.

The days are of two people of GeoLife, beside the project in `../shared/data` (or GEOELASTIC_DATA), or of a made-up
commuter where there is none; the crowd around them is made up (`synthetic:city` of 36 km around Beijing's north-west).
`evaluation.browsing` says how the sites ask and who guesses. `told` are answers of 140, `fresh` the draws among them,
`sites are off` is the mean distance between what sites got and the truth.
"""

from __future__ import annotations

from typing import Any

from ..area import Area
from ..evaluation.browsing import browsing_rows, week_of
from ..evaluation.commuters import synthetic_commuters
from ..mass import mass_from_quality
from ..metric import build_metric
from ..quality import synthetic_quality
from ..sources.traces import Trace, read_traces
from ._tools import Tell, data_folder, markdown, quiet, warm_up

_CENTRE, _SIDE, _CELL_M = (40.0, 116.3), 180, 200.0
_TRACES = "gps/geolife_sample_skmob.txt.gz"


def run(*, tell: Tell = quiet) -> dict[str, Any]:
    """The table."""
    warm_up()
    tell("the map", of=4)
    quality = synthetic_quality("city", rows=_SIDE, cols=_SIDE, cell_m=_CELL_M, origin=_CENTRE)
    metric = build_metric(mass_from_quality(quality))
    weeks = [week_of(trace, metric.grid.area, seed=k) for k, trace in enumerate(_traces(metric.grid.area))]
    rows = browsing_rows(metric, weeks, tell=tell)
    return {"rows": rows, "text": markdown(rows)}


def _traces(area: Area) -> list[Trace]:
    file = data_folder() / _TRACES
    if file.exists():
        return read_traces(file)
    lat, lon = area.middle
    return [made.trace for made in synthetic_commuters(1, seed=1, days=7, lat=lat, lon=lon)]
