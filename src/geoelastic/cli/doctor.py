# SPDX-License-Identifier: Apache-2.0
"""`geoelastic doctor`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command


@geo_command(short_help="Is this map any good, and what to do next?")
@click.argument("file")
def command(file: str) -> dict[str, Any]:
    """Read the metric in FILE as a friend would: its area, strays, recipe, the age of its data, its fences, how far off
    reports will be, how much the border matters, and what to do next.

    Nothing is verified here: `geoelastic verify` does that.
    """
    from ..judge.checkup import examine

    return examine(file)
