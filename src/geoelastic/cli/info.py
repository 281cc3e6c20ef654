# SPDX-License-Identifier: Apache-2.0
"""`geoelastic info`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._common import geo_command, option
from ._describe import describe


@geo_command(short_help="What is in a file.")
@click.argument("file")
@option("--dump", metavar="OUT", help="Also write it as plain text, for checkers that share nothing with us.")
def command(file: str, dump: str | None) -> dict[str, Any]:
    """Show the area, the locations, the parameters, the claim, the certificate and the sources of a metric's FILE.

    Nothing is checked here: `geoelastic verify` does that.
    """
    from ..judge import open_mechanism

    subject = open_mechanism(file)
    if dump is not None:
        from ..judge.check import write_dump

        write_dump(subject, dump)
    return describe(subject, Path(file))
