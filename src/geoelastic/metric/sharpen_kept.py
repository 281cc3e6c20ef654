# SPDX-License-Identifier: Apache-2.0
"""Sharpening that can be stopped: after each pass the heights so far are kept in a file, for one metric and measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..store import read_container, table_of, write_container
from .metric import Metric
from .relief import Relief
from .sharpen import Heights, sharpen

__all__ = ["sharpen_kept"]

_KIND = "sharpening"


def sharpen_kept(
    metric: Metric, path: Path, *, output: str = "mass", resume: bool = True, workers: int | None = None,
    progress: bool = False,
) -> Metric:  # fmt: skip
    """`sharpen`, going on (if `resume`) where a run that was stopped left its heights at `path`.

    The caller removes the file when the result is safe. A metric that has such a relief already is left as it is.
    """
    key = f"{Relief.key(metric)}|{output}"
    if resume and metric.relief is not None and f"{metric.relief.made_for}|{metric.relief.output}" == key:
        return metric

    def keep(state: Heights) -> None:
        manifest = {"key": key, "passes": state.passes}
        write_container(path, _KIND, manifest, {"locations": table_of({"height": state.height})})

    begin = _kept(path, key) if resume else None
    return sharpen(metric, output=output, workers=workers, progress=progress, keep=keep, begin=begin)


def _kept(path: Path, key: str) -> Heights | None:
    """The heights of an interrupted run for the same metric and measure."""
    if not path.exists():
        return None
    manifest, tables = read_container(path, kind=_KIND)
    return Heights(np.array(tables["locations"]["height"]), manifest["passes"]) if manifest["key"] == key else None
