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
from ._common import exit_code_of, one_line

#: What one wants to do, and the commands for it in the order of use; each has a module of its name in this package,
#: with a click command (or group) called `command`.
_COMMANDS = {
    "Begin here": ("demo", "build", "doctor", "sanitize"),
    "Look at a map": ("info", "verify", "map", "serve"),
    "Make a map your own": ("fence", "extract", "sharpen", "quality", "pack"),
    "More than single places": ("trace", "ledger", "estimate"),
    "Study it": ("audit", "evaluate", "reproduce", "bench"),
}


class _Lazy(click.Group):
    """Imports a command's module only when it is asked for, and ends every command in one of four ways."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for names in _COMMANDS.values() for name in names)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f".{name}", __name__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in _COMMANDS.items():
            found = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<9}", one.get_short_help_str(90)) for name, one in found.items() if one])

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
