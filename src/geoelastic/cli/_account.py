# SPDX-License-Identifier: Apache-2.0
"""Where a quality comes from, in lines to read: the data's date, what was counted, what was left out, its licence."""

from __future__ import annotations

from typing import Any

__all__ = ["account_lines"]

_SHOWN_CLASSES = 6
_CHANGES = ("hours", "diversity", "sensitive", "prior", "cap")


def account_lines(info: dict[str, Any]) -> list[tuple[str, str]]:
    """(name, text) lines of the `info` of a quality, or of what a metric keeps of it; what it does not have is left
    out.
    """
    source, stamp = info.get("source"), info.get("timestamp")
    names = ", ".join(map(str, source if isinstance(source, list) else [source]))
    lines = [("source", names + (f", as of {_stamp(stamp)}" if stamp else ""))] if source else []
    for name, layer in info.get("layers", {}).items():
        counted = f"{layer['features']:,} features, weight {layer['weight']:g}, quality {layer['quality']:,.1f}"
        lines.append((name, counted))
        if layer["classes"]:
            lines.append(("", _classes(layer["classes"])))
        cut = layer.get("cut by the area's edge", 0)
        if cut:
            lines.append(("", f"{cut:,} of them in part: cut by the area's edge"))
    for reasons in info.get("dropped", {}).values():
        lines += [("left out" if k == 0 else "", f"{n:,} {why}") for k, (why, n) in enumerate(reasons.items())]
    for name in _CHANGES:
        if name in info:
            lines.append((name, ", ".join(f"{key} {_shown(value)}" for key, value in info[name].items())))
    lines += [("note", note) for note in info.get("notes", [])]
    return lines + ([("licence", info["licence"])] if info.get("licence") else [])


def _stamp(stamp: Any) -> str:
    """One date, or one for each source."""
    return ", ".join(f"{value} ({name})" for name, value in stamp.items()) if isinstance(stamp, dict) else str(stamp)


def _classes(classes: dict[str, int]) -> str:
    """The most frequent classes; a metric's file keeps them in another order."""
    ordered = sorted(classes.items(), key=lambda item: (item[0] == "others", -item[1], item[0]))
    shown = [f"{name} {count:,}" for name, count in ordered[:_SHOWN_CLASSES]]
    rest = sum(count for _, count in ordered[_SHOWN_CLASSES:])
    return ", ".join([*shown, f"{rest:,} of other classes"] if rest else shown)


def _shown(value: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in value.items()) if isinstance(value, dict) else str(value)
