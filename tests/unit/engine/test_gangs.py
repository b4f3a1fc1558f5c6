"""Jobs whose tasks start together: where they are placed, who waits, and what ends them."""

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.urgent import Urgent
from vinesim.model.application import Application
from vinesim.model.workload import ANYWHERE, NO_GANG, NODE, RACK
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.demands import check_demands
from vinesim.policies.identity import content_id
from vinesim.policies.registry import policies, resolve
from vinesim.state.queries import move, next_running, oldest_pending, start

ENGINES = pytest.mark.parametrize("engine", ["reference"])


def case(counts, within=ANYWHERE, policy="high", per_node=0, spread=False, nodes=(2, 2), racks=None, **columns):
    """Jobs of these numbers of tasks of 10 us at 0, 1, 2 ...; nodes with this number of units each, of the given
    capacity."""
    n_jobs, n = len(counts), sum(counts)
    shelf = np.repeat(np.arange(len(nodes)), nodes)
    rack = np.zeros(len(shelf)) if racks is None else np.repeat(racks, nodes)
    within = np.broadcast_to(within, n_jobs) * (np.array(counts) > 1)
    work = vs.Workload(
        job_task_type=np.zeros(n_jobs),
        job_first=np.concatenate([[0], np.cumsum(counts)]),
        arrival_us=np.arange(n_jobs),
        operations=columns.pop("operations", np.full(n, 10.0)),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        task_types=(vs.TaskType("T"),),
        gang_within=within,
        gang_spread=np.broadcast_to(spread, n_jobs) & (within != NO_GANG),
        tasks_per_node=np.broadcast_to(per_node, n_jobs) * (within != NO_GANG),
        **{name: columns.pop(name) for name in list(columns) if name in vs.Workload.__dataclass_fields__},
    )
    center = vs.Datacenter(
        np.zeros(len(shelf)), rack, shelf, (vs.ProcessorType("P"),), capacity=columns.pop("capacity", None)
    )
    return vs.Scenario(center, work, policy=policy, affinity=[[1.0]], **columns)


def starts(scenario):
    return vs.simulate(scenario, engine="reference").tasks["init_us"].tolist()


def units(scenario):
    return vs.simulate(scenario, engine="reference").tasks["unit"].tolist()


def test_a_gang_waits_until_there_is_room_for_all_its_tasks():
    """Alone, its tasks would take the units that are free."""
    together, alone = case([3, 2]), case([3, 2], NO_GANG)
    assert starts(together) == [0, 0, 0, 10, 10]
    assert starts(alone) == [0, 0, 0, 1, 10]


@pytest.mark.parametrize(("policy", "single"), [("flat", 2), ("high", 2), ("fcfs", 10), ("rb_fifo", 2)])
def test_a_single_task_passes_a_waiting_gang_as_the_policy_says(policy, single):
    assert starts(case([3, 2, 1], policy=policy)) == [0, 0, 0, 10, 10, single]


def test_a_gang_within_a_node_or_a_rack_waits_for_one():
    # one unit of each node is busy until 10
    def busy_in_each(within):
        return case([2, 2], (ANYWHERE, within), spread=(True, False), racks=(0, 1))

    assert starts(busy_in_each(ANYWHERE)) == [0, 0, 1, 1]
    assert starts(busy_in_each(NODE)) == [0, 0, 10, 10]
    assert starts(busy_in_each(RACK)) == [0, 0, 10, 10]
    assert starts(case([2, 2], (ANYWHERE, RACK), spread=(True, False), racks=(0, 0))) == [0, 0, 1, 1]


def test_packed_takes_the_nodes_that_offer_most_and_spread_one_of_each():
    assert units(case([5], nodes=(1, 2, 1, 3))) == [0, 4, 5, 6, 1]
    assert units(case([5], spread=True, nodes=(1, 2, 1, 3))) == [0, 1, 3, 4, 2]


def test_no_more_tasks_than_asked_are_at_a_node():
    assert units(case([4], per_node=1, nodes=(2, 2, 2, 2))) == [0, 2, 4, 6]
    assert units(case([4], per_node=2, nodes=(3, 3))) == [0, 1, 3, 4]


