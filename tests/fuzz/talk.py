# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to the application, and command lines."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click

import hostile
import vectors
from geoelastic.cli import main

from .judge import command
from .mutate import NUMBERS, damaged_json, damaged_text, odd_value, some
from .tables import CSV, FEATURES, GPX, Fences

_BODIES: list[Any] = [
    {"lat": 48.857131, "lon": 2.3387},
    {"points": [{"lat": 48.857131, "lon": 2.3387}] * 3, "metric": "town"},
]
_PATHS = [
    "/",
    "/healthz",
    "/metrics",
    "/page.js",
    "/geolocation.js",
    "/v1/health",
    "/v1/metrics",
    "/v1/metrics/town",
    "/v1/metrics/town/certificate",
    "/v1/metrics/town/file",
    "/v1/metrics/town/portable",
    "/v1/metrics/town/extracts",
    "/v1/sanitize",
    "/v1/openapi.json",
    "/nowhere",
]
_HEADERS = {
    "host": "localhost",
    "content-type": "application/json",
    "content-length": "40",
    "range": "bytes=0-9",
    "if-range": '"x"',
    "if-none-match": '"x"',
    "authorization": "Bearer x",
    "origin": "https://a.example",
    "accept": "*/*",
    "expect": "x",
    "access-control-request-method": "POST",
    "transfer-encoding": "chunked",
    "content-encoding": "gzip",
    "cookie": "a=b",
}


class Requests:
    """Requests as the server would pass them on. Whatever they are: one answer below 500, and no place in it."""

    name = "http"

    def make(self, rng: Random) -> bytes:
        posted = rng.random() < 0.6
        body = b""
        if posted or rng.random() < 0.2:
            body = json.dumps(damaged_json(rng, some(rng, _BODIES))).encode("utf-8", "surrogatepass")
            body = damaged_text(rng, body) if rng.random() < 0.3 else body
        path = "/v1/sanitize" if posted else some(rng, _PATHS)
        if rng.random() < 0.2:
            path = "/" + damaged_text(rng, path.encode()).decode("utf-8", "replace")
        headers = {"host": "localhost"} | ({"content-type": "application/json"} if posted else {})
        for _ in range(rng.choice([0, 1, 1, 3])):
            name = some(rng, list(_HEADERS))
            value = _HEADERS[name].encode()
            headers[name] = (damaged_text(rng, value) if rng.random() < 0.7 else value).decode("latin-1")
            if name == "range" and rng.random() < 0.5:
                headers[name] = f"bytes={some(rng, NUMBERS)}-{some(rng, ['', *NUMBERS])}"
        method = (
            some(rng, ["POST"] * 6 + ["GET"]) if posted else some(rng, ["GET"] * 6 + ["HEAD", "PUT", "OPTIONS", "X"])
        )
        pieces = rng.choice([1, 1, 1, 2, 5])
        spec = {
            "method": method,
            "path": path,
            "headers": headers,
            "pieces": pieces,
            "query": some(rng, ["", "lat=48.857131"]),
        }
        return json.dumps(spec | {"body": base64.b64encode(body).decode()}).encode()

    def run(self, payload: bytes, folder: Path) -> str:
        spec = json.loads(payload)
        status, answer = _loop().run_until_complete(_ask(spec, base64.b64decode(spec["body"])))
        assert 200 <= status < 500, f"status {status}"
        if status >= 400:
            assert b"48.857131" not in answer
        return f"{status // 100}xx"


@cache
def _loop() -> Any:
    return asyncio.new_event_loop()


@cache
def _app() -> Any:
    from geoelastic.service.app import Settings, _Pool, create_app
    from geoelastic.service.registry import publish

    app = create_app(publish([vectors.FILE]), Settings(threads=1))
    app.state.pool = _Pool(1, 256)
    return app


async def _ask(spec: Any, body: bytes) -> tuple[int, bytes]:
    step = max(1, -(-len(body) // spec["pieces"]))
    parts = [body[k : k + step] for k in range(0, len(body), step)] or [b""]
    waiting = [{"type": "http.request", "body": p, "more_body": k + 1 < len(parts)} for k, p in enumerate(parts)]
    got: list[Any] = []

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        got.append(message)

    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in spec["headers"].items()]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": spec["method"],
        "scheme": "http",
        "path": spec["path"],
        "raw_path": spec["path"].encode("utf-8", "replace"),
        "root_path": "",
        "headers": headers,
        "query_string": spec["query"].encode(),
        "client": ("10.0.0.7", 1),
        "server": ("127.0.0.1", 8750),
        "state": {},
    }
    await _app()(scope, receive, send)
    starts = [message for message in got if message["type"] == "http.response.start"]
    assert len(starts) == 1, "one answer"
    return starts[0]["status"], b"".join(m.get("body", b"") for m in got if m["type"] == "http.response.body")


