# SPDX-License-Identifier: Apache-2.0
"""The HTTP application: metrics, extracts and certificates for all, reports for trusted back ends, and the page."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import FrameError, InputError, MissingExtraError, OutsideError
from ..packs import CATALOGUE, read_catalogue
from .registry import Blob, Published

try:
    from fastapi import FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.routing import APIRoute
    from pydantic import TypeAdapter, ValidationError
    from starlette.exceptions import HTTPException
    from starlette.middleware.cors import CORSMiddleware
    from starlette.responses import JSONResponse, Response
except ImportError as error:
    raise MissingExtraError("fastapi", "service") from error

from .guard import Guard, error_response
from .http_files import send
from .meter import Board, Meter
from .models import ERRORS, Description, Extracts, Health, Metrics, OnePlace, Problem, Reports, SanitizeRequest
from .service_page import demo_site_assets, page_assets

_CODES = {401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 503: "busy"}
_FIELDS = frozenset(["lat", "lon", "metric", "points"])
#: The names of this machine for itself.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """`token`: required in 'Authorization' for everything but health and the page. `cors`: origins whose pages may ask.
    `hosts`: names by which the service may be asked. `max_waiting`: requests that may wait for a thread. `pack`: the
    folder of a pack, for everybody at /pack/. `demo_site`: a page that asks for the position in ten ways."""

    token: str | None = None
    cors: Sequence[str] = ()
    hosts: Sequence[str] = LOCAL_HOSTS
    max_points: int = 1000
    max_body_bytes: int = 256 * 1024
    max_waiting: int = 256
    threads: int | None = None
    pack: str | None = None
    demo_site: bool = False


class _Pool:
    """Threads for what takes time; beyond so many that wait for one, others are told to come back."""

    def __init__(self, threads: int, most: int) -> None:
        self._threads, self._most, self._now = ThreadPoolExecutor(threads, "sampler"), most, 0

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._now >= self._most:
            raise HTTPException(503, "the service is busy; ask again in a second", {"Retry-After": "1"})
        self._now += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        finally:
            self._now -= 1

    def close(self) -> None:
        self._threads.shutdown()


def create_app(published: Mapping[str, Published], settings: Settings | None = None) -> FastAPI:
    """The application for these metrics."""
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.pool = _Pool(settings.threads or os.cpu_count() or 1, settings.max_waiting)
        telling = asyncio.create_task(_tell_others(app))
        yield
        telling.cancel()
        app.state.pool.close()

    app = FastAPI(
        title="geoelastic", version=__version__, lifespan=lifespan, openapi_url="/v1/openapi.json", docs_url=None,
        redoc_url=None, description="Location privacy that gives every place the same crowd to hide in.",
        # what newer versions trace and log by themselves holds queries, and hands bodies to whoever listens
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False,
                   "auto_configure": False},
    )  # fmt: skip
    app.state.published, app.state.settings, app.state.meter = dict(published), settings, Meter()
    app.state.board, app.state.place = Board(1), 0  # `run` sets others where several processes answer
    _add_errors(app)
    _add_sanitize(app)  # routes are tried in this order, and this one is asked for most
    _add_metrics(app)
    assets = page_assets() | (demo_site_assets() if settings.demo_site else {})
    _add_page(app, assets)
    files = _add_pack(app, Path(settings.pack)) if settings.pack is not None else []
    if settings.cors:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(settings.cors), allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "range"], expose_headers=["etag", "content-range"],
        )  # fmt: skip
    app.add_middleware(Guard, settings=settings, public=[*assets, *files], meter=app.state.meter)
    return app


async def _tell_others(app: FastAPI) -> None:
    """Let the processes beside this one know its counts, every second."""
    while True:
        app.state.board.write(app.state.place, app.state.meter)
        await asyncio.sleep(1)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = _CODES.get(error.status_code, "bad_request")
        return error_response(error.status_code, code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return error_response(422, "invalid", "; ".join(_faults(error)[:3]))

    @app.exception_handler(InputError)
    async def refused(request: Request, error: InputError) -> Response:
        if isinstance(error, OutsideError | FrameError):
            # no such place on this map, as far as hiding goes
            return error_response(404, "outside" if isinstance(error, OutsideError) else "frame", str(error))
        return error_response(422, "invalid", str(error))


def _faults(error: RequestValidationError) -> list[str]:
    """What is wrong with a body, for the shape (one place, or a list of them) that it comes closest to. What was sent
    is not repeated: it holds places, and a name that we do not know may be one."""
    by_shape: dict[str, list[str]] = {}
    for item in error.errors():
        shape, where = str(item["loc"][1:2]), item["loc"][2:]
        names = [str(part) if isinstance(part, int) or part in _FIELDS else "(unknown)" for part in where]
        by_shape.setdefault(shape, []).append(f"'{'.'.join(names) or 'body'}': {item['msg']}")
    return min(by_shape.values(), key=len)


def _published(app: FastAPI, name: str | None) -> Published:
    all_of_them: dict[str, Published] = app.state.published
    if name is None:
        return next(iter(all_of_them.values()))
    if name not in all_of_them:
        raise HTTPException(404, "there is no metric of this name")
    return all_of_them[name]


def _add_metrics(app: FastAPI) -> None:
    settings: Settings = app.state.settings
    public = settings.token is None
    binary: Any = {
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        206: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "Not changed"},
        416: {"description": "No such range"},
    }

    async def in_pool(function: Any, *arguments: Any) -> Any:
        return await app.state.pool.run(function, *arguments)

    @app.get("/metrics", include_in_schema=False)
    async def meter() -> Response:
        """Counts for Prometheus, of all processes; no place, no person."""
        everybody = sum(app.state.board.others(app.state.place), start=app.state.meter)
        return Response(everybody.text(), media_type="text/plain; version=0.0.4")

    @app.get("/healthz", response_model=Health, include_in_schema=False)
    @app.get("/v1/health", response_model=Health)
    async def health() -> Any:
        """Whether the service is up."""
        return {"ok": True, "version": __version__}

    @app.get("/v1/metrics", response_model=Metrics, responses=ERRORS)
    async def metrics() -> Any:
        """The metrics that are served."""
        return {"metrics": [await in_pool(one.describe) for one in app.state.published.values()]}

    @app.get("/v1/metrics/{name}", response_model=Description, responses=ERRORS)
    async def metric(name: str) -> Any:
        """One metric: its map, its parameters, its files."""
        return await in_pool(_published(app, name).describe)

    @app.get("/v1/metrics/{name}/certificate", responses=ERRORS)
    async def certificate(name: str) -> dict[str, Any]:
        """What was verified about the metric; `geoelastic verify` does it again from the file."""
        return _published(app, name).metric.certificate

    @app.get("/v1/metrics/{name}/file", responses=ERRORS | binary, response_class=Response)
    async def file(name: str, request: Request) -> Response:
        """The file itself."""
        one = _published(app, name)
        return send(request, await in_pool(lambda: one.file), public=public)

    @app.get("/v1/metrics/{name}/portable", responses=ERRORS | binary, response_class=Response)
    async def portable(name: str, request: Request) -> Response:
        """The metric as a `.geox` file, for clients that report by themselves."""
        one = _published(app, name)
        return send(request, await in_pool(lambda: one.portable), public=public)

    @app.get("/v1/metrics/{name}/context", responses=ERRORS, response_class=Response)
    async def context(name: str, request: Request) -> Response:
        """Water, coast, main roads and names to draw over the map, in metres from its middle; null if it has none."""
        one = _published(app, name)
        return send(request, await in_pool(lambda: one.context), public=public)

    @app.get("/v1/metrics/{name}/extracts", response_model=Extracts, responses=ERRORS)
    async def extracts(name: str) -> Any:
        """The regions that the metric can be had in. Asking for one tells the service which."""
        one = _published(app, name)
        return {"extracts": [{"name": tile, "bounds": list(area.bounds)} for tile, area in one.tiles.items()]}

    @app.get("/v1/metrics/{name}/extracts/{tile}", responses=ERRORS | binary, response_class=Response)
    async def extract(name: str, tile: str, request: Request) -> Response:
        """One region as a `.geox` file whose mechanism is private by itself."""
        one = _published(app, name)
        if tile not in one.tiles:
            raise HTTPException(404, "there is no extract of this name")
        return send(request, await in_pool(one.tile, tile), public=public)


class _PlacesRoute(APIRoute):
    """A route that reads its body by one validator and asks for nothing else: the usual way, for any arguments, adds a
    quarter to the time of drawing a report. It is described as every other."""

    _ASKED: TypeAdapter[SanitizeRequest | OnePlace] = TypeAdapter(SanitizeRequest | OnePlace)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def answer(request: Request) -> Response:
            # a page of somebody else can send any other kind without asking first
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise _invalid({"loc": (), "msg": "must be JSON, sent as 'Content-Type: application/json'"})
            try:
                body = self._ASKED.validate_json(await request.body())
            except ValidationError as error:
                raise _invalid(*error.errors(include_url=False, include_context=False, include_input=False)) from None
            response: Response = await self.endpoint(body)
            return response

        return answer


def _invalid(*faults: Mapping[str, Any]) -> RequestValidationError:
    return RequestValidationError([{**fault, "loc": ("body", *fault["loc"])} for fault in faults])


def _add_sanitize(app: FastAPI) -> None:
    settings: Settings = app.state.settings

    def draw(one: Published, points: list[tuple[float, float]]) -> list[dict[str, float]]:
        mechanism = one.own_mechanism()
        return [dict(zip(("lat", "lon"), mechanism.sanitize(lat, lon), strict=True)) for lat, lon in points]

    async def sanitize(body: SanitizeRequest | OnePlace) -> Any:
        """Reports for one place or many, drawn afresh. For back ends that are trusted with places: who can draw
        reports on the device should."""
        one = _published(app, body.metric)
        if len(body.places) > settings.max_points:
            return error_response(413, "too_large", f"'points' must have at most {settings.max_points} entries")
        if len(body.places) == 1 and one.quick:
            reports = draw(one, body.places)
        else:
            reports = await app.state.pool.run(draw, one, body.places)
        app.state.meter.reports += len(reports)
        return JSONResponse({"metric": one.name, "reports": reports})  # made here of numbers: no need to check it again

    app.router.add_api_route(
        "/v1/sanitize", sanitize, methods=["POST"], response_model=Reports,
        responses=ERRORS | {413: {"model": Problem}}, route_class_override=_PlacesRoute,
    )  # fmt: skip


def _add_pack(app: FastAPI, folder: Path) -> list[str]:
    """The files of a pack, at addresses that are returned: those that its catalogue names, and no others."""
    known = {CATALOGUE, *(region.file for region in read_catalogue(folder).regions)}

    @app.get("/pack/{name}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        if name not in known:
            raise HTTPException(404, "there is no file of this name in the pack")
        content = await app.state.pool.run((folder / name).read_bytes)
        return send(request, Blob(content, "application/octet-stream", name), public=True)

    return [f"/pack/{name}" for name in known]


def _add_page(app: FastAPI, assets: Mapping[str, Blob]) -> None:
    for path, blob in assets.items():

        def serve(request: Request, blob: Any = blob) -> Response:
            headers = {"ETag": blob.etag, "Cache-Control": "no-cache"}
            if request.headers.get("if-none-match") == blob.etag:
                return Response(status_code=304, headers=headers)
            return Response(blob.content, media_type=blob.media_type, headers=headers)

        app.add_route(path, serve, methods=["GET"], include_in_schema=False)
