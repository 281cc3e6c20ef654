# SPDX-License-Identifier: Apache-2.0
"""Every entry of small files set to twenty other values: refused, or failing `verify`, or private by brute force for
the metric that the file then states. Nothing else."""

from __future__ import annotations

import copy
import functools
import json
from collections import Counter
from typing import Any

import pytest

import geoelastic as ge
import hostile
from forging import NUMBERS, VALUES, entries, require_private
from geoelastic.errors import FileError, InputError
from geoelastic.fences import disc
from geoelastic.judge import verify
from geoelastic.mechanism.geox_mechanism import mechanism_bytes
from geoelastic.metric.geox_file import decode_portable
from geoelastic.metric.metric_file import metric_from_parts, metric_to_parts
from hostile import Made
from maps import PARIS, small_metric


@functools.cache
def base(kind: str) -> Made:
    """A sound file of each kind, as header and arrays."""
    options: dict[str, Any] = {"rows": 4, "cols": 4, "l_top": 0.5, "l_from": 0.3}
    if kind == "fenced":
        metric = small_metric("conformal", "uniform", fences=(disc(*PARIS, 90),), **options)
    elif kind == "paper":
        metric = small_metric("paper", "uniform", **options)
    else:
        metric = small_metric("conformal", "uniform" if kind == "sharp" else "adaptive", frame=0.2, **options)
        metric = ge.sharpen(metric) if kind == "sharp" else metric
    content = mechanism_bytes(ge.ElasticMechanism(metric))
    _, head, arrays = decode_portable(content)
    head = {name: value for name, value in head.items() if name != "arrays"}
    made = Made(head | {"info": {}, "certificate": {}}, {name: values.tolist() for name, values in arrays.items()})
    assert judge(made)[0] == "private"
    return made


def judge(made: Made) -> tuple[str, Any]:
    """What becomes of a file: refused, failing, or private by brute force; anything else is an error here."""
    try:
        metric, head, arrays = decode_portable(made.bytes())
        mechanism = ge.ElasticMechanism.from_measure(metric, arrays["measure"], output=head["output"])
    except (FileError, InputError) as error:
        return "refused", str(error)
    found = verify(mechanism, workers=1)
    json.dumps(found, allow_nan=False)
    if not found["ok"]:
        return "failing", found["faults"]
    require_private(mechanism)
    return "private", None


@pytest.mark.jit  # some hundred brute forces
@pytest.mark.parametrize("kind", ["plain", "fenced", "sharp", "paper"])
def test_every_entry_of_the_header(kind: str) -> None:
    made, seen = base(kind), Counter[str]()
    for path in entries(made.head):
        for value in VALUES:
            seen[judge(made.changed(path, value))[0]] += 1
    assert seen["refused"] > seen["failing"] > 0
    assert seen["private"] > 0


@pytest.mark.jit
@pytest.mark.parametrize("kind", ["plain", "fenced", "sharp", "paper"])
def test_every_array_at_several_places(kind: str) -> None:
    made, seen = base(kind), Counter[str]()
    for name, values in made.arrays.items():
        for at in sorted({0, len(values) // 2, len(values) - 1}):
            for value in NUMBERS:
                other = copy.copy(values)
                other[at] = value
                seen[judge(made.changed(**{name: other}))[0]] += 1
    assert seen["refused"] > 0
    assert seen["failing"] > 0
    assert seen["private"] > 0


@pytest.mark.jit
@pytest.mark.parametrize("kind", ["plain", "sharp", "paper"])
def test_every_array_that_is_added_or_left_out(kind: str) -> None:
    made, n = base(kind), len(base(kind).arrays["mass"])
    for name in (
        hostile.PLACES.arrays | hostile.PAPER.arrays | {"fence": [], "framed": [], "height": [], "exponent": []}
    ):
        if name in made.arrays:
            judge(made.changed(**{name: None}))
        else:
            for value in (0, 1, 2, 300):
                judge(made.changed(**{name: [value] * n}))
                judge(made.changed(**{name: [value] + [0] * (n - 1)}))


@pytest.mark.jit
def test_manifests_of_the_other_kind_of_file() -> None:
    """The same entries in a `.geoelastic` file, whose measure is made when it is read."""
    metric = ge.sharpen(small_metric("conformal", "uniform", rows=4, cols=4, l_top=0.5, l_from=0.3, frame=0.2))
    manifest, tables = metric_to_parts(metric)
    seen = Counter[str]()
    for path in entries({k: v for k, v in manifest.items() if k not in ("info", "certificate")}):
        for value in VALUES:
            changed = Made(manifest, {}).changed(path, value).head
            try:
                other = metric_from_parts(changed, tables)
                mechanism = ge.ElasticMechanism(other, output=other.relief.output)
            except (FileError, InputError):
                seen["refused"] += 1
                continue
            if verify(other, workers=1)["ok"]:
                require_private(mechanism)
                seen["private"] += 1
            else:
                seen["failing"] += 1
    assert seen["refused"] > seen["failing"] > 0
    assert seen["private"] > 0
