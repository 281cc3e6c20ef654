# SPDX-License-Identifier: Apache-2.0
"""What stands before every route: the host it was asked by, body limit, token, security headers, a count and a log
without people in them, one error shape.

No request body, coordinate, query, token or client address is ever logged: a line has the method, the route's template,
the status and the time it took. Of an error that was not foreseen it has the kind: its message might hold a place.
"""

from __future__ import annotations

import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from .meter import Meter

if TYPE_CHECKING:
    from .app import Settings

log = logging.getLogger("geoelastic.service")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Whether the service is up may be asked by anybody, under any name.
HEALTH = ("/healthz", "/v1/health")

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    # base maps are images of other servers and only loaded when somebody ticks the box; the page checks its map in
    # workers made of its own text, with vectors of WebAssembly
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data: https:; style-src 'self' 'unsafe-inline'; "
        b"script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:",
    ),
]
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253}?)\.?(?::[0-9]{1,5})?")
_ADDRESS = re.compile(r"\[[0-9a-f:.]+\]|[0-9]{1,3}(\.[0-9]{1,3}){3}")
#: More digits than a number of bytes has.
_DIGITS = 18


def error_response(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The one shape of every error."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


class Guard:
    """ASGI middleware around the whole application.

    Of the names by which it may be asked "*" is for any, "address" for any address in digits. A page of somebody else
    whose name is made to point here (DNS rebinding) asks by that name. `public`: paths that need no token.
    """

    def __init__(self, app: Any, *, settings: Settings, public: Collection[str], meter: Meter) -> None:
        self._app, self._token, self._limit, self._meter = app, settings.token, settings.max_body_bytes, meter
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._public = frozenset([*public, *HEALTH])

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def answering(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        self._meter.in_progress += 1
        try:
            await self._answer(scope, receive, answering)
        except Exception as error:
            # raised again, it would be logged with its message and with the values around it
            log.error("a request failed: %s", type(error).__name__)
            if status == 0:
                failure = error_response(500, "internal", "the request failed; the fault is the service's")
                await failure(scope, receive, answering)
        finally:
            self._meter.in_progress -= 1
            route, seconds = getattr(scope.get("route"), "path", "-"), time.perf_counter() - begun
            self._meter.add(scope["method"], route, status, seconds)
            log.info("%s %s %d %.1f ms", scope["method"], route, status, 1000 * seconds)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope)
        if refusal is None:
            body = await self._body(receive)
            if body is None:
                return
            if len(body) <= self._limit:
                await self._app(scope, _again(body, receive), send)
                return
            refusal = self._too_large()
        await refusal(scope, receive, send)

    def _refusal(self, scope: Message) -> JSONResponse | None:
        headers = dict(scope["headers"])
        path = _route_path(scope)
        if path not in HEALTH and not self._knows([v for name, v in scope["headers"] if name == b"host"]):
            return error_response(421, "wrong_host", "this service is not known by this name: see --allowed-host")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return error_response(400, "bad_request", "'Content-Length' must be a whole number")
        if len(length) > _DIGITS or int(length) > self._limit:
            return self._too_large()
        if self._token is None or path in self._public or scope["method"] == "OPTIONS":
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token.encode()):
            return None
        return error_response(
            401, "unauthorized", "this service needs 'Authorization: Bearer TOKEN'", {"WWW-Authenticate": "Bearer"}
        )

    def _knows(self, given: list[bytes]) -> bool:
        if "*" in self._hosts:
            return True
        found = _HOST.fullmatch(given[0].decode("latin-1").lower()) if len(given) == 1 else None
        if found is None:
            return False
        return found[1] in self._hosts or ("address" in self._hosts and _ADDRESS.fullmatch(found[1]) is not None)

    async def _body(self, receive: Receive) -> bytes | None:
        """The body up to a little more than the limit; None if the client has gone. A request that is never finished
        does not come further than here."""
        body = bytearray()
        while len(body) <= self._limit:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        return bytes(body)

    def _too_large(self) -> JSONResponse:
        return error_response(413, "too_large", f"a request body must be at most {self._limit} bytes")


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that has been read, for those who have not; then whatever else comes."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _route_path(scope: Message) -> str:
    """The path as routes know it: without the prefix that a proxy publishes the service under."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path
