# SPDX-License-Identifier: Apache-2.0
"""Files that are either the old one or the new one, never half of each, and nothing beside them.

A writer holds a lock on its temporary file for as long as it lives. What a killed writer left behind is therefore known
by its lock being free, on any machine and whatever the number of its process, and the next writer in the same folder
removes it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ..errors import FileError

try:
    import fcntl
except ImportError:  # no POSIX locks: nothing is known about other writers, so nothing of theirs is removed
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = ".geoelastic-", ".tmp"


@contextmanager
def writing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """A temporary name beside `path`, which takes its place when the block ends well and is removed when it does not.

    The content is on the disk before the name is, so that a loss of power cannot leave an empty file behind. A
    `private` file can be read by its owner only, at every moment; others have the mode of what they replace.
    """
    target = Path(path)
    require_writable(target)
    _sweep(target.parent.absolute(), os.getpid())
    try:
        handle, temporary = _locked_file(target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from None
    try:
        yield temporary
        if not private:
            temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        _sync(temporary)
        temporary.replace(target)
    except OSError as error:
        raise error if isinstance(error, FileError) else _cannot_write(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)
    with contextlib.suppress(OSError):  # some file systems cannot sync a directory; the file itself is safe
        _sync(target.parent)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """`content` as the file `path`, atomically."""
    with writing(path, private=private) as temporary:
        temporary.write_bytes(content)


def require_writable(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """`path` if a file (or a `folder`) can be made there; asked before long work, so that none of it is lost."""
    target = Path(path)
    if "\0" in str(target) or not target.name:
        raise FileError(f"{str(target)!r}: cannot be written: not the name of a file")
    if folder and target.exists() and not target.is_dir():
        raise FileError(f"{target}: cannot be written: it is a file, and a map in tiles is a directory")
    if target.is_dir() and not folder:
        raise FileError(f"{target}: cannot be written: it is a directory")
    if not target.parent.is_dir():
        raise FileError(f"{target}: cannot be written: there is no directory {target.parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileError(f"{target}: cannot be written: no permission in the directory {target.parent}")
    return target


def _locked_file(folder: Path) -> tuple[int, Path]:
    """A new file that only its owner can read, with its lock held."""
    while True:
        handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder)
        if fcntl is None:
            return handle, Path(name)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            # between its making and its locking somebody else may have taken it for a dead one
            if os.fstat(handle).st_nlink:
                return handle, Path(name)
        except OSError:  # a file system without locks: nobody can hold one, so nobody removes this file either
            return handle, Path(name)
        os.close(handle)


@cache
def _sweep(folder: Path, process: int) -> None:
    """Remove what dead writers left in a folder; once a process is enough, since it is about those before it."""
    if fcntl is None:
        return
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(handle)


def _cannot_write(target: Path, error: OSError) -> FileError:
    return FileError(f"{target}: cannot be written: {(error.strerror or type(error).__name__).lower()}")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """The permissions that new files do not get; the only way to ask is to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
