# SPDX-License-Identifier: Apache-2.0
"""Traces: a day, a commute, a tour, released with one guarantee for all of it. Theory: ``docs/traces.md``."""

from .live import LiveTrace
from .mechanism import TraceMechanism
from .release import Clock, Habit, Release

__all__ = ["Clock", "Habit", "LiveTrace", "Release", "TraceMechanism"]
