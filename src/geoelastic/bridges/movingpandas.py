# SPDX-License-Identifier: Apache-2.0
"""Released traces as trajectories of MovingPandas. The other way, `ge.traces_from_frame` takes a Trajectory or a
TrajectoryCollection."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import InputError, import_extra
from ..traces import Release


def releases_to_trajectories(releases: Sequence[Release]) -> Any:
    """A TrajectoryCollection of what was released, one trajectory a release, in degrees and UTC."""
    if not releases or not all(isinstance(release, Release) for release in releases):
        raise InputError("'releases' must be one or more releases of traces")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells of parts of its own that are not installed, and not needed here
        movingpandas = import_extra("movingpandas", "bridges")
    import geopandas
    import pandas as pd

    parts = []
    for number, release in enumerate(releases):
        times = pd.to_datetime(release.clock.ticks, unit="s")
        frame = {"trajectory": number, "user": release.user}
        points = geopandas.points_from_xy(release.lon, release.lat)
        parts.append(geopandas.GeoDataFrame(frame, index=times, geometry=points, crs=4326))
    return movingpandas.TrajectoryCollection(pd.concat(parts), "trajectory")
