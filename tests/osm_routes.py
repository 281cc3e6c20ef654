# SPDX-License-Identifier: Apache-2.0
"""Map objects and their classes by two other routes than ours, and why an object is in one and not in another.

`osmium export` (osmium-tool) and GDAL's OSM driver, which shares no code with libosmium. Run as a program with the
folder of the extracts, this prints `docs/osm-counts.md`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import shapely

from geoelastic.sources import osm
from geoelastic.sources._collect import BAD_OUTLINE, EDGE_LOST, EDGE_PART
from geoelastic.sources.features import Features, TagRule
from geoelastic.sources.osm_passes import BROKEN

KEYS = ("amenity", "shop", "leisure", "tourism", "office", "public_transport", "building")
#: an object with two of the keys is in two layers, and in two counts
LAYERS = [[TagRule(key)] for key in KEYS]
EXTRACTS = (
    "andorra_2021", "geneva_2025", "liechtenstein_2021", "malta_2016", "sf_downtown_2023", "vancouver_2015",
)  # fmt: skip

#: object (``way/37393423``) to its classes (``building=yes``)
Objects = dict[str, frozenset[str]]

RING_OF_RELATION = "a closed way that is also an outer ring: counted here and by osmium, GDAL has the relation only"
TAGS_OF_RING = "a relation without a class of its own: GDAL gives it the class of its outer ring, counted here as a way"
WHY = {
    BAD_OUTLINE: "an outline that crosses itself or encloses nothing: left out here and by osmium, kept by GDAL",
    EDGE_PART: "cut by the extract's edge: kept in part here and by GDAL, left out by osmium",
    EDGE_LOST: "cut by the extract's edge, closing corner missing: left out here and by osmium, closed anew by GDAL",
    BROKEN: "a multipolygon cut by the edge or broken: left out here and by osmium, GDAL keeps the rings it can close",
}
_INTRO = """# Six extracts, object by object

The counts of every class of {keys}, points and areas,
by three routes: this package, `osmium export` (osmium-tool) and GDAL's OSM driver, which shares no code with
libosmium. The tests check that the counts of this package are those of `osmium export` plus the objects that are kept
in part, that all routes give a common object the same classes, and that the objects below are all that differ, each
for the reason named. Nodes never differ.

That a multipolygon is cut or broken does not rest on this package either: `osmium getid -r` takes it and its members
out of the file, `osmium check-refs -r` counts what they refer to and the file has not got, and where nothing is
missing, the nodes at which its ways end are counted: a ring is closed only if an even number of ends meets at each.
For example:

```sh
osmium getid -r -o alone.opl vancouver_2015.osm.pbf r2238716; osmium check-refs -r alone.opl
```
"""

#: what ``osmium check-refs`` says of nodes and of ways
_MISSING = ("Nodes +in ways", "Ways +in relations")


def class_set(tags: Mapping[str, Any]) -> frozenset[str]:
    values = {key: tags.get(key) for key in KEYS}
    return frozenset(f"{key}={value}" for key, value in values.items() if isinstance(value, str) and value != "no")


def by_osmium(path: Path, folder: Path) -> tuple[Objects, Counter[tuple[str, bool]]]:
    """Objects, and how many points (True) and areas (False) of each class, by ``osmium export``."""
    if shutil.which("osmium") is None:
        pytest.skip("needs osmium-tool: see tests/system-packages")
    config, chosen = folder / "export.json", folder / f"chosen-{path.name}"
    config.write_text(json.dumps({"attributes": {"type": True, "id": True}, "linear_tags": False, "area_tags": True}))
    filters = [f"nwr/{key}" for key in KEYS]
    subprocess.run(["osmium", "tags-filter", "-O", "-o", str(chosen), str(path), *filters], check=True, timeout=120)
    options = ["-c", str(config), "-f", "geojsonseq", "-x", "print_record_separator=false"]
    command = ["osmium", "export", *options, "--geometry-types=point,polygon", "-o", "-", str(chosen)]
    objects: Objects = {}
    counts: Counter[tuple[str, bool]] = Counter()
    for line in subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.splitlines():
        item = json.loads(line)
        tags = item["properties"]
        found = class_set(tags)
        counts.update((name, item["geometry"]["type"] == "Point") for name in found)
        if found:
            objects[f"{tags['@type']}/{tags['@id']}"] = found
    return objects, counts


def by_gdal(path: Path, folder: Path) -> Objects:
    """Objects by GDAL's OSM driver, told that closed ways with one of the keys are areas."""
    import pyogrio

    keys = ",".join(KEYS)
    layers = "".join(f"[{layer}]\nosm_id=yes\nattributes={keys}\n" for layer in ("points", "multipolygons"))
    config = folder / "osmconf.ini"
    config.write_text(f"closed_ways_are_polygons={keys}\nattribute_name_laundering=no\n{layers}")
    objects: Objects = {}
    for layer in ("points", "multipolygons"):
        with warnings.catch_warnings():  # of outlines that cross themselves or are cut: `differences` explains each
            warnings.simplefilter("ignore", RuntimeWarning)
            table = pyogrio.read_dataframe(path, layer=layer, read_geometry=False, CONFIG_FILE=str(config))
        for row in table.to_dict("records"):
            way = row.get("osm_way_id")
            kind = "node" if layer == "points" else "way" if isinstance(way, str) else "relation"
            found = class_set(row)
            if found:
                objects[f"{kind}/{way if kind == 'way' else row['osm_id']}"] = found
    return objects


