# SPDX-License-Identifier: Apache-2.0
"""A study as files: tables (CSV, JSON), figures (PNG, SVG, PDF) and one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..metric import AnyMetric
from ..store.atomic import write_bytes
from .figures import LABELS, error_boxes, maps, recovery_curves, save_figure, trade_off, user_boxes
from .paper_claims import PaperClaim
from .study_stages import plain

Table = tuple[Sequence[str], list[list[Any]]]

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#1b1f24}
.wide{overflow-x:auto;margin:1em 0}table{border-collapse:collapse;font-size:13px}
th,td{padding:.3em .6em;border-bottom:1px solid #d5d9de;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}blockquote{margin:.2em 0;color:#444;font-style:italic}
img{max-width:100%}.yes{color:#1a7f37;font-weight:600}.no{color:#b42318;font-weight:600}
.warn{background:#fff4e5;padding:.6em 1em}
"""


def mechanism_table(study: dict[str, Any]) -> Table:
    """One row for each area and mechanism: utility, adversaries, worst cases."""
    head = (
        "area", "mechanism", "guarantee", "expected_m", "missed_1200", "missed_1500", "missed_1800",
        "distance_median_m", "binary_median", "binary_mean", "euclidean_median_m", "euclidean_mean_m", "entropy_bits",
        "luckiest_report_error", "largest_loss_300m", "own_prior_binary_median", "own_prior_euclidean_median_m",
    )  # fmt: skip
    rows = []
    for area, part in study["areas"].items():
        for name, r in part["mechanisms"].items():
            own = r.get("own_prior", {})
            rows.append([
                area, name, r["sound"], r["expected_m"], *(r["missed"][k] for k in ("1200", "1500", "1800")),
                r["distance_quantiles_m"]["0.5"],
                _median(r["binary_per_user"]), r["binary"],
                _median(r["euclidean_per_user_m"]), r["euclidean_m"],
                r["worst"]["entropy_bits"], r["worst"]["luckiest_report"], r["worst"]["largest_loss"],
                _median(own.get("binary_per_user", [])), _median(own.get("euclidean_per_user_m", [])),
            ])  # fmt: skip
    return head, rows


def _median(values: Sequence[float]) -> float | str:
    """Nothing where there are no values."""
    return float(np.percentile(values, 50)) if len(values) else ""


def mechanism_rows(study: dict[str, Any]) -> list[dict[str, Any]]:
    """The same table as plain data, one object per row."""
    head, rows = mechanism_table(study)
    return [plain(dict(zip(head, row, strict=True))) for row in rows]


def _csv(table: Table) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table[0])
    writer.writerows(table[1])
    return text.getvalue().encode()


def _users(study: dict[str, Any]) -> Table:
    """Per-user (or per-place) numbers behind the box plots, in long form and in no telling order."""
    rows = [
        [area, name, key, value]
        for area, part in study["areas"].items()
        for name, r in part["mechanisms"].items()
        for key in ("binary_per_user", "euclidean_per_user_m", "expected_per_user_m")
        for value in sorted(r[key])
    ]
    return ("area", "mechanism", "measure", "value"), rows


def draw_figures(metric: AnyMetric, study: dict[str, Any], area_cells: Sequence[Any], folder: Path) -> dict[str, str]:
    """All figures of a study into a folder; caption of each by its file name without ending."""
    folder.mkdir(parents=True, exist_ok=True)
    there = {name for area in study["areas"].values() for name in area["mechanisms"]}
    pairs = ("paper-run", "laplace=paper-run", "elastic", "laplace=elastic", "sharpened", "laplace=sharpened")
    compared = tuple(name for name in pairs if name in there or "sharpened" not in name)
    made = {
        "maps": (maps(metric, study, area_cells), "Privacy mass of each location (left) and expected error (right)"),
        "errors": (error_boxes(study), "Expected error per location"),
        "binary": (
            user_boxes(study, "binary_per_user", compared, "Binary adversary, per user", "probability of error"),
            "Per-user binary AdvError of the elastic and planar Laplace mechanisms for each area",
        ),
        "euclidean": (
            user_boxes(
                study, "euclidean_per_user_m", compared, "Euclidean adversary, per user", "expected error, metres"
            ),
            "Per-user Euclidean AdvError of the elastic and planar Laplace mechanisms for each area",
        ),
        "trade-off": (trade_off(study), "All mechanisms: utility against the Euclidean adversary"),
    }
    if "recovery" in study:
        made["recovery"] = (recovery_curves(study["recovery"]), "Home recovery against the number of reports")
    for name, (figure, _) in made.items():
        save_figure(figure, folder, name)
    return {name: caption for name, (_, caption) in made.items()}


