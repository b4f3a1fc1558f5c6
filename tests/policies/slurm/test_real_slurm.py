"""The policy ``slurm`` against real daemons of this machine: a dozen jobs, imported and predicted."""

import pytest

from tests.real_slurm import CannotStart, missing_programs, real_slurm
from vinesim.formats.importers.slurm_site import import_site
from vinesim.policies.documents import read_scenario
from vinesim.studies.backtest import backtest

CONF = """PartitionName=batch Nodes=ALL Default=YES MaxTime=10 State=UP
PriorityType=priority/basic
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,bf_resolution=1
"""
JOBS = (  # seconds, options: two that fill the nodes, one that needs both, long and short ones behind it
    (5, "-N1", "-n2", "-t1"), (7, "-N1", "-n2", "-t1"), (3, "-N2", "-n4", "-t1"), (3, "-N1", "-n1", "-t2"),
    (2, "-N1", "-n2", "-t1"), (2, "-N1", "-n1", "-t1"), (4, "-N2", "-n4", "-t1"), (1, "-N1", "-n1", "-t1"),
    (2, "-N1", "-n2", "-t1"), (1, "-N1", "-n1", "-t3"),
)  # fmt: skip


MISSING = missing_programs()


@pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (packages slurmctld, slurmd, slurm-client)"
)
def test_what_real_daemons_did_is_imported_and_predicted(tmp_path):
    """All jobs, and their waits: the phases of the daemons' clocks and a busy machine may cost half of them."""
    site = tmp_path / "site"
    site.mkdir()
    try:
        with real_slurm(tmp_path / "slurm", CONF, ("n1", "n2"), cpus=2) as slurm:
            for seconds, *options in JOBS:
                slurm.submit(seconds, *options)
            slurm.wait_for_jobs()
            jobs = slurm.jobs()
            (site / "slurm.conf").write_text((tmp_path / "slurm" / "slurm.conf").read_text())
            (site / "nodes.txt").write_text(slurm.run("scontrol", "show", "nodes", "-o"))
    except CannotStart as why:
        pytest.skip(f"Slurm does not start on this machine: {why}")
    lines = ["|".join(jobs[0]), *("|".join(job.values()) for job in jobs)]
    (site / "sacct.txt").write_text("\n".join(lines) + "\n")
    imported = import_site(site, tmp_path / "site.parquet")
    assert not imported.report.dropped
    found = backtest(read_scenario(imported.scenario), 8, engine="reference")
    assert len(found.job) == len(JOBS)
    assert found.error_s < 0.5 * found.actual_s.mean() + 2.0
