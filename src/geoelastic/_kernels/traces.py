# SPDX-License-Identifier: Apache-2.0
"""Forward filtering of a trace, in doubles and in one fixed order.

Only products and sums of numbers that are not negative, each rounded once; no division, no fused operation, sums in
blocks of `SUM_BLOCK` from left to right. So any language that has IEEE doubles gets the same bits, and what rounding
does to the law of a release is bounded (``docs/traces.md``, `traces.rounding`).
"""

import numpy as np

from ._compile import kernel

#: Locations that are summed on their own before the blocks are.
SUM_BLOCK = 512
#: Weights are never below 2^-FLOOR_SHELLS, so that nothing underflows: w(min(D, cap)) falls no faster than w(D).
FLOOR_SHELLS = 600
#: A step's sum is brought above the lower one by powers of two, which are exact.
LEAST_SUM = 2.0**-64
RAISE = 2.0**64


@kernel
def trace_weights(units, table, unreachable, out):
    """w(D) = table[D mod N] 2^-(D div N), relative to table[0], of one row of distances; 0 where unreachable."""
    period = table.size
    halves = np.empty(FLOOR_SHELLS + 1)
    halves[0] = 1.0 / table[0]
    for k in range(FLOOR_SHELLS):
        halves[k + 1] = halves[k] * 0.5
    for z in range(units.size):
        if units[z] == unreachable:
            out[z] = 0.0
            continue
        shell = units[z] // period
        if shell >= FLOOR_SHELLS:
            out[z] = table[0] * halves[FLOOR_SHELLS]
        else:
            out[z] = table[units[z] - shell * period] * halves[shell]


@kernel
def filter_steps(before, total, weights, which, jump, keep, out, sums, raised):
    """a_t(z) = [keep a_{t-1}(z) + jump(z) sum a_{t-1}] w_t(z) for each step; a_0 is `before` with the sum `total`.

    which int64: the row of `weights` of each step; out (steps, n), sums, raised (int64: how often a step was multiplied
    by 2^64). Scaling a step by a constant changes nothing in what is drawn from it.
    """
    n = jump.size
    for t in range(which.size):
        w = weights[which[t]]
        row = out[t]
        step_sum = 0.0
        for first in range(0, n, SUM_BLOCK):
            block = 0.0
            for z in range(first, min(first + SUM_BLOCK, n)):
                value = (keep * before[z] + jump[z] * total) * w[z]
                row[z] = value
                block += value
            step_sum += block
        raised[t] = 0
        while step_sum < LEAST_SUM:
            for z in range(n):
                row[z] *= RAISE
            step_sum *= RAISE
            raised[t] += 1
        sums[t] = step_sum
        before = row
        total = step_sum


@kernel
def filter_sum(row, total, weights, which, jump, keep):
    """ln of the sum after all steps of `filter_steps`, whose result it throws away: `row` (a_0) is overwritten.

    For those who look at the normaliser of many traces and draw from none of them.
    """
    n = jump.size
    raised = 0
    for t in range(which.size):
        w = weights[which[t]]
        step_sum = 0.0
        for z in range(n):
            row[z] = (keep * row[z] + jump[z] * total) * w[z]
            step_sum += row[z]
        while step_sum < LEAST_SUM:
            for z in range(n):
                row[z] *= RAISE
            step_sum *= RAISE
            raised += 1
        total = step_sum
    return np.log(total) - raised * np.log(RAISE)


@kernel
def block_sums(row):
    """The sums of the blocks, as `filter_steps` adds them."""
    sums = np.zeros((row.size + SUM_BLOCK - 1) // SUM_BLOCK)
    for b in range(sums.size):
        block = 0.0
        for z in range(b * SUM_BLOCK, min((b + 1) * SUM_BLOCK, row.size)):
            block += row[z]
        sums[b] = block
    return sums
