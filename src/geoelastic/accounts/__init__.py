# SPDX-License-Identifier: Apache-2.0
"""What reports cost: accounting over many of them, and the ledger that keeps count."""
