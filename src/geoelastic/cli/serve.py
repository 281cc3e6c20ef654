# SPDX-License-Identifier: Apache-2.0
"""`geoelastic serve`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option


@geo_command(short_help="Show maps on a page, and report over HTTP.")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@option("--pack", metavar="DIR", help="Also serve a pack, at /pack/; without FILE its first region is the page's map.")
@option("--demo-site", is_flag=True, help="Also a page at /demo-site that asks for the position in ten ways.")
@option("--host", default="127.0.0.1", help="The address to listen on; others than this machine's need a token.")
@option("--port", type=click.IntRange(0, 65535), default=8750, help="The port; 0 takes a free one.")
@option("--token-file", metavar="FILE", help="The bearer token that clients must send [default: $GEOELASTIC_TOKEN].")
@option(
    "--cors", multiple=True, metavar="ORIGIN", help="A web origin whose pages may use the service; can be repeated."
)
@option(
    "--allowed-host", "allowed_hosts", multiple=True, metavar="NAME",
    help="A host name to answer to, e.g. that of a proxy [default: --host, localhost]; can be repeated.",
)  # fmt: skip
@option(
    "--root-path", default="", show_default=False, metavar="/PATH",
    help="The path under which a proxy publishes the service.",
)  # fmt: skip
@option("--measure", default="mass", help="Output measure of .geoelastic files: mass, uniform or mass^GAMMA.")
@option(
    "--workers", type=click.IntRange(1, 64), default=1, metavar="N",
    help="Processes that answer; they share the maps in memory.",
)  # fmt: skip
@option("--max-points", type=click.IntRange(1, 100_000), default=1000, help="Most places in one request.")
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
