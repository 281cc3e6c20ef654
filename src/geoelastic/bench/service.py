# SPDX-License-Identifier: Apache-2.0
"""The service under load, the sizes of what phones load, and the client's own speed, on `synthetic:paris`.

Needs `wrk` for the load and `node` for the client; what is missing is left out and said so.
"""

from __future__ import annotations

import json
import os
import re
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from ..area import Area
from ..errors import CheckError
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import save_mechanism
from ..metric import Metric, build_metric
from ..metric.extract import extract
from ..service.bundle import client_dir
from ._tools import Tell, beside_targets, latlon_by_mass, markdown, quantity, quiet, synthetic_mass, timed, warm_up

CONNECTIONS = 32
#: What a city must bear: reports a second, at a pace that does not wait for answers, and for so long. As fast as it can
#: be asked it is for a fortieth of that.
STEADY, SECONDS, SHORT = 1000, 600, 40
HALF_OPEN = 1000
#: Cells of a side of the made-up city: 20 km.
_CITY = 200
_PARIS = (48.8567, 2.3487)

#: Another place for each request, as often where people are.
_LOAD = """
local bodies = {}
for body in io.lines("%s") do bodies[#bodies + 1] = body end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  return wrk.format(nil, nil, nil, bodies[math.random(#bodies)])
end
"""
_REQUEST = (
    b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
)
_CLIENT = """
import { readFileSync } from "node:fs";
const { Elastic } = await import(process.argv[1]);
const begun = performance.now();
const mechanism = await Elastic.fromBytes(new Uint8Array(readFileSync(process.argv[2])));
const places = readFileSync(process.argv[3], "utf8").split("\\n", 201).map((line) => JSON.parse(line));
const loaded = performance.now() - begun;
const times = Array.from({ length: 201 }, (_, k) => {
  const at = performance.now();
  mechanism.report(places[k].lat, places[k].lon);
  return performance.now() - at;
}).sort((a, b) => a - b);
process.stdout.write(JSON.stringify({ loaded, median: times[100], p95: times[190] }));
"""


