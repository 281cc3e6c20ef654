# SPDX-License-Identifier: Apache-2.0
"""Run the service: on this machine only unless told otherwise, and with a token where others can reach it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError, MissingExtraError
from .registry import publish

__all__ = ["read_token", "serve"]

TOKEN_VARIABLE = "GEOELASTIC_TOKEN"
_LOCAL = ("127.0.0.1", "::1", "localhost")
_SHUTDOWN_S = 10


def read_token(path: str | None) -> str | None:
    """The token in a file, or in the environment; never on a command line, which others can see."""
    try:
        text = Path(path).read_text(encoding="utf-8") if path else os.environ.get(TOKEN_VARIABLE, "")
    except (OSError, UnicodeDecodeError):
        raise FileError(f"{path}: cannot be read as a token") from None
    token = text.strip()
    if (token or path) and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise InputError("a token must be at least 16 printable characters")
    return token or None


def serve(
    files: Sequence[str], *, host: str = "127.0.0.1", port: int = 8750, token: str | None = None,
    cors: Sequence[str] = (), root_path: str = "", output: str = "mass", max_points: int = 1000,
    on_ready: Callable[[str], Any] = lambda address: None,
) -> None:  # fmt: skip
    """Serve metrics until stopped. Requests under way are finished first (for at most ten seconds)."""
    if host not in _LOCAL and token is None:
        raise InputError(
            f"a token must be set to listen on {host}, where others can reach the service: "
            f"--token-file FILE, or the variable {TOKEN_VARIABLE}"
        )
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("uvicorn", "service") from error
    from .app import Settings, create_app

    published = publish(files, output=output)
    for one in published.values():
        one.warm()
    app = create_app(published, Settings(token=token, cors=cors, max_points=max_points))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    config = uvicorn.Config(
        app, host=host, port=port, root_path=root_path, access_log=False, server_header=False, date_header=True,
        log_level="warning", timeout_graceful_shutdown=_SHUTDOWN_S, limit_concurrency=512, log_config=None,
    )  # fmt: skip
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512
        )
    except OSError as error:
        reason = (error.strerror or "not possible").lower()
        raise InputError(f"'port' must be free to listen on {host}, got {port} ({reason})") from None
    with listening:
        shown = f"[{host}]" if ":" in host else host
        on_ready(f"http://{shown}:{listening.getsockname()[1]}/")
        with contextlib.suppress(KeyboardInterrupt):  # raised again by uvicorn once everything is finished
            uvicorn.Server(config).run(sockets=[listening])
