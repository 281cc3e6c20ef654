# SPDX-License-Identifier: Apache-2.0
"""The HTTP service: files, reports, one error shape, limits, token, logs without people in them."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from starlette.testclient import TestClient

import geoelastic as ge
import vectors
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError
from geoelastic.service.app import Settings, create_app
from geoelastic.service.bundle import bundle
from geoelastic.service.registry import Published, publish
from geoelastic.service.service_page import standalone_html
from geoelastic.service.start import read_token, serve

INSIDE = {"lat": 48.8567, "lon": 2.3387}
TOKEN = "a-long-and-secret-token"
LocalClient = partial(TestClient, base_url="http://localhost")
pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def published() -> dict[str, Published]:
    return publish([vectors.FILE])


@pytest.fixture(scope="module")
def client(published: dict[str, Published]) -> Iterator[TestClient]:
    with LocalClient(create_app(published)) as client:
        yield client


def problem(answer: Any, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    assert body["error"]["code"] == code
    return str(body["error"]["message"])


def test_metadata(client: TestClient, published: dict[str, Published]) -> None:
    assert client.get("/v1/health").json() == {"ok": True, "version": ge.__version__}
    (told,) = client.get("/v1/metrics").json()["metrics"]
    metric = published["town"].metric
    assert (told["name"], told["locations"], told["fences"], told["verified"]) == ("town", metric.n, 1, True)
    assert client.get("/v1/metrics/town").json() == told
    assert client.get("/v1/metrics/town/certificate").json() == metric.certificate
    assert "/v1/sanitize" in client.get("/v1/openapi.json").json()["paths"]
    problem(client.get("/v1/metrics/atlantis"), 404, "not_found")
    problem(client.get("/nowhere"), 404, "not_found")
    problem(client.delete("/v1/metrics"), 405, "method_not_allowed")


def test_files_have_tags_and_ranges(client: TestClient) -> None:
    content = vectors.FILE.read_bytes()
    path = "/v1/metrics/town/portable"
    whole = client.get(path)
    assert whole.content == content
    tag = whole.headers["etag"]
    assert client.get(path, headers={"If-None-Match": f'"x", {tag}'}).status_code == 304
    for asked, want in (("bytes=0-9", content[:10]), ("bytes=100-", content[100:]), ("bytes=-5", content[-5:])):
        part = client.get(path, headers={"Range": asked})
        assert (part.status_code, part.content) == (206, want)
    assert part.headers["content-range"] == f"bytes {len(content) - 5}-{len(content) - 1}/{len(content)}"
    assert client.get(path, headers={"Range": f"bytes={len(content)}-"}).status_code == 416
    assert client.get(path, headers={"Range": "bytes=5-2"}).status_code == 416
    digits = "9" * 5000
    assert client.get(path, headers={"Range": f"bytes={digits}-"}).status_code == 416
    assert client.get(path, headers={"Range": f"bytes=-{digits}"}).content == content
    assert client.get(path, headers={"Range": f"bytes=3-{digits}"}).content == content[3:]
    assert client.get(path, headers={"Range": "bytes=-0"}).status_code == 416
    assert client.get(path, headers={"Range": "lines=1-2"}).content == content
    stale = client.get(path, headers={"Range": "bytes=0-9", "If-Range": '"old"'})
    assert (stale.status_code, stale.content) == (200, content)
    assert client.get("/v1/metrics/town/file").content == content


def test_extracts_are_listed_and_made_once(tmp_path: Path) -> None:
    mass = ge.mass_from_quality(ge.synthetic_quality("city", rows=210, cols=60))
    ge.build_metric(mass).save(tmp_path / "city.geoelastic")
    with LocalClient(create_app(publish([tmp_path / "city.geoelastic"]))) as client:
        listed = client.get("/v1/metrics/city/extracts").json()["extracts"]
        assert [one["name"] for one in listed] == ["0-0", "1-0", "2-0"]
        first = client.get("/v1/metrics/city/extracts/1-0")
        (tmp_path / "part.geox").write_bytes(first.content)
        part = ge.load(tmp_path / "part.geox")
        assert ge.verify(part)["ok"]
        assert part.is_secret(part.locate(48.8567, 2.3487))
        again = client.get("/v1/metrics/city/extracts/1-0", headers={"If-None-Match": first.headers["etag"]})
        assert again.status_code == 304
        problem(client.get("/v1/metrics/city/extracts/7-7"), 404, "not_found")


def test_reports_for_one_and_for_many(client: TestClient, published: dict[str, Published]) -> None:
    grid = published["town"].metric.grid
    one = client.post("/v1/sanitize", json=INSIDE).json()
    assert one["metric"] == "town"
    assert len(one["reports"]) == 1
    many = client.post("/v1/sanitize", json={"points": [INSIDE] * 40, "metric": "town"}).json()["reports"]
    cells = {grid.locate(report["lat"], report["lon"]) for report in many}
    assert len(many) == 40
    assert len(cells) > 5
    for row, col in cells:
        lat, lon = grid.cell_to_latlon(row, col)
        assert any(abs(r["lat"] - lat) < 1e-9 and abs(r["lon"] - lon) < 1e-9 for r in many)


@pytest.mark.parametrize(
    "body",
    [
        '{"lat": NaN, "lon": 2}', '{"lat": 1e999, "lon": 2}', '{"lat": 91, "lon": 2}', '{"lat": 48.8567}', "[]", "null",
        '{"lat": "48.8567", "lon": 2.3}', '{"points": []}', '{"points": 3}', "not json", "",
        '{"lat":48.8567,"lon":2.3,"x":1}',
        '{"points": [{"lat": 48.8567, "lon": -Infinity}]}', '{"lat": true, "lon": 2}',
        '{"48.8567": 1, "lat": 1, "lon": 2}', '{"points": [{"lat": 1, "lon": 2, "48.8567,2.3": {}}]}',
        '{"lat": 1' + "0" * 400 + ', "lon": 2}', '{"lat": 1' + "0" * 9000 + ', "lon": 2}', "[" * 100_000,
        '{"points": ' * 5000, '{"points": [{"lat": 1, "lon": 2, "\\ud800": 1}]}',
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)  # fmt: skip
def test_malformed_bodies(client: TestClient, body: str | bytes) -> None:
    answer = client.post("/v1/sanitize", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    message = problem(answer, answer.status_code, "invalid" if answer.status_code == 422 else "bad_request")
    assert "48.8567" not in message
    assert "ud800" not in message


def test_places_that_cannot_be_hidden(client: TestClient, published: dict[str, Published]) -> None:
    message = problem(client.post("/v1/sanitize", json={"lat": 40.123, "lon": 2.3}), 404, "outside")
    assert "40.123" not in message
    lat, lon = (float(part) for part in published["town"].metric.grid.cell_to_latlon(0, 0))
    problem(client.post("/v1/sanitize", json={"lat": lat, "lon": lon}), 404, "frame")
    problem(client.post("/v1/sanitize", json=INSIDE | {"metric": "atlantis"}), 404, "not_found")


def test_limits(published: dict[str, Published]) -> None:
    app = create_app(published, Settings(max_points=5, max_body_bytes=2000))
    with LocalClient(app) as client:
        problem(client.post("/v1/sanitize", json={"points": [INSIDE] * 6}), 413, "too_large")
        problem(client.post("/v1/sanitize", json={"points": [INSIDE] * 200}), 413, "too_large")
        chunks = (b" " * 500 for _ in range(10))  # no Content-Length: counted as it arrives
        answer = client.post("/v1/sanitize", content=chunks, headers={"Content-Type": "application/json"})
        problem(answer, 413, "too_large")
        assert client.post("/v1/sanitize", json={"points": [INSIDE] * 5}).status_code == 200


def test_a_token_guards_everything_but_health_and_the_page(published: dict[str, Published]) -> None:
    with LocalClient(create_app(published, Settings(token=TOKEN))) as client:
        assert client.get("/v1/health").status_code == 200
        assert client.get("/").status_code == 200
        assert client.get("/healthz").status_code == 200
        for path in ("/v1/metrics", "/v1/metrics/town/portable", "/v1/openapi.json", "/metrics"):
            problem(client.get(path), 401, "unauthorized")
            assert client.get(path, headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
        wrong = client.post("/v1/sanitize", json=INSIDE, headers={"Authorization": f"Bearer {TOKEN}x"})
        problem(wrong, 401, "unauthorized")
        assert TOKEN not in wrong.text


def test_cors_is_off_unless_asked_for(client: TestClient, published: dict[str, Published]) -> None:
    origin = {"Origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get("/v1/metrics", headers=origin).headers
    with LocalClient(create_app(published, Settings(cors=["https://example.org"], token=TOKEN))) as other:
        asked = origin | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert other.options("/v1/sanitize", headers=asked).status_code == 200
        told = other.get("/v1/health", headers=origin).headers
        assert told["access-control-allow-origin"] == "https://example.org"
        assert (
            "access-control-allow-origin"
            not in other.get("/v1/health", headers={"Origin": "https://evil.example"}).headers
        )


def test_logs_hold_no_place_no_body_no_address(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client.post("/v1/sanitize", json=INSIDE)
        client.post("/v1/sanitize", json={"lat": 40.123, "lon": 2.3})
        client.get("/v1/metrics/town?lat=48.8567")
    own = [record.getMessage() for record in caplog.records if record.name.startswith("geoelastic")]
    assert [line.split(" ")[:3] for line in own] == [
        ["POST", "/v1/sanitize", "200"], ["POST", "/v1/sanitize", "404"], ["GET", "/v1/metrics/{name}", "200"],
    ]  # fmt: skip
    timeless = [line.rsplit(" ", 2)[0] for line in own]
    assert not any(part in line for line in timeless for part in ("48.8", "40.1", "2.3", "testclient", "town"))


def test_faults_of_the_service_tell_nothing(
    published: dict[str, Published], broken_service: None, caplog: pytest.LogCaptureFixture
) -> None:
    with LocalClient(create_app(published)) as client, caplog.at_level(logging.DEBUG):
        assert "48.8" not in problem(client.post("/v1/sanitize", json=INSIDE), 500, "internal")
    assert not any("48.8" in r.getMessage() for r in caplog.records if r.name.startswith("geoelastic"))


_TRACED = """
import sys
from opentelemetry import _logs, trace
from starlette.testclient import TestClient
from geoelastic.mechanism import ElasticMechanism
from geoelastic.service.app import create_app
from geoelastic.service.registry import publish

