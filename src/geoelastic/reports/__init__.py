# SPDX-License-Identifier: Apache-2.0
"""Tables of places to tables of reports, by anything that can report: arrays, data frames, files."""
