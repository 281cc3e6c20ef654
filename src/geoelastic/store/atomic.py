# SPDX-License-Identifier: Apache-2.0
"""Files that are either the old one or the new one, never half of each."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import FileError

__all__ = ["require_writable", "write_bytes", "writing"]


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name beside `path`, which takes its place when the block ends well and is removed when it does not.

    The content is on the disk before the name is, so that a loss of power cannot leave an empty file behind.
    """
    target = Path(path)
    require_writable(target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        _sync(temporary)
        temporary.replace(target)
    except OSError as error:
        raise error if isinstance(error, FileError) else _cannot_write(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # some file systems cannot sync a directory; the file itself is safe
        _sync(target.parent)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """`content` as the file `path`, atomically."""
    with writing(path) as temporary:
        temporary.write_bytes(content)


def require_writable(path: str | os.PathLike[str]) -> Path:
    """`path` if a file can be made there; asked before long work, so that none of it is lost."""
    target = Path(path)
    if target.is_dir():
        raise FileError(f"{target}: cannot be written: it is a directory")
    if not target.parent.is_dir():
        raise FileError(f"{target}: cannot be written: there is no directory {target.parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileError(f"{target}: cannot be written: no permission in the directory {target.parent}")
    return target


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
