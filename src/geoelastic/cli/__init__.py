# SPDX-License-Identifier: Apache-2.0
"""The command line: parse, one call, print, exit code. It holds no logic of its own.

Exit 0: done. Exit 1: a check failed. Exit 2: bad input, one line that says what is wrong and what would be right.
"""

from __future__ import annotations

from importlib import import_module

import click

from .. import __version__

#: command -> module in this package; each module has a click command (or group) called `command`
_COMMANDS = {
    "audit": "audit",
    "bench": "bench",
    "build": "build",
    "demo": "demo",
    "evaluate": "evaluate",
    "extract": "extract",
    "fence": "fence",
    "info": "info",
    "ledger": "ledger",
    "map": "map",
    "quality": "quality",
    "reproduce": "reproduce",
    "sanitize": "sanitize",
    "serve": "serve",
    "sharpen": "sharpen",
    "verify": "verify",
}


class _Lazy(click.Group):
    """Imports a command's module only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{_COMMANDS[name]}", __name__).command
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="geoelastic")
def main() -> None:
    """Location privacy that gives every place the same crowd to hide in."""
