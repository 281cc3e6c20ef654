# SPDX-License-Identifier: Apache-2.0
"""Hostile `.geox` files that Python and JavaScript must refuse alike, and odd ones that both must accept.

Each is a small file with one thing changed and the seal made anew, so that nothing but the decoder stands between it
and the kernels. ``python tests/hostile.py`` writes ``client/test/hostile.json``: a list of {name, reason, accept,
bytes} where `reason` is what Python says (empty if it accepts) and `bytes` is base64. Of those that are accepted,
`secrets` and `weight` (the sum over all arcs of the graph that reports go by) say how they are read, and `holds`
whether `verify` finds them to hold what they state.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geoelastic.errors import FileError, InputError
from geoelastic.judge import verify
from geoelastic.mechanism import ElasticMechanism
from geoelastic.metric.geox_file import decode_portable
from geoelastic.metric.relief import Relief

FILE = Path(__file__).resolve().parents[1] / "client" / "test" / "hostile.json"
MAGIC = b"geox\r\n\x1a"
UNIT = 2**32
#: Written into a header as it is, without quotes: numbers that JSON, or Python's JSON, cannot say otherwise.
RAW = "\ue000"


class Made:
    """A file as header and arrays, to be changed and sealed."""

    def __init__(self, head: dict[str, Any], arrays: dict[str, list[int]]) -> None:
        self.head, self.arrays = head, arrays
        self.version = 4 if "edge_rise" in arrays else 3 if "place_east" in arrays else 2 if "height" in arrays else 1
        self.described: Any = ...

    def changed(self, path: str = "", value: Any = None, *, drop: bool = False, **arrays: list[int] | None) -> Made:
        """A copy with another value at a path such as grid.rows, or without it, and with other arrays."""
        made = copy.deepcopy(self)
        if path:
            *outer, last = path.split(".")
            where = made.head
            for name in outer:
                where = where[name]
            if drop:
                del where[last]
            else:
                where[last] = value
        for name, values in arrays.items():
            if values is None:
                del made.arrays[name]
            else:
                made.arrays[name] = values
        return made

    def with_version(self, version: int) -> Made:
        made = copy.deepcopy(self)
        made.version = version
        return made

    def describing(self, described: Any) -> Made:
        """A copy whose header says other things about its arrays than they are."""
        made = copy.deepcopy(self)
        made.described = described
        return made

    @property
    def entries(self) -> list[Any]:
        return [{"name": name, "count": len(values)} for name, values in self.arrays.items()]

    @property
    def header(self) -> bytes:
        described = self.entries if self.described is ... else self.described
        text = json.dumps({**self.head, "arrays": described}, separators=(",", ":"), ensure_ascii=False)
        return text.replace(f'"{RAW}', "").replace(f'{RAW}"', "").encode("utf-8", "surrogatepass")

    @property
    def body(self) -> bytes:
        rises = self.arrays.get("edge_rise")
        return b"".join(
            b"".join(spelled(rise - 128) for rise in values) if values is rises else encoded(values)
            for values in self.arrays.values()
        )

    def bytes(self, *, header: bytes | None = None, packed: bytes | None = None) -> bytes:
        text = self.header if header is None else header
        whole = MAGIC + bytes([self.version]) + len(text).to_bytes(4, "little") + text
        return sealed(whole + (deflated(self.body) if packed is None else packed))


def sealed(whole: bytes) -> bytes:
    return whole + hashlib.sha256(whole).digest()


def deflated(body: bytes, level: int = 9) -> bytes:
    press = zlib.compressobj(level, zlib.DEFLATED, -15)
    return press.compress(body) + press.flush()


def spelled(change: int, at_least: int = 1) -> bytes:
    """A difference, seven bits a byte."""
    left = -2 * change - 1 if change < 0 else 2 * change
    out = bytearray()
    while left >= 128 or len(out) + 1 < at_least:
        out.append(left & 127 | 128)
        left >>= 7
    return bytes([*out, left])


def encoded(values: list[int]) -> bytes:
    return b"".join(spelled(value - before) for before, value in zip([0, *values], values, strict=False))


def town(*, layout: str = "uniform", method: str = "conformal", places: bool = False) -> Made:
    """A map of 4 x 4 cells, even and dense enough for what it asks."""
    exponent = [1, 1, 0, 0, 0, 0, 1] if layout == "adaptive" else None
    n = 16 if exponent is None else len(exponent)
    head: dict[str, Any] = {
        "format": "geox", "geoelastic": "0",
        "grid": {"lat": 48.5, "lon": 2.25, "width_m": 400, "height_m": 400, "cell_m": 100, "rows": 4, "cols": 4,
                 "east_m": 0, "north_m": 0},
        "layout": layout, "method": method, "requirement": {"kind": "quadratic", "l_star": 0.6931471805599453},
        "l_from": 0.35, "l_top": 0.7, "frame_cells": 0, "certificate": {}, "info": {}, "exponent": [1, 2],
        "output": "mass", "sticky": "s",
    }  # fmt: skip
    arrays: dict[str, list[int]] = {} if exponent is None else {"exponent": exponent}
    arrays |= {"mass": [UNIT] * n, "measure": [2**20 + 7 * k for k in range(n)]}
    if method == "conformal":
        arrays["scale"] = [200_000 + 1000 * k for k in range(n)]
        if places:
            arrays["place_east"] = [256 + 512 * (k % 4) + 3 * k for k in range(n)]
            arrays["place_north"] = [256 + 512 * (k // 4) for k in range(n)]
    else:
        arrays |= {"edge_i": [*range(n - 1)], "edge_j": [*range(1, n)], "edge_level": [900] * (n - 1)}
    return Made(head, arrays)


def sharp(made: Made) -> Made:
    """With flat heights, which need not be private to be read: that is for `verify` to say."""
    head = made.head | {"exponent": [1, 1]}
    relief = {"output": "mass", "made_for": Relief.key(decode_portable(made.bytes())[0]), "certificate": {}}
    return Made(head | {"relief": relief}, made.arrays | {"height": [50 + k % 3 for k in made.arrays["mass"]]})


PLAIN, PLACES, LEAVES, PAPER = town(), town(places=True), town(layout="adaptive"), town(method="paper")
SHARP = sharp(PLAIN)
#: Neighbours on 4 x 4 cells: 24 by a side, 18 by a corner, 24 a knight's move apart.
PAIRS = 66
RISES = Made(PLAIN.head, PLAIN.arrays | {"edge_rise": [(37 * k) % 256 for k in range(PAIRS)]})


def accepted() -> Iterator[tuple[str, bytes]]:
    for name, made in (("plain", PLAIN), ("places", PLACES), ("leaves", LEAVES), ("edges", PAPER), ("sharp", SHARP)):
        yield name, made.bytes()
    yield "sharp edges", sharp(PAPER).bytes()
    yield "sharp places", sharp(PLACES).bytes()
    yield "sharp rises", sharp(RISES).bytes()
    yield "places at their largest", PLACES.changed(place_east=[2**25] * 16, place_north=[2**25] * 16).bytes()
    one = LEAVES.changed(exponent=[2], mass=[UNIT], measure=[9], scale=[7])
    yield "one leaf", one.bytes()
    yield "fence", PLAIN.changed(fence=[0, 1, 1, 0] * 4).bytes()
    yield "fence of the largest number", PLAIN.changed(fence=[0, 2**25, 2**25, 0] * 4).bytes()
    yield "fence around edges", PAPER.changed(fence=[0] * 15 + [4], edge_level=[1] * 14, edge_i=[*range(14)],
                                              edge_j=[*range(1, 15)]).bytes()  # fmt: skip
    yield "framed", PLAIN.changed(framed=[0, 1] * 8).bytes()
    yield "framed all", PLAIN.changed(framed=[1] * 16).bytes()
    yield "frame", PLAIN.changed("frame_cells", 1).bytes()
    yield "frame of all", PLAIN.changed("frame_cells", 2).bytes()
    yield "whole number with a point", PLAIN.changed("grid.rows", 4.0).bytes()
    yield "whole number with a power", PLAIN.changed("frame_cells", f"{RAW}1e0{RAW}").bytes()
    yield "minus zero", PLAIN.changed("frame_cells", f"{RAW}-0{RAW}").bytes()
    yield "longitude beyond 180", PLAIN.changed("grid.lon", 190).bytes()
    yield "part of a map", PLAIN.changed("grid.east_m", -1234.5).bytes()
    yield "the smallest l_star", PLAIN.changed("requirement.l_star", 2**-10).bytes()
    yield "linear", PLAIN.changed("requirement", {"kind": "linear", "l_star": 0.7}).bytes()
    yield "step", PLAIN.changed("requirement", {"kind": "step", "level": 0.5, "mass": 1}).bytes()
    custom = {"kind": "custom", "name": "mine", "levels": [0, 0.5, 0.7], "masses": [0, 0, 2]}
    yield "custom", PLAIN.changed("requirement", custom).bytes()
    yield "from 0", PLAIN.changed("l_from", 0).bytes()
    yield "to 10", PLAIN.changed("l_top", 10).bytes()
    yield "masses of 0", PLAIN.changed(mass=[0] * 16).bytes()
    yield "as much mass as there may be", PLAIN.changed(mass=[2**48] * 16).bytes()
    yield "as much measure as there may be", PLAIN.changed(measure=[2**27] * 16).bytes()
    yield "reports from one place", PLAIN.changed(measure=[0] * 15 + [1]).bytes()
    yield "scales of 0", PLAIN.changed(scale=[0] * 16).bytes()
    yield "rises", RISES.bytes()
    yield "rises, and places", Made(PLACES.head, PLACES.arrays | {"edge_rise": RISES.arrays["edge_rise"]}).bytes()
    yield "no edges left", RISES.changed(edge_rise=[0] * PAIRS).bytes()
    yield "the longest edge", PAPER.changed(edge_level=[2**23] + [0] * 14).bytes()
    yield "two edges of one pair", PAPER.changed(edge_i=[0, 0, *range(1, 15)], edge_j=[1, *range(1, 16)],
                                                 edge_level=[5] + [900] * 15).bytes()  # fmt: skip
    yield "no edges", PAPER.changed(edge_i=[], edge_j=[], edge_level=[]).bytes()
    for slack in (1, 10, 10.0, 24):
        yield f"slack {slack!r}", SHARP.changed("relief.slack", slack).bytes()
    yield "largest heights", sharp(PLAIN).changed(height=[2**24] * 16).bytes()
    yield "certificate and info of any kind", PLAIN.changed("info", {"a": [1, {"b": None}], "ratio": "x"}).changed(
        "certificate", {"ok": 5, "ratio": [], "graph_sha256": 7}).bytes()  # fmt: skip
    for name, made in (
        ("plain", PLAIN),
        ("edges", PAPER),
        ("fence", PLAIN.changed(fence=[0, 1, 1, 0] * 4)),
        ("sharp", SHARP),
    ):
        key = verify(decode_portable(made.bytes())[0], workers=1)["graph_sha256"]
        yield f"{name}: certified", made.changed("certificate", {"graph_sha256": key}).bytes()
        yield f"{name}: the certificate of another", made.changed("certificate", {"graph_sha256": key[::-1]}).bytes()
    yield "astral text", PLAIN.changed("output", "\U0001d53c" * 500).bytes()
    yield "an escaped pair", PLAIN.bytes(header=PLAIN.header.replace(b'"output":"mass"', b'"output":"\\ud835\\udd3c"'))
    yield "spaces", PLAIN.bytes(header=b" \n\t" + PLAIN.header.replace(b":", b" : ") + b"\r\n")
    yield "brackets in a string", PLAIN.changed("sticky", "[" * 500 + '\\"]').bytes()
    yield "nested 32 deep", PLAIN.changed("info", {"a": nested(30)}).bytes()
    yield "a number of 32 characters", PLAIN.changed("info", {"a": f"{RAW}0.{'1' * 30}{RAW}"}).bytes()
    yield "stored, not packed", PLAIN.bytes(packed=deflated(PLAIN.body, 0))
    yield "long spelling of a number", PLAIN.bytes(packed=deflated(spelled(UNIT, 8) + PLAIN.body[len(spelled(UNIT)) :]))
    other = Made(PLAIN.head, dict(reversed(PLAIN.arrays.items())))
    yield "arrays in another order", other.bytes()
    yield "measure beside mass", beside(2**-12)
    yield "measure beside mass, nothing of it", beside(0)


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth > 1 else [1]


def beside(
    ratio: Any, *, order: tuple[str, ...] = ("mass", "measure"), name: str = "measure", times: Any = "mass"
) -> bytes:
    """The measure, stored as what it differs by from ratio x mass."""
    made = PLAIN.changed()
    made.arrays = {key: made.arrays[key] for key in (*order, "scale")}
    product = int(UNIT * ratio) if isinstance(ratio, float | int) and 0 <= ratio < 2**40 else 0
    parts = {key: encoded(values) for key, values in made.arrays.items()}
    parts["measure"] = b"".join(spelled(value - product) for value in made.arrays["measure"])
    entries = [entry | ({"times": times, "ratio": ratio} if entry["name"] == name else {}) for entry in made.entries]
    return made.describing(entries).bytes(packed=deflated(b"".join(parts.values())))


def bad_values() -> Iterator[tuple[str, bytes]]:
    """Every entry of the header with values that it must not have."""
    huge, nan, endless = (f"{RAW}{text}{RAW}" for text in ("1e999", "NaN", "-Infinity"))
    wrong: dict[str, list[Any]] = {
        "format": ["geo", None, 1], "geoelastic": [5, None, "x" * 1001, "\U0001d53c" * 501],
        "grid": [5, None, [], {}], "grid.lat": [91, -90.5, "48", True, None, huge, nan, [48]],
        "grid.lon": [360.5, -361, "2", endless], "grid.width_m": [0, -400, 4000001, "400", False],
        "grid.height_m": [0, 1e-7, 1e30], "grid.cell_m": [0, -100, 1e-9, 5e6, None, huge],
        "grid.rows": [0, -4, 3, 5, 3.5, True, "4", 2**15 + 1, 2**31, 2**53, 1e300, None],
        "grid.cols": [0, 8, 4.25, [4], 30000], "grid.east_m": [4000001, "0", None, nan], "grid.north_m": [-1e9, {}],
        "layout": ["hex", "adaptive", None, 0, ["uniform"]],
        "method": ["euclidean", "lowered", "paper", None, 5],
        "requirement": [5, None, {}, [], {"kind": "none"}, {"kind": "quadratic"}, {"kind": ["quadratic"]},
                        {"kind": "quadratic", "l_star": 0.69, "more": 1}, {"kind": "linear"},
                        {"kind": "linear", "l_star": 1e6}, {"kind": "step", "level": 0.5},
                        {"kind": "step", "level": 9, "mass": 1}, {"kind": "step", "level": -1, "mass": 1},
                        {"kind": "step", "level": 0.5, "mass": 0}, {"kind": "step", "level": 0.5, "mass": 2**21},
                        custom([0, 1], [0, 0]), custom([0, 1], [0]), custom([0, 0.5], [0, 1]), custom([1, 0], [0, 1]),
                        custom([0, 0], [0, 1]), custom([0, 1], [2, 1]), custom([0, 1], [0, 2**21]),
                        custom([0, "1"], [0, 1]), custom([0, 1], [0, nan]), custom([0, 11], [0, 1]), custom([1], [1]),
                        custom(5, [0, 1]), custom([0, 1], [-1, 1]), custom([0, 1], [0, 1]) | {"name": 5}],
        "requirement.l_star": [0, -1, 1e6, 1e-9, 2**-11, "0.69", True, None, nan, huge],
        "l_from": [-0.1, 0.7, 0.8, "0", True, None, nan, 1e300],
        "l_top": [0, -1, 0.35, 10.5, 1e6, "1", None, huge, nan],
        "frame_cells": [-1, 3, 0.5, True, "1", None, 2**32], "certificate": [None, [], "ok", 5],
        "info": [None, [], 5, "paris"], "output": [None, 5, ["mass"], "m" * 1001], "sticky": [None, 5, {}, "s" * 1001],
        "exponent": [[1, 1], [19, 20], [13, 20], [10**9, 1], [0, 1], [1, 0], [1], [], [1, 2, 3], "1/2", 0.5, None,
                     [True, 2], [2, 4], [-1, -2], [1, 2.5], ["1", "2"], [1, 3]],
    }  # fmt: skip
    for path, values in wrong.items():
        for value in values:
            shown = json.dumps(value).replace("\\ue000", "").strip('"')[:90]
            yield f"{path} = {shown}", PLAIN.changed(path, value).bytes()
    for name in PLAIN.head:
        yield f"no {name}", PLAIN.changed(name, drop=True).bytes()
    for name in PLAIN.head["grid"]:
        yield f"no grid.{name}", PLAIN.changed(f"grid.{name}", drop=True).bytes()
    for path in ("seed", "grid.datum", "__proto__", "margin", "kind"):
        yield f"unknown {path}", PLAIN.changed(path, 1).bytes()


def custom(levels: Any, masses: Any) -> dict[str, Any]:
    return {"kind": "custom", "name": "mine", "levels": levels, "masses": masses}


def bad_reliefs() -> Iterator[tuple[str, bytes]]:
    yield "heights without relief", PLAIN.changed(height=[0] * 16).with_version(2).bytes()
    yield "relief without heights", SHARP.changed(height=None).with_version(1).bytes()
    yield "sharp with the half", SHARP.changed("exponent", [1, 2]).bytes()
    yield "relief of another map", SHARP.changed("relief.made_for", "0" * 64).bytes()
    yield "relief of other scales", SHARP.changed(scale=[300_000, *SHARP.arrays["scale"][1:]]).bytes()
    yield "relief of other masses", SHARP.changed(mass=[UNIT + 1] + [UNIT] * 15).bytes()
    yield "relief of other fences", SHARP.changed(fence=[0] * 15 + [1]).bytes()
    for path, value in (("relief", 5), ("relief.output", 5), ("relief.made_for", 5), ("relief.made_for", "0" * 63),
                        ("relief.made_for", "G" * 64), ("relief.certificate", []), ("relief.more", 1)):  # fmt: skip
        yield f"{path} = {value!r}", SHARP.changed(path, value).bytes()
    yield "no relief.output", SHARP.changed("relief.output", drop=True).bytes()
    for slack in (0, 25, -7, 7.5, 2**32 + 7, "7", None, True, [7]):
        yield f"relief.slack {slack!r}", SHARP.changed("relief.slack", slack).bytes()
    for height in (-1, 2**24 + 1, 2**32 + 50, 2**52):
        yield f"height {height}", SHARP.changed(height=[height] + [0] * 15).bytes()


def bad_arrays() -> Iterator[tuple[str, bytes]]:
    some = 15
    for name, values in {
        "mass": [-1, 2**52 + 1, 2**53, -(2**40)], "measure": [-1, 2**31 + 1, 2**52], "framed": [2, 256, -1, 2**32],
        "scale": [-1, -(2**30), 2**28 + 1, 2**32 + 200_000], "fence": [-1, 2**25 + 1, 2**32],
    }.items():  # fmt: skip
        for value in values:
            rest = PLAIN.arrays.get(name, [0] * 16)[:some]
            yield f"{name} {value}", PLAIN.changed(**{name: [*rest, value]}).bytes()
    for name in ("place_east", "place_north"):
        for value in (-1, 2**25 + 1, 2**32):
            yield f"{name} {value}", PLACES.changed(**{name: [*PLACES.arrays[name][:some], value]}).bytes()
    yield "mass in all", PLAIN.changed(mass=[2**49] * 16).bytes()
    yield "measure in all", PLAIN.changed(measure=[2**28] * 16).bytes()
    yield "measure of nothing", PLAIN.changed(measure=[0] * 16).bytes()
    far = PLACES.changed(scale=[2**28] * 16, place_east=[2**24 * (k % 2) for k in range(16)])
    yield "edges beyond 32 bits", far.bytes()
    yield "edge too long by scales", PLAIN.changed(scale=[2**28] * 15 + [0], place_east=[0] * 15 + [2**22],
                                                   place_north=[0] * 16).with_version(3).bytes()  # fmt: skip
    for name, values in {
        "edge_i": [-1, 16, 2**32],
        "edge_j": [0, 16, -1, 2**31],
        "edge_level": [-1, 2**23 + 1, 2**32],
    }.items():
        for value in values:
            yield f"{name} {value}", PAPER.changed(**{name: [value, *PAPER.arrays[name][1:]]}).bytes()
    yield "edge to itself", PAPER.changed(edge_j=[0, *PAPER.arrays["edge_j"][1:]]).bytes()
    yield "edge backwards", PAPER.changed(edge_i=[5, *PAPER.arrays["edge_i"][1:]]).bytes()
    yield "edge into a fence", PAPER.changed(fence=[0] * 15 + [1]).bytes()
    yield "edges inside a fence", PAPER.changed(fence=[1] * 16).bytes()
    yield "paths too long", PAPER.changed(edge_level=[2**20] * 15).bytes()
    for name in ("edge_i", "edge_j", "edge_level", "mass", "measure"):
        yield f"edges without {name}", PAPER.changed(**{name: None}).bytes()
        yield f"edges with a short {name}", PAPER.changed(**{name: PAPER.arrays[name][:-1]}).bytes()
    yield "edges and scales", PAPER.changed(scale=PLAIN.arrays["scale"]).bytes()
    yield "edges and places", PAPER.changed(place_east=[0] * 16, place_north=[0] * 16).with_version(3).bytes()
    for value in (-1, 256, 2**32):
        yield f"edge_rise {value}", RISES.changed(edge_rise=[value, *RISES.arrays["edge_rise"][1:]]).bytes()
    yield "a rise too few", RISES.changed(edge_rise=RISES.arrays["edge_rise"][:-1]).bytes()
    yield "a rise too many", RISES.changed(edge_rise=[*RISES.arrays["edge_rise"], 128]).bytes()
    yield "rises of edges in a fence", RISES.changed(fence=[0] * 15 + [1]).bytes()
    yield "rises of the paper's edges", PAPER.changed(edge_rise=[128] * 15).with_version(4).bytes()
    yield "version 1 with rises", RISES.with_version(1).bytes()
    yield "version 3 with rises", RISES.with_version(3).bytes()
    yield "version 4 without rises", RISES.changed(edge_rise=None).bytes()
    raised = RISES.changed(scale=[2**28] * 2 + [0] * 14, place_east=[0, 2000] + [0] * 14, place_north=[0] * 16)
    yield "edge too long by its rise", raised.changed(edge_rise=[255] * PAIRS).bytes()
    yield "conformal without scales", PLAIN.changed(scale=None).bytes()
    yield "places without north", PLACES.changed(place_north=None).bytes()
    yield "places without east", PLACES.changed(place_east=None).with_version(1).bytes()
    yield "sides in a uniform layout", PLAIN.changed(exponent=[0] * 16).bytes()
    for sides in ([1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0], [1, 1, 1], [1, 1, 1, 1, 0], [9] * 7, [-1, *[1] * 6],
                  [1, 1, 0, 0, 0, 0, 257], [0, 0, 0, 0, 0, 0, 0]):  # fmt: skip
        n = len(sides)
        yield (
            f"leaves {sides}",
            LEAVES.changed(exponent=sides, mass=[UNIT] * n, measure=[9] * n, scale=[200_000] * n).bytes(),
        )
    yield "leaves of a huge grid", LEAVES.changed("grid.rows", 2**15).changed("grid.cols", 2**15).bytes()


def bad_entries() -> Iterator[tuple[str, bytes]]:
    """What the header says about its arrays, where it is not so."""
    entries = PLAIN.entries
    for what, described in {
        "an object": {},
        "null": None,
        "a number in it": [5, *entries],
        "a list in it": [[], *entries],
        "an unknown array": [*entries, {"name": "seed", "count": 0}],
        "proto": [*entries, {"name": "__proto__", "count": 0}],
        "an array twice": [*entries, {"name": "framed", "count": 0}, {"name": "framed", "count": 0}],
        "no arrays": [],
        "mass only": entries[:1],
        "a nameless array": [*entries[:-1], {"count": 16}],
        "an array without count": [*entries[:-1], {"name": "scale"}],
        "an entry too many": [*entries[:-1], entries[-1] | {"type": "int"}],
        "times without ratio": [entries[0], entries[1] | {"times": "mass"}, entries[2]],
        "ratio without times": [entries[0], entries[1] | {"ratio": 1}, entries[2]],
    }.items():
        yield f"arrays: {what}", PLAIN.describing(described).bytes()
    for count in (-1, 0, 15, 17, 16.5, "16", True, None, 2**26, 2**27, 2**53, 1e300):
        yield f"count {count}", PLAIN.describing([*entries[:-1], entries[-1] | {"count": count}]).bytes()
        every = [entry | {"count": count} for entry in entries]
        if count not in (15, 17):
            yield f"every count {count}", PLAIN.describing(every).bytes()
    for ratio in (-1, 2**32, "1", None, True, f"{RAW}1e999{RAW}"):
        yield f"ratio {ratio}".replace(RAW, ""), beside(ratio)
    yield "times 2^23, beyond 2^53", beside(2.0**23)
    yield "times measure", beside(2**-12, times="measure")
    yield "times scale", beside(2**-12, times="scale")
    yield "times before mass", beside(2**-12, order=("measure", "mass"))
    yield "scale beside mass", beside(2**-12, name="scale")


def with_info(value: bytes) -> bytes:
    """The header with something in its `info`, as it is."""
    return PLAIN.header.replace(b'"info":{}', b'"info":{"a":' + value + b"}")


def bad_bytes() -> Iterator[tuple[str, bytes]]:
    good, text, body = PLAIN.bytes(), PLAIN.header, PLAIN.body
    yield "nothing", b""
    yield "seven bytes", good[:7]
    yield "eight bytes", good[:8]
    yield "twelve bytes", sealed(good[:12])[:40]
    yield "another magic", b"geoX" + good[4:]
    yield "a zip", b"PK\x03\x04" + good[4:]
    for version in (0, 2, 3, 4, 255):
        yield f"version {version}", PLAIN.with_version(version).bytes()
    yield "version 1 with places", PLACES.with_version(1).bytes()
    yield "version 3 without places", SHARP.with_version(3).bytes()
    yield "version 1 with heights", SHARP.with_version(1).bytes()
    yield "a changed digest", good[:-1] + bytes([good[-1] ^ 1])
    yield "a changed byte", good[:40] + bytes([good[40] ^ 1]) + good[41:]
    yield "truncated", good[:-40]
    yield "something after the seal", good + b"\0"
    for length in (0, 1, len(text) - 1, len(text) + 1, len(good), 2**20 + 1, 2**31, 2**32 - 1):
        whole = good[:8] + length.to_bytes(4, "little") + good[12:-32]
        yield f"header of {length} bytes", sealed(whole)
    for name, header in {
        "empty header": b"",
        "a list": b"[]",
        "a string": b'"geox"',
        "null": b"null",
        "a number": b"5",
        "not closed": text[:-1],
        "closed twice": text + b"}",
        "two objects": text + b"{}",
        "single quotes": text.replace(b'"', b"'"),
        "a comment": b"/**/" + text,
        "a comma too many": text[:-1] + b",}",
        "a byte order mark": b"\xef\xbb\xbf" + text,
        "UTF-16": text.decode().encode("utf-16-le"),
        "Latin-1": text.replace(b'"s"', b'"\xe9"'),
        "overlong UTF-8": text.replace(b'"s"', b'"\xc0\xaf"'),
        "a surrogate in UTF-8": text.replace(b'"s"', b'"\xed\xa0\x80"'),
        "half a character": text.replace(b'"s"', b'"\\ud835"'),
        "half a character as a key": text.replace(b'"info":{}', b'"info":{"\\udd3c":1}'),
        "half a character deep inside": with_info(b'[{"b":"x\\udd3c\\ud835"}]'),
        "a control character": text.replace(b'"s"', b'"\x01"'),
        "a zero byte": text + b"\0",
        "nested 33 deep": with_info(b"[" * 31 + b"]" * 31),
        "nested 1000 deep": with_info(b'{"b":' * 998 + b"1" + b"}" * 998),
        "nested and not closed": b"[" * 3000,
        "a number of 400 digits": with_info(b"9" * 400),
        "a number of 33 characters": with_info(b"0." + b"1" * 31),
        "rows of 400 digits": text.replace(b'"rows":4', b'"rows":' + b"4" * 400),
        "NaN": with_info(b"NaN"),
        "Infinity": with_info(b"[-Infinity]"),
        "a number too large": with_info(b"1e400"),
        "a number with a plus": with_info(b"+1"),
        "a leading zero": with_info(b"01"),
        "hexadecimal": with_info(b"0x10"),
        "a key twice": text.replace(b'"l_top":0.7', b'"l_top":0.7,"l_top":0.9'),
        "a key twice, once escaped": text.replace(b'"l_top":0.7', b'"l_top":0.7,"l\\u005ftop":0.9'),
        "a key twice in info": with_info(b'[{"b":1,"b":2}]'),
    }.items():
        yield f"header: {name}", PLAIN.bytes(header=header)
    for name, packed in {
        "nothing": b"",
        "not packed": body,
        "another block type": b"\x07" + b"\0" * 20,
        "cut": deflated(body)[:-3],
        "with a wrapper": zlib.compress(body),
        "something after it": deflated(body) + b"\0",
        "twice": deflated(body) * 2,
        "a number too few": deflated(body[:-1]),
        "a number too many": deflated(body + b"\0"),
        "a megabyte of zeros": deflated(bytes(2**20)),
        "a number of nine bytes": deflated(spelled(UNIT, 9) + body[len(spelled(UNIT)) :]),
        "a number without end": deflated(b"\xff" * 400),
        "an end missing": deflated(body[:-1] + b"\x80"),
        "a difference beyond 2^53": deflated(spelled(2**54) + spelled(UNIT - 2**54) + body[len(spelled(UNIT)) + 1 :]),
        "differences that wrap": deflated(
            b"".join([spelled(2**53 - 1)] * 16) + encoded(PLAIN.arrays["measure"]) + encoded(PLAIN.arrays["scale"])
        ),
    }.items():
        yield f"body: {name}", PLAIN.bytes(packed=packed)


def every() -> Iterator[tuple[str, bytes]]:
    for vectors in (accepted, bad_values, bad_reliefs, bad_arrays, bad_entries, bad_bytes):
        yield from vectors()


def judged(content: bytes) -> dict[str, Any]:
    """What Python makes of a file."""
    try:
        metric, head, arrays = decode_portable(content)
        mechanism = ElasticMechanism.from_measure(metric, arrays["measure"], output=head["output"])
    except (FileError, InputError) as error:
        return {"accept": False, "reason": str(error)}
    weight = int(mechanism.reporting.graph.weight.sum())
    holds = verify(mechanism, workers=1)["ok"]
    return {"accept": True, "reason": "", "secrets": int(metric.secret.sum()), "weight": weight, "holds": holds}


def main() -> None:
    rows = [{"name": name, **judged(content), "bytes": base64.b64encode(content).decode()} for name, content in every()]
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    kept = sum(row["accept"] for row in rows)
    sys.stdout.write(f"{len(rows)} files, {kept} accepted, {FILE.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
