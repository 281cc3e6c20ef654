# SPDX-License-Identifier: Apache-2.0
"""Real maps: what edges with factors of their own bring, and what heights found by bounded searches lose.

Three builds of each map, all of them certified: `without ascent`; the `default`; and the default's metric with heights
found as plainly as can be, by `sums over all of the map` from every location in every pass, which is quadratic. Ratios
are means of m(B_l)/req(l), over places and over people; errors are those of sharpened reports by mass, at the same
places drawn by mass. The extracts lie in the folder GEOELASTIC_DATA (``../shared/data`` if not set) and are read by
the recipe `paper`; a map that is not there is left out. `whole`: sums over all of the real Paris as well, which take
longer than all the rest, so that they are not in the record unless they are asked for; a `folder` keeps what was built
of it. There they do not begin flat but at the default's heights: so many passes (`FEW`), each 0.7 of the way that is
left, go nine tenths of the way to where sums over all of the map lead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import IndexArray
from ..errors import CheckError
from ..evaluation.real_maps import RealData
from ..evaluation.study_stages import Stages
from ..mass import mass_from_quality
from ..metric import Metric, build_metric
from ..metric.measures import output_measure
from ..metric.metric_file import load as load_metric
from ..metric.relief import FINE
from ..metric.sharpen import PASSES, Heights, Search
from ..progress import progress_bar
from ..quality import quality_from_osm
from ._tools import data_folder, errors_at, kept_in, markdown, places_by_mass, synthetic_mass, timed, warm_up

#: Extracts, and the side of the made-up map; above so many locations sums over all of a map are made if asked for.
EXTRACTS = {
    "Malta": "malta_2016.osm.pbf",
    "Andorra": "andorra_2021.osm.pbf",
    "Vancouver": "vancouver_2015.osm.pbf",
}
SIDE, REAL_PARIS, MANY = 400, "real Paris", 40_000
#: How heights by sums over all of a map are called: those that begin flat, and those that begin at the default's and
#: make at least so many passes.
SUMS, SUMS_AGAIN, FEW = "sums over all of the map", "sums over all of the map, from the default's heights", 2
#: Weights are looked up this far, in levels: what lies beyond weighs at most 2^-44 of what is at hand.
EVERYTHING = 31.0
_PLACES = 200
#: Set out for: the mean ratio over people, and the error over that without ascent.
_AIMS = {"Malta": (1.55, 0.95), "Andorra": (1.48, 0.95), "Vancouver": (1.28, 0.95), REAL_PARIS: (1.16, 0.98)}

Builder = Callable[..., Metric]


def run(
    *, progress: bool = False, whole: bool = False, folder: str | None = None, side: int = SIDE, size_km: float = 75
) -> dict[str, Any]:
    """Two or three rows a map; `side` and `size_km` are those of the made-up map and of the real Paris."""
    warm_up()
    rows: list[dict[str, Any]] = []
    with kept_in(folder) as place:
        maps = dict(_maps(Path(place), side, size_km))
        with progress_bar("bench tightness", len(maps), show=progress) as bar:
            for done, (name, build) in enumerate(maps.items()):
                bar.update(done, note=name)
                rows += _rows(name, build, whole)
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Each real map's ratio over people and what ascent brings; heights against sums over all of the map."""
    by_name = {(row["map"], row["build"]): row for row in rows}
    lines = []
    for name, (ratio, part) in _AIMS.items():
        if (name, "default") in by_name:
            now, plain = by_name[name, "default"], by_name[name, "without ascent"]
            what = f"{name}: mean ratio over people; sharpened error over that without ascent"
            error = f"{now['error_m']:,} m, {now['to_default'] / plain['to_default']:.3f} of that without"
            found = f"{now['ratio_people']} ({plain['ratio_people']} without ascent); {error}"
            lines.append((what, f"{ratio}; {part}", found))
    sums = [row for row in rows if row["build"] in (SUMS, SUMS_AGAIN)]
    if sums:
        each = ", ".join(f"{1 / row['to_default']:.4f} ({row['map']})" for row in sums)
        lines.append(("error of bounded heights / of heights by sums over all of the map", "within 1 %", each))
    return lines


def by_whole_sums(metric: Metric, *, begin: IndexArray | None = None) -> Metric:
    """The metric with heights from the plainest passes there are: all of the map is summed from every location, until
    every edge holds; from flat heights, or at least `FEW` passes from those to `begin` with."""
    bare = replace(metric, relief=None)
    search = Search(bare, output_measure(bare, "mass"), None, FINE)
    state, least = (Heights(np.zeros(bare.n), 0), 0) if begin is None else (Heights(begin.astype(np.float64), 0), FEW)
    with progress_bar(SUMS, 1, show=False) as bar:
        while state.passes < PASSES:
            found = search.totals(state, EVERYTHING, bar)
            if state.passes >= least:
                report = search.edge_report(state, found, bar)[0] | {"passes": state.passes + 1}
                if report["ok"]:
                    return replace(bare, relief=search.relief(state, "mass", report))
            state = search.moved(state, found)
    raise CheckError(f"the heights did not settle in {PASSES} passes of sums over all of the map")


def _maps(folder: Path, side: int, size_km: float) -> Iterator[tuple[str, Builder]]:
    """What builds each map that there is, by its name."""
    for name, file in EXTRACTS.items():
        path = data_folder() / "osm" / file
        if path.is_file():
            yield name, partial(_from_extract, path)
    yield f"synthetic:paris, {side} x {side}", partial(build_metric, synthetic_mass("paris", side))
    real = RealData(data_folder(), Stages(folder / "stages"))
    if all(real.file(name).is_file() for name in ("homes", "restaurants", "venues")):
        yield REAL_PARIS, lambda **options: load_metric(real.paris(size_km, **options))


def _from_extract(path: Path, **options: Any) -> Metric:
    return build_metric(mass_from_quality(quality_from_osm(path, recipe="paper")), **options)


def _rows(name: str, build: Builder, whole: bool) -> list[dict[str, Any]]:
    plain, default = timed(partial(build, ascent=False)), timed(build)
    places = np.sort(places_by_mass(default.value, _PLACES, seed=7))
    builds = {"without ascent": plain, "default": default}
    relief = default.value.relief
    assert relief is not None, "the heights did not settle"
    if default.value.n <= MANY:
        builds[SUMS] = timed(partial(by_whole_sums, default.value))
    elif whole:
        builds[SUMS_AGAIN] = timed(partial(by_whole_sums, default.value, begin=relief.height))
    errors = {kind: float(errors_at(one.value, places).mean()) for kind, one in builds.items()}
    rows = []
    for kind, one in builds.items():
        metric, ratio = one.value, one.value.certificate["ratio"]
        assert metric.relief is not None, "the heights did not settle"
        rows.append(
            {
                "map": name,
                "build": kind,
                "locations": metric.n,
                "ratio_places": round(ratio["mean"], 3),
                "ratio_people": round(ratio["mean_by_mass"], 3),
                "used_of_an_edge": metric.relief.certificate["exponents"][2],
                "passes": metric.relief.certificate["passes"],
                "error_m": round(errors[kind]),
                "to_default": round(errors[kind] / errors["default"], 4),
                "cpu_s": round(one.cpu_s, 1),
            }
        )
    return rows
