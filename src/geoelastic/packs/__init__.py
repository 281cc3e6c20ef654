# SPDX-License-Identifier: Apache-2.0
"""Packs: a folder of regions for any web server, from which devices take whole maps and check them by themselves."""

from .catalogue import CATALOGUE, Catalogue, Region, parse_catalogue, read_catalogue
from .make import check_pack, district_side_km, districts, make_pack

__all__ = [
    "CATALOGUE", "Catalogue", "Region", "check_pack", "district_side_km", "districts", "make_pack", "parse_catalogue",
    "read_catalogue",
]  # fmt: skip
