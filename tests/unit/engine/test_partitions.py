"""Partitions and quotas by hand."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.identity import content_id
from vinesim.policies.online.high import High
from vinesim.state.queries import nothing, oldest_pending, start

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
IN_ONE_QUEUE = ["fcfs", "edf", "least_laxity"]  # for all partitions
SLURM = [*IN_ONE_QUEUE, "high", "easy_backfill", "conservative_backfill", "priority", "drf", "flat", "fgd"]


def scenario(policy, jobs, partitions, options=None, **columns):
    """Two nodes of 4 GPUs, a third of one CPU of 8. A job: arrival, time, GPUs, user, partition (None: none)."""
    types = [vs.ProcessorType("GPU"), vs.ProcessorType("CPU", capacity=8.0)]
    units = [("GPU", 0, 0)] * 4 + [("GPU", 0, 1)] * 4 + [("CPU", 0, 2)]
    arrival, time, gpus, user, part = zip(*jobs, strict=True)
    names = sorted({name for name in part if name})
    users = sorted(set(user))
    n = len(jobs)
    work = vs.Workload(
        [0] * n, range(n + 1), list(map(float, arrival)), list(map(float, time)), *np.zeros((3, n)), [-1] * n,
        units=gpus, task_types=(vs.TaskType("T"),),
        user=[users.index(name) for name in user], user_names=tuple(users),
        partition=[-1 if name is None else names.index(name) for name in part], partition_names=tuple(names), **columns,
    )  # fmt: skip
    center = vs.Datacenter.of(units, types)
    return vs.Scenario(center, work, policy, options or {}, affinity=[[1.0], [0.0]], partitions=tuple(partitions))


def begins(case):
    return vs.simulate(case, engine="reference").tasks["init_us"].tolist()


@pytest.mark.parametrize("name", [name for name in SLURM if name not in IN_ONE_QUEUE])
def test_a_job_runs_on_the_nodes_of_its_partition_only(name):
    one, two = vs.Partition("one", [[0, 0]]), vs.Partition("two", [[0, 1]])
    jobs = [(0, 10, 4, "a", "two"), (0, 10, 3, "a", "two"), (1, 5, 2, "a", "one"), (1, 5, 1, "b", None)]
    done = vs.simulate(scenario(name, jobs, [one, two]), engine="reference")
    assert done.tasks["init_us"].tolist() == [0.0, 10.0, 1.0, 1.0]
    assert done.tasks["shelf"].tolist()[:3] == [1, 1, 0]


@pytest.mark.parametrize("name", SLURM)
def test_a_quota_that_is_used_up_holds_back_its_own_jobs_and_no_others(name):
    """Ada's second job would find GPUs; Bob's, behind it, starts at once, as in Slurm."""
    jobs = [(0, 10, 3, "ada", "p"), (1, 10, 2, "ada", "p"), (2, 10, 2, "bob", "p"), (3, 10, 1, "ada", None)]
    case = scenario(name, jobs, [vs.Partition("p", user_quota={"GPU": 4})])
    assert begins(case) == [0.0, 10.0, 2.0, 3.0]
    assert begins(scenario(name, jobs, [vs.Partition("p")])) == [0.0, 1.0, 2.0, 3.0]


def test_a_user_without_a_name_has_a_quota_and_words():
    case = scenario("high", [(0, 10, 3, "", "p")], [vs.Partition("p", user_quota={"GPU": 2})])
    with pytest.raises(vs.InputError, match="the quota of the user without a name in partition p on GPU"):
        vs.simulate(case)


@pytest.mark.parametrize("consolidate", ["no", "yes"])
def test_the_nearest_deadline_is_looked_at_again_once_its_quota_has_room(consolidate):
    """Ada's second job is due first, and waits for her quota; it comes before Eve's, which waits for room."""
    jobs = [(0, 10, 4, "ada", "p"), (1, 10, 4, "ada", "p"), (2, 30, 4, "bob", "p"), (3, 10, 4, "eve", "p")]
    options = {"consolidate": consolidate}
    case = scenario("edf", jobs, [vs.Partition("p", user_quota={"GPU": 4})], options, deadline_us=[50.0, 40, 90, 80])
    assert begins(case) == [0.0, 10.0, 2.0, 20.0]


@pytest.mark.parametrize("options", [{"in_order": True}, {}])
def test_one_that_holds_up_all_others_does_not_if_it_is_its_quota_that_it_waits_for(options):
    jobs = [(0, 10, 3, "ada", "p"), (1, 10, 2, "ada", "p"), (2, 10, 2, "bob", "p")]
    assert begins(scenario("high", jobs, [vs.Partition("p", user_quota={"GPU": 4})], options)) == [0.0, 10.0, 2.0]


def test_a_quota_of_all_jobs_of_a_partition_and_of_several_types():
    jobs = [(0, 10, 3, "ada", "p"), (1, 10, 2, "bob", "p"), (2, 10, 4, "eve", None)]
    case = scenario("high", jobs, [vs.Partition("p", quota={"GPU|CPU": 4, "CPU": 1})])
    assert begins(case) == [0.0, 10.0, 2.0]


def test_what_is_held_next_to_counts_too():
    """Of 8 cores each job holds 3; the quota is 5."""
    types = [vs.ProcessorType("GPU"), vs.ProcessorType("CPU", capacity=8.0)]
    center = vs.Datacenter.of([("GPU", 0, 0), ("GPU", 0, 0), ("CPU", 0, 0)], types)
    work = vs.Workload([0, 0], [0, 1, 2], [0.0, 0.0], [10.0, 10.0], *np.zeros((3, 2)), [-1, -1],
                       companions={"CPU": [3.0, 3.0]}, partition=[0, 0], partition_names=("p",),
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    case = vs.Scenario(center, work, affinity=[[1.0], [0.0]], partitions=(vs.Partition("p", quota={"CPU": 5}),))
    assert begins(case) == [0.0, 10.0]
    assert begins(replace(case, partitions=(vs.Partition("p", quota={"CPU": 6}),))) == [0.0, 0.0]


@pytest.mark.parametrize("name", ["easy_backfill", "conservative_backfill"])
def test_a_job_without_quota_reserves_nothing(name):
    """If Ada's second job reserved the free node from 10 on, Bob's longer one would wait for it."""
    jobs = [(0, 10, 4, "ada", "p"), (1, 10, 4, "ada", "p"), (2, 100, 4, "bob", "p")]
    assert begins(scenario(name, jobs, [vs.Partition("p", user_quota={"GPU": 4})])) == [0.0, 10.0, 2.0]


@pytest.mark.parametrize("name", ["easy_backfill", "conservative_backfill"])
def test_a_reservation_ends_when_the_quota_is_used_up(name):
    """Ada's job of 4 waits for a node until 10 and reserves it; her short job then uses up her quota."""
    jobs = [(0, 10, 4, "bob", "p"), (0, 20, 3, "bob", "p"), (1, 5, 4, "ada", "p"), (2, 30, 1, "ada", "p")]
    found = begins(scenario(name, jobs, [vs.Partition("p", user_quota={"GPU": 7})]))
    assert found == [0.0, 0.0, 10.0, 2.0]
    assert begins(scenario(name, jobs, [vs.Partition("p", user_quota={"GPU": 4}, quota={"GPU": 9})])) != found


