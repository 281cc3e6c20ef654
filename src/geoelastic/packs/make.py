# SPDX-License-Identifier: Apache-2.0
"""Make a pack, or bring one up to date: every region sharpened, written once, verified from its bytes. `check_pack`
checks one: every file against the catalogue, every map from scratch.

Files come first, then the catalogue that names them, then files that no catalogue names any more go: whoever reads the
folder at any moment finds what the catalogue says.

A map too large for one download is cut into districts by a public rule: squares of one side, one around each point of
a lattice of half the side: every place has one in which it is at least a quarter of the side away from the border. The
side follows from the map's size and its number of locations, so that a device can hold and check a district, and a
thinly settled map has larger ones, as its crowds take more room. Nothing in it depends on who asks.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..area import Area
from ..errors import CheckError, FileError, InputError, require_positive
from ..figures.picture import credit_of
from ..judge import README, verify
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import load_mechanism, mechanism_bytes
from ..metric import AnyMetric, Metric
from ..metric.extract import extract
from ..metric.geox_file import is_portable
from ..metric.sharpen import sharpened
from ..opening import load
from ..progress import progress_bar
from ..store import write_bytes
from ..store.digest import digest, file_digest
from .catalogue import CATALOGUE, MOST_DRAWING_BYTES, Catalogue, Region, RegionDrawing, file_name, read_catalogue

#: A map with more locations than this is cut into districts unless it is said otherwise.
MOST_LOCATIONS = 100_000
#: A catalogue is read whole by every device: it names no more districts of a map than this.
MOST_DISTRICTS = 10_000
#: So many locations a district has on average, and sides are whole multiples of this.
_DISTRICT_LOCATIONS, _GRAIN_KM = 30_000, 10
_OURS = re.compile(r"[a-z0-9_-]+-[0-9a-f]{12}\.(geox|json)")
_CORNERS_A_SIDE = 4


@dataclass(frozen=True)
class _Cut:
    """A region to be: a map, or a district of one."""

    id: str
    name: str
    part_of: str | None
    file: str
    area: Area | None


def make_pack(
    maps: Sequence[str], folder: str, *, name: str = "", licence: str | None = None, district_km: float | None = None,
    every_days: int = 28, today: dt.date | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Write the regions of `maps` (``.geoelastic``, ``.geox`` or tiles) and their catalogue into `folder`.

    A map of more than `MOST_LOCATIONS` locations is cut into districts (`district_km`: every map, into districts of
    this side; infinite: none). Regions whose bytes are those that the folder has stay as they are, with their date.
    A map that does not keep the README's promise makes no pack; a district without enough crowd is left out.
    """
    target = Path(folder)
    _metric.cache_clear()  # files may have changed since
    cuts = list(_cuts(maps, district_km))
    before = _before(target)
    today = today or dt.date.today()
    target.mkdir(parents=True, exist_ok=True)
    made: list[Region] = []
    left_out: dict[str, str] = {}
    with progress_bar("regions", len(cuts), show=progress) as bar:
        for k, cut in enumerate(cuts):
            try:
                made.append(_region(cut, target, before.get(cut.id), licence, today))
            except (CheckError, InputError) as error:
                if cut.part_of is None:
                    raise
                left_out[cut.id] = str(error)
            bar.update(k + 1, note=cut.id)
    if not made:
        raise CheckError("no district has enough crowd to hide anybody: ask for larger ones")
    Catalogue(name or target.resolve().name, every_days, tuple(made)).save(target)
    kept = {name for region in made for name in region.files}
    for path in target.iterdir():
        if path.name not in kept and _OURS.fullmatch(path.name):
            path.unlink()
    changed = [r.id for r in made if before.get(r.id) is None or before[r.id].files != r.files]
    return {
        "pack": str(target), "regions": [asdict(region) for region in made], "changed": changed, "left_out": left_out,
        "bytes": sum(region.bytes for region in made),
        "fences": {Path(file).name: n for file in maps if (n := _metric(file).totals["fences"])},
    }  # fmt: skip


def _cuts(maps: Sequence[str], district_km: float | None) -> Iterator[_Cut]:
    if district_km is not None and district_km != float("inf"):
        require_positive("district_km", district_km)
    seen: set[str] = set()
    for file in maps:
        stem = Path(file).name.split(".")[0]
        region = re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-")
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,47}", region):
            raise InputError(f"a map in a pack must have a name of letters and digits, got {Path(file).name!r}")
        if region in seen:
            raise InputError(f"maps in a pack must have different names, got two called {region!r}")
        seen.add(region)
        metric = _metric(file)
        if district_km == float("inf") or (district_km is None and metric.n <= MOST_LOCATIONS):
            yield _Cut(region, stem, None, file, None)
            continue
        whole = metric.grid.area
        for district, area in districts(whole, district_km or district_side_km(whole, metric.n)).items():
            yield _Cut(f"{region}-{district}", f"{stem} {district}", region, file, area)
    if not seen:
        raise InputError("a pack must have at least one map")


@lru_cache(maxsize=1)
def _metric(file: str) -> AnyMetric:
    """The map, kept while its districts are cut."""
    if not Path(file).exists():
        raise FileError(f"{file}: no such file")
    return load(file)


