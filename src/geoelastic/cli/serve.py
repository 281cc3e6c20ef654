# SPDX-License-Identifier: Apache-2.0
"""`geoelastic serve`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command


@geo_command(short_help="Show maps on a page, and report over HTTP.")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option(
    "--pack", metavar="DIR", help="Also serve a pack, at /pack/; without FILE its first region is the page's map."
)
@click.option("--demo-site", is_flag=True, help="Also a page at /demo-site that asks for the position in ten ways.")
@click.option(
    "--host", default="127.0.0.1", show_default=True,
    help="The address to listen on; others than this machine's need a token.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8750, show_default=True, help="The port; 0 takes a free one."
)
@click.option(
    "--token-file", metavar="FILE", help="The bearer token that clients must send [default: $GEOELASTIC_TOKEN]."
)
@click.option(
    "--cors", multiple=True, metavar="ORIGIN", help="A web origin whose pages may use the service; can be repeated."
)
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, metavar="NAME",
    help="A host name to answer to, e.g. that of a proxy [default: --host, localhost]; can be repeated.",
)  # fmt: skip
@click.option("--root-path", default="", metavar="/PATH", help="The path under which a proxy publishes the service.")
@click.option(
    "--measure", default="mass", show_default=True,
    help="Output measure of .geoelastic files: mass, uniform or mass^GAMMA.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N",
    help="Processes that answer; they share the maps in memory.",
)  # fmt: skip
@click.option(
    "--max-points", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Most places in one request."
)
def command(files: tuple[str, ...], token_file: str | None, measure: str, **options: Any) -> dict[str, Any]:
    """Serve FILE... (.geoelastic or .geox): the page at /, files and extracts under /v1/metrics, reports for trusted
    back ends at /v1/sanitize, the OpenAPI description at /v1/openapi.json.

    Nothing about a request is logged but its method, route, status and time.
    """
    from ..service.start import read_token, serve

    if not files and options["pack"] is None:
        raise click.UsageError("Missing argument 'FILE...', or --pack DIR.", click.get_current_context())
    serve(
        files, token=read_token(token_file), output=measure, **options,
        on_ready=lambda address: click.echo(f"{address} (stop with Ctrl-C)", err=True),
    )  # fmt: skip
    return {"text": "stopped"}