def test_a_quota_that_nothing_holds_is_empty_whatever_the_rounding():
    """0.1 + 0.2 + 0.3 less each of them is not 0."""
    states = []

    @dataclass(frozen=True)
    class Watched(High):
        compiled: ClassVar[bool] = False

        @staticmethod
        def decide(model, state, view):
            states.append(state)
            return High.decide(model, state, view)

    jobs = [(0, 3, 1, "ada", "p"), (0, 2, 1, "ada", "p"), (0, 1, 1, "ada", "p")]
    case = scenario(Watched, jobs, [vs.Partition("p", quota={"GPU": 2})])
    demand = [0.1, 0.2, 0.3]
    vs.simulate(replace(case, workload=replace(case.workload, demand=demand)), engine="reference")
    assert sum(demand) - demand[2] - demand[1] - demand[0] != 0.0
    assert states[-1].quotas.held == [0.0]


def test_demands_that_add_up_to_a_quota_but_for_a_rounding_are_within_it():
    demand = [0.1] * 3
    assert sum(demand) > 0.3
    case = scenario("high", [(0, 3, 1, "ada", "p")] * 3, [vs.Partition("p", quota={"GPU": 0.3})])
    assert begins(replace(case, workload=replace(case.workload, demand=demand))) == [0.0, 0.0, 0.0]


