# SPDX-License-Identifier: Apache-2.0
"""geoelastic in QGIS: a provider of Processing algorithms over the command line.

Runs inside QGIS, whose Python and numpy are its own; geoelastic runs in another environment and is only called.
"""


def classFactory(iface):  # QGIS looks for this name
    from .plugin import Plugin

    return Plugin()