def write_report(
    folder: Path, title: str, study: dict[str, Any], claims: Sequence[PaperClaim], captions: dict[str, str],
    notes: Sequence[str] = (),
) -> dict[str, str]:  # fmt: skip
    """results.json, mechanisms.csv, users.csv, claims.csv and index.html; returns the files by their role."""
    table = mechanism_table(study)
    claim_rows: Table = (
        ("mechanism", "about", "paper", "criterion", "found", "holds"),
        [[c.mechanism, c.about, c.paper, c.criterion, c.found, c.holds] for c in claims],
    )
    page = _page(title, study, table, claims, captions, folder / "figures", notes)
    result = plain(study | {"claims": [vars(c) for c in claims], "version": __version__, "title": title})
    files = {
        "results": ("results.json", json.dumps(result, indent=1).encode()),
        "mechanisms": ("mechanisms.csv", _csv(table)),
        "users": ("users.csv", _csv(_users(study))),
        "claims": ("claims.csv", _csv(claim_rows)),
        "report": ("index.html", page.encode()),
    }
    for name, content in files.values():
        write_bytes(folder / name, content)
    return {role: str(folder / name) for role, (name, _) in files.items()}


def _page(
    title: str, study: dict[str, Any], table: Table, claims: Sequence[PaperClaim], captions: dict[str, str],
    figures: Path, notes: Sequence[str],
) -> str:  # fmt: skip
    parts = [f"<h1>{html.escape(title)}</h1>"]
    parts.append(
        '<p class="warn">Mechanisms without a guarantee (*) are here for comparison only: their reports can rule '
        "places out for certain. \u201cCut\u201d is the paper\u2019s mechanism with every report beyond twice the top "
        "level dropped; \u201cas the paper was run\u201d takes its utility over the whole map and its adversary inside "
        "the area, as the paper\u2019s two programs did.</p>"
    )
    parts.append(_areas(study))
    if claims:
        parts.append("<h2>The paper\u2019s claims</h2>" + _claims(claims))
    parts.append("<h2>Calibration</h2>" + _calibration(study))
    parts.append("<h2>Mechanisms</h2>" + _html_table(table))
    for name, caption in captions.items():
        picture = base64.b64encode((figures / f"{name}.png").read_bytes()).decode()
        parts.append(f'<h3>{html.escape(caption)}</h3><img alt="{name}" src="data:image/png;base64,{picture}">')
    parts += [_extra(study), "<h2>Notes</h2><ul>", *(f"<li>{html.escape(n)}</li>" for n in notes), "</ul>"]
    parts.append(f"<p>geoelastic {__version__}</p>")
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
    return f"{head}<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"


def _areas(study: dict[str, Any]) -> str:
    rows = [
        [name, p["prior"]["checkins"], p["prior"]["events"], p["prior"]["places"], p["prior"]["users"]]
        for name, p in study["areas"].items()
    ]
    return _html_table((("area", "check-ins", "events counted", "places", "users"), rows))


def _claims(claims: Sequence[PaperClaim]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(LABELS.get(c.mechanism, (c.mechanism,))[0])}</td>"
        f"<td><blockquote>{html.escape(c.paper)}</blockquote>{html.escape(c.criterion)}</td>"
        f'<td>{html.escape(c.found)}</td><td class="{"yes" if c.holds else "no"}">'
        f"{'holds' if c.holds else 'does not hold'}</td></tr>"
        for c in claims
    )
    return (
        '<div class="wide"><table><tr><th>mechanism</th><th>the paper, and what is asked</th><th>here</th><th></th>'
        f"</tr>{rows}</table></div>"
    )


def _calibration(study: dict[str, Any]) -> str:
    rows = [
        [name, *(f"{v:.6f}" for v in found.values()), f"{study['epsilons'][name]:.6f}"]
        for name, found in study["calibration"].items()
    ]
    measures = list(next(iter(study["calibration"].values()), {}))
    text = f"<p>Epsilon per metre of planar Laplace with the same utility in {html.escape(study['reference'])}.</p>"
    return text + _html_table((("mechanism", *measures, "average, used"), rows))


def _extra(study: dict[str, Any]) -> str:
    parts = []
    if "gaps" in study:
        rows = [
            [name, *(g[key] for key in ("places", "bound_m", "optimal_m", "remapped_m", "reported_m"))]
            for name, g in study["gaps"].items()
        ]
        head = ("area", "places", "bound, m", "optimal, m", "the map's own, remapped, m", "as reported, m")
        parts.append("<h2>Distance from the optimum (linear program, same metric)</h2>" + _html_table((head, rows)))
    if "stages" in study:
        rows = [[s["stage"], s["seconds"], s["found"]] for s in study["stages"]]
        parts.append("<h2>Stages</h2>" + _html_table((("stage", "seconds", "found from an earlier run"), rows)))
    return "".join(parts)


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(str(h))}</th>" for h in table[0])
    body = "".join("<tr>" + "".join(_cell(v) for v in row) + "</tr>" for row in table[1])
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    if isinstance(value, float):
        shown = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"
        return f'<td class="n">{shown}</td>'
    return f"<td>{html.escape(str(value))}</td>"
