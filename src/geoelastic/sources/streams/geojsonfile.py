# SPDX-License-Identifier: Apache-2.0
"""GeoJSON, a feature at a time: a FeatureCollection, one feature a line (.geojsonl, .ndjson), or the only feature.

The collection is never held as a whole. Members besides the features are left out, for among them is the bounding box
of the true places; `id` and `properties` of each feature are kept as JSON text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from ...errors import FileError, GeoelasticError, InputError
from .columns import Batch, Batches, Layout, row_batches, tells_place
from .plumbing import DEGREE_DECIMALS, ByteSource, DocumentReader, open_write

GEOJSON_SUFFIXES = (".geojson", ".json", ".geojsonl", ".ndjson")
_CHUNK_CHARS = 1 << 18
#: No feature of a point is as long as this; what is, would only fill the memory.
_MOST_CHARS = 1 << 26
_OTHERS = ("LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection")
_REST = pa.schema([("id", pa.string()), ("properties", pa.string())], metadata={b"geojson": b"1"})


def is_lines(name: str) -> bool:
    """Whether a file of this name holds one feature a line."""
    return any(suffix in name.lower() for suffix in (".geojsonl", ".ndjson", ".geojsons"))


def read_features(path: str | Path, source: ByteSource | None = None) -> Generator[dict[str, Any], None, None]:
    """The features of a GeoJSON file, compressed or not, each as soon as it has been read; a geometry is a feature."""
    name = Path(path).name
    with (source or ByteSource(Path(path))).open() as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig")
        try:
            for feature in _lines(text) if is_lines(name) else _features(text):
                if not isinstance(feature, dict):
                    raise ValueError("a feature must be an object")
                whole = feature.get("type") == "Feature" or "geometry" in feature
                yield feature if whole else {"type": "Feature", "geometry": feature}
        except (GeoelasticError, MemoryError):
            raise
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError):
            raise FileError(f"{name}: not a whole GeoJSON file") from None


class GeoJsonReader(DocumentReader):
    """Point features of a GeoJSON file."""

    def __init__(self, path: Path, *, lat: str | None, lon: str | None, keep: Collection[str]) -> None:
        super().__init__(path, _REST, lat, lon, "GeoJSON has its place in the geometry")
        self._keep = keep

    def batches(self) -> Batches:
        """The features in order."""
        try:
            with closing(read_features(self._path, self._source)) as features:
                yield from row_batches(map(self._row, features), _REST)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            if isinstance(error, GeoelasticError):
                raise
            raise FileError(f"{self._path.name}: a feature is not one of GeoJSON") from None

    def _row(self, feature: Any) -> tuple[float, float, str | None, str]:
        geometry = feature["geometry"]
        lat = lon = float("nan")
        if geometry is not None:
            if geometry["type"] != "Point":
                kind = geometry["type"] if geometry["type"] in _OTHERS else "something else"
                raise InputError(f"{self._path.name}: every feature must be a Point, got a {kind}")
            lon, lat = (float(value) for value in geometry["coordinates"][:2])
        properties = feature.get("properties") or {}
        telling = [name for name in properties if tells_place(name, self._keep)]
        self.withheld += [name for name in telling if name not in self.withheld]
        kept = {name: value for name, value in properties.items() if name not in telling}
        return lat, lon, json.dumps(feature["id"]) if "id" in feature else None, json.dumps(kept, ensure_ascii=False)


class GeoJsonWriter:
    """Rows as GeoJSON points; columns of other formats become properties."""

    def __init__(self, path: Path, layout: Layout, *, name: str) -> None:
        self._file: IO[bytes] = open_write(path, name)
        self._lines, self._first = is_lines(name), True
        self._native = b"geojson" in (layout.rest.metadata or {})
        if not self._lines:
            self._file.write(b'{"type": "FeatureCollection", "features": [')

    def write(self, batch: Batch) -> None:
        lats = np.round(batch.lat, DEGREE_DECIMALS).tolist()
        lons = np.round(batch.lon, DEGREE_DECIMALS).tolist()
        rows = batch.rest.to_pylist() if batch.rest.num_columns else [{} for _ in lats]
        for lat, lon, row in zip(lats, lons, rows, strict=True):
            feature: dict[str, Any] = {"type": "Feature"}
            if self._native:
                identity, properties = row.pop("id"), json.loads(row.pop("properties"))
                if identity is not None:
                    feature["id"] = json.loads(identity)
                row = properties | row
            feature |= {"geometry": {"type": "Point", "coordinates": [lon, lat]}, "properties": row}
            between = "" if self._lines else "\n" if self._first else ",\n"
            text = json.dumps(feature, ensure_ascii=False, default=str)
            self._file.write((between + text + ("\n" if self._lines else "")).encode())
            self._first = False

    def close(self, *, whole: bool) -> None:
        if not self._lines:
            self._file.write(b"\n]}\n")
        self._file.close()


def _lines(text: IO[str]) -> Iterator[Any]:
    while line := text.readline(_MOST_CHARS):
        record = line.strip("\x1e \t\r\n")  # RFC 8142 begins each record with a separator
        if record:
            yield json.loads(record)


def _features(text: IO[str]) -> Iterator[Any]:
    """The elements of the member "features" of one JSON object, each as soon as it has been read; or the object."""
    tokens, members = _Tokens(text), {}
    tokens.expect("{")
    while True:
        key = tokens.value()
        tokens.expect(":")
        if key == "features":
            break
        members[key] = tokens.value()
        if key == "crs":
            _require_degrees(members[key])
        if tokens.peek() == "}" and members.get("type") in ("Feature", "Point", *_OTHERS):
            tokens.expect("}")
            yield members
            return
        tokens.expect(",")
    tokens.expect("[")
    if tokens.peek() != "]":
        while True:
            yield tokens.value()
            if tokens.peek() == "]":
                break
            tokens.expect(",")
    tokens.expect("]")
    while tokens.peek() == ",":
        tokens.expect(",")
        tokens.value()
        tokens.expect(":")
        tokens.value()
    tokens.expect("}")


def _require_degrees(member: Any) -> None:
    """GeoJSON is in degrees; the old member "crs" may say so, or say something else."""
    name = str(((member or {}).get("properties") or {}).get("name", ""))
    if name and not name.upper().endswith(("CRS84", "4326")):
        raise InputError("GeoJSON must be in degrees (WGS 84), got another 'crs'")


class _Tokens:
    """Values and punctuation of a JSON text that is read in pieces."""

    def __init__(self, text: IO[str]) -> None:
        self._text, self._buffer, self._at = text, "", 0
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is not a space, "" at the end."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            if not self._more(_CHUNK_CHARS):
                return ""

    def expect(self, character: str) -> None:
        if self.peek() != character:
            raise ValueError(f"{character} expected")
        self._at += 1

    def value(self) -> Any:
        """The next whole value; reads twice as much each time it is not whole yet."""
        self.peek()
        size = _CHUNK_CHARS
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
                if end < len(self._buffer):  # a number at the very end might go on
                    self._at = end
                    return value
            except json.JSONDecodeError:
                pass
            if len(self._buffer) > _MOST_CHARS or not self._more(size):
                raise ValueError("the text ends within a value")
            size *= 2

    def _more(self, size: int) -> bool:
        piece = self._text.read(size)
        self._buffer, self._at = self._buffer[self._at :] + piece, 0
        return bool(piece)
