# SPDX-License-Identifier: Apache-2.0
"""Whole days under attack: adversaries who follow a trace or look for the home, other mechanisms, studies of them."""