def test_nothing_is_preempted_for_a_quota():
    """As in Slurm, where limits are looked at before preemption."""
    jobs = [(0, 10, 4, "ada", "p"), (1, 5, 4, "ada", "p"), (2, 5, 4, "bob", "p")]
    case = scenario("priority", jobs, [vs.Partition("p", user_quota={"GPU": 4})], priority=[0.0, 5.0, 1.0])
    done = vs.simulate(case, engine="reference")
    assert done.tasks["init_us"].tolist() == [0.0, 10.0, 2.0]
    assert done.segments is None or "preempted" not in set(np.asarray(done.segments["outcome"]).tolist())


def test_a_gang_counts_as_a_whole():
    """Two tasks of 2 GPUs need 4 of the quota; 3 are left."""
    jobs = [(0, 10, 2, "ada", "p"), (1, 10, 2, "ada", "p"), (2, 10, 1, "ada", "p")]
    case = scenario("high", jobs, [vs.Partition("p", quota={"GPU": 5})])
    first = [0, 1, 3, 4]
    work = replace(case.workload, job_first=first, operations=[10.0] * 4, units=[2, 2, 2, 1],
                   **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), [0] * 4), preferred_type=[-1] * 4,
                   gang_within=[0, 3, 0])  # fmt: skip
    assert begins(replace(case, workload=work)) == [0.0, 10.0, 10.0, 2.0]


