# SPDX-License-Identifier: Apache-2.0
"""What commands share: --json, --progress, --traceback, kinds of arguments."""

from __future__ import annotations

import functools
import json
import math
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable
from typing import Any

import click

__all__ = [
    "DEGREES", "HOURS", "LATLON", "LEVEL", "PLACE_COLUMNS", "emit", "geo_command", "show_progress", "with_options",
]  # fmt: skip


class _LatLon(click.ParamType):  # type: ignore[type-arg]
    name = "LAT,LON"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        if isinstance(value, tuple):
            return value
        try:
            lat, lon = (float(part) for part in str(value).split(","))
        except ValueError:
            self.fail("must be two numbers LAT,LON such as 48.8567,2.3487", param, ctx)
        if not (-90 <= lat <= 90 and -180 <= lon <= 180):
            self.fail("must be degrees LAT,LON with LAT in [-90, 90] and LON in [-180, 180]", param, ctx)
        return lat, lon


class _Degrees(click.ParamType):  # type: ignore[type-arg]
    """Half of a place: a message about it does not repeat it, as click's own type for numbers would."""

    name = "DEGREES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            degrees = float(value)
        except ValueError:
            degrees = math.nan
        if not -360 <= degrees <= 360:
            self.fail("must be a number of degrees such as 48.8567", param, ctx)
        return degrees


LATLON, DEGREES = _LatLon(), _Degrees()


#: Of every command that reads tables of places.
PLACE_COLUMNS = (
    click.option("--lat-column", metavar="COLUMN", help="Latitudes of a table [default: by its name]."),
    click.option("--lon-column", metavar="COLUMN", help="Longitudes of a table [default: by its name]."),
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in their order."""
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


class _Grouped(click.Command):
    """A command whose help has its options under headings; those under none come last."""

    def __init__(self, *args: Any, groups: dict[str, tuple[str, ...]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {str(p.name): row for p in self.get_params(ctx) if (row := p.get_help_record(ctx)) is not None}
        for heading, names in self._groups.items():
            with formatter.section(heading):
                formatter.write_dl([rows.pop(name) for name in names])
        with formatter.section("Other options"):
            formatter.write_dl(list(rows.values()))


def geo_command(
    *, groups: dict[str, tuple[str, ...]] | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """A click command with --json, --progress and --traceback whose function returns what is to be printed.

    `groups`: headings of its help, with the names of the parameters under each.

    The function returns a dict. With --json it is printed as one JSON object; otherwise its "text" entry is printed if
    it has one, else one "key: value" line an entry. `_exits` says how errors end.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there.")
        @click.option(
            "--progress/--no-progress", default=None, help="Progress bars on stderr [default: on a terminal]."
        )
        @click.option("--traceback", "with_traceback", is_flag=True, help="Where an error comes from; may hold places.")
        @functools.wraps(function)
        def wrapper(as_json: bool, progress: bool | None, with_traceback: bool, **options: Any) -> None:
            ctx = click.get_current_context()
            ctx.obj = {"progress": sys.stderr.isatty() if progress is None else progress}
            if ctx.obj["progress"]:
                _say_when_compiling()
            try:
                result = function(**options)
                emit(result or {}, as_json=as_json)
            except Exception:
                if with_traceback:
                    click.echo(traceback.format_exc(), err=True)
                raise
            if result and result.get("ok") is False:
                sys.exit(1)

        more = settings if groups is None else {"cls": _Grouped, "groups": groups} | settings
        command: click.Command = click.command(**more)(wrapper)
        return command

    return decorate


def _say_when_compiling() -> None:
    from .. import _kernels as kernels

    kernels.when_compiling(lambda: click.echo("compiling, once on this machine: a quarter of a minute or so", err=True))


def emit(result: dict[str, Any], *, as_json: bool) -> None:
    """Print a result, as JSON or for people."""
    if as_json:
        shown = _finite({k: v for k, v in result.items() if k != "text"})
        click.echo(json.dumps(shown, default=lambda value: _finite(_plain(value)), allow_nan=False))
    elif "text" in result:
        click.echo(_fitted(result["text"]) if sys.stdout.isatty() else result["text"])
    else:
        for key, value in result.items():
            click.echo(f"{key}: {value}")


def _fitted(text: str) -> str:
    """Sentences, and those after a name in a column of 12, broken at words; tables as they are."""
    width = shutil.get_terminal_size().columns
    lines = []
    for line in text.split("\n"):
        named = line[12:14] == "  "
        prose = "  " not in (line[14:] if named else line)
        lines += textwrap.wrap(line, width, subsequent_indent=" " * 14 if named else "") if prose and line else [line]
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _finite(value: Any) -> Any:
    """The same with null for what JSON has no number for: an infinite distance, the mean of nothing."""
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show_progress() -> bool:
    """Whether this command may draw progress bars (on stderr)."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.obj and ctx.obj.get("progress"))


class _Level(click.ParamType):  # type: ignore[type-arg]
    """A level as a number or as the logarithm it stands for: 0.693, ln2, ln(2)."""

    name = "LEVEL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        logarithm = re.fullmatch(r"ln\s*\(?\s*([0-9.]+)\s*\)?", str(value).strip())
        try:
            level = math.log(float(logarithm[1])) if logarithm else float(value)
        except ValueError:
            level = math.nan
        if not 0 <= level < math.inf:
            self.fail(f"must be a level >= 0 such as 0.35 or ln6, got {value!r}", param, ctx)
        return level


class _Hours(click.ParamType):  # type: ignore[type-arg]
    """A length of time in whole hours: 24h, 7d, day, week."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        named = {"hour": "1h", "day": "1d", "week": "7d"}.get(str(value).strip(), str(value).strip())
        found = re.fullmatch(r"([0-9]{1,4})\s*([hd])", named)
        if found is None or int(found[1]) == 0:
            self.fail(f"must be hours or days such as 24h or 7d, got {value!r}", param, ctx)
        return int(found[1]) * (24 if found[2] == "d" else 1)


LEVEL, HOURS = _Level(), _Hours()
