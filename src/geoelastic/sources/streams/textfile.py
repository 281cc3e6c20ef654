# SPDX-License-Identifier: Apache-2.0
"""CSV and its relatives, a block at a time. All columns but the place stay text, so nothing else in a row changes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...errors import FileError, InputError
from .columns import KEEP_ALL, Batch, Batches, Layout, find_place_columns, numbers, tells_place
from .plumbing import ByteSource, decimals, open_write

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_BLOCK_BYTES = 1 << 22
_HEAD_BYTES = 1 << 20
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


class CsvReader:
    """Rows of a delimited text file.

    A first row with a number in it is data, and the columns are then called column_1, column_2, ... Such a file does
    not say what its columns are, so only a time is kept, known by its form, and what is asked for; if there are no more
    than two, they are latitude and longitude.
    """

    def __init__(
        self, path: Path, *, lat: str | None, lon: str | None, keep: Collection[str], strict: bool = True
    ) -> None:
        self._path, self._source, self._strict, self.skipped = path, ByteSource(path), strict, 0
        self.fraction = self._source.fraction
        self._delimiter, self._names, first = read_head(path, self._source)
        self._headless = first is not None
        place = find_place_columns(self._names, lat, lon, where=path.name)
        others = [n for n in self._names if n not in place]
        if first is None:
            self.withheld = [n for n in others if tells_place(n, keep)]
        else:
            times = {name for name, cell in zip(self._names, first, strict=True) if _TIME.fullmatch(cell)}
            self.withheld = [n for n in others if n not in times and n not in keep and KEEP_ALL not in keep]
        text = pa.schema([(name, pa.string()) for name in self._names])
        self.layout = Layout.of(text, place, self.withheld)

    @staticmethod
    def names(path: Path) -> list[str]:
        """The names of all columns."""
        return read_head(path, ByteSource(path))[1]

    def batches(self) -> Batches:
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
                    parse_options=arrow_csv.ParseOptions(
                        delimiter=self._delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=None if self._strict else self._skip,
                    ),
                    convert_options=arrow_csv.ConvertOptions(column_types=text, strings_can_be_null=False),
                )
                for block in reader:
                    yield self._batch(pa.Table.from_batches([block]))
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, FileError):
                    raise
                # the parser's own message quotes the row, and a row is somebody's place
                raise FileError(
                    f"{self._path.name}: a row does not have the {len(self._names)} columns of the first row, "
                    "or is not text in UTF-8"
                ) from None

    def _skip(self, row: Any) -> str:
        self.skipped += 1
        return "skip"

    def _batch(self, table: Any) -> Batch:
        lat, lon = (
            numbers(table.column(name), name=name, where=self._path.name, strict=self._strict)
            for name in self.layout.place
        )
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
        place = [decimals(batch.lat), decimals(batch.lon)]
        try:
            table = self._layout.assemble(batch, place).cast(pa.schema([(n, pa.string()) for n in self._layout.order]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError("lists and nested columns cannot be written as CSV: write .parquet or .geojson") from None
        self._rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def close(self, *, whole: bool) -> None:
        self._file.close()


def read_head(path: Path, source: ByteSource) -> tuple[str, list[str], list[str] | None]:
    """Delimiter, column names, and the cells of the first row if it is data."""
    with source.open() as file:
        first = file.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace").splitlines()[:1]
    if not first or not first[0].strip():
        raise InputError(f"{path.name}: the table is empty: it must have a header with latitude and longitude")
    delimiter = max(",;\t|", key=first[0].count)
    try:
        cells = [cell.strip() for cell in next(csv.reader(first, delimiter=delimiter))]
    except csv.Error:
        raise InputError(f"{path.name}: the first row cannot be read as a row of a table") from None
    if not any(map(_is_number, cells)):
        return delimiter, cells, None
    if len(cells) == 2 and all(map(_is_number, cells)):
        return delimiter, ["lat", "lon"], cells
    return delimiter, [f"column_{k + 1}" for k in range(len(cells))], cells


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
