# SPDX-License-Identifier: Apache-2.0
"""Progress in a log: lines that say how far it is, and what is left at the pace so far."""

from __future__ import annotations

import pytest

from geoelastic import progress
from geoelastic.progress import progress_bar


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress_bar("heights", 400, show=True) as bar:
        for seconds, done in ((10.0, 10), (40.0, 100), (45.0, 110), (80.0, 200), (160.0, 400)):
            now[0] = 100.0 + seconds
            bar.update(done, note="pass 1")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "heights: 25% after 0:00:40, about 0:02:00 left (pass 1)",
        "heights: 50% after 0:01:20, about 0:01:20 left (pass 1)",
        "heights: 100% after 0:02:40",
    ]


def test_nothing_is_said_unless_asked_for_or_if_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("heights", 4, show=False) as bar:
        bar.update(4)
    with pytest.raises(KeyError), progress_bar("heights", 4, show=True):
        raise KeyError
    assert capsys.readouterr().err == ""
