"""Why a job waited whose quota was used up."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.unit.engine.test_partitions import scenario
from tests.unit.metrics.test_waiting import recorded
from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.tables import open_result
from vinesim.metrics.causes import IMPOSSIBLE, causes_of
from vinesim.metrics.quota_waits import QUOTA
from vinesim.metrics.waiting import waiting_of

JOBS = [(0, 10, 3, "ada", "p"), (0, 4, 1, "ada", "p"), (1, 10, 2, "ada", "p"), (2, 10, 2, "bob", "p")]


def waits(found):
    return [(wait.whose, wait.types, wait.begin_us, wait.end_us, wait.held, wait.needed) for wait in found.quotas]


def test_it_says_whose_quota_was_used_up_and_when(tmp_path):
    case = scenario("high", JOBS, [vs.Partition("p", user_quota={"GPU": 4})])
    recorded(tmp_path / "run", case)
    found = waiting_of(tmp_path / "run", 2)
    ada = "user ada in partition p"
    assert waits(found) == [(ada, "GPU", 1.0, 4.0, 4.0, 2.0), (ada, "GPU", 4.0, 10.0, 3.0, 2.0)]
    assert waiting_of(tmp_path / "run", 3).quotas == []


def test_what_is_taken_at_once_as_it_is_left_is_one_time(tmp_path):
    jobs = [(0, 4, 3, "ada", "p"), (1, 4, 3, "ada", "p"), (2, 10, 2, "ada", "p")]
    recorded(tmp_path / "run", scenario("high", jobs, [vs.Partition("p", user_quota={"GPU": 4})]))
    assert waits(waiting_of(tmp_path / "run", 2)) == [("user ada in partition p", "GPU", 2.0, 8.0, 3.0, 2.0)]


def test_a_whole_unit_needs_as_much_as_the_smallest_has(tmp_path):
    """Whole units of 4 and 2: one of 4 is held, and the other would be 6, above the quota of 5."""
    types = [vs.ProcessorType("GPU")]
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], types, capacity=[4.0, 2.0])
    work = vs.Workload([0, 0], [0, 1, 2], [0.0, 1.0], [10.0, 5.0], *np.zeros((3, 2)), [-1, -1],
                       demand=[vs.WHOLE_UNIT] * 2, partition=[0, 0], partition_names=("p",),
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    recorded(
        tmp_path / "run", vs.Scenario(center, work, affinity=[[1.0]], partitions=(vs.Partition("p", quota={"GPU": 5}),))
    )
    assert waits(waiting_of(tmp_path / "run", 1)) == [("partition p", "GPU", 1.0, 10.0, 4.0, 2.0)]


def test_all_jobs_of_a_partition_and_types_that_count_together(tmp_path):
    case = scenario("high", JOBS, [vs.Partition("p", quota={"GPU|CPU": 4, "CPU": 1})])
    recorded(tmp_path / "run", case)
    assert waits(waiting_of(tmp_path / "run", 3))[0] == ("partition p", "GPU|CPU", 2.0, 4.0, 4.0, 2.0)


def test_a_gang_needs_enough_for_all_its_tasks(tmp_path):
    case = scenario("high", [(0, 10, 3, "ada", "p"), (1, 5, 1, "ada", "p")], [vs.Partition("p", quota={"GPU": 4})])
    columns = {name: [0] * 3 for name in ("data_bytes", "data_rack", "data_shelf")}
    work = replace(case.workload, job_first=[0, 1, 3], operations=[10.0, 5.0, 5.0], units=[3, 1, 1],
                   preferred_type=[-1] * 3, gang_within=[0, 3], **columns)  # fmt: skip
    recorded(tmp_path / "run", replace(case, workload=work))
    assert waits(waiting_of(tmp_path / "run", 1)) == [("partition p", "GPU", 1.0, 10.0, 3.0, 2.0)]


def test_only_the_nodes_of_the_partition_are_looked_at(tmp_path):
    jobs = [(0, 10, 4, "ada", "p"), (1, 5, 2, "ada", "p"), (1, 5, 2, "ada", None)]
    recorded(tmp_path / "run", scenario("high", jobs, [vs.Partition("p", [[0, 0]])]))
    found = waiting_of(tmp_path / "run", 1)
    assert found.start_us == 10.0
    assert found.shortage.n_free == 0


def test_the_table_has_the_units_of_the_partition_alone(tmp_path, vinesim):  # noqa: F811
    """The other node is free from 3 on, and down from 4 on: that is nothing to the job that waits until 10."""
    jobs = [(0, 10, 4, "ada", "p"), (0, 3, 4, "ada", "q"), (1, 5, 4, "ada", "p"), (1, 5, 1, "ada", None)]
    case = scenario("high", jobs, [vs.Partition("p", [[0, 0]]), vs.Partition("q", [[0, 1]])])
    recorded(tmp_path / "run", replace(case, outages=(vs.Outage(0, 1, 4.0, 5.0),)))
    found = waiting_of(tmp_path / "run", 2)
    assert found.partition == "p"
    gpu, cpu = found.types
    assert (gpu.units, gpu.can_run, gpu.free_at_arrival, gpu.down_unit_us) == (4, True, 0, 0.0)
    assert (cpu.units, cpu.capacity) == (0, 8.0)
    reported = " ".join(vinesim("explain", tmp_path / "run", "--job", "2").out.split())
    assert "takes 4 GPU on one node, in partition p." in reported
    assert "For 9.00 us no node had room for it: no GPU was free in partition p." in reported
    assert "GPU 4 yes 0 no node with room" in reported
    everywhere = waiting_of(tmp_path / "run", 3)
    assert everywhere.partition is None
    assert [kind.units for kind in everywhere.types] == [8, 1]


def test_it_was_busy_until_a_task_in_the_partition_ends(tmp_path):
    jobs = [(0, 10, 4, "ada", "p"), (0, 7, 4, "ada", "q"), (1, 5, 4, "ada", "p")]
    partitions = [vs.Partition("p", [[0, 0]]), vs.Partition("q", [[0, 1]])]
    recorded(tmp_path / "run", scenario("high", jobs, partitions, withdraw_us=[np.inf, np.inf, 6.0]))
    assert waiting_of(tmp_path / "run", 2).types[0].busy_until_us == 10.0


def test_a_type_that_the_partition_does_not_have_is_reported(tmp_path, vinesim):  # noqa: F811
    jobs = [(0, 10, 4, "ada", "p"), (1, 5, 1, "ada", "p")]
    case = scenario("high", jobs, [vs.Partition("p", [[0, 0]])])
    recorded(tmp_path / "run", replace(case, affinity=np.ones((2, 1))))
    reported = " ".join(vinesim("explain", tmp_path / "run", "--job", "1").out.split())
    assert "CPU 0 no, none where it may be 0 -" in reported


def test_the_command_and_the_causes_say_it(tmp_path, vinesim):  # noqa: F811
    case = scenario("high", JOBS, [vs.Partition("p", user_quota={"GPU": 4})])
    recorded(tmp_path / "run", case)
    text = " ".join(vinesim("explain", str(tmp_path / "run"), "--job", "2").out.split())
    assert (
        "from 1.00 us to 4.00 us: quota of user ada in partition p on GPU used: 4 of 4 by job 0 and job 1; it needs 2"
        in text
    )
    assert "see its quotas" in text
    assert "left them idle" not in text
    with open_result(tmp_path / "run") as result:
        causes = causes_of(result, read_record(result), [0.0, 10.0])
    assert causes.share == {QUOTA: pytest.approx(1.0)}
    assert IMPOSSIBLE not in causes.share


def test_what_a_preempted_task_held_itself_does_not_keep_it_waiting(tmp_path):
    """Ada's task uses up her quota until an urgent one of bob preempts it at 5."""
    jobs = [(0, 10, 4, "ada", "p"), (5, 10, 4, "bob", "p")]
    case = scenario("priority", jobs, [vs.Partition("p", [[0, 0]], user_quota={"GPU": 4})])
    recorded(tmp_path / "run", replace(case, workload=replace(case.workload, priority=[0.0, 1.0])))
    found = waiting_of(tmp_path / "run", 0)
    assert [(run.begin_us, run.end_us) for run in found.lost_runs] == [(0.0, 5.0)]
    assert found.start_us == 15.0
    assert found.quotas == []
    assert (found.waits, found.waited_us) == ([(5.0, 15.0)], 10.0)
    assert [opening.free_us for opening in found.openings if opening.by_older is not None] == [5.0]
    assert found.shortage.nowhere_us[0] == 10.0
    with open_result(tmp_path / "run") as result:
        causes = causes_of(result, read_record(result), np.array([0.0, 5.0, 15.0, 25.0]))
    assert causes.waited_us == 10.0
    assert sum(causes.over_time.values()).tolist() == [0.0, 1.0, 0.0]
