# SPDX-License-Identifier: Apache-2.0
"""Damaged inputs of every kind, many a second, in a child with limits: no traceback, no signal, no hang, no lie."""