def test_several_whole_units_count_as_the_largest_at_the_node():
    """Units of 1 and 4: two whole ones are 5, and count as 8, so that the quota is never exceeded."""
    types = [vs.ProcessorType("GPU"), vs.ProcessorType("CPU")]
    center = vs.Datacenter([0, 0, 0, 0], [0] * 4, [0, 0, 1, 1], types, capacity=[1.0, 4.0, 1.0, 4.0])
    work = vs.Workload([0, 0], [0, 1, 2], [0.0, 0.0], [10.0, 10.0], *np.zeros((3, 2)), [-1, -1], units=[2, 2],
                       demand=[vs.WHOLE_UNIT] * 2, partition=[0, 0], partition_names=("p",),
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    for most, second in ((8, 10.0), (10, 10.0), (16, 0.0)):
        partitions = (vs.Partition("p", quota={"GPU": most}),)
        case = vs.Scenario(center, work, affinity=[[1.0], [0.0]], partitions=partitions)
        assert begins(case) == [0.0, second]
    with pytest.raises(vs.InputError, match="at most 7, the quota of partition p on GPU, found 8"):
        vs.simulate(replace(case, partitions=(vs.Partition("p", quota={"GPU": 7}),)), engine="reference")


@pytest.mark.parametrize(("most", "reason"), [(4, "STALLED"), (5, "ALL_DONE")])
def test_a_gang_counts_with_all_that_it_holds_in_its_place(most, reason):
    """Two tasks that take whole units could hold 2, and hold 5 on units of 1 and 4."""
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], [vs.ProcessorType("GPU")], capacity=[1.0, 4.0])
    work = vs.Workload([0], [0, 2], [0.0], [10.0] * 2, *np.zeros((3, 2)), [-1] * 2, demand=[vs.WHOLE_UNIT] * 2,
                       gang_within=[3], partition=[0], partition_names=("p",),
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    case = vs.Scenario(center, work, affinity=[[1.0]], partitions=(vs.Partition("p", quota={"GPU": most}),))
    assert vs.simulate(case, engine="reference").exit_reason == reason


@dataclass(frozen=True)
class Stubborn(OnlinePolicy):
    """Starts every task on the first unit."""

    name: ClassVar[str] = "test_stubborn"
    source: ClassVar[str] = "tests"

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        return start(task, 0) if task >= 0 else nothing()


def test_a_policy_may_not_leave_the_partition():
    case = scenario(Stubborn(), [(0, 10, 1, "ada", "p")], [vs.Partition("p", [[0, 1]])])
    with pytest.raises(vs.PolicyError, match="only on a node of its partition"):
        vs.simulate(case, engine="reference")


@dataclass(frozen=True)
class Youngest(OnlinePolicy):
    """Starts the last task that has arrived, whatever its quotas."""

    name: ClassVar[str] = "test_youngest"
    source: ClassVar[str] = "tests"
    sees_every_event: ClassVar[bool] = True

    @staticmethod
    def decide(model, state, view):
        task = int(model.job_first[view.job]) if view.job >= 0 else -1
        return start(task, task) if task >= 0 and state.task_unit[task] < 0 else nothing()


def test_a_policy_may_not_exceed_a_quota():
    jobs = [(0, 10, 1, "ada", "p"), (1, 10, 1, "ada", "p")]
    assert begins(scenario(Youngest(), jobs, [vs.Partition("p", quota={"GPU": 2})])) == [0.0, 1.0]
    with pytest.raises(vs.PolicyError, match="only if its quotas leave room"):
        vs.simulate(scenario(Youngest(), jobs, [vs.Partition("p", quota={"GPU": 1})]), engine="reference")


WRONG = [
    ([vs.Partition("q")], r"partition\[0\]: expected one of q, found 'p'"),
    ([vs.Partition("p"), vs.Partition("p")], "a name that no other partition has"),
    ([vs.Partition("p", [[0, 7]])], "rack 0, shelf 7, which has no unit"),
    ([vs.Partition("p", np.empty((0, 2)))], "expected a node, found none"),
    ([vs.Partition("p", quota={"TPU": 1})], "processor types of the datacenter: GPU, CPU, found 'TPU'"),
    ([vs.Partition("p", quota={"GPU": 0})], "a finite number above 0, found 0"),
    ([vs.Partition("p", quota={"GPU": -1}, cohort="c")], "a finite number, 0 or more, found -1"),
    ([vs.Partition("p", quota={"GPU": 1}, lending_limit={"GPU": 1})], "a partition with a cohort, found none"),
    ([vs.Partition("p", weight=2.0)], r"partitions\[0\].weight: expected a partition with a cohort"),
    ([vs.Partition("p", cohort="c", weight=-1)], "a finite number, 0 or more, found -1"),
    (
        [vs.Partition("p", quota={"GPU": 1}, cohort="c", borrowing_limit={"CPU": 1})],
        "names of the partition's quota: GPU",
    ),
    (
        [vs.Partition("p", quota={"GPU": 1}, cohort="c", borrowing_limit={"GPU": "x"})],
        "a finite number, 0 or more, found 'x'",
    ),
    ([vs.Partition("p", quota={"GPU": 1}, cohort="c", lending_limit={"GPU": 2})], "at most its quota, 1, found 2"),
    (
        [vs.Partition("p", quota={"GPU": 1}, cohort="c"), vs.Partition("q", quota={"GPU|CPU": 1}, cohort="c")],
        r"partitions\[1\].quota: expected GPU, as partitions\[0\] of the same cohort",
    ),
]


@pytest.mark.parametrize(("partitions", "message"), WRONG)
def test_wrong_partitions_are_refused(partitions, message):
    with pytest.raises(vs.InputError, match=message):
        scenario("high", [(0, 10, 1, "ada", "p")], partitions)


def test_all_that_is_wrong_with_cohorts_is_said_at_once():
    wrong = vs.Partition("p", quota={"GPU": 1}, cohort="c", weight=-1, lending_limit={"GPU": 2, "CPU": 1})
    with pytest.raises(vs.InputError) as found:
        scenario("high", [(0, 10, 1, "ada", "p")], [wrong])
    assert len(found.value.problems) == 3


def test_jobs_that_could_never_run_are_refused():
    jobs = [(0, 10, 1, "ada", "p"), (0, 10, 4, "ada", "p")]
    with pytest.raises(
        vs.InputError, match=r"task\[1\]: expected at most 3, the quota of user ada in partition p on GPU"
    ):
        vs.simulate(scenario("high", jobs, [vs.Partition("p", user_quota={"GPU": 3})]))
    lacking = r"task\[0\]: expected a node of the partition p that has all it holds.*Ask for less, or add a node"
    with pytest.raises(vs.InputError, match=f"(?s){lacking}"):
        vs.simulate(scenario("high", jobs, [vs.Partition("p", [[0, 2]])]))


def test_partitions_are_part_of_the_id_and_only_if_given():
    plain = scenario("high", [(0, 10, 1, "ada", None)], [])
    jobs = [(0, 10, 1, "ada", "p")]
    ids = {content_id(scenario("high", jobs, [vs.Partition("p", quota={"GPU": n})])) for n in (1, 2)}
    assert len(ids | {content_id(plain)}) == 3
    with pytest.raises(vs.InputError, match="the workload names no partition"):
        scenario("high", [(0, 10, 1, "ada", None)], [vs.Partition("p")])
