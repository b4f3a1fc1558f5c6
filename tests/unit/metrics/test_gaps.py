"""How long none of a job's tasks held a unit, against a plain reading of the intervals."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.metrics.gaps import gaps_us


def plainly(begin_us, end_us):
    """The unit intervals between the first begin and the last end in which nothing is held; times are integers."""
    held = {at for begin, end in zip(begin_us, end_us, strict=True) for at in range(int(begin), int(end))}
    return max(begin_us) - min(begin_us) - len([at for at in held if at < max(begin_us)]) if len(begin_us) else 0.0


@pytest.mark.parametrize("seed", range(30))
def test_gaps_are_the_times_that_no_segment_covers(seed):
    random = np.random.default_rng(seed)
    job = random.integers(0, 4, 12)
    begin_us = random.integers(0, 60, (2, 12)).astype(float)
    end_us = begin_us + random.integers(0, 12, (2, 12))
    begin_us[0, random.integers(0, 12, 3)] = np.nan  # never started
    found = gaps_us(job, begin_us, end_us, 5)
    for k, j in np.ndindex(2, 5):
        mine = (job == j) & np.isfinite(begin_us[k])
        assert found[k, j] == plainly(begin_us[k, mine], end_us[k, mine]), (k, j)
    assert np.array_equal(found[0], gaps_us(job, begin_us[0], end_us[0], 5))


def test_a_job_waits_between_its_tasks_while_none_of_them_has_a_unit():
    """Its second task needs the whole unit, half of which an older job holds until 100."""
    work = vs.Workload(
        [0, 0], [0, 1, 3], [0.0, 5.0], [100.0, 10.0, 20.0], *np.zeros((3, 3)), np.full(3, -1),
        demand=[1.0, 1.0, 2.0], task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter(np.zeros(1), np.zeros(1), np.zeros(1), (vs.ProcessorType("P"),), capacity=[2.0])
    done = vs.simulate(vs.Scenario(center, work, "fcfs", affinity=[[1.0]]), engine="reference")
    assert done.tasks["init_us"].tolist() == [0.0, 5.0, 100.0]
    assert done.summary["jobs"]["wait_us"]["max"] == 85.0
    assert done.summary["jobs"]["time_to_start_us"]["max"] == 0.0
