# SPDX-License-Identifier: Apache-2.0
"""Bytes over HTTP: entity tags, 304, one byte range."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .registry import Blob

_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)")
#: A number of more digits is beyond the end of any file; and Python would refuse to read one of thousands.
_DIGITS = 18
_PIECE_BYTES = 1 << 16


class _Pieces(Response):
    """Bytes sent piece by piece, each once the one before it has left: who reads slowly does not fill the memory."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        content = memoryview(self.body)
        for begin in range(0, len(content), _PIECE_BYTES):
            piece = bytes(content[begin : begin + _PIECE_BYTES])
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def send(request: Request, blob: Blob, *, public: bool) -> Response:
    """The bytes, or the part that was asked for, or nothing if the client has them already."""
    headers = {
        "ETag": blob.etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": f"{'public' if public else 'private'}, max-age=300",
        "Content-Disposition": f'attachment; filename="{blob.file_name}"',
    }
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if blob.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    asked = request.headers.get("range", "")
    if not asked or request.headers.get("if-range", blob.etag) != blob.etag:
        return _Pieces(blob.content, media_type=blob.media_type, headers=headers)
    size = len(blob.content)
    found = _RANGE.fullmatch(asked.strip())
    if found is None or found.groups() == ("", ""):
        # RFC 9110: ignore what one cannot read
        return _Pieces(blob.content, media_type=blob.media_type, headers=headers)
    first, last = (_number(text, size) for text in found.groups())
    begin = first if first is not None else max(0, size - (last or 0))
    end = min(last, size - 1) if first is not None and last is not None else size - 1
    if begin >= size or end < begin:
        return Response(status_code=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {begin}-{end}/{size}"
    return _Pieces(blob.content[begin : end + 1], 206, media_type=blob.media_type, headers=headers)


def _number(digits: str, size: int) -> int | None:
    """A position in a file; the end of the file for what is beyond it, None for nothing."""
    if not digits:
        return None
    return size if len(digits) > _DIGITS else min(int(digits), size)
