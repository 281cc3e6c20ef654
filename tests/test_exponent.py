# SPDX-License-Identifier: Apache-2.0
"""No exponent by hand: reports go by half of each distance, or by all of it over a relief; nothing else is written or
read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError
from geoelastic.mechanism.geox_mechanism import load_mechanism, mechanism_bytes
from maps import small_metric


def with_header(content: bytes, **changes: Any) -> bytes:
    """A portable file with other entries in its header, sealed again."""
    end = 12 + int.from_bytes(content[8:12], "little")
    head = json.loads(content[12:end]) | changes
    text = json.dumps(head).encode()
    whole = content[:8] + len(text).to_bytes(4, "little") + text + content[end:-32]
    return whole + hashlib.sha256(whole).digest()


@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize("exponent", [[19, 20], [13, 20], [10**9, 1], [0, 1], [1, 3], "own other"])
def test_a_file_with_another_exponent_is_refused_by_name(tmp_path: Path, exponent: Any, sharp: bool) -> None:
    metric = small_metric(rows=6, cols=6, l_top=0.8)
    mechanism = ge.ElasticMechanism(ge.sharpen(metric) if sharp else metric)
    path = tmp_path / "m.geox"
    content = mechanism_bytes(mechanism)
    path.write_bytes(with_header(content))
    assert load_mechanism(path).exponent == (1 if sharp else ge.ElasticMechanism(metric).exponent)
    other = ([1, 2] if sharp else [1, 1]) if exponent == "own other" else exponent
    path.write_bytes(with_header(content, exponent=other))
    for read in (load_mechanism, ge.load):
        with pytest.raises(FileError, match=r"exponent.*build the file again"):
            read(path)
    told = CliRunner().invoke(main, ["verify", str(path)])
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("extract", "--exponent", "1"), ("sanitize", "--certified")])
def test_no_command_takes_an_exponent(arguments: tuple[str, ...]) -> None:
    command, *option = arguments
    told = CliRunner().invoke(main, [command, "m.geoelastic", *option])
    assert told.exit_code == 2
    assert "No such option" in told.stderr
