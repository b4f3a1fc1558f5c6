"""Rules that single experiments with real Slurm showed, on sites that differ in nothing else."""

from pathlib import Path

import pytest

from tests.policies.slurm.test_slurm import ONE, TICK_S, TIERS, nodes_of, run, starts_s
from tests.small_site import job

TWO = ONE.replace("PartitionName", "PartitionName=other Nodes=ALL MaxTime=60\nPartitionName")
WIDE = "-N2 --ntasks-per-node=4"


@pytest.mark.parametrize("partition", ["batch", "other"])
def test_the_main_scheduler_starts_nothing_behind_a_job_that_lacks_room(tmp_path: Path, partition: str) -> None:
    """Its nodes are closed for other partitions too: a short job waits for the next cycle of backfill."""
    rows = [job(1, 0, 900, "-N1 -n4"), job(2, 10, 60, WIDE), job(3, 20, 60, "-N1 -n1", partition=partition, limit=5)]
    found = starts_s(run(tmp_path, rows, TWO + "SchedulerParameters=bf_interval=300\n"))
    assert 300 <= found[2] < 300 + TICK_S
    assert found[1] > 900


def test_the_lowest_weight_comes_first_even_if_a_node_of_another_would_do(tmp_path: Path) -> None:
    """8 tasks take 4 CPUs of the light node and 4 of the heavy one."""
    conf = ONE.replace("NodeName=c[1-2] CPUs=4", "NodeName=c2 CPUs=8 RealMemory=8000 Weight=5\nNodeName=c1 CPUs=4")
    assert set(run(tmp_path, [job(1, 0, 60, "-n8")], conf).tasks["rack"].tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("idle", "wanted", "got"),
    [({3, 6, 7, 8}, 2, [6, 7]), ({1, 2, 4, 5, 7, 8}, 3, [1, 2, 4]), ({4, 5, 7, 8}, 2, [4, 5])],
)
def test_nodes_come_from_the_smallest_run_that_suffices(
    tmp_path: Path, idle: set[int], wanted: int, got: list[int]
) -> None:
    """From its low end; if none suffices, the largest are taken together."""
    rows = [job(i, 10 * i, (200 if i in idle else 900) - 10 * i, "-N1 -n4") for i in range(1, 9)]
    rows.append(job(9, 250, 60, f"-N{wanted} --ntasks-per-node=4"))
    result = run(tmp_path, rows, ONE.replace("c[1-2]", "c[1-8]"))
    assert [node + 1 for node in nodes_of(result, tmp_path)[8]] == got


def test_nodes_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Numbers as numbers, capitals first, wherever `slurm.conf` has them."""
    names = ("n10", "n9", "b2,n2", "a3,B1")
    conf = "".join(f"NodeName={name} CPUs=8 RealMemory=8000\n" for name in names) + ONE[ONE.index("Partition") :]
    result = run(tmp_path, [job(i, 10 * i, 300, "-N1 -n8") for i in range(6)], conf)
    assert [node for (node,) in nodes_of(result, tmp_path)] == list(range(6))
    assert 'names: "B1,a3,b2,n2,n9,n10"' in (tmp_path / "site.yaml").read_text().replace("'", '"')


def test_nice_and_the_tier_of_a_partition_order_the_queue(tmp_path: Path) -> None:
    """Nice within a tier; a higher tier before both, though it was submitted last."""
    conf = TWO.replace("c[1-2]", "c1").replace("other Nodes=ALL", "other Nodes=ALL PriorityTier=5")
    rows = [job(1, 0, 100, "-N1 -n4"), job(2, 10, 100, "-N1 -n4 --nice=100"), job(3, 20, 100, "-N1 -n4"),
            job(4, 30, 100, "-N1 -n4", partition="other")]  # fmt: skip
    found = starts_s(run(tmp_path, rows, conf))
    assert found[3] < found[2] < found[1]


@pytest.mark.parametrize(("minutes", "is_protected"), [(15, False), (60, True)])
def test_a_plan_that_ends_outside_the_window_protects_nothing(tmp_path: Path, minutes: int, is_protected: bool) -> None:
    """A long job takes the second node from one that could have both in 20 min."""
    rows = [job(1, 0, 1000, "-N1 -n4", limit=20), job(2, 10, 60, WIDE, limit=5), job(3, 20, 1500, "-N1 -n4", limit=30)]
    found = starts_s(run(tmp_path, rows, ONE + f"SchedulerParameters=bf_window={minutes}\n"))
    assert (found[1] < found[2]) == is_protected


def test_a_resolution_beyond_a_limit_leaves_holes_in_the_plan(tmp_path: Path) -> None:
    """A plan ends at a multiple of the resolution: one of 2 min may end before it begins, and protects nothing."""
    rows = [job(1, 0, 1000, "-N1 -n4", limit=20), job(2, 10, 60, WIDE, limit=2), job(3, 20, 1500, "-N1 -n4", limit=30)]
    found = {
        resolution: starts_s(
            run(tmp_path / str(resolution), rows, ONE + f"SchedulerParameters=bf_resolution={resolution}")
        )
        for resolution in (1, 3600)
    }
    assert found[1][1] < found[1][2]
    assert found[3600][2] < found[3600][1]


def test_a_limit_may_be_passed_by_the_over_time_limit(tmp_path: Path) -> None:
    """By 2 min, and until the next tick of 30 s."""
    rows = [job(1, 0, 900, "-N2 --ntasks-per-node=4", limit=1, state="TIMEOUT"), job(2, 10, 60, "-N1 -n1")]
    start, later = starts_s(run(tmp_path, rows, ONE + "OverTimeLimit=2\n"))
    assert start + 180 <= later < start + 210 + 2 * TICK_S


def test_the_youngest_may_be_preempted_first(tmp_path: Path) -> None:
    """With preempt_youngest_first the job that started last is requeued, else the one that started first."""
    rows = [job(1, 0, 300, "-N1 -n4", partition="low"), job(2, 20, 300, "-N1 -n4", partition="low"),
            job(3, 60, 30, "-N1 -n4", partition="top")]  # fmt: skip
    result = run(tmp_path, rows, TIERS + "SchedulerParameters=preempt_youngest_first\n")
    ended_s = [float(us) / 1e6 for us in result.jobs["finish_us"]]
    assert ended_s[0] < 300 + 2 * TICK_S
    assert ended_s[1] > 60 + 121 + 300


def test_a_plan_begins_at_a_step_of_its_resolution(tmp_path: Path) -> None:
    """A job that is planned for 630 s keeps its nodes from 600 s on. Real daemons planned one 28 s after a step, and
    started a job past it that was to end 9 s before the step, but none that was to end 1 s after it."""
    rows = [job(1, 0, 5, "-N1 -n1"), job(2, 30, 320, "-N1 -n4 -wc2", limit=10), job(3, 35, 60, WIDE, limit=5),
            job(4, 270, 20, "-N1 -n1", limit=5), job(5, 302, 20, "-N1 -n1", limit=5)]  # fmt: skip
    found = starts_s(run(tmp_path, rows, ONE + "SchedulerParameters=bf_interval=10\n"))
    assert found[3] < 285
    assert found[4] > found[2] > 350
