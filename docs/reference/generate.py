# SPDX-License-Identifier: Apache-2.0
"""Writes cli.md and python.md beside this file from the code itself: .venv/bin/python docs/reference/generate.py

A test compares them with what this would write, so the reference cannot rot.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import geoelastic
from geoelastic.cli import main

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/reference/generate.py: change the code, not this file. -->\n"


def commands(command: click.Command, path: tuple[str, ...] = ("geoelastic",)) -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with its full name."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


def cli_reference() -> str:
    """cli.md: the help of every command, as it prints it."""
    parts = [NOTE, "# Command line\n", _CLI_HEAD]
    for name, command in commands(main):
        # the names of the help option are inherited from `main` in real use
        ctx = click.Context(
            command,
            info_name=name,
            terminal_width=100,
            max_content_width=100,
            help_option_names=main.context_settings["help_option_names"],
        )
        parts.append(f"## {name}\n\n```text\n{command.get_help(ctx).rstrip()}\n```\n")
    return "\n".join(parts)


_CLI_HEAD = """\
`--json` prints one JSON object on stdout and nothing else there; progress bars go to stderr, on a terminal or with
`--progress`. Exit 0: done. Exit 1: a check failed. Exit 2: bad input, one line that says what is wrong.
"""


def python_reference() -> str:
    """python.md: every exported name with its signature and its docstring."""
    parts = [NOTE, "# Python\n", "`import geoelastic as ge`. Everything else is private and may change.\n"]
    for name in geoelastic.__all__:
        parts.append(f"## {name}\n\n{_described(name, getattr(geoelastic, name))}")
    return "\n".join(parts)


def _described(name: str, value: Any) -> str:
    text = f"`from {_home(value)}`\n\n" if _home(value) else ""
    if inspect.isclass(value):
        text += _signature(name, value) + _doc(value) + "".join(_members(name, value))
    elif callable(value):
        text += _signature(name, value) + _doc(value)
    else:
        text += f"```text\n{name} = {value!r}\n```\n"
    return text


def _home(value: Any) -> str:
    return str(getattr(value, "__module__", "") or "")


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, Exception):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        return f"```text\nclass {name}({bases})\n```\n\n"
    try:
        return f"```text\n{name}{inspect.signature(value)}\n```\n\n"
    except (TypeError, ValueError):
        return ""


def _members(name: str, value: type) -> Iterator[str]:
    """Public methods and properties that the class itself (or a base of ours) defines and documents."""
    if issubclass(value, Exception):
        return
    for member in sorted(dir(value)):
        found = inspect.getattr_static(value, member)
        inner = (
            getattr(found, "fget", None) or getattr(found, "func", None) or getattr(found, "__func__", None) or found
        )
        if member.startswith("_") or not inspect.isfunction(inner) or not inner.__module__.startswith("geoelastic"):
            continue
        call = str(inspect.signature(inner)) if inner in (found, getattr(found, "__func__", None)) else ""
        yield f"**`{name}.{member}{call}`** {_doc(inner)}"


def _doc(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return f"{text}\n\n" if text else "\n\n"


def stub() -> str:
    """__init__.pyi: where each public name comes from, for type checkers; at run time names are loaded when used."""
    lines = [f"from .{module} import {name} as {name}" for name, module in geoelastic._EXPORTS.items()]
    head = """\
# SPDX-License-Identifier: Apache-2.0
# Written by docs/reference/generate.py: change __init__.py, not this file.
# ruff: noqa
# fmt: off"""
    exports = "_EXPORTS: dict[str, str]\n__all__: list[str]\n__version__: str\n"
    return "\n".join([head, *sorted(lines, key=str.lower)]) + "\n\n" + exports


PAGES = {"cli.md": cli_reference, "python.md": python_reference, "../../src/geoelastic/__init__.pyi": stub}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8")
        print((HERE / page).resolve(), file=sys.stderr)
