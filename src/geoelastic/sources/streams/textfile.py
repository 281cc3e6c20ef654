# SPDX-License-Identifier: Apache-2.0
"""CSV and its relatives, a block at a time. All columns but the place stay text, so nothing else in a row changes."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from ...errors import FileError, InputError
from .columns import Batch, Layout, find_place_columns, numbers, tells_place
from .plumbing import ByteSource, decimals, open_write

__all__ = ["CsvReader", "CsvWriter"]

_BLOCK_BYTES = 1 << 22
_HEAD_BYTES = 1 << 20


class CsvReader:
    """Rows of a delimited text file.

    A first row with a number in it is data, and the columns are then called column_1, column_2, ...
    """

    def __init__(self, path: Path, *, lat: str | None, lon: str | None, keep: Collection[str]) -> None:
        self._path, self._source = path, ByteSource(path)
        self.fraction = self._source.fraction
        self._delimiter, self._names, self._headless = _head(path, self._source)
        self.lat, self.lon = find_place_columns(self._names, lat, lon, where=path.name)
        others = [n for n in self._names if n not in (self.lat, self.lon)]
        self.withheld = [n for n in others if tells_place(n, keep)]
        order = tuple(n for n in self._names if n not in self.withheld)
        kept = pa.schema([(n, pa.string()) for n in others if n not in self.withheld])
        self.layout = Layout(order, kept, self.lat, self.lon)

    @staticmethod
    def names(path: Path) -> list[str]:
        """The names of all columns."""
        return _head(path, ByteSource(path))[1]

    def batches(self) -> Iterator[Batch]:
        """The rows in order."""
        from pyarrow import csv as arrow_csv

        text = dict.fromkeys(self._names, pa.string())
        with self._source.open() as file:
            try:
                reader = arrow_csv.open_csv(
                    file,
                    read_options=arrow_csv.ReadOptions(
                        block_size=_BLOCK_BYTES, column_names=self._names, skip_rows=0 if self._headless else 1
                    ),
                    parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                    convert_options=arrow_csv.ConvertOptions(column_types=text, strings_can_be_null=False),
                )
                for block in reader:
                    yield self._batch(pa.Table.from_batches([block]))
            except (pa.ArrowInvalid, EOFError, OSError) as error:
                if isinstance(error, FileError):
                    raise
                # the parser's own message quotes the row, and a row is somebody's place
                raise FileError(
                    f"{self._path.name}: a row does not have the {len(self._names)} columns of the first row"
                ) from None

    def _batch(self, table: Any) -> Batch:
        lat = numbers(table.column(self.lat), name=self.lat, where=self._path.name)
        lon = numbers(table.column(self.lon), name=self.lon, where=self._path.name)
        return Batch(lat, lon, table.select(self.layout.rest.names))


class CsvWriter:
    """Rows as a delimited text file with a header."""

    def __init__(self, path: Path, layout: Layout, *, name: str) -> None:
        if layout.geometry is not None:
            layout = Layout((*(n for n in layout.order if n != layout.geometry), "lat", "lon"), layout.rest)
        self._layout = layout
        self._file = io.TextIOWrapper(open_write(path, name), encoding="utf-8", newline="")
        delimiter = "\t" if ".tsv" in name.lower() or ".txt" in name.lower() else ","
        self._rows = csv.writer(self._file, delimiter=delimiter, lineterminator="\n")
        self._rows.writerow(layout.order)

    def write(self, batch: Batch) -> None:
        place = {self._layout.lat: decimals(batch.lat), self._layout.lon: decimals(batch.lon)}
        try:
            table = self._layout.assemble(batch, place).cast(pa.schema([(n, pa.string()) for n in self._layout.order]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError("lists and nested columns cannot be written as CSV: write .parquet or .geojson") from None
        self._rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _head(path: Path, source: ByteSource) -> tuple[str, list[str], bool]:
    """Delimiter, column names, and whether the first row is data."""
    with source.open() as file:
        try:
            first = file.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace").splitlines()[:1]
        except (OSError, EOFError):
            raise FileError(f"{path.name}: cannot be read (it may be cut off)") from None
    if not first or not first[0].strip():
        raise InputError(f"{path.name}: the table is empty: it must have a header with latitude and longitude")
    delimiter = max(",;\t|", key=first[0].count)
    names = [name.strip() for name in next(csv.reader(first, delimiter=delimiter))]
    headless = any(map(_is_number, names))
    return delimiter, [f"column_{k + 1}" for k in range(len(names))] if headless else names, headless


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
