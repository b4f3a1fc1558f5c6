"""The index of ``delay``: the same schedule as a look at every waiting group, from a look at a few tasks."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import vinesim as vs
from tests.properties.any_scenario import any_scenario
from tests.strategies import Limits, all_options, seeded_scenario
from vinesim.policies.online import waiting
from vinesim.policies.online.delay import Delay
from vinesim.state.queries import (
    arrival_us,
    fastest_free,
    first_free,
    next_pending,
    oldest_pending,
    preferred_type,
    start,
    wait_until,
)


@dataclass(frozen=True)
class EveryGroup(Delay):
    """The slow twin."""

    name = "every_group"
    scratch = {}  # noqa: RUF012

    @staticmethod
    def decide(model, state, view):
        until_us = float("inf")
        task = oldest_pending(model, state)
        while task >= 0:
            expiry_us = arrival_us(model, state, task) + view.options.wait_us
            if expiry_us <= view.now_us:
                unit = fastest_free(model, state, task)
            elif view.options.wait_for.type:
                unit = first_free(model, state, task, preferred_type(model, state, task))
            else:
                unit = first_free(model, state, task, -1, 0)
                if unit < 0 and view.options.wait_for.rack:
                    unit = first_free(model, state, task, -1, 1)
            if unit >= 0:
                return start(task, unit)
            if expiry_us > view.now_us:
                until_us = min(until_us, expiry_us)
            task = next_pending(model, state, task)
        return wait_until(until_us)


@pytest.mark.filterwarnings("ignore::vinesim.InputWarning")  # ill-ordered networks are meant
def test_the_schedule_is_that_of_a_look_at_every_group():
    """Any scenarios, every second one with tasks that take whole units; outages and requests included."""
    choices, whole, outages = all_options(Delay), 0, 0
    for seed in range(160):
        case = any_scenario(seed, Delay, choices[seed % len(choices)])
        if seed % 2 == 0:
            work = replace(case.workload, demand=np.full(case.workload.n_tasks, np.inf))
            case, whole = replace(case, workload=work), whole + 1
        outages += bool(case.outages)
        assert_as_slow_twin(case, seed)
    assert whole == 80
    assert outages > 16


@pytest.mark.filterwarnings("ignore::vinesim.InputWarning")  # ill-ordered networks are meant
def test_the_schedule_is_that_of_a_look_at_every_group_where_jobs_are_withdrawn():
    """Tasks take whole units, and end early in other ways too."""
    choices, withdrawals = all_options(Delay), 0
    for seed in range(100):
        case = seeded_scenario(seed, Delay, choices[seed % len(choices)], Limits(outages=seed % 2 == 0, early=True))
        work = replace(case.workload, demand=np.full(case.workload.n_tasks, np.inf))
        withdrawals += work.withdraw_us is not None
        assert_as_slow_twin(replace(case, workload=work), seed)
    assert withdrawals > 25


def assert_as_slow_twin(case, seed):
    slow = replace(case, policy=EveryGroup.from_options(case.options), options={})
    try:
        done, expected = (vs.simulate(one, engine="reference").outcome for one in (case, slow))
    except vs.InputError:
        return
    for name in ("task_unit", "task_init_us", "task_finish_us"):
        assert getattr(done, name).tobytes() == getattr(expected, name).tobytes(), (seed, name)
    assert done.n_events == expected.n_events, seed


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize(
    ("withdraw_us", "start_us"),
    [
        ((np.inf, 3.0, np.inf), (0.0, np.nan, 10.0)),  # it waits, and is the oldest that does
        ((5.0, np.inf, np.inf), (0.0, 5.0, 15.0)),  # it runs, and leaves its unit to the oldest that waits
    ],
    ids=["waits", "runs"],
)
def test_a_withdrawn_job_leaves_the_queue_and_its_unit(engine, withdraw_us, start_us):
    """Three jobs of 10 us prefer the type of the first unit; the second one stays idle. The second job is of another
    task type."""
    work = vs.Workload([0, 1, 0], np.arange(4), [0.0, 1.0, 2.0], np.full(3, 10.0), *np.zeros((4, 3)),
                       withdraw_us=withdraw_us, task_types=(vs.TaskType("A"), vs.TaskType("B")))  # fmt: skip
    center = vs.Datacenter([0, 1], [0, 0], [0, 1], (vs.ProcessorType("P"), vs.ProcessorType("Q")))
    case = vs.Scenario(center, work, policy="delay", affinity=np.ones((2, 2)))
    np.testing.assert_array_equal(vs.simulate(case, engine=engine).outcome.task_init_us, start_us)


def waiting_for_nodes(n_nodes, options):
    """Two tasks for each node of one unit, in random order: half of them wait, each in its own group."""
    n, node = 2 * n_nodes, np.random.default_rng(5).permutation(np.repeat(np.arange(n_nodes), 2))
    work = vs.Workload(
        np.full(n, 2), np.arange(n + 1), np.arange(n) * 1e-3, np.arange(n) * 1e3 + 30e6, np.full(n, 1e3), node,
        node * 0, [-1] * n,
    )  # fmt: skip
    center = vs.Datacenter(np.full(n_nodes, 2), np.arange(n_nodes), np.zeros(n_nodes, int))
    return vs.Scenario(center, work, policy="delay", options=options)


@pytest.mark.parametrize("wait_for", ["type", "node", "rack"])
def test_a_decision_looks_at_as_many_tasks_however_many_wait(wait_for, monkeypatch):
    looked = 0

    def counted(query):
        def ask(*arguments):
            nonlocal looked
            looked += 1
            return query(*arguments)

        return ask

    for name in ("first_free", "fastest_free", "first_pending"):
        monkeypatch.setattr(waiting, name, counted(getattr(waiting, name)))
    per_task = []
    for n_nodes in (20, 200):
        looked = 0
        vs.simulate(waiting_for_nodes(n_nodes, {"wait_for": wait_for, "wait_us": 1e9}), engine="reference")
        per_task.append(looked / (2 * n_nodes))
    assert 0.0 < per_task[1] <= 1.5 * per_task[0] < 20.0
