"""Limits on how many pending jobs become older, and so more urgent: others overtake those beyond them."""

from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.test_slurm import run, starts_s
from tests.small_site import job

CONF = (
    "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=ALL MaxTime=60\n"
    "PriorityType=priority/multifactor\nPriorityWeightAge=100000\nPriorityMaxAge=60\nPriorityCalcPeriod=1\n"
)
ASSOC = "Cluster|Account|User|Share|GrpJobsAccrue|MaxJobsAccrue\ns|root||1||\ns|lab||1|{of_lab}|\n"
ASSOC += "s|lab|ann|1|{of_ann}|{at_most}\ns|art||1||\ns|art|bob|1||\n"
QOS = "Name|Priority|GraceTime|GrpJobsAccrue|MaxJobsAccruePU|MaxJobsAccruePA\n"
QOS += "normal|0|00:00:00|{}|{}|{}\nother|0|00:00:00|||\n"
LIMITS = {
    "of an account": {"assoc": ASSOC.format(of_lab=1, of_ann="", at_most="")},
    "of a user": {"assoc": ASSOC.format(of_lab="", of_ann="", at_most=1)},
    "of a user, below the largest of his jobs": {"assoc": ASSOC.format(of_lab="", of_ann=1, at_most=9)},
    "of a QOS": {"qos": QOS.format(1, "", "")},
    "of a user in a QOS": {"qos": QOS.format("", 1, "")},
    "of an account in a QOS": {"qos": QOS.format("", "", 1)},
}


def order(folder: Path, **files: str) -> list[int]:
    """In which order the four jobs start, each on all nodes: two of ann, then one of bob, behind another of bob."""
    bob = {"user": "bob", "account": "art", "qos": "other"}
    rows = [job(1, 0, 300, "-N2 -n8", **bob), job(2, 1, 100, "-N2 -n8"), job(3, 2, 100, "-N2 -n8")]
    return np.argsort(starts_s(run(folder, [*rows, job(4, 50, 100, "-N2 -n8", **bob)], CONF, **files))).tolist()


def test_older_jobs_start_first(tmp_path: Path) -> None:
    assert order(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("limit", LIMITS)
def test_one_job_beyond_a_limit_is_overtaken(tmp_path: Path, limit: str) -> None:
    """Ann's second job has no age while the first is pending; it gets some when that has started, but less than
    bob's."""
    assert order(tmp_path, **LIMITS[limit]) == [0, 1, 3, 2]
