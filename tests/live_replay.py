"""Record the events and decisions of a run on the reference engine, and replay them to the live component."""

from typing import Any

import vinesim as vs
from vinesim.engine import reference, reference_run
from vinesim.engine.simulate import unit_order_of
from vinesim.live.scheduler import Scheduler
from vinesim.model.streams import stream_seed
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model
from vinesim.state.layout import NO_EVENTS
from vinesim.state.queries import more_at_once

LEASE = {"lease_factor": 0.0, "lease_floor_us": 1e15}


def recorded(scenario: vs.Scenario, monkeypatch: Any) -> list[tuple[Any, ...]]:
    """("arrive", time, job), ("finish", time, leading task), ("start", time, [(tasks, unit), ...] by gang member),
    ("drop", time, tasks), and ("nothing", time) where the policy had all of an instant before it and started nothing;
    in the order of the run."""
    policy = resolve(scenario.policy, scenario.options)
    model = build_model(scenario, policy.groups, unit_order_of(policy, scenario))
    run = reference_run.ReferenceRun(scenario, model, policy, policy, stream_seed(scenario.seed, "policy"))
    record: list[tuple[Any, ...]] = []

    def finish(state, _finish=reference.finish):
        found = _finish(state)  # event, task, unit
        record.append(("finish", state.now_us, found[1]))
        return found

    def arrive(state, _arrive=reference.arrive):
        job = _arrive(state)
        record.append(("arrive", state.now_us, job))
        return job

    def decide(model, state, view):
        action = policy.decide(model, state, view)
        if action.task >= 0:
            group = [t for t in state.pending if state.group_of(t) == state.group_of(action.task)]
            tasks = group[: action.n_tasks] if action.n_tasks > 1 else [action.task]
            if action.n_tasks == 0:
                record.append(("drop", view.now_us, tasks))
            else:
                rows = model.unit_order[list(state.place_of(action.task, action.unit).values())].tolist()
                parts = [([task + member for task in tasks], row) for member, row in enumerate(rows)]
                record.append(("start", view.now_us, parts))
        elif not more_at_once(model, state):
            record.append(("nothing", view.now_us))
        return action

    monkeypatch.setattr(reference, "finish", finish)
    monkeypatch.setattr(reference, "arrive", arrive)
    run.decide = decide
    while run.advance(float("inf"), float("inf"), 1000) != NO_EVENTS:
        pass
    monkeypatch.undo()
    return record


def replay(scenario: vs.Scenario, record: list[tuple[Any, ...]], poll: bool = False) -> tuple[Scheduler, int]:
    """Give a component what a run saw, and demand that it decides the same. With ``poll`` each application asks
    for itself. Returns the component and how many grants it gave."""
    scheduler = Scheduler.of(scenario, **LEASE)
    work = scenario.workload
    codes = {r.application.name: a for a, r in enumerate(scheduler._decider.registered)}
    handle = [codes.get(name, -1) for name in work.application_names]
    request_of = {}  # job of the scenario -> request of the component
    running = {}  # leading task -> (grant, unit)
    started = 0
    queue = list(record)
    while queue:
        kind, now_us, *what = queue.pop(0)
        if kind == "arrive":
            job = what[0]
            size = float(work.operations[work.job_first[job] : work.job_first[job + 1]].max())
            request_of[job] = scheduler.new_request(handle[work.application[job]], now_us, size)
        elif kind == "finish":
            grant, unit = running.pop(what[0])
            assert scheduler.complete(grant, now_us, unit)
        elif kind == "nothing":
            assert asked(scheduler, now_us, poll) is None
        elif kind == "start":
            parts = what[0]
            jobs = work.job_first.searchsorted(parts[0][0], "right") - 1
            grant = asked(scheduler, now_us, poll)
            assert grant is not None
            assert grant.requests == tuple(request_of[j] for j in jobs.tolist())
            assert [place.unit for place in grant.places] == [unit for _, unit in parts]
            assert grant.issued_us == now_us
            assert grant.application == handle[work.application[jobs[0]]]
            for tasks, unit in parts:
                running[tasks[0]] = (grant.id, unit)
            started += 1
        elif not queue or queue[0][0] not in ("drop", "start", "nothing"):  # a drop, the last decision of its instant
            assert asked(scheduler, now_us, poll) is None
    assert len(scheduler.dropped()) == len([1 for item in record if item[0] == "drop"])
    assert scheduler.n_running == len(running) == 0
    return scheduler, started


def asked(scheduler: Scheduler, now_us: float, poll: bool) -> Any:
    """Return the next grant; with ``poll``, ask for each application, the last first."""
    if not poll:
        return scheduler.can_issue(now_us)
    for a in reversed(range(len(scheduler._decider.registered))):
        grant = scheduler.can_issue(now_us, a)
        if grant is not None:
            return grant
    return None
