# SPDX-License-Identifier: Apache-2.0
"""Check a pack: every file against the catalogue, every map from scratch."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..judge import README, verify
from ..mechanism.geox_mechanism import load_mechanism
from ..progress import progress_bar
from .catalogue import CATALOGUE, Region, read_catalogue

__all__ = ["check_pack"]


def check_pack(folder: str, *, progress: bool = False) -> dict[str, Any]:
    """Whether every region's file is there, is what the catalogue says, is sharpened and keeps the README's promise.

    `faults`: what is wrong, by region; `strays`: names in the folder that the catalogue does not know.
    """
    catalogue = read_catalogue(folder)
    target, faults = Path(folder), {}
    with progress_bar("regions", len(catalogue.regions), show=progress) as bar:
        for k, region in enumerate(catalogue.regions):
            if found := _faults(target, region):
                faults[region.id] = found
            bar.update(k + 1, note=region.id)
    known = {CATALOGUE, *(region.file for region in catalogue.regions)}
    return {
        "ok": not faults, "pack": folder, "name": catalogue.name, "regions": len(catalogue.regions),
        "bytes": sum(region.bytes for region in catalogue.regions), "faults": faults,
        "strays": sorted(path.name for path in target.iterdir() if path.name not in known),
    }  # fmt: skip


def _faults(folder: Path, region: Region) -> list[str]:
    path = folder / region.file
    try:
        if path.stat().st_size != region.bytes:
            return [f"its file has {path.stat().st_size} bytes, not {region.bytes}"]
        if hashlib.sha256(path.read_bytes()).hexdigest() != region.sha256:
            return ["its file is not the one that the catalogue names: the digests differ"]
        mechanism = load_mechanism(path)
        found = verify(mechanism, require=README)
    except OSError as error:
        return ["its file is missing" if not path.exists() else str(error)]
    except InputError as error:
        return [str(error)]
    faults = [*found["faults"], *found["short"]]
    if not mechanism.sharpened:
        faults.append("it is not sharpened")
    if (mechanism.metric.n, int(mechanism.metric.secret.sum())) != (region.locations, region.secrets):
        faults.append("it has not the locations that the catalogue states")
    return faults