def test_a_gang_with_a_number_of_nodes_has_as_many_tasks_on_each_as_asked():
    """Two units of each of three nodes are busy until 10: there is room for 4 + 4 + 4 tasks, not for 5 on one node."""

    def seen(n_nodes, per_node, nodes=(6, 6, 6)):
        one = case([6, n_nodes * per_node], per_node=(2, per_node), gang_nodes=[3, n_nodes], nodes=nodes)
        done = vs.simulate(one, engine="reference")
        shelf = np.repeat(np.arange(len(nodes)), nodes)[done.tasks["unit"][6:]]
        return done.tasks["init_us"][6], shelf.tolist()

    assert seen(1, 5) == (10, [0] * 5)
    assert seen(2, 5) == (10, [0] * 5 + [1] * 5)
    assert seen(3, 4) == (1, [0] * 4 + [1] * 4 + [2] * 4)
    assert seen(2, 4, nodes=(5, 6, 6)) == (1, [1] * 4 + [2] * 4)  # though there is room for three on the first node
    assert seen(1, 3, nodes=(4, 5, 6)) == (1, [1] * 3)


def test_what_is_left_of_such_a_gang_goes_to_its_nodes_as_before():
    """Of 2 + 2 tasks one has finished when an outage interrupts the others: one goes to a node, two to another one."""
    outages = (vs.Outage(0, 1, 6.0, 8.0), vs.Outage(0, 0, 6.0, 7.0))
    asked = {"per_node": 2, "gang_nodes": [2], "nodes": (2, 2, 1), "outages": outages, "checkpoint_us": [1.0] * 4}
    done = vs.simulate(case([4], operations=[10.0, 2.0, 10.0, 10.0], **asked), engine="reference")
    assert done.tasks["init_us"].tolist() == [7, 0, 7, 7]
    assert done.tasks["unit"].tolist() == [4, 1, 0, 1]


def test_tasks_that_differ_are_placed_largest_first_and_their_places_are_searched_for():
    sizes = {"nodes": (1, 1, 1), "capacity": [50.0, 30.0, 20.0]}
    assert units(case([3], demand=[20.0, 30.0, 50.0], **sizes)) == [2, 1, 0]
    assert units(case([2], demand=[30.0, 50.0], nodes=(1, 1), capacity=[53.0, 31.0])) == [1, 0]
    # next to the 1, the 6 leaves no room for a 4, and the 5 on the other node none for two of them: the 6 moves there
    assert units(case([5], demand=[1.0, 6.0, 5.0, 4.0, 4.0], nodes=(1, 1), capacity=[10.0, 10.0])) == [0, 1, 0, 0, 1]


def test_a_place_of_tasks_that_differ_is_found_if_there_is_one():
    """Against all ways to place them: two resources, so that the order of sizes alone is not enough."""
    n_found = n_searched = 0
    for seed in range(150):
        scenario = random_gang(np.random.default_rng(seed))
        if scenario is None:
            continue
        n_searched += 1
        is_found = vs.simulate(scenario, engine="reference").exit_reason == "ALL_DONE"
        assert is_found == has_place(scenario), seed
        n_found += is_found
    assert 30 < n_found < n_searched - 30


