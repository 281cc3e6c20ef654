# SPDX-License-Identifier: Apache-2.0
"""The service among strangers: names it is asked by, clients that never finish, counts and logs without people."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import vectors
from geoelastic._kernels._compile import Kernel
from geoelastic.bench.service import many_files
from geoelastic.service import connection
from geoelastic.service.app import LOCAL_HOSTS, Settings, create_app
from geoelastic.service.registry import Published, publish
from geoelastic.service.start import _Discreet, make_server

INSIDE = {"lat": 48.8567, "lon": 2.3387}
pytestmark = pytest.mark.jit
LocalClient = partial(TestClient, base_url="http://localhost")


@pytest.fixture(scope="module")
def published() -> dict[str, Published]:
    one = publish([vectors.FILE])
    one["town"].warm()
    return one


@contextmanager
def listening(app: Any) -> Iterator[int]:
    """The real server in a thread; its port."""
    server = make_server(app)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as sock:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            deadline = time.monotonic() + 60
            while not server.started and time.monotonic() < deadline:
                time.sleep(0.01)
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture(scope="module")
def port(published: dict[str, Published]) -> Iterator[int]:
    with listening(create_app(published)) as port:
        yield port


def talk(port: int, request: bytes, *, timeout: float = 30) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as sock:
        sock.sendall(request)
        answer = b""
        while piece := sock.recv(1 << 16):
            answer += piece
        return answer


def ordinary(port: int) -> float:
    """Seconds that one report takes, from opening a connection to the last byte: of this process, which is client and
    server, so that a busy machine does not count."""
    body = json.dumps(INSIDE).encode()
    head = b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    busy = time.process_time()
    answer = talk(port, head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert answer.startswith(b"HTTP/1.1 200")
    return time.process_time() - busy


@pytest.mark.parametrize(
    "beginning",
    [
        b"", b"G", b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{",
    ],
)  # fmt: skip
def test_a_thousand_half_sent_requests_are_in_nobodys_way(
    published: dict[str, Published], beginning: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for them: whoever has waited longest makes room, and those who came last are still there when a
    fresh request has been answered. How long that takes by the clock is in `bench service`."""
    monkeypatch.setattr(connection, "REQUEST_S", 600.0)  # none of them is late, however busy the machine
    with many_files(4096), ExitStack() as stack:
        port = stack.enter_context(listening(create_app(published)))
        ordinary(port)
        half = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(1000)]
        for sock in half:
            with suppress(ConnectionError):  # it had to make room already
                sock.sendall(beginning)
        assert max(ordinary(port) for _ in range(3)) < 1.0
        kept = connection.MOST_CONNECTIONS
        assert [is_open(sock) for sock in half] == [False] * (1000 - kept + 1) + [True] * (kept - 1)
        for sock in half:
            sock.close()
        assert ordinary(port) < 1.0


