# SPDX-License-Identifier: Apache-2.0
"""One file on disk and back: the container that every kind of `.geoelastic` file shares, and atomic writing.

It sits low in the order of imports and knows no metric, so that `Metric.save` can use it: `metric/metric_file.py`
says what a metric's file holds.
"""

from .atomic import require_writable, write_bytes, writing
from .container import FORMAT_VERSION, container_bytes, read_container, table_of, write_container

__all__ = [
    "FORMAT_VERSION", "container_bytes", "read_container", "require_writable", "table_of", "write_bytes",
    "write_container", "writing",
]  # fmt: skip
