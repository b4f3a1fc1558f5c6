"""The index of ``earliest_completion``: the same schedule as a look at every unit, from a look at a few."""

import math
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.properties.any_scenario import any_scenario
from vinesim.policies.online import earliest_completion, ready
from vinesim.policies.online.earliest_completion import EarliestCompletion


def look_at_every_unit(model, state, scratch, task, now_us):
    """The slow twin of ``first_to_finish``."""
    best, best_us = -1, math.inf
    for unit in range(len(model.unit_type)):
        end_us = ready.end_on_us(model, state, scratch, task, unit, now_us)
        if end_us < best_us:
            best, best_us = unit, end_us
    return best


@pytest.mark.filterwarnings("ignore::vinesim.InputWarning")  # ill-ordered networks are meant
def test_the_schedule_is_that_of_a_look_at_every_unit(monkeypatch):
    """Any scenarios with tasks that take whole units, every fourth with all jobs at once: many units tie."""
    outages = late = n_tasks = 0
    for seed in range(160):
        case = any_scenario(seed, EarliestCompletion, {})
        work = replace(case.workload, demand=np.full(case.workload.n_tasks, np.inf))
        if seed % 4 == 0:
            work = replace(work, arrival_us=work.arrival_us * 0.0, deadline_us=None)
        if seed % 3 == 0:
            withdraw = work.arrival_us + np.random.default_rng(seed).choice([np.inf, 0.0, 4.0, 9.0], work.n_jobs)
            work = replace(work, withdraw_us=withdraw)
        case = replace(case, workload=work)
        outages, late = outages + bool(case.outages), late + (work.time_factor is not None)
        try:
            done = vs.simulate(case, engine="reference").outcome
        except vs.InputError:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(earliest_completion, "first_to_finish", look_at_every_unit)
            expected = vs.simulate(case, engine="reference").outcome
        for name in ("task_unit", "task_init_us", "task_finish_us"):
            assert getattr(done, name).tobytes() == getattr(expected, name).tobytes(), (seed, name)
        assert done.n_events == expected.n_events, seed
        n_tasks += work.n_tasks
    assert min(outages, late) > 16
    assert n_tasks > 800


def one_after_another(withdraw_us, takes_us=(10.0, 10.0, 10.0, 10.0), arrival_us=(0.0, 0.0, 0.0, 9.0), **more):
    """When each of four jobs starts on two units, of which it needs a whole one or a share."""
    n = len(takes_us)
    work = vs.Workload(np.zeros(n), np.arange(n + 1), arrival_us, takes_us, *np.zeros((3, n)), np.full(n, -1),
                       withdraw_us=withdraw_us, task_types=(vs.TaskType("T"),), **more)  # fmt: skip
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (vs.ProcessorType("U"),))
    scenario = vs.Scenario(center, work, "earliest_completion", affinity=[[1.0]])
    found = [vs.simulate(scenario, engine=engine).tasks["init_us"].tolist() for engine in ("reference", "compiled")]
    assert np.array_equal(*found, equal_nan=True)
    return found[0]


def test_the_queue_of_a_unit_goes_on_when_tasks_are_withdrawn():
    never, nan = np.inf, math.nan
    assert one_after_another([never] * 4) == [0.0, 0.0, 10.0, 10.0]
    assert one_after_another([4.0, never, never, never]) == [0.0, 0.0, 4.0, 10.0]  # it ran: the next one starts at once
    found = one_after_another([never, never, 5.0, never])  # it waited: the unit is the first to be ready again
    assert found == pytest.approx([0.0, 0.0, nan, 10.0], nan_ok=True)
    takes, arrival = (10.0, 30.0, 10.0, 5.0), (0.0, 0.0, 1.0, 2.0)
    assert one_after_another([never] * 4, takes, arrival) == [0.0, 0.0, 10.0, 20.0]
    found = one_after_another([never, never, 3.0, never], takes, arrival)  # from before another one in the queue
    assert found == pytest.approx([0.0, 0.0, nan, 10.0], nan_ok=True)


def test_several_tasks_start_where_one_that_is_withdrawn_left_enough():
    found = one_after_another(
        [4.0, np.inf, np.inf, np.inf], (10.0, 99.0, 5.0, 5.0), [0.0] * 4, demand=[1.0, 1.0, 0.5, 0.5]
    )
    assert found == [0.0, 0.0, 4.0, 4.0]


def busy(n_units):
    """Three tasks of different lengths for each unit; arrivals far closer than ends."""
    rng, n = np.random.default_rng(6), 3 * n_units
    work = vs.Workload(
        np.full(n, 2), np.arange(n + 1), np.arange(n) * 1e-3, rng.uniform(15e6, 45e6, n), *np.zeros((3, n)), [-1] * n
    )
    units = np.arange(n_units)
    return vs.Scenario(vs.Datacenter(units % 2 * 2, units // 10, units % 10), work, policy="earliest_completion")


def at_once(n_units):
    """The same with equal tasks that all arrive at once, so that units tie."""
    case = busy(n_units)
    n = case.workload.n_tasks
    work = replace(case.workload, arrival_us=np.zeros(n), operations=np.full(n, 30e6))
    return replace(case, workload=work)


@pytest.mark.parametrize("scenario", [busy, at_once])
def test_an_arrival_looks_at_as_many_units_however_many_there_are(monkeypatch, scenario):
    looked, exact = 0, ready.end_on_us

    def counted(*arguments):
        nonlocal looked
        looked += 1
        return exact(*arguments)

    monkeypatch.setattr(ready, "end_on_us", counted)
    per_task = []
    for n_units in (20, 200):
        looked = 0
        vs.simulate(scenario(n_units), engine="reference")
        per_task.append(looked / (3 * n_units))
    assert 0.0 < per_task[1] <= 1.5 * per_task[0] < 30.0
