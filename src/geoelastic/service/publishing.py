# SPDX-License-Identifier: Apache-2.0
"""Files for any web server to host: a whole metric or a region of it for phones, and the script that uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..area import Area
from ..errors import InputError
from ..judge import checkup, open_mechanism, verify
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import save_mechanism
from ..opening import load
from ..packs.make import region_of
from ..store import write_bytes
from .bundle import bundle

SCRIPT = "geolocation.js"


def make_extract(
    file: str, target: str, *, area: Area | None = None, output: str = "mass",
    sharp: bool = True, client: bool = False, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Cut `area` from a metric (all of it, if None) and write it as ``.geox`` or ``.geoelastic``, sharpened for
    `output` unless `sharp` is False; with `client`, the script for web pages beside it. What was written is read again
    and verified."""
    path = Path(target)
    if path.suffix not in (".geox", ".geoelastic"):
        raise InputError(f"'output' must end in .geox (for phones and pages) or .geoelastic, got {path.name!r}")
    part = region_of(load(file), area, sharpen=sharp, output=output, progress=progress)
    if path.suffix == ".geox":
        size = save_mechanism(ElasticMechanism(part, output=output), path)
    else:
        part.save(path)
        size = path.stat().st_size
    if client:
        write_bytes(path.with_name(SCRIPT), bundle("auto").encode())
    written = open_mechanism(path)
    grid, found, looked = part.grid, verify(written, progress=progress), checkup(written)
    cut = part.info.get("extract")
    return {
        "output": str(path), "bytes": size, "locations": part.n, "secret": int(part.secret.sum()),
        "km": [grid.cols * grid.cell_m / 1000, grid.rows * grid.cell_m / 1000], "middle": list(grid.area.middle),
        "bounds": list(grid.area.bounds), "verified": found["ok"], "claim": found["claim"],
        "checkup": None if looked is None else looked.to_dict(),
        "sharpened": part.relief is not None and part.relief.output == output,
        "reveals": cut.get("reveals", "") if isinstance(cut, dict) else "nothing: the file is the whole map",
    }  # fmt: skip