def random_gang(random):
    """One gang of tasks that differ, on nodes with some cores and memory; None if a task fits on no node."""
    n_nodes, n = int(random.integers(2, 4)), int(random.integers(3, 6))
    types = (vs.ProcessorType("CPU"), vs.ProcessorType("MEM"))
    center = vs.Datacenter.of([(kind, 0, node) for node in range(n_nodes) for kind in ("CPU", "MEM")], types)
    center = replace(center, capacity=random.integers(4, 9, 2 * n_nodes).astype(float))
    per_node = int(random.choice([0, 0, 2]))
    work = vs.Workload(
        *([0], [0, n], [0.0], np.full(n, 10.0), *np.zeros((3, n)), np.full(n, -1)),
        demand=random.integers(1, 7, n).astype(float),
        companions={"MEM": random.integers(1, 7, n).astype(float)},
        lead_types=np.zeros(n, int),
        lead_sets=(("CPU",),),
        task_types=(vs.TaskType("T"),),
        gang_within=[ANYWHERE],
        gang_spread=[bool(random.integers(0, 2))],
        tasks_per_node=[per_node],
        gang_nodes=[n // 2 if per_node and n % 2 == 0 else 0],
    )
    try:
        found = vs.Scenario(center, work, "high", affinity=[[1.0], [0.0]], network=vs.Network(None, None, None, 0.0))
        vs.simulate(found, engine="reference")
    except vs.InputError:
        return None
    return found


def has_place(scenario):
    """Whether the tasks of the only gang can be distributed over the empty nodes."""
    work, n = scenario.workload, scenario.workload.n_tasks
    room = scenario.datacenter.capacity.reshape(-1, 2)
    needs = np.stack([work.demand, work.companions["MEM"]], axis=1)
    per_node = n if work.tasks_per_node is None else int(work.tasks_per_node[0])
    for place in itertools.product(range(len(room)), repeat=n):
        at = np.array(place)
        if any((needs[at == node].sum(axis=0) > room[node]).any() for node in place):
            continue
        together = [set(place[i : i + per_node]) for i in range(0, n, per_node)]
        is_divided = all(len(nodes) == 1 for nodes in together) and len(set(place)) == len(together)
        if np.bincount(at).max() <= per_node and (work.gang_nodes is None or is_divided):
            return True
    return False


def test_each_task_finishes_by_itself_and_the_job_with_the_last():
    done = vs.simulate(case([3], operations=[5.0, 20.0, 10.0]), engine="reference")
    assert done.tasks["finish_us"].tolist() == [5, 20, 10]
    assert done.jobs["finish_us"].tolist() == [20]


def test_an_outage_of_one_node_interrupts_the_whole_gang_and_what_has_finished_stays_so():
    outages = (vs.Outage(0, 1, 6.0, 8.0), vs.Outage(0, 2, 6.0, 8.0))
    work = {"operations": [10.0, 2.0, 10.0], "checkpoint_us": [1.0] * 3, "nodes": (1, 1, 1), "outages": outages}
    done = vs.simulate(case([3], **work), engine="reference")
    assert done.tasks["init_us"].tolist() == [8, 0, 8]  # not before there is room for both
    assert done.tasks["finish_us"].tolist() == [12, 2, 12]
    alone = vs.simulate(case([3], NO_GANG, **work), engine="reference")
    assert alone.tasks["finish_us"].tolist() == [10, 2, 12]


def test_a_preempted_gang_is_preempted_as_a_whole():
    scenario = case([4, 1], policy=Urgent, priority=[0.0, 1.0])
    done = vs.simulate(scenario, engine="reference")
    assert done.tasks["init_us"].tolist() == [11, 11, 11, 11, 1]
    assert done.tasks["finish_us"].tolist() == [20, 20, 20, 20, 11]


def test_limits_and_withdrawals_end_all_its_tasks():
    killed = vs.simulate(case([2], limit_us=[4.0]), engine="reference").outcome.early
    assert (killed.task.tolist(), killed.end_us.tolist()) == ([0, 1], [4, 4])
    scenario = case([4, 3, 2], withdraw_us=[np.inf, 5.0, np.inf])
    assert starts(scenario)[4:] == pytest.approx([np.nan] * 3 + [10, 10], nan_ok=True)


@dataclass(frozen=True)
class Wrong(OnlinePolicy):
    """Starts the second task of a gang, or moves one."""

    name: ClassVar[str] = "test_wrong_with_gangs"
    source: ClassVar[str] = "tests"
    preempts: ClassVar[bool] = True

    moves: bool = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        if view.now_us == 0.0 and view.options.moves and next_running(model, state) < 0:
            return start(oldest_pending(model, state), 0)
        if view.options.moves:
            return move(next_running(model, state), 3)
        return start(oldest_pending(model, state) + 1, 0)


@pytest.mark.parametrize(("moves", "words"), [(False, "only by its first task"), (True, "may not move the tasks")])
def test_a_policy_starts_a_gang_by_its_first_task_and_moves_none(moves, words):
    with pytest.raises(vs.PolicyError, match=words):
        vs.simulate(case([2, 1], policy=Wrong, options={"moves": moves}), engine="reference")


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (
            case([5]),
            r"task\[0\]: expected at most 4 such tasks together: what the datacenter has room for, found a gang",
        ),
        (case([1, 3], NODE), r"task\[1\]: expected at most 2 such tasks together: what one node has room for"),
        (
            case([3], RACK, racks=(0, 1)),
            r"task\[0\]: expected at most 2 such tasks together: what one rack has room for",
        ),
        (case([3], per_node=1), "what the datacenter has room for, at most 1 a node, found a gang of 3"),
        (case([3], per_node=3, gang_nodes=[1]), "expected a node with room for 3 such tasks, found a gang of 3"),
    ],
)
def test_a_gang_that_the_empty_datacenter_cannot_hold_is_an_error_before_the_run(scenario, words):
    with pytest.raises(vs.InputError, match=words):
        vs.simulate(scenario, engine="reference")


