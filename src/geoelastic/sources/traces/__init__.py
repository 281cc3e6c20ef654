# SPDX-License-Identifier: Apache-2.0
"""Traces of people from the files that phones and loggers write, each file or folder by the same call.

| file | what |
|---|---|
| ``.csv``, ``.parquet``, ``.geojson``, ``.gpx``, ... | tables that `sanitize` reads, with a time and perhaps a user |
| ``.plt``, or a folder of them | GeoLife |
| ``.json`` | Google Takeout's Records.json, the phone's Timeline.json, OwnTracks, GeoJSON |
| ``.rec`` | OwnTracks recorder |

`traces_from_frame` takes pandas, GeoPandas and MovingPandas.

Text may be compressed with gzip (``.gz``). Times without an offset are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ...errors import FileError, InputError
from ..streams import STREAM_SUFFIXES
from ..streams.plumbing import ByteSource, suffix_of
from .documents import read_json, read_plt, read_rec
from .record import EARTH_RADIUS_M, Fix, Trace, clean_trace, haversine_m
from .table_traces import frame_fixes, read_table_traces

__all__ = ["EARTH_RADIUS_M", "Fix", "Trace", "clean_trace", "haversine_m", "read_traces", "traces_from_frame"]

_DOCUMENTS = (".json", ".jsonl", ".plt", ".rec")
_SUFFIXES = tuple(dict.fromkeys((*STREAM_SUFFIXES, *_DOCUMENTS)))
#: A GeoJSON file says so within these bytes.
_HEAD_BYTES = 1 << 12


def read_traces(
    *paths: str | Path, user: str | None = None, lat: str | None = None, lon: str | None = None
) -> list[Trace]:
    """The traces in files or folders, one per person, sorted by name; with `user`, only that person's.

    `lat` and `lon` name the columns of tables that hold places, where they have no usual name.

    Everything without a person's name in it (GPX, Takeout) belongs to one person. Raises `InputError` if there is no
    usable record, or no such user.
    """
    files = [file for path in paths for file in _files(Path(path))]
    told = ", ".join(Path(path).name for path in paths) or "'paths'"
    return _by_user((fix for file in files for fix in _read_file(file, lat, lon)), user, told)


def traces_from_frame(frame: Any, *, user: str | None = None) -> list[Trace]:
    """The traces in a pandas or GeoPandas table, or in a Trajectory or TrajectoryCollection of MovingPandas."""
    if hasattr(frame, "trajectories"):
        named = [(str(part.id), part.df) for part in frame.trajectories]
    else:
        named = [(str(frame.id), frame.df)] if hasattr(frame, "df") and hasattr(frame, "id") else [("", frame)]
    fixes = (
        fix if fix is None or fix.user else fix._replace(user=name) for name, part in named for fix in frame_fixes(part)
    )
    return _by_user(fixes, user, "the table")


def _by_user(found: Iterable[Fix | None], user: str | None, told: str) -> list[Trace]:
    fixes: dict[str, list[Fix]] = {}
    unreadable = 0
    for fix in found:
        if fix is None:
            unreadable += 1
        else:
            fixes.setdefault(fix.user, []).append(fix)
    names = sorted(fixes)
    if user is not None and user not in fixes:
        raise InputError(f"'user' must be one of the {len(names)} in the traces ({', '.join(names[:8])}), got {user!r}")
    chosen = names if user is None else [user]
    # rows that cannot be read name nobody: they are counted with the first trace
    traces = [clean_trace(name, fixes[name], unreadable=unreadable * (k == 0)) for k, name in enumerate(chosen)]
    traces = [trace for trace in traces if len(trace)]
    if not traces:
        lost = unreadable + sum(map(len, fixes.values()))
        why = f"; none of its {lost} records has a place on Earth and a time" if lost else ""
        raise InputError(f"{told} must hold fixes with a place and a time, got none{why}")
    return traces


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and suffix_of(file) in _SUFFIXES)
    if not files:
        raise InputError(f"{path.name} must hold traces ({', '.join(_SUFFIXES)}), got a folder without any")
    return files


def _read_file(file: Path, lat: str | None, lon: str | None) -> Iterator[Fix | None]:
    kind = suffix_of(file)
    if kind not in _SUFFIXES:
        raise InputError(f"a trace must be a file {', '.join(_SUFFIXES)} or such with .gz, got {file.name!r}")
    if kind not in _DOCUMENTS or (kind == ".json" and _is_geojson(file)):
        yield from read_table_traces(file, lat=lat, lon=lon)
        return
    with ByteSource(file).open() as raw:
        stream = TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        try:
            if kind == ".plt":
                yield from read_plt(stream, file)
            elif kind == ".rec":
                yield from read_rec(stream, file.name)
            else:
                yield from read_json(stream, file.name)
        except UnicodeDecodeError:
            raise FileError(f"{file.name} must be a text file in UTF-8, but cannot be read as one") from None


def _is_geojson(file: Path) -> bool:
    with ByteSource(file).open() as raw:
        return b'"FeatureCollection"' in raw.read(_HEAD_BYTES)