def test_who_is_ready_to_answer_has_compiled_what_it_takes(
    published: dict[str, Published], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the first requests are read in Python, and a later one waits for seconds."""
    assert published
    monkeypatch.setattr(Kernel, "_read", lambda *_: pytest.fail("read in Python"))
    ordinary(port)


def is_open(sock: socket.socket) -> bool:
    """Whether the other end has not closed it; it has nothing to say."""
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_a_request_must_be_there_in_time(published: dict[str, Published], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_S", 0.3)
    with listening(create_app(published)) as port:
        for beginning in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n"):
            begun = time.perf_counter()
            with socket.create_connection(("127.0.0.1", port), timeout=30) as sock, suppress(ConnectionError):
                sock.sendall(beginning)
                for _ in range(200):  # a byte now and then buys no time
                    time.sleep(0.05)
                    sock.sendall(b"x")
            assert time.perf_counter() - begun < 3
        assert ordinary(port) < 1


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 9000 + b"\r\n",
    ],
)
def test_heads_have_a_size(port: int, request_: bytes) -> None:
    answer = talk(port, request_)
    assert answer.startswith(b"HTTP/1.1 431")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    ],
)
def test_what_never_ends_is_cut_off(port: int, beginning: bytes) -> None:
    """A header and a trailer without an end: the service reads some of it and closes."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock, suppress(ConnectionError):
        sock.sendall(beginning)
        while sent < 1 << 27:
            sent += sock.send(b"a" * 65536)
    assert sent < 1 << 26
    assert ordinary(port) < 1


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01", b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET \xff HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /v1/metrics HTTP/1.1\r\n\r\n",
        b"GET /v1/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"GET /v1/metrics HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
)  # fmt: skip
def test_strange_requests_are_refused_and_nothing_breaks(port: int, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        sock.sendall(request_)
        status = int(sock.recv(1 << 16).split(b" ")[1])
    assert status in (200, 400, 404, 405, 413, 421)
    assert (status == 200) == (b"websocket" in request_)  # an offer to speak something else may be ignored
    assert ordinary(port) < 1


def test_only_known_names_are_answered(published: dict[str, Published]) -> None:
    app = create_app(published, Settings(hosts=[*LOCAL_HOSTS, "maps.example", "address"]))
    with LocalClient(app) as client:
        for good in (
            "localhost",
            "LOCALHOST:8750",
            "127.0.0.1:1",
            "[::1]:80",
            "maps.example.",
            "10.0.0.7:99",
            "[fe80::1]",
        ):
            assert client.get("/v1/metrics", headers={"Host": good}).status_code == 200
        for bad in (
            "evil.example",
            "localhost.evil.example",
            "",
            "localhost:",
            "a b",
            "localhost@evil",
            "x" * 300,
            "10.0.0.7.nip.io",
        ):
            answer = client.get("/v1/metrics", headers={"Host": bad})
            assert answer.status_code == 421
            assert answer.json()["error"]["code"] == "wrong_host"
            assert client.get("/", headers={"Host": bad}).status_code == 421
            assert client.get("/healthz", headers={"Host": bad}).status_code == 200
    with LocalClient(create_app(published)) as client:
        assert client.get("/v1/metrics", headers={"Host": "10.0.0.7"}).status_code == 421
    with LocalClient(create_app(published, Settings(hosts=["*"]))) as client:
        assert client.get("/v1/metrics", headers={"Host": "anything"}).status_code == 200


def test_counts_hold_no_place(published: dict[str, Published]) -> None:
    with LocalClient(create_app(published)) as client:
        client.post("/v1/sanitize", json={"points": [INSIDE] * 3})
        client.post("/v1/sanitize", json={"lat": 40.123, "lon": 2.3})
        client.get("/v1/metrics/48.8567?lat=48.8567")
        client.get("/48.8567")
        client.request("X48.8567", "/")
        text = client.get("/metrics").text
    assert "48.8" not in text
    assert "40.1" not in text
    assert "town" not in text
    assert 'geoelastic_requests_total{method="POST",route="/v1/sanitize",status="200"} 1' in text
    assert 'geoelastic_requests_total{method="GET",route="/v1/metrics/{name}",status="404"} 1' in text
    assert "geoelastic_reports_total 3" in text
    assert 'geoelastic_request_seconds_bucket{le="+Inf"} 5' in text
    assert "geoelastic_requests_in_progress 1" in text


def test_too_many_at_once_are_told_to_come_back(
    published: dict[str, Published], monkeypatch: pytest.MonkeyPatch
) -> None:
    held, seen = threading.Event(), threading.Event()

    def slow(self: Published) -> Any:
        if threading.current_thread().name.startswith("sampler"):
            seen.set()
            held.wait(30)
        return self.mechanism

    monkeypatch.setattr(Published, "own_mechanism", slow)
    with LocalClient(create_app(published, Settings(threads=1, max_waiting=1))) as client:
        several = {"points": [INSIDE] * 2}
        first = threading.Thread(target=client.post, args=("/v1/sanitize",), kwargs={"json": several})
        first.start()
        assert seen.wait(30)
        answer = client.post("/v1/sanitize", json=several)
        alone = client.post("/v1/sanitize", json=INSIDE)
        held.set()
        first.join(30)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy")
        assert answer.headers["retry-after"] == "1"
        assert alone.status_code == 200, "a single place waits for no thread"
        assert client.post("/v1/sanitize", json=several).status_code == 200


def test_the_log_of_a_fault_has_its_kind_and_nothing_else(
    published: dict[str, Published], broken_service: None, caplog: pytest.LogCaptureFixture
) -> None:
    with listening(create_app(published)) as port, caplog.at_level(logging.DEBUG):
        body = json.dumps(INSIDE).encode()
        head = (
            b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        )
        assert talk(port, head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)).startswith(b"HTTP/1.1 500")
    written = [_Discreet().format(record) for record in caplog.records]
    assert any("RuntimeError" in line for line in written)
    assert not any(part in line for line in written for part in ("48.8", "Traceback", "127.0.0.1"))
    assert not any(record.exc_info for record in caplog.records)


def test_lines_of_others_are_logged_without_values() -> None:
    try:
        raise ValueError("at 48.8567")
    except ValueError as error:
        fault = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("asyncio", 40, "x.py", 1, "Fatal error on %s\npeer 10.0.0.7", ("48.8567",), fault)
    assert _Discreet().format(record) == "ERROR asyncio: Fatal error on %s (ValueError)"


NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
{server}
}}
"""


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_behind_a_proxy_as_documented(published: dict[str, Published], tmp_path: Path) -> None:
    """The example of docs/service.md, with the names and ports of this test."""
    text = (Path(__file__).parents[1] / "docs" / "service.md").read_text(encoding="utf-8")
    example = text.partition("```nginx\n")[2].partition("```")[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        outer = free.getsockname()[1]
    app = create_app(published, Settings(hosts=[*LOCAL_HOSTS, "maps.example"]))
    with listening(app) as inner:
        lines = [line for line in example.splitlines() if "ssl_certificate" not in line]
        server = (
            "\n".join(lines).replace("443 ssl", f"127.0.0.1:{outer}").replace("127.0.0.1:8750", f"127.0.0.1:{inner}")
        )
        (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, server=server))
        with subprocess.Popen(["nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]) as proxy:
            try:
                deadline = time.monotonic() + 30
                while time.monotonic() < deadline:
                    try:
                        answer = talk(outer, b"GET /geo/v1/metrics HTTP/1.0\r\nHost: maps.example\r\n\r\n")
                        break
                    except ConnectionError:
                        time.sleep(0.1)
                assert answer.startswith(b"HTTP/1.1 200")
                assert b'"town"' in answer
                blocked = talk(outer, b"GET /geo/metrics HTTP/1.0\r\nHost: maps.example\r\n\r\n")
                assert blocked.startswith(b"HTTP/1.1 404")
            finally:
                proxy.terminate()
