# SPDX-License-Identifier: Apache-2.0
"""The catalogue of a pack: which regions there are, where, how large, of when, by whom, and the digest of each file.

It is small, so that everybody can fetch all of it, and says nothing about who does. A file is named after its region
and its own digest: what has the same name has the same bytes, wherever it was kept in between, and an update fetches
the files whose names are new. Like any file it may come from a stranger: nothing is read that is not in the schema,
and names are such that none can lead out of the folder.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..store import schema, write_bytes

CATALOGUE = "catalogue.json"
FORMAT, VERSION = "geoelastic-pack", 1
#: Regions of a pack, corners of an outline, bytes of a file: those of a `.geox` file.
MOST_REGIONS, MOST_CORNERS, MOST_BYTES = 1000, 64, 2**29
#: Of a drawing: as long as any JSON that devices read.
MOST_DRAWING_BYTES = schema.JSON_BYTES
_MOST_LOCATIONS = 2**31
_MOST_KM = 4000.0
#: The first digits of the digest, in a file's name.
_DIGITS = 12
_ID = r"[a-z0-9][a-z0-9_-]{0,63}"
_LINE = r"[^\x00-\x1f\x7f]*"


@dataclass(frozen=True)
class RegionDrawing:
    """Water, roads and names to be drawn with a region's map, as JSON."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Region:
    """One map of a pack. `outline`: its corners, (lat, lon), once around. `part_of`: the map that a district was cut
    from. `date`: when these bytes were first in the pack. `licence`: whom to name for the data. `context`: what to draw
    with it, if its map has anything."""

    id: str
    name: str
    part_of: str | None
    outline: tuple[tuple[float, float], ...]
    km: tuple[float, float]
    locations: int
    secrets: int
    file: str
    bytes: int
    sha256: str
    date: str
    licence: str
    context: RegionDrawing | None

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""
        return (self.file,) if self.context is None else (self.file, self.context.file)


@dataclass(frozen=True)
class Catalogue:
    """`every_days`: how often it is worth asking whether there is a newer one, the same for everybody."""

    name: str
    every_days: int
    regions: tuple[Region, ...]

    def content(self) -> bytes:
        """The catalogue as the bytes of its file; the same for the same regions."""
        whole = {"format": FORMAT, "version": VERSION, "name": self.name, "every_days": self.every_days}
        lines = ",\n".join(json.dumps(asdict(region), ensure_ascii=False) for region in self.regions)
        return f'{json.dumps(whole, ensure_ascii=False)[:-1]}, "regions": [\n{lines}\n]}}\n'.encode()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the catalogue, once it can be read again."""
        content = self.content()
        parse_catalogue(content)
        write_bytes(Path(folder) / CATALOGUE, content)


def file_name(region: str, sha256: str, kind: str = "geox") -> str:
    """The name of a region's file."""
    return f"{region}-{sha256[:_DIGITS]}.{kind}"


def read_catalogue(folder: str | os.PathLike[str]) -> Catalogue:
    """The catalogue of a folder; `FileError` says what is wrong with it."""
    path = Path(folder) / CATALOGUE
    try:
        with path.open("rb") as file:
            # a little more than is allowed is enough to refuse it
            return parse_catalogue(file.read(schema.JSON_BYTES + 1))
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {(error.strerror or type(error).__name__).lower()}") from None


def parse_catalogue(content: bytes) -> Catalogue:
    """The same from the bytes of a file."""
    whole = schema.parse_json(content, "catalogue")
    schema.closed(whole, "catalogue", needs=("format", "version", "name", "every_days", "regions"))
    schema.text(whole["format"], "format", choices=(FORMAT,))
    schema.whole(whole["version"], "version", VERSION, VERSION)
    given = schema.listed(whole["regions"], "regions", least=1, most=MOST_REGIONS)
    regions = tuple(_region(entry, f"regions[{k}]") for k, entry in enumerate(given))
    if len({region.id for region in regions}) < len(regions):
        raise FileError("every region of a catalogue must have an id of its own")
    every_days = schema.whole(whole["every_days"], "every_days", 1, 366)
    return Catalogue(schema.text(whole["name"], "name", pattern=_LINE), every_days, regions)


def _region(entry: Any, name: str) -> Region:
    schema.closed(entry, name, needs=tuple(Region.__dataclass_fields__))
    of = entry["part_of"]
    km = schema.listed(entry["km"], f"{name}.km", least=2, most=2)
    corners = schema.listed(entry["outline"], f"{name}.outline", least=3, most=MOST_CORNERS)
    locations = schema.whole(entry["locations"], f"{name}.locations", 1, _MOST_LOCATIONS)
    region = Region(
        id=schema.text(entry["id"], f"{name}.id", pattern=_ID),
        name=schema.text(entry["name"], f"{name}.name", pattern=_LINE),
        part_of=None if of is None else schema.text(of, f"{name}.part_of", pattern=_ID),
        outline=tuple(_corner(corner, f"{name}.outline") for corner in corners),
        km=(schema.number(km[0], f"{name}.km", 0, _MOST_KM), schema.number(km[1], f"{name}.km", 0, _MOST_KM)),
        locations=locations,
        secrets=schema.whole(entry["secrets"], f"{name}.secrets", 1, locations),
        file=schema.text(entry["file"], f"{name}.file"),
        bytes=schema.whole(entry["bytes"], f"{name}.bytes", 1, MOST_BYTES),
        sha256=schema.text(entry["sha256"], f"{name}.sha256", pattern="[0-9a-f]{64}"),
        date=_date(schema.text(entry["date"], f"{name}.date", pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), f"{name}.date"),
        licence=schema.text(entry["licence"], f"{name}.licence", pattern=_LINE),
        context=None if entry["context"] is None else _drawing(entry["context"], f"{name}.context"),
    )  # fmt: skip
    _require_name(region.file, file_name(region.id, region.sha256), f"{name}.file")
    if region.context is not None:
        expected = file_name(region.id, region.context.sha256, "json")
        _require_name(region.context.file, expected, f"{name}.context.file")
    return region


def _drawing(entry: Any, name: str) -> RegionDrawing:
    schema.closed(entry, name, needs=tuple(RegionDrawing.__dataclass_fields__))
    return RegionDrawing(
        file=schema.text(entry["file"], f"{name}.file"),
        bytes=schema.whole(entry["bytes"], f"{name}.bytes", 1, MOST_DRAWING_BYTES),
        sha256=schema.text(entry["sha256"], f"{name}.sha256", pattern="[0-9a-f]{64}"),
    )


def _require_name(given: str, expected: str, name: str) -> None:
    if given != expected:
        kind = expected.rsplit(".", 1)[1]
        raise FileError(f"'{name}' must be the region's id and the first {_DIGITS} digits of its digest, with .{kind}")


def _corner(corner: Any, name: str) -> tuple[float, float]:
    lat, lon = schema.listed(corner, name, least=2, most=2)
    return schema.number(lat, name, -90, 90), schema.number(lon, name, -180, 180)


def _date(text: str, name: str) -> str:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        raise FileError(f"'{name}' must be a day such as 2026-11-17") from None
    return text
