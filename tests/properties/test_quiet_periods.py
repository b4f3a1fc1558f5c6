"""Periods of a batch policy in which nothing can change are counted, not run: what comes out is as if all were run."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.overcommit import PileInBatches
from tests.policies.kinds.periodic import PeriodicFirstFit
from tests.policies.kinds.repack import Repack
from tests.policies.test_placing import SECOND, case, servers
from tests.properties.equivalence import LIMITS
from tests.strategies import Limits, all_options, seeded_scenario
from vinesim.engine.periods import PeriodClock
from vinesim.metrics import periods as period_accounts
from vinesim.metrics.numbers import flat
from vinesim.model.accounting import Accounting
from vinesim.model.electricity import Electricity, Series
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.placement.placing import Placing
from vinesim.policies.registry import policies

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
PERIODIC = {name: policy for name, policy in policies().items() if issubclass(policy, BatchPolicy)}
KINDS = [*PERIODIC.values(), PileInBatches, PeriodicFirstFit, Repack]
ENERGIES = ("run_time", "eq1xT", "eq2")


def run(scenario, *, every=False):
    """The result, and how often the policy was called; with ``every``, all periods are run."""
    asked = 0
    original, answer = PeriodClock._periods_until, PeriodClock._answer

    def counting(self, tasks, servers):
        nonlocal asked
        asked += 1
        return answer(self, tasks, servers)

    PeriodClock._answer = counting
    PeriodClock._periods_until = (lambda *_: 0) if every else original
    try:
        return vs.simulate(scenario, engine="reference"), asked
    finally:
        PeriodClock._periods_until, PeriodClock._answer = original, answer


def assert_same(quiet, naive):
    """Tasks and rows to the bit; sums over many periods but for rounding."""
    assert quiet.exit_reason == naive.exit_reason
    for name, column in naive.tasks.items():
        assert column.tobytes() == quiet.tasks[name].tobytes(), name
    for name, column in naive.periods.items():
        assert column.tobytes() == quiet.periods[name].tobytes(), name
    for name, column in naive.units.items():
        assert quiet.units[name] == pytest.approx(column, rel=1e-9, nan_ok=True), name
    assert numbers(quiet) == pytest.approx(numbers(naive), nan_ok=True)


def numbers(result):
    """All of the summary but how the run went."""
    return {
        k: np.nan if v is None else v
        for k, v in flat(result.summary)
        if k.split(".")[0] not in ("provenance", "exit_reason")
    }


@pytest.mark.parametrize("policy", KINDS, ids=[policy.name for policy in KINDS])
def test_the_result_is_as_if_every_period_was_run(policy):
    choices, fewer = all_options(policy), 0
    for seed in range(12):
        period_us = (0.3, 0.11, 1.0, 2.3)[seed % 4]
        options = choices[seed % len(choices)]
        scenario = seeded_scenario(seed, policy, options, replace(LIMITS.get(policy, Limits()), jobs=6))
        shares_speed = any((p.parallelism or p.capacity) < p.capacity for p in scenario.datacenter.processor_types)
        counted = Accounting(ENERGIES[seed % (2 if shares_speed else 3)], wake_up_j=0.5, migration_j=0.25)
        price = Electricity(Series([0.0, 3.0], [1.0, 5.0], 7.0))
        end_us = min(scenario.horizon_us, 60 * period_us)
        scenario = replace(scenario, accounting=counted, electricity=price, horizon_us=end_us, period_us=period_us)
        (quiet, n_asked), (naive, n_periods) = run(scenario), run(scenario, every=True)
        assert_same(quiet, naive)
        fewer += n_asked < n_periods
    assert fewer > 5


@pytest.mark.parametrize("name", PERIODIC)
def test_a_run_of_very_many_periods_ends(name):
    """10^12 periods: a server sleeps or is active, and its energy is that of two periods a million times as long."""
    tasks = [(0, 1e6, 10), (0, 0.4e6, 20), (3e5, 2e4, 5)]

    def reported(period_s):
        one = case(servers({}, {"dynamic_power_w": 1.3}, capacity=200.0), tasks, name, period_us=period_s * SECOND)
        return run(one)

    (fine, n_asked), (coarse, _) = reported(1e-6), reported(1.0)
    assert n_asked < 1000
    assert fine.summary["periods"]["count"] == 1e12
    assert fine.exit_reason == "ALL_DONE"
    assert fine.periods.n_rows < 100
    assert fine.tasks["finish_us"].tolist() == [1e12, 0.4e12, 0.32e12]
    assert fine.summary["energy_j"] == pytest.approx(coarse.summary["energy_j"], rel=1e-4)
    assert fine.summary["periods"]["n_periods" if False else "count"] == fine.periods["n_periods"].sum()
    assert fine.units["active_us"].sum() == pytest.approx(coarse.units["active_us"].sum(), rel=1e-4)


def test_alike_periods_share_a_row_where_there_are_too_many(monkeypatch):
    """The sums of the columns, and what the energy costs, are those of a row a period."""
    price = Electricity(Series([0.0, 30e6], [1.0, 5.0], 50e6))
    one = case(servers({}, capacity=200.0), [(0, 95, 10), (40, 95, 30)], "bf", period_us=SECOND, electricity=price)
    wide = vs.simulate(one, engine="reference")
    assert wide.periods["n_periods"].tolist() == [1] * 135
    monkeypatch.setattr(period_accounts, "MAX_ROWS", 100)
    narrow = vs.simulate(one, engine="reference")
    assert narrow.periods.n_rows < 20
    begin, n = narrow.periods["period"], narrow.periods["n_periods"]
    assert begin.tolist() == np.r_[0, np.cumsum(n)[:-1]].tolist()
    assert np.repeat(narrow.periods["active"], n).tolist() == wide.periods["active"].tolist()
    for name in ("energy_j", "slav", "bound_j"):
        assert np.repeat(narrow.periods[name] / n, n) == pytest.approx(wide.periods[name])
    assert numbers(narrow) == pytest.approx(numbers(wide), nan_ok=True)


@pytest.mark.parametrize("name", [name for name, policy in PERIODIC.items() if policy.steady])
def test_a_steady_policy_leaves_tasks_where_they_are_in_between(name):
    """Asked for the tasks of a run at three times: if the first and the last answer leave them, so does the middle."""
    for seed in range(60):
        random, choices = np.random.default_rng(seed), all_options(PERIODIC[name])
        options = choices[seed % len(choices)]
        policy = PERIODIC[name].from_options(options)
        if not policy.replaces_running:
            continue
        tasks, units = running(random)
        times = np.sort(random.uniform(0.0, float(tasks.remaining_us.min()), 12))
        found = [policy.place(tasks._replace(remaining_us=tasks.remaining_us - t), units).tolist() for t in times]
        for i, first in enumerate(found):
            for k in range(i + 2, len(found)):
                assert found[k] != first or all(other == first for other in found[i:k]), (seed, options)


def running(random):
    """Tasks that all run, on servers that differ in everything."""
    from tests.properties.test_placement import question

    tasks, units = question(int(random.integers(2**31)), n_servers=8, n_tasks=12, loaded=False)
    n = len(tasks.task)
    remaining = random.choice([5.0, 20.0, 100.0, 300.0], n) + random.uniform(0, 1, n)
    return tasks._replace(unit=np.zeros(n, np.int32), remaining_us=remaining), units._replace(
        period_us=10.0,
        dynamic_power_w=random.choice([1.0, 1.2, 1.4], 4),
        idle_power_w=random.choice([6.0, 60.0, 79.0, 300.0], 4),
    )


# --- policies that promise nothing ---


@dataclass(frozen=True)
class ToTheShortestTime(Placing):
    """Not steady: tasks with an odd number of whole periods left go to the last server."""

    name: ClassVar[str] = "test_odd"
    steady: ClassVar[bool] = False

    def place(self, tasks, servers):
        left = np.nan_to_num(tasks.remaining_us) // servers.period_us
        return np.where(left % 2 == 1, len(servers.load) - 1, 0)


def test_a_policy_that_is_not_steady_is_asked_every_period():
    types = servers({}, {}, capacity=200.0)
    one = case(types, [(0, 95, 10)], ToTheShortestTime, accounting=Accounting(migration_j=1))
    reported, n_asked = run(one)
    assert n_asked == 10
    assert reported.summary["energy"]["by_state"]["migration"] == 8
    assert "steady" in {item for item in vars(BatchPolicy) if not item.startswith("_")}
    assert "steady" not in {item.name for item in fields(BatchPolicy)}
    with pytest.raises(vs.InputError, match="at most 10,000,000 periods from one event to the next, because test_odd"):
        vs.simulate(replace(one, period_us=1.0), engine="reference")


def test_the_energy_of_equation_2_is_counted_in_every_period():
    one = case(servers({}, capacity=200.0), [(0, 95, 10)], "bf", accounting=Accounting("eq2"))
    reported, _ = run(one)
    assert len(set(reported.periods["energy_j"])) == 10
    with pytest.raises(vs.InputError, match="for the accounting eq2"):
        vs.simulate(replace(one, period_us=1.0), engine="reference")


@pytest.mark.parametrize("arrival_s", [0.0, 1e9])
def test_a_period_that_the_clock_cannot_tell_apart_is_refused(arrival_s):
    one = case(servers({}, capacity=200.0), [(arrival_s, 1e9, 10)], "bf", period_us=0.01)
    with pytest.raises(vs.InputError, match="a period that advances the clock at 1e"):
        vs.simulate(one, engine="reference")


def test_the_energy_of_equation_2_needs_to_know_the_time_left():
    """On units that share their speed nobody does: the energy would be infinite."""
    types = servers({"parallelism": 2.0}, capacity=200.0)
    one = case(types, [(0, 95, 10)], "bf", {"realloc": "new"}, accounting=Accounting("eq2"))
    with pytest.raises(
        vs.InputError, match=r"accounting.energy: expected run_time or eq1xT: the remaining time .*'eq2'"
    ):
        vs.simulate(one, engine="reference")
    assert np.isfinite(vs.simulate(replace(one, accounting=Accounting()), engine="reference").summary["energy_j"])
