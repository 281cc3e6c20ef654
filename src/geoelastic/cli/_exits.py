# SPDX-License-Identifier: Apache-2.0
"""How a command ends when something is wrong: one line, and a code that says whose business it is."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import click

from ..errors import CheckError, GeoelasticError

__all__ = ["exit_code_of", "one_line"]

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