#: Commands that take seconds, serve or draw pictures are asked for their options only.
_BRIEF = frozenset(
    [
        "attack",
        "bench",
        "demo",
        "evaluate",
        "reproduce",
        "serve",
        "map",
        "build",
        "quality",
        "sharpen",
        "audit",
        "trace",
        "estimate",
        "pack",
        "doctor",
    ]
)
_FILES = {
    "m.geox": lambda: hostile.PLAIN.bytes(),
    "s.geox": lambda: hostile.SHARP.bytes(),
    "t.csv": lambda: CSV,
    "t.gpx": lambda: GPX,
    "t.geojson": lambda: json.dumps(FEATURES).encode(),
    "f.geojson": lambda: json.dumps(Fences.shape).encode(),
    "l.json": lambda: b'{"format": "geoelastic-ledger", "version": 2, "accounts": []}',
    "e.csv": lambda: b"",
    "d.geox": lambda: b"x",
}


class Commands:
    """Command lines of every command, with options of the right names and values of every kind."""

    name = "commands"

    def make(self, rng: Random) -> bytes:
        path, options = some(rng, _commands())
        words: list[str] = [*path]
        template = rng.random() < 0.5
        if template and path[0] == "sanitize":
            place = ["--lat", "48.5", "--lon", "2.25"]
            table = [
                "--input",
                some(rng, ("t.csv", "t.gpx", "t.geojson", "e.csv")),
                "-o",
                some(rng, ("o.csv", "o.gpx", "o.parquet")),
            ]
            words += some(rng, (["m.geox"], ["s.geox"], ["--mechanism", "laplace"])) + some(rng, (place, table))
        else:
            words += [some(rng, [*_FILES, "nothing", ".", "", "48.8567"]) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
        for _ in range(rng.choice([0, 1, 2, 3])):
            if options:
                option = some(rng, options)
                words.append(some(rng, option.opts))
                if not getattr(option, "is_flag", False):
                    words.append(self._value(rng, option))
        if rng.random() < 0.15:
            damaged = damaged_json(rng, words)
            listed = damaged if isinstance(damaged, list) else [damaged]
            words = [str(word) for word in listed if isinstance(word, str | int | float)]
        words = [self._tame(word) for word in words]
        long = next((k for k, word in enumerate(words) if word in _BRIEF), None)
        if long is not None:
            words.insert(long + 1, "--help")
        return json.dumps(words).encode()

    def _value(self, rng: Random, option: Any) -> str:
        kind = rng.randrange(6)
        if kind == 0:
            return some(rng, list(_FILES))
        if kind == 1 and isinstance(option.type, click.Choice):
            return str(some(rng, list(option.type.choices)))
        if kind == 2:
            return some(
                rng,
                ["out.csv", "out.json", "out.geox", "out.png", "48.5,2.25", "24h", "ln2", "mass", "me", "lat", "lon"],
            )
        return str(odd_value(rng, some(rng, [1, 0.5, "x"])))

    def _tame(self, word: str) -> str:
        """No way out of the folder, nothing that a command line cannot hold, no more than two threads."""
        word = word.replace("..", "").replace("/", "").replace("\x00", "").encode("utf-8", "replace").decode()[:300]
        return word

    def run(self, payload: bytes, folder: Path) -> str:
        before = Path.cwd()
        os.chdir(folder)
        try:
            for name, content in _FILES.items():
                Path(name).write_bytes(content())
            return f"exit {command(*json.loads(payload))}"
        finally:
            os.chdir(before)


@cache
def _commands() -> list[tuple[list[str], list[Any]]]:
    found = []
    context = click.Context(main)
    for name in main.list_commands(context):
        one = main.get_command(context, name)
        parts = [([name, k], v) for k, v in one.commands.items()] if isinstance(one, click.Group) else [([name], one)]
        found += [(path, [p for p in part.params if isinstance(p, click.Option)]) for path, part in parts]
    brief = [entry for entry in found if not _BRIEF.isdisjoint(entry[0])]
    return [entry for entry in found if entry not in brief] * 4 + brief
