"""The component decides what a run decides when it learns the same; and no lost completion keeps a unit."""

import heapq
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vinesim as vs
from tests.live_replay import LEASE, recorded, replay
from tests.places_ahead import with_ahead
from tests.requests_scenarios import request_scenario
from tests.strategies import all_options
from vinesim.live.columns import is_endless
from vinesim.live.scheduler import Scheduler
from vinesim.policies.registry import policies

FOR_REQUESTS = ("symphony", "symphony_recommended", "fcfs", "edf", "edf_drop", "least_laxity", "deadline_consolidation")
FOR_TASKS = ("high", "flat", "pref", "closer_to_data", "delay", "earliest_finish")


@pytest.mark.parametrize("poll", [False, True], ids=["manager", "applications"])
@pytest.mark.parametrize("name", FOR_REQUESTS + FOR_TASKS)
def test_the_component_decides_as_the_run_does(name, poll, monkeypatch):
    choices, grants = all_options(policies()[name]), 0
    for seed in range(20):
        scenario = request_scenario(seed, name, choices[seed % len(choices)], gangs=name in FOR_REQUESTS)
        grants += replay(scenario, recorded(scenario, monkeypatch), poll)[1]
    assert grants > 250


@pytest.mark.parametrize("name", [*FOR_REQUESTS, "high", "pref", "delay", "earliest_finish"])
def test_it_does_so_where_units_take_tasks_ahead(name, monkeypatch):
    choices, grants = all_options(policies()[name]), 0
    for seed in range(20):
        scenario = with_ahead(request_scenario(seed, name, choices[seed % len(choices)], gangs=False), seed)
        grants += replay(scenario, recorded(scenario, monkeypatch))[1]
    assert grants > 250


NODES = """
datacenter: {racks: [{nodes: [{units: {E5620x2: 1, C2050: 2}, count: 3}]}]}
workload: {generator: requests, options: {duration_us: 60 s, spikes: 1}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("symphony", {}), ("symphony_recommended", {}), ("fcfs", {"consolidate": "yes"})]
)
def test_the_component_gives_the_table_of_the_compiled_engine(name, options, tmp_path):
    """The paper's four applications, with noise and bursts: unit and time of every request."""
    (tmp_path / "s.yaml").write_text(NODES)
    scenario = vs.changed(vs.read_scenario(tmp_path / "s.yaml"), policy=name, options=options)
    result = vs.simulate(scenario)
    work, outcome = scenario.workload, result.outcome
    scheduler = Scheduler.of(scenario, **LEASE)
    unit, init_us = np.full(work.n_tasks, -1), np.full(work.n_tasks, np.nan)
    events = [(float(time), 1, job) for job, time in enumerate(work.arrival_us)]
    heapq.heapify(events)
    while events:
        now_us, is_arrival, what = heapq.heappop(events)
        if is_arrival:
            scheduler.new_request(int(work.application[what]), now_us, float(work.operations[what]))
        else:
            assert scheduler.complete(what, now_us)
        if events and events[0][0] == now_us:
            continue
        while (grant := scheduler.can_issue(now_us)) is not None:
            for request in grant.requests:
                unit[request], init_us[request] = grant.places[0].unit, now_us
            heapq.heappush(events, (float(outcome.task_finish_us[grant.requests[0]]), 0, grant.id))
    assert work.n_tasks > 5000
    assert unit.tolist() == result.tasks["unit"].tolist()
    assert init_us.tobytes() == outcome.task_init_us.tobytes()


def test_an_application_may_register_late(monkeypatch):
    """In the middle of a run: the decisions are those of registering all at the start."""
    grants = 0
    for seed in range(30):
        name = FOR_REQUESTS[seed % len(FOR_REQUESTS)]
        scenario = request_scenario(seed, name)
        early = Scheduler.of(scenario, **LEASE)
        late = without_applications(scenario)
        running = []
        for job, now_us in enumerate(scenario.workload.arrival_us.tolist()):
            a = int(scenario.workload.application[job])
            code = [r.application.name for r in early._decider.registered].index(f"A{a}")
            size = float(scenario.workload.operations[scenario.workload.job_first[job]])
            while len(late._decider.registered) <= code:
                one = early._decider.registered[len(late._decider.registered)]
                late._decider.register(one.application, one.application.name, one.demand)
            assert early.new_request(code, now_us, size) == late.new_request(code, now_us, size)
            if job % 3 == 2 and running:
                grant = running.pop(0)
                assert early.complete(grant, now_us)
                assert late.complete(grant, now_us)
            while True:
                one, other = early.can_issue(now_us), late.can_issue(now_us)
                assert one == other
                if one is None:
                    break
                running.append(one.id)
                grants += 1
        assert early.load() == late.load()
    assert grants > 150


