"""The index of backfilling: it finds the unit that a look at all units finds, and it looks at few of them."""

import math

import numpy as np
import pytest

import vinesim as vs
from tests.properties.any_scenario import any_scenario
from tests.properties.equivalence import run
from vinesim.policies.backfill import conservative, easy, profile
from vinesim.policies.backfill.base import is_begin
from vinesim.policies.registry import policies
from vinesim.state.build import build_model
from vinesim.state.queries import fits

BOTH = pytest.mark.parametrize("name", ["easy_backfill", "conservative_backfill"])


def begins(model, state, scratch, task, now_us, latest_us):
    """(begin, expected end, unit) of all units on which the task can begin."""
    for unit in range(len(model.unit_type)):
        begin_us = profile.begin_on(model, state, scratch, task, unit, now_us, latest_us)
        if begin_us <= latest_us and begin_us < math.inf:
            yield begin_us, begin_us + profile.takes_us(model, state, scratch, task, unit), unit


def check_earliest(asked):
    def earliest_begin(model, state, scratch, task, now_us):
        found = indexed_earliest(model, state, scratch, task, now_us)
        best = min(begins(model, state, scratch, task, now_us, math.inf), default=(math.inf, math.inf, -1))
        assert found == (best[2], best[0])
        asked.append(found)
        return found

    indexed_earliest = profile.earliest_begin
    return earliest_begin


def check_now(asked):
    def unit_now(model, state, scratch, task, now_us):
        found = indexed_now(model, state, scratch, task, now_us)
        scan = begins(model, state, scratch, task, now_us, now_us)
        needs = [
            (profile.takes_us(model, state, scratch, task, unit), unit)
            for _, _, unit in scan
            if fits(model, state, task, unit)
        ]
        assert found == min(needs, default=(0.0, -1))[1]
        asked.append(found)
        return found

    indexed_now = profile.unit_now
    return unit_now


def check_begin(asked):
    def next_begin(model, state, scratch, now_us):
        found = indexed_begin(model, state, scratch, now_us)
        due = [
            unit
            for unit in range(len(model.unit_type))
            if any(is_begin(change) for change in changes_until(scratch, unit, now_us))
        ]
        if not due:
            assert found == (-1, -1)
        asked.append(due)
        return found

    indexed_begin = conservative.next_begin
    return next_begin


def changes_until(scratch, unit, now_us):
    change = int(scratch.change_first[unit])
    while change > 0 and scratch.change_us[change - 1] <= now_us:
        yield change
        change = int(scratch.change_next[change - 1])


@BOTH
@pytest.mark.filterwarnings("ignore::vinesim.InputWarning")  # ill-ordered networks are meant
def test_the_index_finds_what_a_look_at_all_units_finds(name, monkeypatch):
    asked, earliest = [], []
    for module in (easy, conservative):
        monkeypatch.setattr(module, "earliest_begin", check_earliest(earliest))
        monkeypatch.setattr(module, "unit_now", check_now(asked))
    monkeypatch.setattr(conservative, "next_begin", check_begin([]))
    for seed in range(60):
        run(any_scenario(seed, policies()[name], {}), "reference")
    assert len(earliest) > 100
    assert name != "easy_backfill" or len(asked) > 100


def looks(name, n_units, monkeypatch):
    """How many units' profiles a run of 200 tasks looks at: half of the tasks run only on the units of one type."""
    n = 200
    work = vs.Workload(
        np.arange(n) % 4 > 0, np.arange(n + 1), np.arange(n) / n_units, np.full(n, 5.0), *np.zeros((3, n)),
        np.full(n, -1), task_types=(vs.TaskType("A"), vs.TaskType("B")),
    )  # fmt: skip
    types = (vs.ProcessorType("P"), vs.ProcessorType("Q"))
    center = vs.Datacenter(np.arange(n_units) % 2, np.zeros(n_units, int), np.arange(n_units), types)
    seen = []
    begin_on = profile.begin_on

    def counted(*arguments):
        seen.append(arguments)
        return begin_on(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(profile, "begin_on", counted)
        vs.simulate(vs.Scenario(center, work, name, affinity=[[1.0, 0.0], [0.0, 1.0]]), engine="reference")
    return len(seen)


@BOTH
def test_a_decision_looks_at_few_units_however_many_there_are(name, monkeypatch):
    assert looks(name, 160, monkeypatch) < 1.5 * looks(name, 20, monkeypatch)


def test_tasks_that_take_whole_units_are_tried_once_a_group(monkeypatch):
    """A task that needs the busy unit waits; 100 equal ones behind it are not tried."""
    n = 101
    work = vs.Workload(
        np.r_[np.zeros(n), [1]].astype(int), np.arange(n + 2), np.r_[np.zeros(n), 1.0], np.full(n + 1, 50.0),
        *np.zeros((3, n + 1)), np.full(n + 1, -1), task_types=(vs.TaskType("A"), vs.TaskType("B")),
    )  # fmt: skip
    types = (vs.ProcessorType("P"), vs.ProcessorType("Q"))
    center = vs.Datacenter([0, 1], [0, 0], [0, 1], types)
    tried, unit_now = [], easy.unit_now
    monkeypatch.setattr(easy, "unit_now", lambda *arguments: tried.append(arguments) or unit_now(*arguments))
    case = vs.Scenario(center, work, "easy_backfill", affinity=[[1.0, 0.0], [0.0, 1.0]])
    assert vs.simulate(case, engine="reference").tasks["init_us"][n] == 1.0
    assert len(tried) < 10 * n


def test_every_unit_is_in_one_range_of_distance():
    center = vs.Datacenter(np.zeros(12, int), np.arange(12) // 4, np.arange(12) % 4 // 2)
    work = vs.Workload(
        [0, 0], [0, 1, 2], [0.0, 0.0], [1.0, 1.0], [8.0, 8.0], np.array([1, 0]), np.array([1, 0]), [-1, -1]
    )
    model = build_model(vs.Scenario(center, work, "high"))
    for task in (0, 1):
        ranges = [profile.range_of(model, task, i) for i in range(profile.n_ranges(model))]
        assert sorted(unit for low, high in ranges for unit in range(low, high)) == list(range(12))


def test_where_units_are_idle_no_busy_unit_is_looked_at(monkeypatch):
    """Jobs of five tasks on many idle units: what a job's first tasks have reserved is no reason to look further."""
    looked, noted, to_be_indexed = [], set(), profile.to_be_indexed
    monkeypatch.setattr(profile, "look_among", lambda *arguments: looked.append(arguments))
    monkeypatch.setattr(profile, "to_be_indexed", lambda scratch, unit: noted.add(unit) or to_be_indexed(scratch, unit))
    n = 20
    operations, nothing = np.full(5 * n, 30e6), np.zeros((3, 5 * n))
    work = vs.Workload(
        np.full(n, 2), np.arange(0, 5 * n + 1, 5), np.arange(n) * 7.0, operations, *nothing, [-1] * 5 * n
    )
    units = np.arange(200)
    center = vs.Datacenter(np.zeros(200, int), units // 10, units % 10)
    done = vs.simulate(vs.Scenario(center, work, policy="conservative_backfill"), engine="reference").outcome
    assert (done.task_unit >= 0).all()
    assert not looked
    assert noted == set(done.task_unit.tolist())
