"""Requests on several nodes are gangs: where their tasks run, with whom, and what ends them."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from vinesim.engine.many import fits_blocks
from vinesim.model.application import Application
from vinesim.model.outage import Outage
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import resolve
from vinesim.state.queries import first_free, group_size, nothing, oldest_pending, start, start_consolidated

WAITS = {"consolidate": True}


def case(
    requests,
    units,
    policy="fcfs",
    options=None,
    *,
    most=1,
    deadline_us=1e3,
    nodes=(),
    gang_size=2,
    demand=None,
    size=10.0,
    **more,
):
    """Requests (arrival, application), each of ``gang_size`` tasks of 10 us; units (type, shelf) of types 0 and 1, of
    which the second is twice as fast; both have two slots."""
    n, counts = len(requests), np.full(len(requests), gang_size)
    n_tasks, names = int(counts.sum()), sorted({name for _, name in requests})
    code = np.array([names.index(name) for _, name in requests])
    work = vs.Workload(
        job_task_type=np.zeros(n),
        job_first=np.arange(n + 1) * gang_size,
        arrival_us=np.array([time for time, _ in requests], float),
        operations=np.broadcast_to(size, n_tasks),
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(n_tasks)),
        preferred_type=np.full(n_tasks, -1),
        demand=np.full(n_tasks, 2.0) if demand is None else np.array(demand, float),
        application=code,
        task_types=(vs.TaskType("T"),),
        application_names=tuple(names),
        **{name: more.pop(name) for name in list(more) if name in vs.Workload.__dataclass_fields__},
    )
    types = tuple(vs.ProcessorType(name, capacity=2.0) for name in ("OLD", "NEW"))
    center = vs.Datacenter([t for t, _ in units], [0] * len(units), [shelf for _, shelf in units], types)
    applications = tuple(
        Application(name, deadline_us, max_consolidated=most, nodes=nodes, gang_size=gang_size) for name in names
    )
    found = vs.Scenario(center, work, policy, options or {}, [[1.0], [2.0]], **more)
    return replace(found, applications=applications)


def run(scenario, engine="reference"):
    return vs.simulate(scenario, engine=engine).tasks


FOUR = [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_a_request_waits_for_as_many_nodes_of_one_type():
    """The fast unit is left idle: there is only one. The third unit of a node does not make a second node."""
    tasks = run(case([(0, "A"), (1, "A")], [(1, 0), (0, 1), (0, 1), (0, 2)]))
    assert tasks["init_us"].tolist() == [0, 0, 10, 10]
    assert tasks["shelf"].tolist() == [1, 2, 1, 2]


def test_its_tasks_take_the_least_busy_nodes():
    busy = [(0, "A"), (1, "B")]
    tasks = run(case(busy, [*FOUR, *FOUR]))
    assert tasks["shelf"].tolist() == [0, 1, 2, 3]
    assert run(case(busy, [*FOUR[:3], *FOUR[:3]]))["shelf"].tolist() == [0, 1, 2, 0]


def test_only_nodes_of_its_application_count():
    tasks = run(case([(0, "A"), (1, "A")], FOUR, nodes=((0, 1), (0, 3))))
    assert tasks["shelf"].tolist() == [1, 3, 1, 3]
    assert tasks["init_us"].tolist() == [0, 0, 10, 10]


def test_those_that_are_consolidated_share_all_their_nodes():
    """First tasks with first tasks, second ones with second ones; the two that wait start together."""
    result = vs.simulate(case([(0, "A"), (1, "A"), (2, "A")], FOUR[:2], options=WAITS, most=4), engine="reference")
    assert result.tasks["init_us"].tolist() == [0, 0, 10, 10, 10, 10]
    assert result.tasks["shelf"].tolist() == [0, 1, 0, 1, 0, 1]
    assert result.tasks["finish_us"].tolist() == [10, 10, 30, 30, 30, 30]
    assert result.outcome.followers.tolist() == [4, 5]


def test_a_request_is_dropped_as_a_whole():
    tasks = run(case([(0, "A"), (1, "A")], FOUR[:2], policy="edf_drop", deadline_us=15.0))
    assert tasks["unit"][:2].tolist() == [0, 1]
    assert (tasks["unit"][2:] < 0).all()


def test_no_request_starts_in_part_where_its_tasks_demand_different_amounts():
    """One slot of the second node is taken; the second task of B needs both."""
    whole = case([(0, "A"), (1, "B")], FOUR[:2], demand=[1, 1, 1, 2])
    tasks = run(whole)
    assert tasks["init_us"].tolist() == [0, 0, 10, 10]


def test_a_request_resumes_as_a_whole_after_an_outage():
    """The second node goes down while both run: the first task does not run on alone."""
    down = (Outage(0, 1, 4.0, 6.0),)
    result = vs.simulate(case([(0, "A")], FOUR[:2], outages=down), engine="reference")
    assert result.tasks["init_us"].tolist() == [6, 6]
    table = result.segments
    assert sorted(table["outcome"].tolist()) == ["finished", "finished", "interrupted", "interrupted"]


def test_all_that_are_consolidated_end_with_one_of_their_nodes():
    down = (Outage(0, 1, 4.0, 6.0),)
    requests = [(0, "A"), (0, "A")]
    tasks = run(case(requests, FOUR[:2], options=WAITS, most=2, outages=down))
    assert tasks["init_us"].tolist() == [6, 6, 6, 6]
    assert tasks["finish_us"].tolist() == [26, 26, 26, 26]


@dataclass(frozen=True)
class Bold(OnlinePolicy):
    """Consolidates all that are pending on the first unit with room, or starts one after the other."""

    name: ClassVar[str] = "test_bold"
    groups: ClassVar[tuple[str, ...]] = ("application",)
    consolidates: bool = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        if unit < 0:
            return nothing()
        count = group_size(model, state, task) if view.options.consolidates else 1
        return start_consolidated(task, count, unit)


def half_done(policy, **more):
    """Of the first request the second task is done when all nodes go down; until they are up another one arrives."""
    sizes = [10.0, 2.0, 10.0, 10.0]
    down = (Outage(0, 0, 4.0, 6.0), Outage(0, 1, 4.0, 6.0))
    return case([(0, "A"), (5, "A")], FOUR[:2], policy, most=2, size=sizes, outages=down, **more)


def test_what_is_left_of_a_request_is_not_consolidated_with_a_whole_one():
    tasks = run(half_done("fcfs", options=WAITS))
    assert tasks["init_us"].tolist() == [6, 0, 16, 16]
    with pytest.raises(vs.PolicyError, match="as many as joinable"):
        run(half_done(Bold))


def test_a_policy_that_knows_nothing_of_gangs_starts_whole_requests():
    requests = [(0, "A"), (1, "A"), (2, "A")]
    tasks = run(case(requests, FOUR, Bold, {"consolidates": False}, nodes=((0, 1), (0, 2), (0, 3))))
    assert tasks["init_us"].tolist() == [0, 0, 10, 10, 20, 20]
    assert set(tasks["shelf"].tolist()) <= {1, 2, 3}


@dataclass(frozen=True)
class Elsewhere(Bold):
    """Starts where the application has no data."""

    name: ClassVar[str] = "test_elsewhere"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start(oldest_pending(model, state), 0)


def test_a_request_on_several_nodes_starts_nowhere_else():
    with pytest.raises(vs.PolicyError, match="the unit has no room for it"):
        run(case([(0, "A")], FOUR, Elsewhere, nodes=((0, 1), (0, 2))))


def test_several_runs_are_those_of_one():
    scenario = case([(0, "A"), (1, "A")], FOUR)
    assert not fits_blocks(scenario, resolve(scenario.policy, scenario.options))
    assert fits_blocks(replace(scenario, policy="high"), resolve("high", {}))


def test_a_policy_that_may_overcommit_takes_no_such_requests():
    pile = type("Pile", (Bold,), {"may_overcommit": True})
    with pytest.raises(vs.InputError, match="requests on one node"):
        run(case([(0, "A")], FOUR, pile))
