# SPDX-License-Identifier: Apache-2.0
"""Sharpen the metric in a file, with what it gained; an interrupted run goes on where it was."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from ..metric.sharpen import sharpen_kept
from ..opening import load
from ..store import require_writable
from ..tiles.tiled_metric import is_tiled
from .elastic import ElasticMechanism

#: Places at which the gain is told: enough for a figure of two digits.
_PLACES = 200


def sharpen_file(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, measure: str = "mass", resume: bool = True,
    workers: int | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Write the metric of `source`, sharpened for `measure`, to `target`; returns what was checked and gained.

    After each pass the heights so far are kept beside the target, in a file that ends in ``.part`` and goes when all is
    done. A metric that has such a relief already is left as it is.
    """
    begun = time.perf_counter()
    if is_tiled(source) and Path(target).is_dir():
        raise InputError(
            f"{os.fspath(source)}: a map in tiles is sharpened into one file: name it (-o OUT.geoelastic), or extract "
            "a region, which is sharpened by itself"
        )
    require_writable(target)
    metric = load(source).whole()
    if Path(source).suffix == ".geox":
        raise FileError(f"{os.fspath(source)}: sharpen the .geoelastic file, then extract it again")
    kept = Path(f"{os.fspath(target)}.part")
    sharp = sharpen_kept(metric, kept, output=measure, resume=resume, workers=workers, progress=progress)
    sharp.save(target)
    kept.unlink(missing_ok=True)
    assert sharp.relief is not None
    places = metric.people(_PLACES).places
    before, after = (
        float(mechanism.expected_errors(locations=places, workers=workers)["mean"].mean())
        for mechanism in (
            ElasticMechanism(replace(sharp, relief=None), output=measure),
            ElasticMechanism(sharp, output=measure),
        )
    )
    return {
        "file": os.fspath(target), "measure": measure, **sharp.relief.certificate,
        "places": int(places.size), "error_before_m": before, "error_after_m": after,
        "seconds": round(time.perf_counter() - begun, 1),
    }  # fmt: skip
