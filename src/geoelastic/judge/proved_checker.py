# SPDX-License-Identifier: Apache-2.0
"""The checker that comes out of a machine-checked proof (docs/proof.md): it reads a dump, and shares nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..errors import CheckError, InputError
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric
from ..metric.plain_text import dump_text
from ..store import writing
from .check import parts_of

#: Where `./run proof` puts it, beside the sources.
BUILT = Path(__file__).parents[3] / "proof" / ".build" / "checker" / "geoelastic-proved"


def find_checker() -> str:
    """GEOELASTIC_PROVED, or geoelastic-proved on the path, or what `./run proof` built."""
    named = os.environ.get("GEOELASTIC_PROVED") or shutil.which("geoelastic-proved")
    if named is None and BUILT.is_file():
        named = str(BUILT)
    if named is None:
        raise InputError("the proved checker is not installed: ./run proof builds it (Coq 8.16 and OCaml)")
    return named


def write_dump(subject: AnyMetric | ElasticMechanism, path: str | os.PathLike[str]) -> None:
    """The metric and the very measure that reports go by, as plain text."""
    metric, measure, _ = parts_of(subject)
    with writing(path) as temporary, temporary.open("w", encoding="ascii") as out:
        out.writelines(dump_text(metric, measure))


def proved_check(subject: AnyMetric | ElasticMechanism) -> dict[str, Any]:
    """What the checker says: `ok`, and `graph`, `requirement`, `reports`, `table` for its parts (`table` is None if the
    requirement has no recipe that the checker knows)."""
    checker = find_checker()
    with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder:
        path = Path(folder) / "dump.txt"
        write_dump(subject, path)
        done = subprocess.run([checker, str(path)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise CheckError(f"the proved checker gave up: {done.stderr.strip() or f'exit {done.returncode}'}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said | {"ok": said["ok"] is True and done.returncode == 0}


def verified_parts(certificate: dict[str, Any]) -> dict[str, bool]:
    """A certificate of `verify` in the checker's words, to compare the two."""
    fences = certificate["fences"]
    return {
        "graph": fences["leaking_edges"] == 0 and fences["not_closed"] == 0,
        "requirement": certificate["violations"] == 0,
        "reports": "relief" not in certificate or bool(certificate["relief"]["ok"]),
    }
