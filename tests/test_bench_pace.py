# SPDX-License-Identifier: Apache-2.0
"""The load at a fixed pace: a report's time runs from when it was due, whether or not others have come back."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from geoelastic.bench.service import CONNECTIONS, at_pace
from geoelastic.errors import CheckError

REPORT = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{  }"
RATE = 400


@contextmanager
def answering(answer: bytes, stall_s: float = 0.0) -> Iterator[str]:
    """A service that gives one answer, in two pieces, and nothing at all until so long after its first request."""
    began: list[float] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while self.request.recv(4096):
                began.append(time.monotonic())
                time.sleep(max(0.0, began[0] + stall_s - time.monotonic()))
                self.request.sendall(answer[:20])
                self.request.sendall(answer[20:])
                if not answer:
                    return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 2 * CONNECTIONS

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def test_every_report_is_asked_for_at_its_time() -> None:
    with answering(REPORT) as address:
        begun = time.perf_counter()
        times = at_pace(address, [b"{}"], RATE, 200)
        took = time.perf_counter() - begun
    assert len(times) == 200
    assert took >= 199 / RATE  # not as fast as it can
    assert min(times) >= 0


def test_who_had_to_wait_for_a_connection_waited_for_the_service() -> None:
    """While the service stalls, all connections wait, and the reports due meanwhile have no connection yet."""
    stall_s, count = 0.5, 300
    assert stall_s * RATE > 2 * CONNECTIONS
    with answering(REPORT, stall_s) as address:
        times = at_pace(address, [b"{}"], RATE, count)
    due = [k / RATE for k in range(count)]
    late = sum(time_s >= 0.25 for time_s in times)
    assert late >= sum(when <= stall_s - 0.25 for when in due) > CONNECTIONS


@pytest.mark.parametrize(
    ("answer", "said"), [(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "refused"), (b"", "closed")]
)
def test_what_is_no_report_is_no_time(answer: bytes, said: str) -> None:
    with answering(answer) as address, pytest.raises(CheckError, match=said):
        at_pace(address, [b"{}"], RATE, 50)
