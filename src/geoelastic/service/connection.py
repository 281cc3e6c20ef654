# SPDX-License-Identifier: Apache-2.0
"""One connection: uvicorn's own, with an end to everything that a client could draw out.

A client that opens connections and never finishes a request costs others nothing: there are so many connections at the
most, and a new one takes the place of the one that has waited longest. A request has to be there in ten seconds, its
head is of bounded size, and so is all that a client can send before the application has a say.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..errors import MissingExtraError

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as error:
    raise MissingExtraError("httptools", "service") from error

#: Far from the 1,024 open files that a process may have by default.
MOST_CONNECTIONS = 512
REQUEST_S, RESPONSE_S = 10.0, 600.0
HEAD_BYTES = 16 * 1024
#: A body is bounded by the application; this is for what never gets there: chunks of a byte each, trailers.
MESSAGE_BYTES = 2 * 1024 * 1024

_TOO_LARGE = b'{"error":{"code":"too_large","message":"the head of a request must be at most 16 kB"}}'
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TOO_LARGE), _TOO_LARGE)
)


class Connection(HttpToolsProtocol):  # type: ignore[misc]
    """Waiting for (the rest of) a request, or answering one; both for a limited time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # both in the order in which they came into that state: the longest first
        everybody: dict[str, Any] = self.server_state.__dict__
        self._waiting: dict[Connection, None] = everybody.setdefault("waiting", {})
        self._answering: dict[Connection, None] = everybody.setdefault("answering", {})
        self._timer: asyncio.TimerHandle | None = None
        self._refused = self._in_head = self._in_message = self._began = False
        self._seen = self._head = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._move(self._waiting, REQUEST_S)
        if len(self._waiting) + len(self._answering) > MOST_CONNECTIONS:
            longest = next(iter(self._waiting))
            if longest is self and self._answering:
                longest = next(iter(self._answering))
            longest._drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._began = False
        super().data_received(data)
        if self._in_message and not self._began:
            self._seen += len(data)
            if self._seen > (HEAD_BYTES if self._in_head else MESSAGE_BYTES):
                self._refuse()

    def on_message_begin(self) -> None:
        self._began = self._in_head = self._in_message = True
        self._seen = self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        if self._refused:
            return
        super().on_message_complete()
        if not self.cycle.response_complete:
            self._move(self._answering, RESPONSE_S)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._move(self._waiting, REQUEST_S)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES and not self._refused:
            self._refuse()

    def _refuse(self) -> None:
        self._refused = True
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(_REFUSAL)
            self.transport.close()

    def _move(self, state: dict[Connection, None], seconds: float) -> None:
        self._forget()
        state[self] = None
        self._timer = self.loop.call_later(seconds, self._drop)

    def _forget(self) -> None:
        self._waiting.pop(self, None)
        self._answering.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self) -> None:
        self._forget()
        self.transport.abort()
