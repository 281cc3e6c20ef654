# SPDX-License-Identifier: Apache-2.0
"""GeoPackage, FlatGeobuf and Shapefile, by GDAL (pyogrio), some rows at a time.

Points in any coordinate reference system are read, points in degrees are written. Nothing of the file that was read is
copied but rows: extents, indexes and statistics of what is written are made from reports alone. Shapefiles are several
files; they are written as one, compressed (``.shz``), and read as either. A FlatGeobuf is sorted along a curve through
the plane, so that the number of a row tells where it is: it is read as a whole, and its rows are put in a random order.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import warnings
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from ...errors import FileError, GeoelasticError, InputError, import_extra
from .columns import Batch, Batches, Layout, tells_place
from .parquetfile import point_columns
from .plumbing import DEGREE_DECIMALS, way_to_degrees

_BATCH_ROWS = 1 << 16
#: The driver of each suffix and how its files begin: GDAL would open a file of any kind under any name, also one that
#: points to others.
_DRIVERS = {
    ".gpkg": ("GPKG", b"SQLite format 3\0"),
    ".fgb": ("FlatGeobuf", b"fgb\x03"),
    ".shp": ("ESRI Shapefile", b"\x00\x00\x27\x0a"),
    ".shz": ("ESRI Shapefile", b"PK\x03\x04"),
}
VECTOR_SUFFIXES = tuple(_DRIVERS)
_POINTS = ("Point", "Point Z", "Point M", "Point ZM", "2.5D Point", "Unknown")


def _gdal() -> Any:
    import_extra("pyogrio.raw", "geo")
    return import_extra("pyogrio", "geo")


@contextmanager
def _in_one_line(name: str, kind: str) -> Iterator[None]:
    """What GDAL says, in errors and in warnings, may hold anything; what is wrong is said once and without it."""
    _gdal()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (GeoelasticError, MemoryError):
        raise
    except Exception:  # on damaged files pyogrio has errors of GDAL's, PROJ's, Arrow's, and faults of its own
        raise FileError(f"{name}: not a whole {kind} file") from None


class VectorReader:
    """Rows of the only layer of a file."""

    skipped = 0

    def __init__(self, path: Path, *, lat: str | None, lon: str | None, keep: Collection[str]) -> None:
        if lat is not None or lon is not None:
            raise InputError(f"{path.name}: its place is the geometry; columns cannot be named")
        self._path, self._read = path, 0
        self._kind = _require_kind(path)
        with self._open() as (about, reader):
            if about["geometry_type"] not in _POINTS:
                raise InputError(f"{path.name}: every geometry must be a point")
            if not about["crs"]:
                raise InputError(f"{path.name}: it has no coordinate reference system; set one, for example EPSG:4326")
            self._transform = way_to_degrees(about["crs"], path.name)
            self._geometry = about["geometry_name"] or "wkb_geometry"
            schema = reader.schema
        names = [n for n in schema.names if n != self._geometry]
        self.withheld = [n for n in names if tells_place(n, keep)]
        kept = [n for n in names if n not in self.withheld]
        rest = pa.schema([pa.field(n, schema.field(n).type) for n in kept])
        self.layout = Layout((*kept, "geometry"), rest, geometry="geometry")
        with _in_one_line(path.name, self._kind):
            self._rows = max(1, int(_gdal().read_info(path, force_feature_count=True)["features"]))

    @staticmethod
    def names(path: Path) -> list[str]:
        """The names of all columns besides the geometry."""
        with _in_one_line(path.name, _require_kind(path)):
            return [str(name) for name in _gdal().read_info(path)["fields"]]

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with ExitStack() as opened:
            with _in_one_line(self._path.name, self._kind):
                layers = len(_gdal().list_layers(self._path))
                if layers != 1:
                    raise InputError(f"{self._path.name}: it must have one layer, of points; it has {layers}")
                stream = _gdal().raw.open_arrow(self._path, batch_size=_BATCH_ROWS, use_pyarrow=True)
                pair = opened.enter_context(stream)
            yield pair

    def batches(self) -> Batches:
        """The rows in order, or in none if their order tells their places."""
        if self._path.suffix.lower() != ".fgb":
            yield from self._in_order()
            return
        parts = list(self._in_order())
        if parts:
            whole = Batch.joined(parts)
            order = list(range(len(whole.lat)))
            secrets.SystemRandom().shuffle(order)
            yield Batch(whole.lat[order], whole.lon[order], whole.rest.take(order))

    def _in_order(self) -> Batches:
        with self._open() as (_, reader):
            while True:
                with _in_one_line(self._path.name, self._kind):
                    try:
                        table = pa.Table.from_batches([reader.read_next_batch()])
                    except StopIteration:
                        return
                    table.validate(full=True)  # text that is no UTF-8 would fail wherever it is read first
                self._read += table.num_rows
                lon, lat = point_columns(table.column(self._geometry), where=self._path.name)
                if self._transform is not None:
                    lon, lat = (np.asarray(part) for part in self._transform.transform(lon, lat))
                rest = table.select(self.layout.rest.names)
                # a table without columns would forget how many rows it has
                yield Batch(lat, lon, rest.cast(self.layout.rest) if rest.num_columns else rest)

    def fraction(self) -> float:
        """The share of the rows that have been read."""
        return min(1.0, self._read / self._rows)


class VectorWriter:
    """Rows as a file of GDAL's. They wait in a temporary file, reports only, until all are there: not every driver can
    add to what it has written."""

    def __init__(self, path: Path, layout: Layout, *, name: str) -> None:
        self._suffix = Path(name).suffix.lower()
        if self._suffix == ".shp":
            raise InputError(f"{name}: a Shapefile is several files; write one compressed one, {Path(name).stem}.shz")
        _gdal()
        self._path = path
        self._names = [n for n in layout.order if n in layout.rest.names]
        fields = [pa.field(n, _writable(layout.rest.field(n).type)) for n in self._names]
        self._schema = pa.schema([*fields, pa.field("geometry", pa.binary())])
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the writer is
        self._rows = pa.ipc.new_stream(self._spool, self._schema)

    def write(self, batch: Batch) -> None:
        lat, lon = np.round(batch.lat, DEGREE_DECIMALS), np.round(batch.lon, DEGREE_DECIMALS)
        columns = [batch.rest.column(n).cast(self._schema.field(n).type) for n in self._names]
        points = pa.array(shapely.to_wkb(shapely.points(lon, lat)), pa.binary())
        self._rows.write_table(pa.table([*columns, points], schema=self._schema))

    def close(self, *, whole: bool) -> None:
        with self._spool:
            self._rows.close()
            if not whole:
                return
            self._spool.seek(0)
            with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder, pa.ipc.open_stream(self._spool) as rows:
                made = Path(folder) / f"reports{self._suffix}"  # drivers look at the name
                _gdal().raw.write_arrow(
                    rows, made, layer="reports", driver=_DRIVERS[self._suffix][0], geometry_name="geometry",
                    geometry_type="Point", crs="EPSG:4326", encoding="UTF-8",
                )  # fmt: skip
                shutil.copyfile(made, self._path)


def _require_kind(path: Path) -> str:
    """The name of a file's format, if the file is there and begins as it must."""
    kind, magic = _DRIVERS[path.suffix.lower()]
    try:
        with path.open("rb") as file:
            begins = file.read(len(magic))
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {(error.strerror or 'unknown').lower()}") from None
    if begins != magic:
        raise FileError(f"{path.name}: not a {kind} file")
    return kind


def _writable(kind: Any) -> Any:
    """A type that every driver can write: nested and exotic ones become text."""
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_temporal)
    if pa.types.is_dictionary(kind):
        return _writable(kind.value_type)
    return kind if any(test(kind) for test in plain) else pa.string()
