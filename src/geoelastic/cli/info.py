# SPDX-License-Identifier: Apache-2.0
"""`geoelastic info`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._common import geo_command
from ._describe import describe


@geo_command(short_help="What is in a file.")
@click.argument("file")
def command(file: str) -> dict[str, Any]:
    """Show the area, the locations, the parameters, the certificate and the sources of a metric's FILE."""
    from ..opening import load

    return describe(load(file), Path(file))
