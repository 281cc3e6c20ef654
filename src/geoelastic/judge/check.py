# SPDX-License-Identifier: Apache-2.0
"""`verify`: a metric and the reports that will be drawn over it, from what is sampled and nothing else.

Four things make a report private for the metric, and the metric worth it: every secret has the crowd that is required
(`metric.verify`, by a search of its own); fences are closed; the whole weights fall no faster than they may; and, for
reports over a relief, the inequality on every edge, for the very measure and heights that are sampled. Without a relief
the half is private for any measure (docs/guarantee.md), and nothing is left to check.

The checker that comes out of a machine-checked proof (docs/proof.md) reads a dump, and shares nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import IntArray
from ..errors import CheckError, FileError, InputError, require_able, require_count
from ..levels import LEVEL_BITS
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.geox_mechanism import load_mechanism
from ..metric import AnyMetric, Metric
from ..metric.decode import require_spread
from ..metric.geox_file import is_portable
from ..metric.plain_text import dump_text
from ..metric.verify import verify as verify_metric
from ..metric.verify_relief import check_relief
from ..metric.weights import HALF, WHOLE, make_weights
from ..opening import load
from ..store import writing
from .policy import README, Policy, claim_of, policy_of


def open_mechanism(path: str | os.PathLike[str]) -> AnyMetric | ElasticMechanism:
    """What a file reports by: the mechanism of a ``.geox`` file, with the measure that is in it; else its metric."""
    return load_mechanism(path) if is_portable(path) else load(path)


def verify(
    subject: AnyMetric | ElasticMechanism, *, require: Policy | None = None, sample: int | None = None,
    only: Any = None, workers: int | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Check a metric, or a mechanism, from scratch: the requirement at every level of every secret (or of `sample` of
    them), fences, weights, and the relief on every edge.

    `ok`: all that was checked holds and, with `require`, the claim is at least that policy. `claim`: what is stated,
    in plain words; `facts`: the same as data; `faults`: what does not hold; `short`: in what the claim is less than
    the policy (the README's promise if none is given). The other entries are those of the metric's certificate.
    """
    require_able("subject", getattr(subject, "metric", subject), "whole", "a metric (ge.load reads one) or a mechanism")
    if sample is not None:
        require_count("sample", sample)
    metric, measure, output = parts_of(subject)
    certificate = verify_metric(metric, sample=sample, only=only, workers=workers, progress=progress)
    relief = None
    if metric.relief is not None:
        relief = check_relief(metric, measure, sample=sample, workers=workers, progress=progress)
    faults = _faults(metric, certificate, relief, partial=only is not None)
    claim = claim_of(metric, output)
    short = (require or README).short_of(claim, metric)
    ok = not faults and (require is None or not short)
    looked = f"Checked at {certificate['checked']:,} places: " if certificate["checked"] < claim.secrets else ""
    return certificate | {
        "ok": ok,
        "claim": f"{looked}{_verdict(faults, short, require)} {claim.words}",
        "facts": claim.to_dict(),
        "faults": faults,
        "short": short,
        **({} if relief is None else {"relief": relief}),
    }


def verify_request(
    file: str, *, every: bool, sample: int | None, policy: str | None, stated: bool, proved: bool, workers: int | None,
    progress: bool, **least: float | None,
) -> dict[str, Any]:  # fmt: skip
    """What is found in a file, held against a policy: a file's, the README's with what is `least` in its place, or none
    (`stated`); or what the proved checker says of it."""
    if every and sample is not None:
        raise InputError("--every and --sample exclude each other")
    if proved:
        if sample is not None or any(value is not None for value in (policy, *least.values())):
            raise InputError("--proved checks all of what the file states: it goes with no policy and no --sample")
        return proved_check(open_mechanism(file))
    require = None if stated else policy_of(policy, **least)
    return verify(open_mechanism(file), require=require, sample=sample, workers=workers, progress=progress)


def parts_of(subject: AnyMetric | ElasticMechanism) -> tuple[Metric, IntArray | None, str | None]:
    """The metric, and the measure that is sampled, if it is known by more than its name."""
    if not isinstance(subject, ElasticMechanism):
        return subject.whole(), None, None
    metric = subject.metric.whole()
    metric = metric if subject.sharpened else replace(metric, relief=None)
    return metric, subject.measure, subject.output


def _faults(metric: Metric, certificate: dict[str, Any], relief: dict[str, Any] | None, *, partial: bool) -> list[str]:
    fences, faults = certificate["fences"], []
    if certificate["secret_outside_fences"] == 0 and not partial:
        faults.append("no place can be a secret")
    if certificate["violations"]:
        faults.append(f"{certificate['violations']:,} places have not the crowd that is required")
    if fences["leaking_edges"] or fences["not_closed"]:
        faults.append("a fence is not closed")
    if not certificate["same_graph_as_certified"]:
        faults.append("the graph is not the one that its certificate is about")
    if not _weights_hold(HALF if relief is None else WHOLE):
        faults.append("the weights of reports fall too fast")
    if relief is not None and not relief.get("same_metric", True):
        faults.append("its heights were made for another metric")
    elif relief is not None and not relief["ok"]:
        faults.append(f"reports may tell more than the length of an edge on {relief['edges_over']:,} of them")
    try:
        if metric.by_paths:
            require_spread(metric.graph)
    except FileError as error:
        faults.append(str(error))
    return faults


def _weights_hold(exponent: Fraction) -> bool:
    """Whether w(D) <= (1 + x + x²/2) w(D + 1) and w never increases, in whole numbers, for x = exponent x 2^-13: the
    factor is below e^x, and the table goes on with half of itself."""
    x = exponent / 2**LEVEL_BITS
    up, down = (1 + x + x * x / 2).as_integer_ratio()
    weights = make_weights(exponent).table
    if not (weights.min() > 0 and weights[0] == 2**31 >= weights.max() and max(up, down) < 2**31):
        return False  # it starts at 2^31, so half of it is whole, and no product below is too long for 64 bits
    after = np.append(weights[1:], weights[0] // 2)
    return bool(np.all((after <= weights) & (weights * down <= up * after)))


def _verdict(faults: list[str], short: list[str], require: Policy | None) -> str:
    if faults:
        return f"This map does not hold what it states: {'; '.join(faults)}."
    if short and require is not None:
        return f"This map holds what it states, but that is less than is required: {'; '.join(short)}."
    return "This map holds what it states."


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
