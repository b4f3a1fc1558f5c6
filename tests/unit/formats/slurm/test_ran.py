"""How long jobs of a snapshot have run, when they were suspended."""

import pytest

from tests.small_site import at
from vinesim.formats.importers.site_ran import ran_s
from vinesim.formats.slurm.values import time_s

NOW = time_s(at(1200))
TIERS = {"low": 1, "top": 5}


def row(state="RUNNING", start=200, end=None, job="1", partition="low", nodes="c1", **more):
    return {"JOBID": job, "STATE": state, "START": at(start), "END": "N/A" if end is None else at(end),
            "LIMIT": "30:00", "PARTITION": partition, "NODELIST": nodes, **more}  # fmt: skip


OVER_IT = row(start=500, job="2", partition="top")  # has its CPUs
SINCE = [(time_s(at(s)), [row("SUSPENDED", end=2000)]) for s in (1100, 800, 600)]
CASES = {
    "never suspended": (row(end=2000), [], [], 1000),
    "no end": (row(), [], [], 1000),
    "goes on after 300 s": (row(end=2300), [], [], 700),
    "says it": (row("SUSPENDED", end=2000, TIME="5:10"), [OVER_IT], SINCE, 310),
    "since the upper job started": (row("SUSPENDED", end=2000), [OVER_IT], [], 300),
    "since it was seen first": (row("SUSPENDED", end=2000), [], SINCE, 400),
    "it ran between": (
        row("SUSPENDED", end=2300),
        [],
        [*SINCE[:1], (time_s(at(800)), [row(end=2300)]), *SINCE[2:]],
        600,
    ),
    "other nodes": (row("SUSPENDED", end=2000), [{**OVER_IT, "NODELIST": "c[2-3]"}], [], 1000),
}


@pytest.mark.parametrize("case", CASES)
def test_the_time_that_a_job_was_suspended_is_not_what_it_ran(case):
    one, others, before, right = CASES[case]
    assert ran_s(one, NOW, [one, *others], before, TIERS) == right
