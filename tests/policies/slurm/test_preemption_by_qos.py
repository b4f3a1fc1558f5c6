"""Preemption by QOS: whose jobs it may preempt, in which order, how, and after how long."""

from pathlib import Path

import numpy as np

from tests.policies.slurm.test_slurm import TICK_S, run, starts_s
from tests.small_site import job

CONF = (
    "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=all Nodes=ALL Default=YES\n"
    "PriorityType=priority/multifactor\nPriorityWeightQOS=1000\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\n{more}"
)
HEAD = "Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode\n"
TABLE = HEAD + "low|1|00:00:00|||{mode}\nmid|5|00:00:00|||cluster\nhigh|10|00:00:00|low,mid|{exempt}|cluster\n"


def result_of(tmp_path: Path, *rows: str, mode: str = "cluster", more: str = "", table: str = TABLE):
    return run(tmp_path, rows, CONF.format(more=more), qos=table.format(mode=mode, exempt=""))


def whole(number: int, submit: int, qos: str, run_s: int = 600) -> str:
    """A job that takes a node."""
    return job(number, submit, run_s, "-N1 -n4", partition="all", qos=qos)


def test_the_qos_of_least_priority_is_preempted_first(tmp_path: Path) -> None:
    """Though its job began last. It is eligible 121 s later."""
    result = result_of(tmp_path, whole(1, 0, "mid"), whole(2, 20, "low"), whole(3, 60, "high", 30))
    assert starts_s(result)[2] < 60 + 2 * TICK_S
    ended_s = [float(us) / 1e6 for us in result.jobs["finish_us"]]
    assert ended_s[0] < 600 + 2 * TICK_S
    assert 60 + 121 + 600 <= ended_s[1] < 60 + 121 + 600 + 4 * TICK_S


def test_a_qos_preempts_only_those_that_it_names(tmp_path: Path) -> None:
    """mid names none, whatever its priority is."""
    found = starts_s(result_of(tmp_path, whole(1, 0, "low"), whole(2, 1, "low"), whole(3, 60, "mid", 30)))
    assert found[2] >= 600


def test_the_qos_of_a_job_says_how_it_is_preempted(tmp_path: Path) -> None:
    """low is cancelled where the others are requeued."""
    result = result_of(tmp_path, whole(1, 0, "low"), whole(2, 1, "mid"), whole(3, 60, "high", 30), mode="cancel")
    assert starts_s(result)[2] < 60 + 2 * TICK_S
    assert np.isnan(result.jobs["finish_us"][0])


def test_jobs_run_for_their_exempt_time(tmp_path: Path) -> None:
    """5 min for all but mid, which has none: of two jobs the one of mid is preempted, though low has less priority."""
    table = HEAD + "low|1|00:00:00|||cluster\nmid|5|00:00:00||00:00:00|cluster\nhigh|10|00:00:00|low,mid||cluster\n"
    more = "PreemptExemptTime=00:05:00\n"
    rows = [whole(1, 0, "low"), whole(2, 1, "low"), whole(3, 60, "high", 30)]
    found = starts_s(result_of(tmp_path / "a", *rows, more=more, table=table))
    assert 300 <= found[2] < 300 + 60 + 2 * TICK_S
    rows[1] = whole(2, 1, "mid")
    result = result_of(tmp_path / "b", *rows, more=more, table=table)
    assert starts_s(result)[2] < 60 + 2 * TICK_S
    assert float(result.jobs["finish_us"][0]) / 1e6 < 600 + 2 * TICK_S
