# SPDX-License-Identifier: Apache-2.0
"""The folder of a metric in tiles: its manifest, sealed by a hash, and which of its files belong to it.

| file | what |
|---|---|
| `manifest.json` | plan, tiles in the order of the Z-order curve, totals by tile, certificate, sources |
| `tiles/*.parquet` | exponent, mass, scale, place and fence of each location |
| `edges/*.parquet` | the neighbours of each location, fences aside |
| `rises/*.parquet` | the factor of each edge, at its earlier end |
| `heights/*.parquet` | the height of each location, if the map is sharpened |
| `context/*.parquet` | water, coast, main roads and names to draw with maps, if there are any |
| `build/...` | what the tiles were built from; needed for updates only |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..context import Context, context_from_parts, context_to_parts
from ..errors import FileError
from ..locations import Grid
from ..store.digest import columns_digest, digest
from ..store.schema import parse_json
from .decode_tiles import require_content
from .parts import BLOCK_CELLS
from .store import TileStore

FORMAT, FORMAT_VERSION, MANIFEST = "geoelastic tiles", 3, "manifest.json"
#: What a tile names in the manifest, and the folder where that lies.
KINDS = {"tile": "tiles", "edges": "edges", "rises": "rises", "heights": "heights"}
FOLDERS = (*KINDS.values(), "context")
#: Far more than the 2^16 tiles and their blocks of the largest map take.
_MANIFEST_BYTES = 2**27


def read_manifest(store: TileStore) -> dict[str, Any]:
    """The content of a folder's manifest; `FileError` if there is none, or none that can be one."""
    if not store.exists(MANIFEST):
        raise FileError(f"{store.address(MANIFEST)}: no such file: not a tiled metric, or its build did not end yet")
    try:
        head = parse_json(store.read(MANIFEST), "manifest", most=_MANIFEST_BYTES)
        content: dict[str, Any] = head["content"]
        whole = digest(content) == head["sha256"]
    except (FileError, KeyError, TypeError):
        raise FileError(f"{store.address(MANIFEST)}: truncated, corrupt or not a manifest") from None
    if head.get("format") != FORMAT:
        raise FileError(f"{store.address(MANIFEST)}: not a geoelastic manifest")
    if head.get("version") != FORMAT_VERSION:
        raise FileError(
            f"{store.address(MANIFEST)}: written by another version of geoelastic (format "
            f"{str(head.get('version'))[:20]!r}, this one reads {FORMAT_VERSION}): build it again"
        )
    if not whole:
        raise FileError(f"{store.address(MANIFEST)}: corrupt: its content does not match its checksum")
    try:
        require_content(content, BLOCK_CELLS)
    except FileError as error:
        raise FileError(f"{store.address(MANIFEST)}: not sound: {error}") from None
    return content


def write_manifest(store: TileStore, content: Mapping[str, Any], keep: Iterable[str] = ()) -> None:
    """Make a folder the metric of `content`, whose files are there; then remove the files of an earlier one, but those
    to `keep`."""
    head = {"format": FORMAT, "version": FORMAT_VERSION, "content": content, "sha256": digest(content)}
    text = json.dumps(head, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    store.write(MANIFEST, text.encode())
    named = set(files_of(content)) | set(keep)
    for folder in FOLDERS:
        for name in store.names(folder):
            if name not in named:
                store.remove(name)


def files_of(content: Mapping[str, Any]) -> list[str]:
    """The files that a metric needs."""
    named = [tile[kind] for tile in content["tiles"] for kind in KINDS if kind in tile]
    return [*named, content["context"]] if "context" in content else named


def write_context_file(store: TileStore, context: Context) -> str:
    """Keep what is drawn with maps; the name of its file, which tells what is in it."""
    entry, columns = context_to_parts(context)
    name = f"context/{digest([entry, columns_digest(columns)])[:20]}.parquet"
    store.write_table(name, columns, entry)
    return name


def read_context_file(store: TileStore, name: str, grid: Grid) -> Context:
    """What such a file holds, for a map of this grid."""
    columns, entry = store.read_table(name)
    try:
        return context_from_parts(entry, columns, grid.cols * grid.cell_m, grid.rows * grid.cell_m)
    except FileError as error:
        raise FileError(f"{store.address(name)}: corrupt: {error}") from None
