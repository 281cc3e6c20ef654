# SPDX-License-Identifier: Apache-2.0
"""Names of files that tell what is in them: a hash of everything the content depends on."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from .. import __version__
from ..arrays import IntArray
from .tiling import TilePlan

__all__ = ["cells_name", "stage_name"]


def cells_name(tile: str, cells: IntArray) -> str:
    """The file of a tile's cells, by their content."""
    state = hashlib.sha256(repr(cells.shape).encode())
    state.update(np.ascontiguousarray(cells).astype("<i8").tobytes())
    return f"build/cells/{tile}-{state.hexdigest()[:20]}.parquet"


def stage_name(folder: str, tile: str, stage: str, plan: TilePlan, spec: dict[str, Any]) -> str:
    """The file that a stage writes for a tile: by the plan, the version and the names of the files it reads."""
    told = {key: value for key, value in spec.items() if key != "patches"}  # `patched` tells what is in them
    text = json.dumps([__version__, stage, plan.to_dict(), told], sort_keys=True)
    return f"{folder}/{tile}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.parquet"
