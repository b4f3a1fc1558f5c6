"""MaxCPUsPerNode: how many CPUs of a node the jobs of a partition have together. As real Slurm 22.05 had it."""

from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.test_partition_qos import never, waits
from tests.policies.slurm.test_slurm import TICK_S, nodes_of, run, starts_s
from tests.small_site import job
from vinesim.policies.documents import read_scenario
from vinesim.studies.mechanisms import SWITCHES

CONF = """NodeName=c1 CPUs=16 RealMemory=8000
PartitionName=cpu Nodes=ALL MaxTime=60 MaxCPUsPerNode=8
PartitionName=gpu Nodes=ALL MaxTime=60
PriorityType=priority/basic
SchedulerParameters=bf_interval=10
"""
WITHOUT = CONF.replace("MaxCPUsPerNode=8", "MaxCPUsPerNode=UNLIMITED")
FIRST = job(1, 0, 300, "-N1 -n6", partition="cpu", limit=10)
CYCLE_S = 15.0


def test_jobs_of_a_partition_have_no_more_cpus_of_a_node(tmp_path: Path) -> None:
    """A job of 4 waits though 10 are free. One of 2 starts, and one of another partition that asks for the rest."""
    rows = [FIRST, job(2, 5, 100, "-N1 -n4", partition="cpu"), job(3, 10, 30, "-N1 -n2", partition="cpu", limit=1),
            job(4, 15, 60, "-N1 -n8", partition="gpu", limit=5)]  # fmt: skip
    found = starts_s(run(tmp_path, rows, CONF))
    assert 300 <= found[1] < 300 + TICK_S
    assert found[2] < 10 + CYCLE_S
    assert found[3] < 15 + CYCLE_S
    assert waits(tmp_path, found, 1) == []  # Resources
    assert starts_s(run(tmp_path / "without", rows, WITHOUT))[1] < 5 + TICK_S


def test_a_plan_knows_of_it(tmp_path: Path) -> None:
    """The second job is planned for the end of the first one's limit: a longer one of 2 CPUs would be in its way."""
    rows = [FIRST, job(2, 5, 100, "-N1 -n4", partition="cpu"),
            *(job(n, 10, 60, "-N1 -n2", partition="cpu", limit=limit) for n, limit in ((3, 50), (4, 9)))]  # fmt: skip
    found = starts_s(run(tmp_path, rows, CONF))
    assert found[3] < 10 + CYCLE_S
    assert 300 <= found[1] <= found[2]


@pytest.mark.parametrize("options", ["-N1 -n9", "-N1 -n1 --exclusive", "-n2 -c9"])
def test_a_job_that_asks_for_more_never_starts(tmp_path: Path, options: str) -> None:
    """It holds nobody up."""
    rows = [job(1, 0, 60, options, partition="cpu", start=None, state="PENDING"),
            job(2, 1, 60, "-N1 -n8", partition="cpu")]  # fmt: skip
    found = starts_s(run(tmp_path, rows, CONF))
    assert np.isnan(found[0])
    assert found[1] < 1 + TICK_S
    assert waits(tmp_path, found, 0) == ["PartitionConfig"]


def test_a_job_that_does_not_say_takes_its_share_of_several_nodes(tmp_path: Path) -> None:
    """12 tasks are on two nodes, though one has 16 CPUs; then 4 more find room on the second one, and no others."""
    rows = [job(1, 0, 60, "-n12", partition="cpu"), job(2, 10, 60, "-n4 -N1", partition="cpu"),
            job(3, 15, 60, "-n1 -N1", partition="cpu")]  # fmt: skip
    for conf, n in ((CONF, 2), (WITHOUT, 1)):
        result = run(tmp_path / str(n), rows, conf.replace("c1", "c[1-2]"))
        found = starts_s(result)
        assert len(nodes_of(result, tmp_path / str(n))[0]) == n
        assert found[1] < 10 + TICK_S
        assert (found[2] >= 60) == (n == 2)


def test_types_of_gpus_are_others(tmp_path: Path) -> None:
    """A job of any type of GPU never gets the CPUs of a partition in their place."""
    conf = CONF.replace("RealMemory=8000", "RealMemory=8000 Gres=gpu:a100:1,gpu:t4:1")
    rows = [job(n, n, 100, "-N1 -n1 --gpus-per-node=1", partition="cpu") for n in (1, 2, 3)]
    found = starts_s(run(tmp_path, rows, conf))
    assert max(found[:2]) < 2 + 2 * TICK_S
    assert found[2] > 100


def test_what_if_and_the_waterfall_may_change_it(tmp_path: Path) -> None:
    """By its key."""
    run(
        tmp_path,
        [job(1, 0, 60, "-N1 -n9", partition="cpu")],
        CONF.replace("PartitionName=gpu Nodes=ALL MaxTime=60\n", ""),
    )
    site, key = tmp_path / "site.yaml", "options.partitions.cpu.max_cpus_per_node"
    assert never(read_scenario(site))
    assert not never(read_scenario(site, [f"{key}=9"]))
    assert not never(SWITCHES["limits on nodes of partitions"](read_scenario(site)))
