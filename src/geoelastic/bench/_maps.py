# SPDX-License-Identifier: Apache-2.0
"""Maps that measurements are made on: one in a file, a real one, or a made-up one."""

from __future__ import annotations

from pathlib import Path

from ..evaluation.real_maps import RealData
from ..evaluation.study_stages import Stages
from ..metric import AnyMetric, build_metric
from ..opening import load
from ._tools import data_folder, kept_in, synthetic_mass

#: greater Paris, as in the paper
PARIS_KM = 75.0


def chosen_map(
    map_file: str | None, *, real: bool, city: str, folder: str | None, made_up: str, side: int
) -> AnyMetric:  # fmt: skip
    """The map in a file; or the default build of the `real` `city`, "paris" or "vancouver", of the data, kept in
    `folder` if there is one; or of a `made_up` map of `side` x `side` cells."""
    if map_file is not None:
        return load(map_file)
    if not real:
        return build_metric(synthetic_mass(made_up, side))
    with kept_in(folder) as place:
        source = real_data(place, city)
        return load(source.paris(PARIS_KM) if city == "paris" else source.vancouver()).whole()


def real_data(folder: str, city: str) -> RealData:
    """The data, which must hold the files of a city; what is made of them is kept in a folder."""
    source = RealData(data_folder(), Stages(Path(folder) / "stages"))
    source.require(("homes", "restaurants", "venues", "paris") if city == "paris" else (city,))
    return source
