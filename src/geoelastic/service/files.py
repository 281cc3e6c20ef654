# SPDX-License-Identifier: Apache-2.0
"""Bytes over HTTP: entity tags, 304, one byte range."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from .registry import Blob

__all__ = ["send"]

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


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
        return Response(blob.content, media_type=blob.media_type, headers=headers)
    size = len(blob.content)
    found = _RANGE.fullmatch(asked.strip())
    if found is None or found.groups() == ("", ""):
        return Response(
            blob.content, media_type=blob.media_type, headers=headers
        )  # RFC 9110: ignore what one cannot read
    first, last = found.groups()
    begin = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    if begin >= size or end < begin:
        return Response(status_code=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {begin}-{end}/{size}"
    return Response(blob.content[begin : end + 1], 206, media_type=blob.media_type, headers=headers)
