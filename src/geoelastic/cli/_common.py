# SPDX-License-Identifier: Apache-2.0
"""What every command shares: --json, --progress, exit codes, LAT,LON arguments."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any

import click

from ..errors import CheckError, GeoelasticError

__all__ = ["LATLON", "emit", "geo_command", "show_progress"]


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


LATLON = _LatLon()


def geo_command(**settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """A click command with --json and --progress whose function returns what is to be printed.

    The function returns a dict. With --json it is printed as one JSON object; otherwise its "text" entry is printed if
    it has one, else one "key: value" line an entry. Errors of geoelastic become one line on stderr: exit 1 for a failed
    check, 2 for bad input.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there.")
        @click.option(
            "--progress/--no-progress", default=None, help="Progress bars on stderr [default: on a terminal]."
        )
        @functools.wraps(function)
        def wrapper(as_json: bool, progress: bool | None, **options: Any) -> None:
            ctx = click.get_current_context()
            ctx.obj = {"progress": sys.stderr.isatty() if progress is None else progress}
            try:
                result = function(**options)
            except CheckError as error:
                _fail(error, 1)
            except GeoelasticError as error:
                _fail(error, 2)
            except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
                _fail(f"{error.filename}: {(error.strerror or 'cannot be used').lower()}", 2)
            emit(result or {}, as_json=as_json)
            if result and result.get("ok") is False:
                sys.exit(1)

        command: click.Command = click.command(**settings)(wrapper)
        return command

    return decorate


def _fail(message: object, code: int) -> None:
    click.echo(f"geoelastic: {' '.join(str(message).split())}", err=True)
    sys.exit(code)


def emit(result: dict[str, Any], *, as_json: bool) -> None:
    """Print a result, as JSON or for people."""
    if as_json:
        click.echo(json.dumps({k: v for k, v in result.items() if k != "text"}, default=_plain, allow_nan=False))
    elif "text" in result:
        click.echo(result["text"])
    else:
        for key, value in result.items():
            click.echo(f"{key}: {value}")


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def show_progress() -> bool:
    """Whether this command may draw progress bars (on stderr)."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.obj and ctx.obj.get("progress"))