def run(*, tell: Tell = quiet, side: int = 750, seconds: int = SECONDS) -> dict[str, Any]:
    """One row a quantity."""
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        tell("building", of=3)
        metric = build_metric(synthetic_mass("paris", side))
        whole = Path(folder) / "paris.geox"
        rows = _sizes(metric, whole)
        tell("client")
        places = _write_places(metric, Path(folder) / "places")
        rows += _client(whole, places)
        short = max(1, seconds // SHORT)
        tell(f"load for {2 * short + seconds} s")
        cores = len(os.sched_getaffinity(0))
        rows += _load(whole, places, short, "the whole map", 1, (300, 250))
        city = build_metric(synthetic_mass("city", min(side, _CITY)))
        town = Path(folder) / "city.geox"
        save_mechanism(ElasticMechanism(city), town)
        visited = _write_places(city, town.with_suffix(".places"))
        rows += _load(town, visited, short, "a city", cores, (1000, None))
        rows += _steady(town, visited, seconds, cores)
        rows += among_half_open(whole, places.read_bytes().partition(b"\n")[0])
    return {"rows": rows, "text": markdown(rows), "parts": parts(rows)}


def parts(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The sizes of the files."""
    value = {row["what"]: row["value"] for row in rows}
    names = {"file": "portable file, whole map", "file-20-km": "portable file, 20 km"}
    return {name: f"{value[what]:,} kB" for name, what in names.items()}


summary = beside_targets


def _write_places(metric: Metric, path: Path) -> Path:
    """Places drawn by mass, one JSON object per line."""
    lines = [json.dumps({"lat": lat, "lon": lon}) for lat, lon in latlon_by_mass(metric, 5000, again=True)]
    path.write_text("\n".join(lines), encoding="ascii")
    return path


def _sizes(metric: Metric, path: Path) -> list[dict[str, Any]]:
    size = save_mechanism(ElasticMechanism(metric), path)
    cut = timed(lambda: extract(metric, Area.around(*_PARIS, size_km=20)))
    part = save_mechanism(ElasticMechanism(cut.value), path.with_name("part.geox"))
    return [
        quantity("portable file, whole map", round(size / 1000), "kB", "<= 2000"),
        quantity("portable file, 20 km", round(part / 1000), "kB", "<= 300"),
        quantity("cutting and verifying it", round(cut.wall_s, 2), "s"),
    ]


def _client(path: Path, places: Path) -> list[dict[str, Any]]:
    node = shutil.which("node")
    if node is None:
        return [quantity("client in Node", "not measured", "", "node is missing")]
    index = (client_dir() / "index.js").as_uri()
    command = [node, "--input-type=module", "-e", _CLIENT, index, str(path), str(places)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [
        quantity("client: load and build the graph", round(told["loaded"]), "ms", "<= 2000"),
        quantity("client: one cold report, median", round(told["median"], 1), "ms", "<= 50"),
        quantity("client: one cold report, 95 %", round(told["p95"], 1), "ms"),
    ]


@contextmanager
def _serving(path: Path, workers: int = 1) -> Iterator[tuple[str, int]]:
    """The service with a map: its address, and the number of its (first) process."""
    command = [sys.executable, "-m", "geoelastic.cli", "serve", str(path), "--port", "0", "--workers", str(workers)]
    log = path.with_name("log")
    with log.open("w") as sink, subprocess.Popen(command, stderr=sink) as server:
        try:
            yield _address(log), server.pid
        finally:
            server.terminate()


def _load(
    path: Path, places: Path, seconds: int, what: str, workers: int, targets: tuple[int, int | None]
) -> list[dict[str, Any]]:
    """As many reports a second as a map gives with so many processes, and how long they take; beside the targets."""
    wrk = shutil.which("wrk")
    if wrk is None:
        return [quantity("service under load", "not measured", "", "wrk is missing")]
    script = path.with_name("load.lua")
    script.write_text(_LOAD % places, encoding="ascii")
    with _serving(path, workers) as (address, pid):
        tool = [wrk, "-t1", f"-c{CONNECTIONS}", "--latency", "-s", str(script), f"{address}v1/sanitize"]
        subprocess.run([*tool, "-d3s"], capture_output=True, check=True)
        before, spent = _resident_mb(pid), _cpu_s(pid)
        out = subprocess.run([*tool, f"-d{seconds}s"], capture_output=True, text=True, check=True).stdout
        after, spent = _resident_mb(pid), _cpu_s(pid) - spent
    what = f"{what}, {workers} process{'es' * (workers > 1)}"
    rate = re.search(r"Requests/sec:\s+([\d.]+)", out)
    slow = re.search(r"99%\s+([\d.]+)(us|ms|s)", out)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    lost = re.search(r"Socket errors: (.*)", out)
    assert rate is not None, out
    assert slow is not None, out
    each = 1000 * spent / (float(rate[1]) * seconds)
    p99 = float(slow[1]) * {"us": 0.001, "ms": 1, "s": 1000}[slow[2]]
    least, slowest = targets
    return [
        quantity(f"{what}: reports, {CONNECTIONS} connections, {seconds} s", float(rate[1]), "/s", f">= {least}"),
        quantity(f"{what}: processor time a report", round(each, 2), "ms"),
        quantity(f"{what}: p99 at that load", round(p99, 1), "ms", None if slowest is None else f"<= {slowest}"),
        quantity(f"{what}: errors", int(bad[1]) if bad else 0, lost[1] if lost else "", "0"),
        quantity(f"{what}: memory before and after", f"{before:.0f}, {after:.0f}", "MB", "flat"),
    ]


def _steady(path: Path, places: Path, seconds: int, workers: int) -> list[dict[str, Any]]:
    """How long reports take from when each is due, at a fixed pace, and whether memory grows meanwhile."""
    with _serving(path, workers) as (address, pid):
        bodies = places.read_bytes().split(b"\n")
        at_pace(address, bodies, STEADY, 3 * STEADY)
        before, spent, own = _resident_mb(pid), _cpu_s(pid), time.process_time()
        times = sorted(at_pace(address, bodies, STEADY, seconds * STEADY))
        after, spent, own = _resident_mb(pid), _cpu_s(pid) - spent, time.process_time() - own
    what = f"a city, {workers} process{'es' * (workers > 1)}, {STEADY:,} reports/s for {seconds} s"
    return [
        *(
            quantity(f"{what}: {name}", round(1000 * times[int(share * len(times))], 1), "ms", target)
            for name, share, target in (("median", 0.5, None), ("p99", 0.99, "<= 50"), ("p99.9", 0.999, None))
        ),
        quantity(f"{what}: processor time a report", round(1000 * spent / len(times), 2), "ms"),
        quantity(f"{what}: and of asking for it", round(1000 * own / len(times), 2), "ms"),
        quantity(f"{what}: memory before and after", f"{before:.0f}, {after:.0f}", "MB", "flat"),
    ]


def at_pace(address: str, bodies: list[bytes], rate: int, count: int) -> list[float]:
    """The seconds that reports take, each from when it is due: one every 1 / rate seconds, whether or not others have
    come back. (A load that waits for answers asks less while the service is slow, and does not see it.) One thread and
    plain sockets, since it shares the cores with the service: a fourteenth of what a report costs there."""
    times: list[float] = []
    with ExitStack() as stack:
        poll = stack.enter_context(selectors.DefaultSelector())
        idle: deque[socket.socket] = deque()
        for _ in range(CONNECTIONS):
            one = stack.enter_context(_connection(address))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            poll.register(one, selectors.EVENT_READ)
            idle.append(one)
        asked: dict[Any, float] = {}
        begun, k = time.perf_counter() + 0.1, 0
        while len(times) < count:
            while k < count and idle and time.perf_counter() >= begun + k / rate:
                one, body = idle.popleft(), bodies[k % len(bodies)]
                one.sendall(_REQUEST % (len(body), body))
                asked[one] = begun + k / rate
                k += 1
            pause = begun + k / rate - time.perf_counter() if idle and k < count else 1.0
            for ready, _ in poll.select(max(0.0, pause)):
                answered = cast(socket.socket, ready.fileobj)
                _read_answer(answered)
                times.append(time.perf_counter() - asked.pop(answered))
                idle.append(answered)
    return times


def _read_answer(one: socket.socket) -> None:
    """All of an answer, which must be a report."""
    answer, end = b"", sys.maxsize
    while len(answer) < end:
        more = one.recv(65536)
        if not more:
            raise CheckError("the service closed a connection")
        answer += more
        head, whole, _ = answer.partition(b"\r\n\r\n")
        if whole and end == sys.maxsize:
            length = re.search(rb"content-length: (\d+)", head)
            if not head.startswith(b"HTTP/1.1 200 ") or length is None:
                raise CheckError("the service refused a report")
            end = len(head) + len(whole) + int(length[1])


def among_half_open(path: Path, body: bytes, *, connections: int = HALF_OPEN, asked: int = 20) -> list[dict[str, Any]]:
    """How long reports take by the clock while so many requests have been begun and are never finished."""
    with _serving(path) as (address, _), many_files(2 * connections), ExitStack() as stack:
        _seconds(address, body)  # the first one waits for what is made once
        for _ in range(connections):
            half = stack.enter_context(_connection(address))
            half.sendall(b"POST /v1/sanitize HTTP/1.1\r\nHost: localhost\r\nX: ")
        times = sorted(_seconds(address, body) for _ in range(asked))
    name = f"a report among {connections:,} half-sent requests"
    return [
        quantity(f"{name}, median", round(1000 * times[asked // 2], 1), "ms"),
        quantity(f"{name}, longest of {asked}", round(1000 * times[-1], 1), "ms", "<= 1000"),
    ]


def _seconds(address: str, body: bytes) -> float:
    begun = time.perf_counter()
    with _connection(address) as asking:
        asking.sendall(_REQUEST % (len(body), body))
        _read_answer(asking)
    return time.perf_counter() - begun


def _connection(address: str) -> socket.socket:
    where = urlsplit(address)
    return socket.create_connection((where.hostname or "", where.port or 0), timeout=30)


@contextmanager
def many_files(count: int) -> Iterator[None]:
    """As many open files as that, if the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count), hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _address(log: Path) -> str:
    for _ in range(1800):
        found = re.search(r"http://\S+", log.read_text(encoding="utf-8"))
        if found:
            return found[0]
        time.sleep(0.1)
    raise AssertionError("the service did not start within three minutes")


def _family(pid: int) -> list[int]:
    """A process and those that it has begun."""
    begun = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *map(int, begun)]


def _cpu_s(pid: int) -> float:
    """Processor seconds that a service has used."""
    stats = [Path(f"/proc/{one}/stat").read_text(encoding="ascii").rpartition(")")[2].split() for one in _family(pid)]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int) -> float:
    """The memory of a service; what its processes share counts once for each."""
    texts = [Path(f"/proc/{one}/status").read_text(encoding="ascii") for one in _family(pid)]
    return sum(int(kb) / 1000 for text in texts for kb in re.findall(r"VmRSS:\s+(\d+) kB", text))
