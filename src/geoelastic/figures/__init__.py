# SPDX-License-Identifier: Apache-2.0
"""Pictures of qualities, metrics and mechanisms: what to show (`maps`), and how (PNG, a web page, GeoTIFF)."""