def differences(path: Path, features: Features, osmium_: Objects, gdal: Objects) -> dict[str, list[str]]:
    """The objects that one of the routes has and another has not, by reason; an object without a reason is an error."""
    lost = {name: reason for reason, names in features.info["objects"].items() for name in names}
    seen = _look_up(path, set(osmium_) ^ set(gdal))
    reasons: dict[str, list[str]] = {}
    for name in sorted(set(osmium_) ^ set(gdal), key=lambda name: (name.split("/")[0], int(name.split("/")[1]))):
        reason = _ring_reason(name, seen, osmium_, gdal) or WHY[lost[name]]
        if reason == WHY[BAD_OUTLINE]:
            assert not seen[name]["valid"], name
        elif reason in (WHY[EDGE_PART], WHY[EDGE_LOST]):
            assert seen[name]["missing"], name
        reasons.setdefault(reason, []).append(name)
    return reasons


def _ring_reason(name: str, seen: dict[str, Any], osmium_: Objects, gdal: Objects) -> str | None:
    if name in osmium_:
        assert seen[name]["outer_of"], f"{name}: GDAL has not got it, and it is no ring of a multipolygon"
        return RING_OF_RELATION
    if name.startswith("relation/") and not seen[name]["classes"]:
        assert any(gdal[name] == osmium_.get(f"way/{ring}") for ring in seen[name]["outer"]), name
        return TAGS_OF_RING
    return None


def _look_up(path: Path, names: set[str]) -> dict[str, Any]:
    """What the file itself says of objects: classes, missing corners, whether the outline is a valid polygon, rings."""
    import osmium

    found: dict[str, Any] = {}
    outer_of: dict[str, list[int]] = {}
    areas = osmium.filter.EntityFilter(osmium.osm.WAY | osmium.osm.RELATION)
    for entity in osmium.FileProcessor(str(path)).with_locations().with_filter(areas):
        name = f"{'way' if entity.is_way() else 'relation'}/{entity.id}"
        if entity.is_relation() and entity.tags.get("type") == "multipolygon":
            outer = [m.ref for m in entity.members if m.type == "w" and m.role != "inner"]
            for ring in outer:
                outer_of.setdefault(f"way/{ring}", []).append(entity.id)
        if name not in names:
            continue
        found[name] = {"classes": class_set(dict(entity.tags)), "outer_of": ()}
        if entity.is_way():
            corners = [(n.location.lon, n.location.lat) for n in entity.nodes if n.location.valid()]
            polygon = shapely.Polygon(corners) if len(corners) >= 4 else shapely.Polygon()
            found[name]["valid"] = polygon.area > 0 and polygon.is_valid
            found[name]["missing"] = len(entity.nodes) - len(corners)
        elif entity.is_relation():
            found[name]["outer"] = outer
    for name, about in found.items():
        about["outer_of"] = outer_of.get(name, ())
    return found


def broken(path: Path, features: Features) -> dict[str, str]:
    """Why each multipolygon that we call broken has no closed rings, by osmium-tool alone: neither our reader nor any
    geometry has a part in it. Corners that are not in the file are counted by ``osmium check-refs``; otherwise two
    ends of its ways must meet no other.
    """
    reasons = {}
    for name in features.info["objects"].get(BROKEN, ()):
        number = f"r{name.split('/')[1]}"
        with tempfile.TemporaryDirectory() as folder:
            alone = str(Path(folder) / "alone.opl")
            # it ends with code 1 where something is missing, which is what is asked here
            subprocess.run(["osmium", "getid", "-r", "-o", alone, str(path), number], check=False, capture_output=True)
            told = subprocess.run(["osmium", "check-refs", "-r", alone], capture_output=True, text=True).stderr
            text = Path(alone).read_text(encoding="utf-8")
        missing, absent = (int(re.findall(rf"{what} +missing: (\d+)", told)[0]) for what in _MISSING)
        ends = _loose_ends(text.splitlines(), number)
        assert missing or absent or ends, f"{name}: nothing is missing, and every end meets another"
        lost = f"{missing} corners and {absent} ways are not in the file"
        reasons[name] = (
            lost if missing or absent else f"its ways do not close, no other goes on at {' and '.join(ends)}"
        )
    return reasons


def _loose_ends(lines: list[str], relation: str) -> list[str]:
    """Nodes at which an odd number of the relation's ways ends, from OPL text."""
    last = {line.split(" ")[0]: line.split(" ")[-1][1:].split(",") for line in lines}
    ways = [last[member.split("@")[0]] for member in last[relation] if member.split("@")[0] in last]
    ends = Counter(node for way in ways for node in (way[0], way[-1]))
    return [f"node/{node[1:]}" for node, count in ends.items() if count % 2]


def page(folder: Path) -> str:
    """The text of `docs/osm-counts.md`."""
    text = [_INTRO.format(keys=", ".join(KEYS))]
    with tempfile.TemporaryDirectory() as temporary:
        for name in EXTRACTS:
            path = folder / f"{name}.osm.pbf"
            features = osm.read_osm(path, LAYERS)
            objects, _ = by_osmium(path, Path(temporary))
            reasons = differences(path, features, objects, by_gdal(path, Path(temporary)))
            text.append(section(name, objects, reasons, broken(path, features)))
    return "\n".join(text)


def section(name: str, objects: Objects, reasons: dict[str, list[str]], why: dict[str, str]) -> str:
    """One extract on that page; `why` multipolygons are broken."""
    lines = [f"## {name}\n", f"{len(objects):,} objects by `osmium export`.\n"]
    for reason, names in sorted(reasons.items()):
        lines.append(f"**{reason[0].upper()}{reason[1:]}** ({len(names)}): {', '.join(names)}.\n")
    if why:
        told = "; ".join(f"{relation}: {reason}" for relation, reason in why.items())
        lines.append(f"**All multipolygons left out as cut or broken, and why by osmium-tool** ({len(why)}): {told}.\n")
    return "\n".join(lines if reasons else [*lines, "No differences.\n"])


if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
