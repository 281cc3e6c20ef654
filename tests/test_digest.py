# SPDX-License-Identifier: Apache-2.0
"""One digest and one way to resume: names that ledgers, keyed reports and files depend on keep their bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import geoelastic as ge
from geoelastic.mechanism.sticky import Sticky
from geoelastic.metric.relief import Relief
from geoelastic.store.digest import Digest, columns_digest, digest, file_digest
from geoelastic.store.kept import KeptState, kept, kept_name
from geoelastic.tiles.stages import put_cells
from geoelastic.tiles.store import TileStore
from maps import small_metric


def test_names_that_others_hold_keep_their_bytes() -> None:
    """Written down once: a ledger or a key that is older than this program must still fit."""
    metric = small_metric()
    mechanism = ge.ElasticMechanism(metric)
    measure = "a6ffa6f55cf24edbdd84289c75b7808ef89d910891fcf68f0632889ffe0dad78"
    assert metric.identity == "21d232f975cbbaadb7782a7a339b9615"
    assert metric.certificate["graph_sha256"] == "f5023509d4df6e2fe55396795dc856ad62fe765fae637cc8f843d70bcd16bba8"
    assert Relief.key(metric) == "7c4710cde9d7e307f52b1628782aa7444e94d77e108c2187c7855a25ac4599e5"
    assert mechanism.measure_digest == measure
    assert Sticky(mechanism, bytes(32)).map_name == f"21d232f975cbbaadb7782a7a339b9615|{measure}|1/2"


def test_the_file_of_cells_keeps_its_name(tmp_path: Path) -> None:
    cells = np.arange(12).reshape(4, 3)[::2]
    store = TileStore(str(tmp_path))
    expected = hashlib.sha256(repr((2, 3)).encode() + np.array([0, 1, 2, 6, 7, 8], "<i8").tobytes()).hexdigest()
    assert put_cells(store, "r0c0", cells) == f"build/cells/r0c0-{expected[:20]}.parquet"
    assert put_cells(store, "r0c0", np.arange(6).reshape(2, 3)) == "build/cells/r0c0-9e84b51c449b81c3ef30.parquet"


def test_a_digest_is_that_of_the_bytes_of_its_parts_in_order() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    data = {"b": [1, None], "a": "é"}
    whole = b"x" + "é".encode() + array.astype("<i4").tobytes() + json.dumps(data, sort_keys=True).encode()
    assert digest(b"x", "é", array, data) == hashlib.sha256(whole).hexdigest()
    state = Digest(b"x")
    state.add("é", array, data)
    assert state.text == digest(b"x", "é", array, data)


@pytest.mark.parametrize("dtype", [">i4", "<i4", ">f8", ">i8", "u1", "?"])
def test_an_array_has_one_digest_whatever_its_layout(dtype: str) -> None:
    array = np.arange(12).astype(dtype).reshape(3, 4)
    least_first = array.astype(array.dtype.newbyteorder("<"))
    assert digest(array) == digest(np.asfortranarray(least_first)) == digest(least_first)
    assert digest(array[:0], array[:, :0]) == digest()
    assert digest(array[:, ::2]) == digest(least_first[:, ::2].copy())


def test_columns_have_a_digest_of_names_types_and_values() -> None:
    one = {"a": np.arange(3), "b": np.zeros(2)}
    assert columns_digest(one) == columns_digest(dict(reversed(one.items())))
    others = [
        {"a": np.arange(3)},
        one | {"b": np.zeros(3)},
        one | {"b": np.zeros(2, np.float32)},
        one | {"c": one["a"]},
    ]
    assert len({columns_digest(columns) for columns in (one, *others)}) == 5


def test_a_file_that_is_not_there_has_no_digest(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert file_digest(tmp_path / "a") == digest(b"abc")
    with pytest.raises(ge.FileError, match="cannot be read"):
        file_digest(tmp_path / "b")


def test_a_result_is_found_again_by_its_inputs_alone(tmp_path: Path) -> None:
    made: list[str] = []

    def result(*inputs: object) -> str:
        def make() -> str:
            made.append(repr(inputs))
            return repr(inputs)

        path = tmp_path / "sub" / kept_name("stage", *inputs, suffix=".txt")
        return kept(path, Path.read_text, make, lambda text, target: target.write_text(text) and None)

    assert result(1, "a") == result(1, "a") == "(1, 'a')"
    assert result(1, "b") == "(1, 'b')"
    assert made == ["(1, 'a')", "(1, 'b')"]


def test_a_damaged_result_is_made_again_and_without_a_path_nothing_is_kept(tmp_path: Path) -> None:
    def refuse(path: Path) -> int:
        raise ge.FileError("truncated")

    (tmp_path / "x").write_text("half")
    written: list[Path] = []
    assert kept(tmp_path / "x", refuse, lambda: 3, lambda value, path: written.append(path)) == 3
    assert kept(None, refuse, lambda: 4, lambda value, path: written.append(path)) == 4
    assert written == [tmp_path / "x"]


def test_the_state_of_work_is_read_for_its_own_inputs_only(tmp_path: Path) -> None:
    table = {"rows": pa.table({"x": [1, 2]})}
    mine, other = (KeptState.at(tmp_path / "state", "sharpening", inputs) for inputs in ("mine", "other"))
    assert mine.read() is None
    mine.write({"passes": 3}, table)
    found = mine.read()
    assert found is not None
    assert found[0]["passes"] == 3
    assert found[1]["rows"]["x"].to_pylist() == [1, 2]
    assert other.read() is None
    mine.remove()
    assert list(tmp_path.iterdir()) == []
    nowhere = KeptState.at(None, "sharpening", "mine")
    nowhere.write({"passes": 1}, table)
    assert nowhere.read() is None
