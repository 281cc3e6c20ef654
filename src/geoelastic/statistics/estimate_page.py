# SPDX-License-Identifier: Apache-2.0
"""An estimate as one page that needs nothing else: pictures side by side, what was found, and how to read it."""

from __future__ import annotations

import html
from typing import Any

from ..arrays import FloatArray
from ..figures.draw import pictures_png
from ..figures.page import report_page
from .estimate import Estimate
from .estimate_pictures import estimate_pictures

#: Groups of zones in the page's table, the largest first.
_ROWS = 40

_ABOUT = """<p>The reports were blurred on purpose, by a mechanism that is public and exactly known; the estimate takes
the blur out of totals. It is made from reports alone and tells nothing more about anybody than their reports did.</p>
<ul><li>The <b>estimate</b> is the best guess for each zone: reports and, where they cannot tell, the public guess.</li>
<li>The <b>intervals</b> are of groups of zones: what so many reports cannot tell apart is merged. They cover chance,
not a wrong idea of how people are spread inside a group; they may reach below 0, since their estimate is unbiased.</li>
<li>A small share is an estimate like any other: read its interval before you read it as people.</li></ul>"""


def estimate_page(estimate: Estimate, *, truth: FloatArray | None = None) -> str:
    """Reports, estimate, interval and, if it is known, truth, with a table of groups."""
    png = pictures_png(estimate_pictures(estimate, truth))
    sections = [
        ("Side by side", f"<p>{html.escape(_in_words(estimate, truth))}</p>", png),
        ("What these reports tell apart", _table(estimate), None),
        ("How to read it", _ABOUT, None),
    ]
    return report_page("How people were spread", sections, footer="Made from private reports by geoelastic.")


def _in_words(estimate: Estimate, truth: FloatArray | None) -> str:
    words = (
        f"{estimate.n:,.0f} people, {estimate.zones.n:,} zones in {estimate.groups.n:,} groups that their reports tell "
        f"apart; {estimate.elsewhere:.1%} of the people elsewhere."
    )
    if truth is None:
        return words
    raw, best = (abs(shares - truth).sum() / 2 for shares in (estimate.raw, estimate.shares))
    return f"{words} Total variation distance to the truth: reports {raw:.3f}, estimate {best:.3f}."


def _table(estimate: Estimate) -> str:
    rows = sorted(estimate.merged, key=lambda row: -row["share"])
    head = "<thead><tr><th>zones</th><th>share</th><th>95 % interval</th></tr></thead>"
    body = "".join(_row(row) for row in rows[:_ROWS])
    more = f"<p>and {len(rows) - _ROWS:,} smaller groups</p>" if len(rows) > _ROWS else ""
    return f"<table>{head}<tbody>{body}</tbody></table>{more}"


def _row(row: dict[str, Any]) -> str:
    cells = (html.escape(short_name(row["zones"])), f"{row['share']:.2%}", f"{row['low']:.2%} to {row['high']:.2%}")
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def short_name(names: list[str]) -> str:
    """A group of zones in a few words."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more zones"
