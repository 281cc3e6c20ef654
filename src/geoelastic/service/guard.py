# SPDX-License-Identifier: Apache-2.0
"""What stands before every route: body limit, token, security headers, a log without people in it, one error shape.

No request body, coordinate, query, token or client address is ever logged: a line has the method, the route's template,
the status and the time it took.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import HTTPException
from starlette.responses import JSONResponse

__all__ = ["Guard", "error_response"]

log = logging.getLogger("geoelastic.service")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # base maps are images of other servers and only loaded when somebody ticks the box
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: https:; style-src 'self' 'unsafe-inline'",
}


def error_response(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The one shape of every error."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


class TooLargeError(HTTPException):
    """More bytes than the limit have arrived; the one kind of error that readers of a body let through."""


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: Any, *, token: str | None, max_body_bytes: int) -> None:
        self._app, self._token, self._limit = app, token, max_body_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def answering(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, answering)
            else:
                await self._app(scope, self._counted(receive), answering)
        finally:
            route = getattr(scope.get("route"), "path", "-")
            log.info("%s %s %d %.1f ms", scope["method"], route, status, 1000 * (time.perf_counter() - begun))

    def _refusal(self, scope: Message) -> JSONResponse | None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return error_response(400, "bad_request", "'Content-Length' must be a whole number")
        if int(length) > self._limit:
            return self._too_large()
        guarded = scope["path"].removeprefix(scope.get("root_path", "")).startswith("/v1/")
        if self._token is None or not guarded or scope["path"].endswith("/v1/health") or scope["method"] == "OPTIONS":
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token.encode()):
            return None
        return error_response(
            401, "unauthorized", "this service needs 'Authorization: Bearer TOKEN'", {"WWW-Authenticate": "Bearer"}
        )

    def _counted(self, receive: Receive) -> Receive:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise TooLargeError(413, _too_large_message(self._limit))
            return message

        return counted

    def _too_large(self) -> JSONResponse:
        return error_response(413, "too_large", _too_large_message(self._limit))


def _too_large_message(limit: int) -> str:
    return f"a request body must be at most {limit} bytes"
