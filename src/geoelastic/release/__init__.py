# SPDX-License-Identifier: Apache-2.0
"""Reports asked for by name: which mechanism, on which map, of which file, charged to which ledger."""
