# SPDX-License-Identifier: Apache-2.0
"""One tree of errors. Messages never hold a place."""

from __future__ import annotations

import os


class GeoelasticError(Exception):
    """Root of every error that is raised on purpose."""


class InputError(GeoelasticError, ValueError):
    """What was given is wrong."""


class OutsideError(InputError):
    """A place outside the map."""


class FrameError(InputError):
    """A place in the map's frame: it can be reported but cannot be hidden."""


class FileError(GeoelasticError, OSError):
    """A file is missing, truncated, corrupt, foreign or cannot be written."""


class CheckError(GeoelasticError):
    """Something was checked and does not hold."""


def cannot_be(done: str, path: str | os.PathLike[str], error: OSError) -> FileError:
    return FileError(f"{os.fspath(path)}: cannot be {done}: {(error.strerror or 'unknown').lower()}")
