# SPDX-License-Identifier: Apache-2.0
"""Run the service: on this machine only unless told otherwise, and with a token where others can reach it."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError, import_extra
from ..packs import read_catalogue
from .meter import Board
from .registry import publish

TOKEN_VARIABLE = "GEOELASTIC_TOKEN"
_LOCAL = ("127.0.0.1", "::1", "localhost")
_EVERYWHERE = ("0.0.0.0", "::")
_SHUTDOWN_S = 10
_BACKLOG = 2048
#: A process that died is made again, but not faster than this.
_PAUSE_S = 1.0


class _Discreet(logging.Formatter):
    """Our own lines as they are. Of what others log, the first line before values are put into it, and the kind of the
    error: its message, the values around it and the addresses of clients stay out."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.startswith("geoelastic"):
            return f"{record.levelname} {record.getMessage()}"
        kind = record.exc_info[0] if record.exc_info else None
        first = str(record.msg).strip().partition("\n")[0]
        return f"{record.levelname} {record.name}: {first}{'' if kind is None else f' ({kind.__name__})'}"


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
    cors: Sequence[str] = (), allowed_hosts: Sequence[str] = (), root_path: str = "", output: str = "mass",
    max_points: int = 1000, pack: str | None = None, demo_site: bool = False, workers: int = 1,
    on_ready: Callable[[str], Any] = lambda address: None,
) -> None:  # fmt: skip
    """Serve metrics until stopped. Requests under way are finished first (for at most ten seconds).

    It answers to the names of this machine for itself, to `host` and to `allowed_hosts`, and where it listens on every
    address to each of them in digits. `workers`: processes that answer.
    """
    if workers > 1 and not hasattr(os, "fork"):
        raise InputError("'workers' must be 1 where processes cannot be copied (Windows); run several services instead")
    if host not in _LOCAL and token is None:
        raise InputError(
            f"a token must be set to listen on {host}, where others can reach the service: "
            f"--token-file FILE, or the variable {TOKEN_VARIABLE}"
        )
    from .app import LOCAL_HOSTS, Settings, create_app

    if pack is not None and not files:
        # the page needs a map to show: the pack's first
        files = [str(Path(pack) / read_catalogue(pack).regions[0].file)]
    published = publish(files, output=output)
    for one in published.values():
        one.warm()
    own = "address" if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
    hosts = [*LOCAL_HOSTS, own, *allowed_hosts]
    app = create_app(published, Settings(token, cors, hosts, max_points, pack=pack, demo_site=demo_site))
    gc.collect()
    gc.freeze()  # what is there now stays: requests need not wait while it is looked through, processes keep sharing it
    handler = logging.StreamHandler()
    handler.setFormatter(_Discreet())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in _listen(host, port, workers)]
        shown = f"[{host}]" if ":" in host else host
        on_ready(f"http://{shown}:{sockets[0].getsockname()[1]}/")
        board = Board(workers)

        def answer(place: int) -> None:
            app.state.board, app.state.place = board, place
            with contextlib.suppress(KeyboardInterrupt):  # raised again by uvicorn once everything is finished
                make_server(app, root_path=root_path).run(sockets=[sockets[place]])

        if workers == 1:
            answer(0)
        else:
            _run_workers(workers, answer)


def _listen(host: str, port: int, count: int) -> list[socket.socket]:
    """So many sockets at one address, among which the system spreads connections evenly: processes that take them from
    one socket leave most to whoever is quickest."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            one = socket.create_server((host, port), family=family, backlog=_BACKLOG, reuse_port=count > 1)
            sockets.append(one)
            port = one.getsockname()[1]
    except OSError as error:
        for one in sockets:
            one.close()
        reason = (error.strerror or "not possible").lower()
        raise InputError(f"'port' must be free to listen on {host}, got {port} ({reason})") from None
    return sockets


def make_server(app: Any, *, root_path: str = "") -> Any:
    """The server that listens for the application, with its limits."""
    uvicorn = import_extra("uvicorn", "service")
    from .connection import Connection

    config = uvicorn.Config(
        app, root_path=root_path, access_log=False, server_header=False, date_header=True, log_level="warning",
        timeout_graceful_shutdown=_SHUTDOWN_S, http=Connection, ws="none", log_config=None,
    )  # fmt: skip
    return uvicorn.Server(config)


def _run_workers(count: int, work: Callable[[int], Any]) -> None:
    """Call work(0), ..., work(count - 1), each in a process of its own, until this one is told to stop (SIGTERM,
    Ctrl-C); they are told then, and waited for. One that ends before that is begun again. Each is a copy of this one:
    they share the maps that it has loaded."""
    running: dict[int, int] = {}
    stopping = False

    def stop(*_: Any) -> None:
        nonlocal stopping
        stopping = True
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for place in range(count):
            running[_begin(work, place, before)] = place
        while running:
            pid, _ = os.wait()
            place = running.pop(pid, -1)
            if place >= 0 and not stopping:
                time.sleep(_PAUSE_S)
                if not stopping:
                    running[_begin(work, place, before)] = place
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(work: Callable[[int], Any], place: int, handlers: dict[Any, Any]) -> int:
    """The number of a new process that does this part of the work and nothing else."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        work(place)
        code = 0
    except KeyboardInterrupt:
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)  # what the first process would do at its end is not for its copies