def without_applications(scenario):
    """A component of the same scenario without applications."""
    return Scheduler(
        scenario.datacenter,
        scenario.policy,
        affinity=scenario.affinity,
        overhead_us=scenario.overhead_us,
        task_types=scenario.workload.task_types,
        seed=scenario.seed,
        **LEASE,
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), name=st.sampled_from(FOR_REQUESTS), data=st.data())
def test_no_lost_completion_keeps_a_unit(seed, name, data):
    """Whatever completions are lost, come late, or come in parts: after the leases every unit is idle, each grant is
    complete or lost, and the history has those that were in time."""
    scenario = request_scenario(seed, name)
    scheduler = Scheduler.of(scenario, lease_factor=2.0, lease_floor_us=5.0)
    names = [r.application.name for r in scheduler._decider.registered]
    work, running, given_ids, complete, in_time = scenario.workload, [], set(), set(), 0
    for job, now_us in enumerate(work.arrival_us.tolist()):
        code = names.index(f"A{work.application[job]}")
        scheduler.new_request(code, now_us, float(work.operations[work.job_first[job]]))
        while (grant := scheduler.can_issue(now_us)) is not None:
            running.append(grant)
            given_ids.add(grant.id)
        if not running or data.draw(st.integers(0, 3)) == 0:
            continue
        grant = running.pop(data.draw(st.integers(0, len(running) - 1)))
        before = scheduler.load()
        is_late = now_us >= grant.lease_until_us
        reported = [scheduler.complete(grant.id, now_us, place.unit) for place in grant.places]
        assert reported == [not is_late] * len(reported)
        if is_late:
            assert scheduler.load() == before  # whoever is there now stays
            continue
        in_time += len(reported)
        complete.add(grant.id)
        with pytest.raises(vs.InputError, match="completed before"):
            scheduler.complete(grant.id, now_us)
    while True:
        while (grant := scheduler.can_issue(now_us)) is not None:
            given_ids.add(grant.id)
        if not scheduler.n_running:
            break
        now_us = scheduler.ask_again_us
    lost = [grant.id for grant in scheduler.expire(now_us)]
    assert len(lost) == len(set(lost)) == scheduler.n_lost
    assert complete | set(lost) == given_ids
    assert not complete & set(lost)
    assert set(scheduler.load().values()) == {0.0}
    assert scheduler.n_pending == 0
    assert not any(scheduler.complete(grant, now_us) for grant in lost)
    if name.startswith("symphony"):
        assert scheduler._decider.scratch.n_seen.sum() == in_time


FOR_JOBS = ("rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl", "easy_backfill", "conservative_backfill")


@pytest.mark.parametrize("name", FOR_JOBS)
def test_policies_with_queues_of_their_own_decide_as_in_the_run(name, monkeypatch):
    """They keep tasks that have ended until these come to the head of a queue."""
    grants = emptied = 0
    for seed in range(13):
        scenario = with_resources(request_scenario(seed, name, gangs=False), seed)
        scheduler, n = replay(scenario, recorded(scenario, monkeypatch))
        grants += n
        scheduler.expire(1e9)
        decider = scheduler._decider
        endless = [name for name, (_, size) in decider.policy.scratch.items() if is_endless(size)]
        kept = sum(len(getattr(decider.scratch, name)) for name in endless)
        assert kept == 0 or scheduler.n_pending
        emptied += not scheduler.n_pending
    assert grants > 150
    assert emptied > 5


def with_resources(scenario, seed):
    """The scenario's types provide cores or SMs, and its applications request some."""
    rng = np.random.default_rng(seed)
    center, work = scenario.datacenter, scenario.workload
    types = tuple(
        replace(one, attributes={"cores" if i % 2 == 0 else "sms": float(rng.integers(4, 9))})
        for i, one in enumerate(center.processor_types)
    )
    of_task = np.repeat(work.application, np.diff(work.job_first))
    requests = {name: rng.integers(0, 7, 20).astype(float)[of_task] for name in ("cores", "sms")}
    return replace(
        scenario, datacenter=replace(center, processor_types=types), workload=replace(work, requests=requests)
    )