class Log(_logs.NoOpLogger):
    def emit(self, *told, **more):
        print("log", told, more)

class Logs(_logs.LoggerProvider):
    def get_logger(self, *_, **__):
        return Log("any")

class Tracer(trace.NoOpTracer):
    def start_span(self, *told, **more):
        print("span", told, more)
        return super().start_span(*told, **more)

class Tracers(trace.TracerProvider):
    def get_tracer(self, *_, **__):
        return Tracer()

def fail(self, lat, lon):
    raise ValueError(f"no such place as {lat}, {lon}")

_logs.set_logger_provider(Logs())
trace.set_tracer_provider(Tracers())
with TestClient(create_app(publish(sys.argv[1:])), base_url="http://localhost") as client:
    bodies = {"lat": 48.8567, "lon": 2.3387}, {"lat": 48.8567}
    for sanitize in (ElasticMechanism.sanitize, fail):
        ElasticMechanism.sanitize = sanitize
        print(*[client.post("/v1/sanitize?lat=48.8567", json=body).status_code for body in bodies])
    Tracer().start_span("by somebody else")
"""


def test_whoever_collects_traces_and_logs_in_the_same_process_is_told_nothing() -> None:
    """Newer versions of FastAPI tell every request, its query and what is wrong with its body to OpenTelemetry."""
    pytest.importorskip("opentelemetry")
    done = subprocess.run([sys.executable, "-c", _TRACED, vectors.FILE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["200 422", "500 422", "span ('by somebody else',) {}"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"])
def test_only_json_is_read(client: TestClient, kind: str) -> None:
    """What a page of somebody else may send without asking first is no request."""
    content = json.dumps(INSIDE)
    answer = client.post("/v1/sanitize", content=content, headers={"Content-Type": kind})
    assert "'Content-Type: application/json'" in problem(answer, 422, "invalid")
    for spelt in ("application/json", "Application/JSON; charset=utf-8"):
        assert client.post("/v1/sanitize", content=content, headers={"Content-Type": spelt}).status_code == 200


def test_the_page_and_its_parts(client: TestClient, tmp_path: Path, published: dict[str, Published]) -> None:
    page = client.get("/")
    assert "text/html" in page.headers["content-type"]
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for path in ("/page.js", "/page.css", "/geolocation.js", "/vendor/leaflet.js", "/vendor/leaflet.css"):
        part = client.get(path)
        assert part.status_code == 200
        assert client.get(path, headers={"If-None-Match": part.headers["etag"]}).status_code == 304
    assert "BSD 2-Clause" in client.get("/vendor/LICENSE.leaflet").text
    size = standalone_html(published["town"].metric, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert size == len(text.encode())
    assert "<script src" not in text
    assert '<link rel="stylesheet"' not in text
    done = CliRunner().invoke(main, ["map", str(vectors.FILE), "page", "-o", str(tmp_path / "again.html"), "--json"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text
    bad = CliRunner().invoke(main, ["map", str(vectors.FILE), "page", "-o", str(tmp_path / "page.png")])
    assert bad.exit_code == 2


def test_a_bundle_has_one_scope() -> None:
    assert "import {" not in bundle("app")
    assert "export " not in bundle("auto").split("*/")[0]
    assert bundle("auto").count("class GuardedGeolocation") == 1
    with pytest.raises(FileError):
        bundle("nothing-of-this-name")


def test_what_cannot_be_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="token must be set"):
        serve([str(vectors.FILE)], host="0.0.0.0")
    with pytest.raises(InputError, match="different names"):
        publish([vectors.FILE, vectors.FILE])
    with pytest.raises(FileError, match="no such file"):
        publish([tmp_path / "none.geox"])
    with pytest.raises(InputError, match="letters, digits"):
        publish([tmp_path / "bad name.geox"])
    with pytest.raises(InputError, match="at least one"):
        publish([])
    (tmp_path / "token").write_text("short\n")
    with pytest.raises(InputError, match="16 printable"):
        read_token(str(tmp_path / "token"))
    with pytest.raises(FileError):
        read_token(str(tmp_path / "none"))
    monkeypatch.setenv("GEOELASTIC_TOKEN", TOKEN)
    assert read_token(None) == TOKEN
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "none.geox")])
    assert done.exit_code == 2
    assert "no such file" in done.output


def test_the_command_serves_and_stops_gracefully() -> None:
    command = [sys.executable, "-m", "geoelastic.cli", "serve", str(vectors.FILE), "--port", "0", "--root-path", "/geo"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = process.stderr.readline().split(" ")[0]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{address}v1/health", timeout=120) as answer:
                assert json.loads(answer.read())["ok"]
        finally:
            process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=120)[1]
        assert process.returncode == 0, rest
        assert "Traceback" not in rest


def test_several_processes_share_an_address_and_their_counts() -> None:
    command = [sys.executable, "-m", "geoelastic.cli", "serve", str(vectors.FILE), "--port", "0", "--workers", "2"]

    def asked(address: str, times: int) -> None:
        for _ in range(times):  # a connection each: the system hands them to either
            body = json.dumps(INSIDE).encode()
            request = urllib.request.Request(f"{address}v1/sanitize", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert len(json.load(answer)["reports"]) == 1

    def eventually(holds: Callable[[], bool]) -> bool:
        return any(holds() or time.sleep(0.2) for _ in range(150))

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[0]
        begun = Path(f"/proc/{process.pid}/task/{process.pid}/children")

        def counted() -> int:
            with urllib.request.urlopen(f"{address}metrics", timeout=60) as answer:
                return int(re.findall(r"geoelastic_reports_total (\d+)", answer.read().decode())[0])

        try:
            assert eventually(lambda: len(begun.read_text().split()) == 2)
            asked(address, 12)
            assert eventually(lambda: counted() == 12)  # whichever is asked tells of both
            killed = int(begun.read_text().split()[0])
            os.kill(killed, signal.SIGKILL)
            assert eventually(lambda: len(set(begun.read_text().split()) - {str(killed)}) == 2)
            asked(address, 6)
        finally:
            process.terminate()
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
    assert "Traceback" not in told


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_schemathesis_finds_nothing(published: dict[str, Published], mode: schemathesis.GenerationMode) -> None:
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", create_app(published, Settings(hosts=["*"])))
    tried = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        if mode == schemathesis.GenerationMode.NEGATIVE and not operation.body:
            continue  # any text is a name that might exist

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        def probe(case: Any) -> None:
            tried.add(case.path)
            case.call_and_validate()

        probe()
    assert len(tried) >= (9 if mode == schemathesis.GenerationMode.POSITIVE else 1)
