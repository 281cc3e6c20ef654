# SPDX-License-Identifier: Apache-2.0
"""What an audit says: findings with p-values, lower bounds on the loss, and one verdict at a named false-alarm rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

#: The chance that an audit flags anything at all in a mechanism that keeps its claim.
ALPHA = 1e-3


@dataclass(frozen=True)
class Finding:
    """One check. `p_value`: the chance of data this far off under the claim; `flagged`: it stands among all checks."""

    check: str
    where: str
    detail: str
    p_value: float
    flagged: bool = False


@dataclass(frozen=True)
class Bound:
    """The loss between two places `distance_m` apart is at least `lower`, with confidence 1 - alpha over all bounds."""

    where: str
    direction: str
    distance_m: float
    claimed: float
    lower: float
    p_value: float
    event: str


@dataclass(frozen=True)
class AuditResult:
    """The verdict. `ok`: nothing flagged at family-wise false-alarm rate `alpha`, which is no proof of privacy."""

    claim: str
    draws: int
    alpha: float
    findings: tuple[Finding, ...]
    bounds: tuple[Bound, ...]

    @property
    def ok(self) -> bool:
        return not any(finding.flagged for finding in self.findings)

    @property
    def flagged(self) -> tuple[Finding, ...]:
        """The findings that stand after control for the number of checks."""
        return tuple(finding for finding in self.findings if finding.flagged)

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "claim": self.claim,
            "draws": self.draws,
            "alpha": self.alpha,
            "findings": [asdict(finding) for finding in self.findings],
            "bounds": [asdict(bound) for bound in self.bounds],
        }

    def text(self) -> str:
        """For people: the verdict, what was flagged, the bounds."""
        verdict = "nothing found against the claim" if self.ok else f"{len(self.flagged)} faults found"
        lines = [
            f"{verdict}: {self.claim}, {self.draws:,} reports, alpha {self.alpha:g} over {len(self.findings)} checks"
        ]
        lines += [f"  FAULT {f.check} ({f.where}): {f.detail} (p = {f.p_value:.1e})" for f in self.flagged]
        if self.bounds:
            lines += ["", f"{'where':<22}{'direction':<11}{'metres':>8}{'claimed':>9}{'loss is at least':>18}"]
            lines += [
                f"{b.where:<22}{b.direction:<11}{b.distance_m:>8.0f}{b.claimed:>9.3f}{b.lower:>18.3f}"
                for b in self.bounds
            ]
        return "\n".join(lines)


def judge(findings: Sequence[Finding], alpha: float) -> tuple[Finding, ...]:
    """Findings with `flagged` set by Holm's procedure: any false flag has chance `alpha` at most, however dependent."""
    order = sorted(range(len(findings)), key=lambda k: findings[k].p_value)
    flagged: set[int] = set()
    for rank, k in enumerate(order):
        if not findings[k].p_value <= alpha / (len(findings) - rank):
            break
        flagged.add(k)
    return tuple(Finding(f.check, f.where, f.detail, f.p_value, flagged=k in flagged) for k, f in enumerate(findings))
