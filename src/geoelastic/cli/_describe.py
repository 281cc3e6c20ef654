# SPDX-License-Identifier: Apache-2.0
"""What a metric is, as plain data and for people, and where a quality comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..mechanism import ElasticMechanism
    from ..metric import AnyMetric


def describe(subject: AnyMetric | ElasticMechanism, path: Path) -> dict[str, Any]:
    """The facts of a metric, or of a mechanism over one; "text" holds them as lines to read."""
    from ..judge import checkup, claim_of
    from ..mechanism import ElasticMechanism

    metric, output = (subject.metric, subject.output) if isinstance(subject, ElasticMechanism) else (subject, None)
    grid, area = metric.grid, metric.grid.area
    facts: dict[str, Any] = {
        "ok": metric.certificate.get("ok") is True,
        "file": str(path),
        "bytes": _size(path),
        "center": list(area.middle),
        "size_km": [grid.cols * grid.cell_m / 1000, grid.rows * grid.cell_m / 1000],
        "cells": [grid.rows, grid.cols],
        "cell_m": grid.cell_m,
        **metric.totals,
        "method": metric.method,
        "requirement": metric.requirement.to_dict(),
        "l_from": metric.l_from,
        "l_top": metric.l_top,
        "certificate": metric.certificate,
        "info": metric.info,
    }
    if metric.at_hand:  # of a metric in tiles none is opened
        claim = claim_of(metric.whole(), output)
        facts |= {"claim": claim.words, "facts": claim.to_dict()}
    facts["sharpened"] = metric.relief is not None
    if metric.relief is not None:
        facts["relief"] = {"output": metric.relief.output} | metric.relief.certificate
    found = checkup(subject)
    facts["checkup"] = None if found is None else found.to_dict()
    lines = _lines(facts) + ([] if found is None else found.lines)
    facts["text"] = "\n".join(f"{name:>12}  {value}" for name, value in lines)
    return facts


def _size(path: Path) -> int:
    """Bytes of a file, or of the tiles in a folder without the stages they were built from."""
    if not path.is_dir():
        return path.stat().st_size if path.exists() else 0
    kinds = ("tiles", "edges", "rises", "heights", "context")
    files = [path / "manifest.json", *(file for kind in kinds for file in path.glob(f"{kind}/*"))]
    return sum(file.stat().st_size for file in files)


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from ..judge.checkup import as_stated

    lat, lon = facts["center"]
    width, height = facts["size_km"]
    requirement = {name: value for name, value in facts["requirement"].items() if not isinstance(value, list)}
    certificate = as_stated(_certificate_lines, facts["certificate"]) or []
    redrawn = " on a cartogram" if facts["cartogram"] else ""
    lines = [
        ("file", f"{facts['file']} ({facts['bytes'] / 1000:,.0f} kB)"),
        ("area", f"{width:g} x {height:g} km around {lat:.5f}, {lon:.5f}"),
        ("locations", f"{facts['locations']:,} ({facts['layout']}) on {facts['cells'][0]} x {facts['cells'][1]} cells "
                      f"of {facts['cell_m']:g} m; {facts['secrets']:,} can be secrets"),
        ("mass", f"{facts['mass']:,.1f} units in all"),
        ("method", f"{facts['method']}{redrawn}, l in [{facts['l_from']:.4g}, {facts['l_top']:.4g}]"),
        ("requirement", ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{value}"
                                  for name, value in requirement.items())),
    ]  # fmt: skip
    if facts["fences"]:
        lines.append(("fences", str(facts["fences"])))
    if "claim" in facts:
        lines.append(("claim", facts["claim"]))
    lines += as_stated(account_lines, facts["info"].get("quality", facts["info"])) or []
    lines += [("certificate" if k == 0 else "", line) for k, line in enumerate(certificate)]
    if "relief" in facts:
        said = as_stated(relief_line, facts["relief"]) or ""
        lines.append(("sharpened", f"for output by {facts['relief']['output']}; {said}"))
    else:
        lines.append(("sharpened", "NO: reports use half of each distance and err about twice as much as they need to"))
    return lines


def verdict_lines(found: dict[str, Any]) -> list[str]:
    """What `verify` found, or the proved checker."""
    if "claim" not in found:
        return [_proved_line(found)]
    relief = [relief_line(found["relief"])] if "relief" in found else []
    return [found["claim"], *_certificate_lines(found | {"ok": not found["faults"]}), *relief]


def _figure(value: float | None, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f}"


def relief_line(relief: dict[str, Any]) -> str:
    """What was checked about a relief, in a line."""
    if not relief.get("same_metric", True):
        return "the relief DOES NOT HOLD: it was made for another metric"
    low, _, middle, _ = relief["exponents"] or [0.0] * 4
    return (
        f"the relief {'holds' if relief['ok'] else 'DOES NOT HOLD'}: {relief['edges_over']:,} of {relief['edges']:,} "
        f"edges are over; reports use {100 * middle:.0f} % of an edge (median; {100 * low:.0f} % or more of 99 in a "
        "hundred) instead of half"
    )


def _certificate_lines(certificate: dict[str, Any]) -> list[str]:
    """What was checked and what came out, in a few lines."""
    ratio, fences = certificate["ratio"], certificate["fences"]
    lines = [
        f"{'holds' if certificate['ok'] else 'DOES NOT HOLD'}: {certificate['violations']:,} violations at "
        f"{certificate['checked']:,} of {certificate['secret_outside_fences']:,} locations, every level in "
        f"[{certificate['l_from']:.4g}, {certificate['l_top']:.4g}]",
        f"m(B_l)/req(l): least {_figure(ratio['min'], 4)}, median {_figure(ratio['median'], 3)}, "
        f"mean {_figure(ratio['mean'], 3)} over places, {_figure(ratio.get('mean_by_mass'), 3)} over people",
        f"graph {certificate['graph_sha256'][:16]}..., {certificate['edges']:,} edges",
    ]
    if not certificate["same_graph_as_certified"]:
        lines.append("the graph is not the one that was certified")
    if fences["number"]:
        lines.append(
            f"{fences['number']} fences, {fences['leaking_edges']} leaking edges, {fences['not_closed']} not closed"
        )
    return lines


def _proved_line(said: dict[str, Any]) -> str:
    """What the proved checker says of a metric."""
    parts = ", ".join(f"{part} {'yes' if said[part] else 'NO'}" for part in ("graph", "requirement", "reports"))
    table = {True: "follows from its recipe", False: "does NOT follow from its recipe", None: "is taken as it is"}
    parts += f"; the table of the requirement {table[said['table']]}"
    return f"proved checker: {parts}; {said['locations']:,} locations, {said['edges']:,} edges, {said['cpu_seconds']} s"


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
