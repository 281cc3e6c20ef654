# SPDX-License-Identifier: Apache-2.0
"""`python -m geoelastic.cli` is `geoelastic`."""

from . import main

main(prog_name="geoelastic")
