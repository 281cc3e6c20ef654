# SPDX-License-Identifier: Apache-2.0
"""Measurements. Each module here has ``run(*, progress: bool) -> {"rows": [...], "text": Markdown}`` and is one `geoelastic bench NAME`."""
