# SPDX-License-Identifier: Apache-2.0
"""What a metric or a mechanism is held to: the check of what will be sampled, its claim in plain words, a policy."""

from .check import open_mechanism, verify, verify_request
from .checkup import Checkup, checkup, examine
from .policy import README, Claim, Policy, claim_of, load_policy, policy_of

__all__ = [
    "README", "Checkup", "Claim", "Policy", "checkup", "claim_of", "examine", "load_policy", "open_mechanism",
    "policy_of", "verify", "verify_request",
]  # fmt: skip
