# SPDX-License-Identifier: Apache-2.0
"""Output measures, and sharpened reports: expected error and a Bayesian adversary's, at the same guarantee.

Places are drawn by mass, which is also the adversary's prior; the adversary knows the mechanism and guesses, of these
places, the one with the least expected distance. Errors in metres; `suburb`: the half of the places with less density.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..mechanism import ElasticMechanism
from ..metric import Metric
from ..progress import progress_bar
from ._tools import markdown, places_by_mass, synthetic_metric, warm_up

OUTPUTS = ("uniform", "mass^0.5", "mass", "mass^1.5", "mass^2", "mass^3")
_PLACES = 400


def run(*, progress: bool = False, side: int = 750) -> dict[str, Any]:
    """One row an output measure, and one more for the sharpened default."""
    warm_up()
    metric = synthetic_metric("paris", side, sharpened=False)
    places = np.sort(places_by_mass(metric, _PLACES, seed=7))
    density = metric.mass[places] / metric.locations.area_cells[places]
    suburb = density <= np.median(density)
    rows: list[dict[str, Any]] = []
    with progress_bar("bench error", len(OUTPUTS) + 1, show=progress) as bar:
        for output in OUTPUTS:
            bar.update(len(rows), note=output)
            rows.append({"output": output} | _row(metric, places, suburb, output))
        bar.update(len(rows), note="sharpening")
        rows.append({"output": "mass, sharpened"} | _row(synthetic_metric("paris", side), places, suburb, "mass"))
    base = rows[0]
    for row in rows:
        row["error_to_uniform"] = round(row["error_m"] / base["error_m"], 3)
        row["adversary_to_uniform"] = round(row["adversary_m"] / base["adversary_m"], 3)
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The sharpened default against even output."""
    by_mass, sharp = (next(r for r in rows if r["output"] == name) for name in ("mass", "mass, sharpened"))
    metres = f"{sharp['error_m']:,} m of {rows[0]['error_m']:,} m"
    found = f"{sharp['error_to_uniform']} sharpened ({metres}), {by_mass['error_to_uniform']} by mass alone"
    return [("error of the default output / of even output, `synthetic:paris`", "0.42", found)]


def _row(metric: Metric, places: Any, suburb: Any, output: str) -> dict[str, int]:
    errors, adversary = _measure(metric, places, output)
    return {
        "error_m": round(float(errors.mean())),
        "error_city_m": round(float(errors[~suburb].mean())),
        "error_suburb_m": round(float(errors[suburb].mean())),
        "adversary_m": round(adversary),
    }


def _measure(metric: Metric, places: Any, output: str) -> tuple[FloatArray, float]:
    """Expected errors of the places, and the adversary's expected distance with an even prior over them."""
    mechanism = ElasticMechanism(metric, output=output)
    channel = np.array([mechanism.probabilities(int(i)) for i in places])
    errors = np.array([row @ mechanism.distances_m(int(i)) for i, row in zip(places, channel, strict=True)])
    apart = np.hypot(*(metric.xy[places][:, None] - metric.xy[places][None]).T)
    loss = 0.0
    for first in range(0, metric.n, 4096):
        posterior = channel[:, first : first + 4096] / len(places)
        loss += float((apart @ posterior).min(axis=0).sum())
    return errors, loss