@pytest.mark.parametrize("policy", ["earliest_completion", "symphony", "ff"])
def test_policies_that_do_not_take_gangs_say_so(policy):
    scenario = case([2], policy=policy)
    why = policies()[policy].unsupported_because
    assert why.startswith("it")
    with pytest.raises(vs.InputError, match=f"tasks that start one by one.*{why[1:]}"):
        check_demands(scenario, resolve(scenario.policy, scenario.options))


def test_tasks_that_get_units_of_their_own_are_gangs_only_if_they_take_whole_units():
    scenario = case([2], policy="rb_fifo", demand=np.full(2, 0.5))
    with pytest.raises(vs.InputError, match="found units with room for several"):
        vs.simulate(scenario, engine="reference")
    assert starts(replace(scenario, options={"sharing": "yes"})) == [0, 0]


def test_resource_based_policies_order_gangs_by_their_longest_task_and_ask_for_the_requests_of_all():
    types = (vs.ProcessorType("WEAK", attributes={"sms": 4.0}), vs.ProcessorType("STRONG", attributes={"sms": 8.0}))
    scenario = case([2, 2, 2], policy="rb_sjf", operations=[1.0, 1.0, 2.0, 9.0, 3.0, 3.0])
    center = replace(scenario.datacenter, processor_types=types, unit_type=np.array([0, 1, 0, 1]))
    work = replace(scenario.workload, arrival_us=[0, 0, 0], requests={"sms": np.array([0, 0, 1, 8, 8, 8.0])})
    scenario = replace(scenario, datacenter=center, workload=work, affinity=[[1.0], [1.0]])
    done = vs.simulate(scenario, engine="reference")
    assert done.tasks["init_us"].tolist() == [0, 0, 4, 4, 1, 1]
    assert done.tasks["unit"].tolist() == [1, 3] * 3


def test_a_workload_has_gangs_of_one_kind():
    scenario = case([2], application=[0])
    applications = (Application("0", 10.0, gang_size=2),)
    with pytest.raises(vs.InputError, match="as jobs are gangs already"):
        vs.simulate(replace(scenario, applications=applications), engine="reference")


def test_wrong_columns_are_reported():
    work = case([2]).workload
    wrong = {"gang_within": [4], "gang_spread": [True], "tasks_per_node": [-1]}
    with pytest.raises(vs.InputError, match=r"tasks_per_node\[0\](.|\n)*gang_within\[0\]"):
        replace(work, **wrong)
    with pytest.raises(vs.InputError, match="as the job is no gang"):
        replace(work, gang_within=[0], tasks_per_node=[2])
    with pytest.raises(vs.InputError, match="nodes x tasks_per_node is 2, the tasks of the job, found 2 x 2"):
        replace(work, tasks_per_node=[2], gang_nodes=[2])
    with pytest.raises(vs.InputError, match="1, as the tasks are to be within one node, found 2"):
        replace(work, gang_within=[NODE], tasks_per_node=[1], gang_nodes=[2])
    with pytest.raises(vs.InputError, match="no task of a gang"):
        replace(work, placed=[0, -1])


def test_columns_that_ask_for_nothing_do_not_change_the_content():
    plain = case([2], NO_GANG)
    assert plain.workload.gang_within is None
    assert content_id(plain) == content_id(replace(plain, workload=replace(plain.workload, gang_within=None)))
    assert content_id(plain) != content_id(case([2]))
