# SPDX-License-Identifier: Apache-2.0
"""`load`: a metric from wherever it is kept, in one file or in tiles."""

from __future__ import annotations

import os

from .errors import require_path
from .metric import AnyMetric
from .metric.metric_file import load as load_file
from .tiles.tiled_metric import is_tiled, open_tiles


def load(path: str | os.PathLike[str]) -> AnyMetric:
    """Read a metric; `FileError` if it is not a whole, sound metric of a version we know.

    A folder (or an address that fsspec knows) holds a metric in tiles, which are read when they are needed.
    """
    require_path("path", path)
    return open_tiles(path) if is_tiled(path) else load_file(path)