def _before(folder: Path) -> dict[str, Region]:
    """The regions that the folder has, if it is a pack."""
    if not folder.exists():
        return {}
    if not folder.is_dir():
        raise FileError(f"{folder}: must be a folder")
    if not (folder / CATALOGUE).exists():
        if any(folder.iterdir()):
            raise FileError(f"{folder}: must be a pack, or empty, or not there yet")
        return {}
    return {region.id: region for region in read_catalogue(folder).regions}


def _region(cut: _Cut, folder: Path, before: Region | None, licence: str | None, today: dt.date) -> Region:
    written = _write(folder, cut.id, _content(cut), "geox")
    path = folder / written.file
    try:
        mechanism = load_mechanism(path)
        found = verify(mechanism, require=README)
        if not found["ok"]:
            raise CheckError(
                f"the map '{cut.id}' cannot be in a pack: {'; '.join([*found['faults'], *found['short']])}"
            )
    except Exception:
        path.unlink(missing_ok=True)
        raise
    metric = mechanism.metric.whole()
    context = _drawing(cut, folder)
    same = before is not None and (before.sha256, before.context) == (written.sha256, context)
    return Region(
        id=cut.id, name=cut.name, part_of=cut.part_of, outline=_outline(metric.grid.area),
        km=(metric.grid.area.width_m / 1000, metric.grid.area.height_m / 1000), locations=metric.n,
        secrets=int(metric.secret.sum()), file=written.file, bytes=written.bytes, sha256=written.sha256,
        date=before.date if before is not None and same else today.isoformat(),
        licence=(licence if licence is not None else credit_of(metric.info))[:1000], context=context,
    )  # fmt: skip


def _write(folder: Path, region: str, content: bytes, kind: str) -> RegionDrawing:
    """A file of a region, written unless it is there, and what a catalogue says about it."""
    seal = digest(content)
    path = folder / file_name(region, seal, kind)
    if not path.exists() or file_digest(path) != seal:
        write_bytes(path, content)
    return RegionDrawing(path.name, len(content), seal)


def _drawing(cut: _Cut, folder: Path) -> RegionDrawing | None:
    """What a whole map has to draw with it; districts and maps in tiles have nothing, and it may be too much."""
    context = _metric(cut.file).context if cut.area is None else None
    if context is None:
        return None
    content = json.dumps(context.to_dict(), ensure_ascii=False, separators=(",", ":")).encode()
    return _write(folder, cut.id, content, "json") if len(content) <= MOST_DRAWING_BYTES else None


def _content(cut: _Cut) -> bytes:
    """The region's file. A `.geox` that is whole and sharpened goes in as it is."""
    if cut.area is None and is_portable(cut.file) and load_mechanism(cut.file).sharpened:
        return Path(cut.file).read_bytes()
    return mechanism_bytes(ElasticMechanism(region_of(_metric(cut.file), cut.area)))


def region_of(
    metric: AnyMetric, area: Area | None, *, sharpen: bool = True, output: str = "mass", progress: bool = False
) -> Metric:
    """The region of a map, or all of it, sharpened for `output`: as it is, or anew; or not at all."""
    if area is not None:
        return extract(metric, area, sharpen=sharpen, output=output, progress=progress)
    whole = metric.whole()
    if sharpen and whole.relief is not None and whole.relief.output == output:
        return whole
    bare = replace(whole, relief=None)
    return sharpened(bare, output=output, progress=progress) if sharpen else bare


def _outline(area: Area) -> tuple[tuple[float, float], ...]:
    """Points along the border, once around from the south-west; sides of a plane are not straight in degrees."""
    t = np.linspace(-0.5, 0.5, _CORNERS_A_SIDE, endpoint=False)
    low, high = np.full_like(t, -0.5), np.full_like(t, 0.5)
    x = np.concatenate([t, high, -t, low]) * area.width_m
    y = np.concatenate([low, t, high, -t]) * area.height_m
    lat, lon = area.to_latlon(x, y)
    return tuple((round(float(a), 5), round(float(b), 5)) for a, b in zip(lat, lon, strict=True))


def district_side_km(area: Area, locations: int) -> float:
    """The side of the districts of a map with so many locations."""
    side_m = math.sqrt(area.width_m * area.height_m * _DISTRICT_LOCATIONS / locations)
    return float(max(1, round(side_m / (1000 * _GRAIN_KM))) * _GRAIN_KM)


def districts(area: Area, size_km: float) -> dict[str, Area]:
    """The districts of an area by name, "row-column" from the south-west."""
    step = size_km * 500
    rows, cols = (max(0, math.ceil(side / 2 / step) - 1) for side in (area.height_m, area.width_m))
    if (2 * rows + 1) * (2 * cols + 1) > MOST_DISTRICTS:
        raise InputError(f"districts of {size_km:g} km would be more than {MOST_DISTRICTS:,}: choose a larger side")
    return {
        f"{row + rows}-{col + cols}": _around(area, col * step, row * step, size_km)
        for row in range(-rows, rows + 1)
        for col in range(-cols, cols + 1)
    }


def _around(area: Area, east_m: float, north_m: float, size_km: float) -> Area:
    lat, lon = area.to_latlon(east_m, north_m)
    return Area.around(float(lat), float(lon), size_km=size_km)


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
