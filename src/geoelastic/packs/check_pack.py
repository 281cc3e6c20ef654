# SPDX-License-Identifier: Apache-2.0
"""Check a pack: every file against the catalogue, every map from scratch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError
from ..judge import README, verify
from ..mechanism.geox_mechanism import load_mechanism
from ..progress import progress_bar
from ..store.digest import digest
from .catalogue import CATALOGUE, Region, RegionDrawing, read_catalogue


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
    known = {CATALOGUE, *(name for region in catalogue.regions for name in region.files)}
    return {
        "ok": not faults, "pack": folder, "name": catalogue.name, "regions": len(catalogue.regions),
        "bytes": sum(region.bytes for region in catalogue.regions), "faults": faults,
        "strays": sorted(path.name for path in target.iterdir() if path.name not in known),
    }  # fmt: skip


def _faults(folder: Path, region: Region) -> list[str]:
    if faults := [fault for one in (region, region.context) if one for fault in _other_bytes(folder, one)]:
        return faults
    try:
        mechanism = load_mechanism(folder / region.file)
        found = verify(mechanism, require=README)
    except InputError as error:
        return [str(error)]
    faults = [*found["faults"], *found["short"]]
    if not mechanism.sharpened:
        faults.append("it is not sharpened")
    if (mechanism.metric.n, int(mechanism.metric.secret.sum())) != (region.locations, region.secrets):
        faults.append("it has not the locations that the catalogue states")
    return faults


def _other_bytes(folder: Path, stated: Region | RegionDrawing) -> list[str]:
    """What is wrong with a file before anything in it is read."""
    path, what = folder / stated.file, "its file" if isinstance(stated, Region) else "its drawing"
    try:
        content = path.read_bytes()
    except OSError as error:
        return [f"{what} is missing" if not path.exists() else str(error)]
    if len(content) != stated.bytes:
        return [f"{what} has {len(content)} bytes, not {stated.bytes}"]
    if digest(content) != stated.sha256:
        return [f"{what} is not the one that the catalogue names: the digests differ"]
    return []
