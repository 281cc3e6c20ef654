# SPDX-License-Identifier: Apache-2.0
"""Slow, obviously right twins of the compiled kernels, and the definitions that they must meet."""
