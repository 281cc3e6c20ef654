# SPDX-License-Identifier: Apache-2.0
"""The one door to compiled code.

What it promises: functions of arrays and scalars; no Python objects, no I/O, no randomness, no floating point on any
path from a distance to a report (but for traces, where its rounding is bounded and paid for); the same result on every
machine and for every number of threads (each call is single-threaded and releases the interpreter's lock; callers
split the work). Compiled when there is enough to do, and cached on disk (`_compile`).

What callers must do: pass C-contiguous arrays of the stated types (CSR graphs: `start` int64 of n + 1, `index` and
`weight` int32; masses int64; requirement tables int64), indices in range and non-negative weights: nothing is checked
here. `buckets` is a power of two larger than every weight.

Each kernel has a slow, obviously right twin in ``tests/reference``.
"""

from ._compile import compile_at_once, usual, when_compiling
from .ascent import (
    LIMIT_BITS,
    LONGER,
    MOST_RISE,
    RISE_BITS,
    SCALE_BITS,
    STAYS,
    conformal_weights,
    least_of_both,
    raise_edges,
    raised_arcs,
    rise_limits,
    share,
    shorten_paths,
)
from .balls import ratios, shrink_factors
from .coverage import coverage, simple_rings
from .layout import LENGTH_BITS, centre_distance, lengths_between, neighbours, paint_owner, touching, unpack_leaves
from .osm_lines import parse_lines
from .paper import merge_edges, paper_pass
from .paths import (
    ENTRIES,
    LIVE,
    SETTLED,
    UNREACHABLE,
    begin,
    clear,
    distances_from_any,
    expand,
    workspace,
)
from .paths_bounded import TOGETHER, bounded_paths, bounded_workspace, lane_kind
from .paths_lanes import FAR, LANES, REACHED, lane_workspace, lanes_begin, lanes_clear, lanes_expand
from .profiles import profiles, zone_rows
from .report_errors import largest_difference, outcomes, report_distances, square_masses, survey
from .sampling import (
    add_to_shells,
    advance_among_blocks,
    cover,
    find_in_shell,
    mean_distance,
    mean_distances,
    to_first_frontier,
    within,
    within_workspace,
)
from .tiles import ROW_START, join_tiles, least_slopes, link_tiles, met_flags
from .totals import near_totals
from .traces import FLOOR_SHELLS, SUM_BLOCK, block_sums, filter_steps, filter_sum, trace_weights
from .verify import adjacency, check_balls, sums_up_to

__all__ = [
    "ENTRIES", "FAR", "FLOOR_SHELLS", "LANES", "LENGTH_BITS", "LIMIT_BITS", "LIVE", "LONGER", "MOST_RISE", "REACHED",
    "RISE_BITS", "ROW_START", "SCALE_BITS", "SETTLED", "STAYS", "SUM_BLOCK", "TOGETHER", "UNREACHABLE", "add_to_shells",
    "adjacency", "advance_among_blocks", "begin", "block_sums", "bounded_paths", "bounded_workspace", "centre_distance",
    "check_balls", "clear", "compile_at_once", "conformal_weights", "cover", "coverage", "distances_from_any", "expand",
    "filter_steps", "filter_sum", "find_in_shell", "join_tiles", "lane_kind", "lane_workspace", "lanes_begin",
    "lanes_clear", "lanes_expand", "largest_difference", "least_of_both", "least_slopes", "lengths_between",
    "link_tiles", "mean_distance", "mean_distances", "merge_edges", "met_flags", "near_totals", "neighbours",
    "outcomes", "paint_owner", "paper_pass", "parse_lines", "profiles", "raise_edges", "raised_arcs", "ratios",
    "report_distances", "rise_limits", "share", "shorten_paths", "shrink_factors", "simple_rings", "square_masses",
    "sums_up_to", "survey", "to_first_frontier", "touching", "trace_weights", "unpack_leaves", "usual",
    "when_compiling", "within", "within_workspace", "workspace", "zone_rows",
]  # fmt: skip
