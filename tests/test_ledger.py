# SPDX-License-Identifier: Apache-2.0
"""Repeated use: both bounds, their inverses, and a ledger that loses nothing."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoelastic.accounts.accounting import best_costs, cost, level_within, reports_within, rho, rho_to_epsilon
from geoelastic.accounts.budget import Budget
from geoelastic.accounts.ledger import KEPT_HOURS, Account, Ledger, this_hour, updating
from geoelastic.errors import CheckError, FileError, InputError
from geoelastic.levels import LN2


def test_the_figures_of_the_theory() -> None:
    spent = cost(100, LN2, delta=1e-6)
    assert spent.pure == pytest.approx(69.3, abs=0.05)
    assert spent.concentrated == pytest.approx(24.2, abs=0.05)
    assert spent.best == spent.concentrated
    assert rho(1, 2.0) == 0.5
    assert rho(1, 2.0, exponent=1.0) == 2.0  # planar Laplace: epsilon²/2


def exact_renyi(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return math.log(float((p**alpha * q ** (1 - alpha)).sum())) / (alpha - 1)


@pytest.mark.parametrize("beta", [0.5, 0.7, 1.0])
def test_zcdp_bounds_the_exact_renyi_divergence_and_not_with_a_third_less(beta: float) -> None:
    """Exponential mechanisms on lines and stars: rho alpha is an upper bound for every alpha, and close to reached."""
    closest = 0.0
    for n, level in [(2, 0.3), (2, 1.0), (3, 0.5), (9, 2.0)]:
        distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * level / (n - 1)
        weights = np.exp(-beta * distance)
        k = weights / weights.sum(axis=1, keepdims=True)
        for alpha in (1.01, 2.0, 8.0, 50.0):
            reached, bound = exact_renyi(k[0], k[-1], alpha), rho(1, level, exponent=beta) * alpha
            assert reached <= bound + 1e-12
            closest = max(closest, reached / bound)
    assert closest > 0.66


@given(st.floats(1e-3, 50), st.integers(1, 10_000), st.floats(1e-12, 0.1), st.floats(0.5, 1))
def test_level_within_inverts_the_cost(budget: float, reports: int, delta: float, exponent: float) -> None:
    level = level_within(budget, reports, delta=delta, exponent=exponent)
    assert cost(reports, level * (1 - 1e-9), delta=delta, exponent=exponent).best <= budget
    assert cost(reports, level * (1 + 1e-9), delta=delta, exponent=exponent).best >= budget


@given(st.floats(0.1, 50), st.floats(0.01, 3), st.floats(1e-12, 0.1))
def test_reports_within_is_the_last_that_fits(budget: float, level: float, delta: float) -> None:
    n = reports_within(budget, level, delta=delta)
    assert n == 0 or cost(n, level, delta=delta).best <= budget
    assert cost(n + 1, level, delta=delta).best > budget


def test_costs_of_many_distances_are_those_of_each() -> None:
    levels = [0.0, 0.1, 2.0, math.inf]
    for reports in (0, 3, 500):
        each = [cost(reports, level).best for level in levels[:3]]
        np.testing.assert_allclose(best_costs(levels, reports), [*each, math.inf])


def test_no_report_costs_nothing() -> None:
    assert cost(0, 5.0).best == 0
    assert level_within(1.0, 0) == math.inf
    assert rho_to_epsilon(0.0) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: cost(-1, 1.0),
        lambda: cost(1, math.nan),
        lambda: cost(1, 1.0, delta=0),
        lambda: cost(1, 1.0, delta=math.nan),
        lambda: cost(1, 1.0, exponent=1.5),
        lambda: level_within(math.nan, 3),
        lambda: Account(fresh=-1),
        lambda: Ledger().charge("a", "m", fresh=-1),
        lambda: Ledger().charge("a", "m", fresh=1, exponent=math.nan),
        lambda: Ledger().accounts("nobody"),
    ],
)
def test_nonsense_is_refused(call: object) -> None:
    with pytest.raises(InputError, match="must be"):
        call()  # type: ignore[operator]


def test_ledger_adds_up_what_costs_and_only_that() -> None:
    ledger = Ledger()
    ledger.charge("ann", "elastic:a", fresh=3, repeated=40, fenced=7)
    ledger.charge("ann", "laplace", fresh=2, exponent=1.0)
    ledger.charge("bob", "elastic:a", repeated=5)
    spent = ledger.cost("ann", LN2)
    assert spent.reports == 5
    assert spent.pure == pytest.approx(5 * LN2)
    assert spent.rho == pytest.approx(3 * LN2**2 / 8 + 2 * LN2**2 / 2)
    assert ledger.cost("bob", LN2).best == 0
    assert ledger.level_within("bob", 1.0) == math.inf
    for budget in (0.5, 40.0):
        level = ledger.level_within("ann", budget)
        assert ledger.cost("ann", level).best == pytest.approx(budget)


def test_sticky_reports_are_fresh_once() -> None:
    ledger = Ledger()
    ledger.charge("ann", "m", tags=["a", "b", "a"])
    ledger.charge("ann", "m", tags=["b", "c"], fenced=1)
    ledger.charge("bob", "m", tags=["a"])
    account = ledger.users["ann"]["m"]
    assert (account.fresh, account.repeated, account.fenced) == (3, 2, 1)
    assert ledger.users["bob"]["m"].fresh == 1


@pytest.mark.parametrize("name", ["ledger.json", "ledger.parquet"])
def test_ledger_survives_the_disk(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert Ledger.load(path).users == {}
    with updating(path) as ledger:
        ledger.charge("ann", "elastic:a", fresh=3, repeated=1, fenced=2, exponent=0.6, tags=["a1", "b2"])
        ledger.charge('é, "b"', "laplace", fresh=1, exponent=1.0)
    assert Ledger.load(path).users == ledger.users
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(FileError, match="not a whole ledger"):
        Ledger.load(path)


def test_a_failed_update_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    with updating(path) as ledger:
        ledger.charge("ann", "m", fresh=1)
    with pytest.raises(InputError), updating(path) as ledger:
        [ledger.charge("ann", "m", fresh=fresh) for fresh in (1, -1)]
    assert Ledger.load(path).users["ann"]["m"].fresh == 1


def test_simultaneous_updates_are_all_counted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"

    def charge(_: int) -> None:
        with updating(path) as ledger:
            ledger.charge("ann", "m", fresh=1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(charge, range(40)))
    assert Ledger.load(path).users["ann"]["m"].fresh == 40


def test_the_file_holds_counts_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    with updating(path) as ledger:
        ledger.charge("ann", "m", fresh=1)
    (row,) = json.loads(path.read_text())["accounts"]
    assert set(row) == {"user", "mechanism", "fresh", "repeated", "fenced", "exponent", "tags", "hours", "blocks"}


def test_foreign_and_unwritable_files(tmp_path: Path) -> None:
    foreign = tmp_path / "other.json"
    foreign.write_text('{"format": "something", "version": 1, "accounts": []}')
    with pytest.raises(FileError, match="not a whole ledger"):
        Ledger.load(foreign)
    with pytest.raises(FileError, match="cannot be written"), updating(tmp_path / "none" / "ledger.json"):
        pass


def test_a_new_ledger_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask: at every moment, under its own name and under the temporary one."""
    path, seen = tmp_path / "ledger.json", []
    watched = {name: getattr(os, name) for name in ("fsync", "replace", "chmod", "open", "close")}

    def watching(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            result = watched[name](*args, **options)
            seen.extend(stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir())
            return result

        return call

    for name in watched:
        monkeypatch.setattr(os, name, watching(name))
    old = os.umask(0)
    try:
        with updating(path) as ledger:
            ledger.charge("ann", "m", fresh=1)
    finally:
        os.umask(old)
    assert len(seen) > 5
    assert set(seen) == {0o600}
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.json"]  # no lock, no temporary name


def test_an_older_ledger_counts_as_of_its_last_writing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    row = {"user": "ann", "mechanism": "m", "fresh": 3, "repeated": 0, "fenced": 0, "exponent": 0.5, "tags": []}
    path.write_text(json.dumps({"format": "geoelastic-ledger", "version": 1, "accounts": [row]}))
    assert Ledger.load(path).cost("ann", 1.0, since=this_hour() - 1).reports == 3
    os.utime(path, (0, 0))
    assert Ledger.load(path).cost("ann", 1.0, since=this_hour() - 1).reports == 0


@pytest.mark.parametrize(
    "change",
    [
        {"fresh": 10**400}, {"fresh": -1}, {"fresh": True}, {"fresh": 1.5}, {"exponent": "1"}, {"exponent": 10**400},
        {"user": 3}, {"mechanism": None}, {"tags": [1]}, {"tags": 7}, {"tags": None}, {"hours": [[1, 2], [1, 1]]},
        {"hours": [[1]]}, {"hours": [[1, 9]]}, {"hours": 5}, {"hours": [[-1, 1]]}, {"hours": [["1", 1]]},
        {"exponent": math.nan}, {"exponent": 0},
    ],
)  # fmt: skip
def test_damaged_accounts_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    row = {"user": "ann", "mechanism": "m", "fresh": 3, "repeated": 0, "fenced": 0, "exponent": 0.5, "tags": []}
    path = tmp_path / "ledger.json"
    head = {"format": "geoelastic-ledger", "version": 2}
    path.write_text(json.dumps(head | {"accounts": [row | {"hours": [[1, 3]]}]}))
    assert Ledger.load(path).users["ann"]["m"].fresh == 3
    path.write_text(json.dumps(head | {"accounts": [row | change]}))
    with pytest.raises(FileError, match="not a whole ledger"):
        Ledger.load(path)
    path.write_text(json.dumps(head | {"accounts": [row, row | {"fresh": 1}]}))  # which would hide two reports
    with pytest.raises(FileError, match="not a whole ledger"):
        Ledger.load(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' * 50_000, "null", "[]", "3", '{"format": 1e999}', ""])
def test_json_of_any_shape_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(FileError, match="not a whole ledger"):
        Ledger.load(tmp_path / "ledger.json")


def test_a_budget_holds_for_every_user_and_every_window() -> None:
    """Reports one by one until refused, against the definition: in every window of 24 hours, by the smaller bound."""
    budget = Budget(3.0, hours=24)
    allowed = reports_within(3.0, LN2)
    now, made = this_hour(), []
    for hour in range(now - 100, now + 1):
        ledger = Ledger()
        for when in made:
            ledger.charge("ann", "m", fresh=1, hour=when)
        ledger.charge("ann", "m", fresh=1, hour=hour)
        if ledger.cost("ann", LN2, since=hour - 24).best <= budget.most:
            made.append(hour)
    for first in range(now - 100, now + 1):
        assert sum(first <= when <= first + 24 for when in made) <= allowed
    assert len(made) > 2 * allowed  # the window moves on
    ledger = Ledger()
    for when in made:
        ledger.charge("ann", "m", fresh=1, hour=when)
    budget.require(ledger, ["ann"])
    ledger.charge("bob", "m", fresh=allowed)
    budget.require(ledger, ["ann", "bob"])
    ledger.charge("bob", "m", fresh=1)
    with pytest.raises(CheckError, match="1 of 2 users would cost"):
        budget.require(ledger, ["ann", "bob"])
    with pytest.raises(CheckError, match="in all"):
        Budget(3.0).require(ledger, ["ann"])


def test_hours_are_forgotten_after_a_year_and_totals_never() -> None:
    ledger, now = Ledger(), this_hour()
    ledger.charge("ann", "m", fresh=5, hour=now - 2 * KEPT_HOURS)
    ledger.charge("ann", "m", fresh=2, hour=now)
    account = ledger.users["ann"]["m"]
    assert (account.fresh, dict(account.hours)) == (7, {now: 2})


@pytest.mark.parametrize(
    "options", [{"most": 0}, {"most": math.nan}, {"most": 1, "hours": 0}, {"most": 1, "level": -1}]
)
def test_a_budget_must_make_sense(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be"):
        Budget(**options)
