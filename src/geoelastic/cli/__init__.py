# SPDX-License-Identifier: Apache-2.0
"""The command line: parse, one call, print, exit code. It holds no logic of its own.

Exit 0: done. Exit 1: a check failed. Exit 2: bad input, one line that says what is wrong and what would be right.
Exit 3: a fault of ours, one line without what was given; `--traceback` shows more.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ._exits import exit_code_of, one_line

#: command -> module in this package; each module has a click command (or group) called `command`
_COMMANDS = {
    "audit": "audit",
    "bench": "bench",
    "build": "build",
    "demo": "demo",
    "doctor": "doctor",
    "estimate": "estimate",
    "evaluate": "evaluate",
    "extract": "extract",
    "fence": "fence",
    "info": "info",
    "ledger": "ledger",
    "map": "map",
    "pack": "pack",
    "quality": "quality",
    "reproduce": "reproduce",
    "sanitize": "sanitize",
    "serve": "serve",
    "sharpen": "sharpen",
    "trace": "trace",
    "verify": "verify",
}


class _Lazy(click.Group):
    """Imports a command's module only when it is asked for, and ends every command in one of four ways."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{_COMMANDS[name]}", __name__).command
        return command

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            code = run(*args, standalone_mode=False, **extra)
        except Exception as error:
            click.echo(one_line(error), err=True)
            sys.exit(exit_code_of(error))
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="geoelastic")
def main() -> None:
    """Location privacy that gives every place the same crowd to hide in."""
