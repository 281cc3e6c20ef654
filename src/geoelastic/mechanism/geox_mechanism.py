# SPDX-License-Identifier: Apache-2.0
"""A mechanism as one portable file: metric, output measure and exponent, all that a phone needs to report by itself."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from ..errors import FileError, InputError, require_able, require_path
from ..metric.geox_file import portable_bytes, read_portable
from ..store import write_bytes
from .elastic import ElasticMechanism
from .sticky import Sticky


def mechanism_bytes(mechanism: ElasticMechanism) -> bytes:
    """A mechanism as the bytes of a ``.geox`` file."""
    extra: dict[str, Any] = {
        "output": mechanism.output,
        "exponent": [mechanism.exponent.numerator, mechanism.exponent.denominator],
        # clients need not be able to spell the name that keyed reports are derived from
        "sticky": Sticky(mechanism, bytes(32)).map_name,
    }
    whole = mechanism.metric.whole()
    metric = whole if mechanism.sharpened else replace(whole, relief=None)
    return portable_bytes(metric, arrays={"measure": mechanism.measure}, extra=extra)


def save_mechanism(mechanism: ElasticMechanism, path: str | os.PathLike[str]) -> int:
    """Write a mechanism as a ``.geox`` file, atomically; returns its size in bytes."""
    require_able("mechanism", mechanism, "output", "an ElasticMechanism")
    content = mechanism_bytes(mechanism)
    write_bytes(path, content)
    return len(content)


def load_mechanism(path: str | os.PathLike[str]) -> ElasticMechanism:
    """The mechanism of a ``.geox`` file, with the very measure and heights that are in it."""
    require_path("path", path)
    metric, head, arrays = read_portable(path)
    try:
        return ElasticMechanism.from_measure(metric, arrays["measure"], output=head["output"])
    except InputError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None
