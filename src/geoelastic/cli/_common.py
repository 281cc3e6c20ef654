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
from pathlib import Path
from typing import Any

import click

from ..errors import CheckError, GeoelasticError


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """An option whose help says its default, where it has one."""
    return click.option(*names, **{"show_default": True} | settings)


class Kind(click.ParamType):  # type: ignore[type-arg]
    """An argument that `read` makes something of, or None. A message says what it must be and, unless it is `secret`
    (a place, or half of one), what it was."""

    def __init__(self, name: str, read: Callable[[str], Any], must: str, *, secret: bool = False) -> None:
        self.name, self._read, self._must, self._secret = name, read, must, secret

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            found = self._read(value.strip())
        except (ValueError, ZeroDivisionError):
            found = None
        if found is None:
            self.fail(f"must be {self._must}" + ("" if self._secret else f", got {value!r}"), param, ctx)
        return found


def _latlon(text: str) -> tuple[float, float] | None:
    lat, lon = map(float, text.split(","))
    return (lat, lon) if -90 <= lat <= 90 and -180 <= lon <= 180 else None


def _degrees(text: str) -> float | None:
    degrees = float(text)
    return degrees if -360 <= degrees <= 360 else None


def _level(text: str) -> float | None:
    """A number, or the logarithm it stands for: 0.693, ln2, ln(2)."""
    logarithm = re.fullmatch(r"ln\s*\(?\s*([0-9.]+)\s*\)?", text)
    level = math.log(float(logarithm[1])) if logarithm else float(text)
    return level if 0 <= level < math.inf else None


def _hours(text: str) -> int | None:
    """Whole hours: 24h, 7d, day, week."""
    found = re.fullmatch(r"([0-9]{1,4})\s*([hd])", {"hour": "1h", "day": "1d", "week": "7d"}.get(text, text))
    return int(found[1]) * (24 if found[2] == "d" else 1) or None if found else None


LATLON = Kind(
    "LAT,LON", _latlon, "degrees LAT,LON such as 48.8567,2.3487, LAT in [-90, 90] and LON in [-180, 180]", secret=True
)
DEGREES = Kind("DEGREES", _degrees, "a number of degrees such as 48.8567", secret=True)
LEVEL = Kind("LEVEL", _level, "a level >= 0 such as 0.35 or ln6")
HOURS = Kind("TIME", _hours, "hours or days such as 24h or 7d")


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in their order."""
    return lambda function: functools.reduce(lambda made, one: one(made), reversed(options), function)


#: Of every command that reads tables of places.
place_columns = with_options(
    option("--lat-column", metavar="COLUMN", help="Latitudes of a table [default: by its name]."),
    option("--lon-column", metavar="COLUMN", help="Longitudes of a table [default: by its name]."),
)

#: Of commands that draw reports and charge them to a ledger.
budget_and_seed = with_options(
    option("--budget", type=LEVEL, help="Release nothing if what a user has in --ledger would then cost more."),
    option("--per", "per_hours", type=HOURS, help="The budget is for every window: day, week, 24h [default: ever]."),
    option("--budget-level", type=LEVEL, default="ln2", help="Distance of the places it is about."),
    option("--seed", type=int, help="Seeded randomness: for research only, protects nobody, marks the output."),
)


class AliasGroup(click.Group):
    """`pack MAP...` is `pack make MAP...`: what begins with no word of the group is for the first of its commands. (A
    map of such a name is given as ./plan.)"""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


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
    *, groups: dict[str, tuple[str, ...]] | None = None, under: click.Group | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """A click command with --json, --progress and --traceback whose function returns what is to be printed.

    `groups`: headings of its help, with the names of the parameters under each. `under`: the group it belongs to.

    The function returns a dict. With --json it is printed as one JSON object; otherwise its "text" entry is printed if
    it has one, else one "key: value" line an entry. `_exits` says how errors end.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there.")
        @option("--progress/--no-progress", default=None, help="Progress bars on stderr [default: on a terminal].")
        @option("--traceback", "with_traceback", is_flag=True, help="Where an error comes from; may hold places.")
        @functools.wraps(function)
        def wrapper(as_json: bool, progress: bool | None, with_traceback: bool, **options: Any) -> None:
            ctx = click.get_current_context()
            ctx.obj = {"progress": sys.stderr.isatty() if progress is None else progress}
            if ctx.obj["progress"]:
                from .. import _kernels as kernels

                said = "compiling, once on this machine: a quarter of a minute or so"
                kernels.when_compiling(lambda: click.echo(said, err=True))
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
        if under is not None:
            under.add_command(command)
        return command

    return decorate


def emit(result: dict[str, Any], *, as_json: bool) -> None:
    """Print a result, as JSON or for people."""
    if as_json:
        from ..arrays import to_plain

        shown = to_plain({k: v for k, v in result.items() if k != "text"}, lambda _: None)
        click.echo(json.dumps(shown, allow_nan=False))
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


def show_progress() -> bool:
    """Whether this command may draw progress bars (on stderr)."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.obj and ctx.obj.get("progress"))


CHECK_FAILED, BAD_INPUT, OUR_FAULT = 1, 2, 3
_PACKAGE = Path(__file__).parents[1]
_DECIMAL = re.compile(r"[-+]?\d*[.,]\d+")


def exit_code_of(error: Exception) -> int:
    """1 for a failed check (and Ctrl-C), 2 for what was given or what the machine lacks, 3 for a fault of ours."""
    if isinstance(error, CheckError | click.Abort):
        return CHECK_FAILED
    return BAD_INPUT if isinstance(error, GeoelasticError | click.ClickException | OSError | MemoryError) else OUR_FAULT


def one_line(error: Exception) -> str:
    """What is wrong, in one line."""
    if type(error).__name__ == "NoArgsIsHelpError":  # click: no command was given; its message is the help
        return str(error)
    return f"geoelastic: {' '.join(_message(error).split())}"


def _message(error: Exception) -> str:
    if isinstance(error, GeoelasticError):
        return str(error)
    if isinstance(error, click.UsageError):
        help_of = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        told = error.format_message()
        # an argument in the wrong place may be a place; a value of the wrong kind is told by its own kind of argument
        return (told if isinstance(error, click.BadParameter) else _DECIMAL.sub("...", told)) + help_of
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, click.Abort):
        return "stopped"
    if isinstance(error, MemoryError):
        return "this needs more memory than there is"
    if isinstance(error, OSError):
        # only what the system says: what libraries say may quote a file, and a file may hold places
        reason = (error.strerror or f"cannot be used ({type(error).__name__})").lower()
        return f"{error.filename}: {reason}" if error.filename is not None else reason
    return f"a fault of geoelastic's own: {type(error).__name__}{_place(error)}; --traceback shows more"


def _place(error: Exception) -> str:
    """The innermost of our own lines on the way to an error."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f" at {path.relative_to(_PACKAGE)}:{frame.lineno}"
    return ""
