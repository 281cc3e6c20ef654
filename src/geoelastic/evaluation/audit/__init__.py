# SPDX-License-Identifier: Apache-2.0
"""`audit`: does a mechanism do what is claimed of it? From outside, by its reports alone.

An audit looks at a table of (true, reported) places or calls a mechanism itself. It gives empirical lower bounds on
the loss by distance, direction and latitude, and looks for the faults that location noise is known for: drawn in the
wrong plane, radii clamped or cut, atoms, caches that are stale or never used. All checks together raise a false alarm
with probability at most `alpha`. An audit can show that a claim is false; it cannot show that it is true.
"""

from __future__ import annotations

from .audited_claims import AuditedClaim, ElasticClaim, LaplaceClaim
from .auditor import audit, audit_table
from .findings import ALPHA, AuditResult, Bound, Finding

__all__ = [
    "ALPHA", "AuditResult", "AuditedClaim", "Bound", "ElasticClaim", "Finding", "LaplaceClaim", "audit", "audit_table",
]  # fmt: skip
