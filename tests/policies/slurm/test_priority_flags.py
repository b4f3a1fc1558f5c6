"""PriorityFlags and priorities of associations, against what sprio and squeue of a real Slurm 22.05 printed."""

from pathlib import Path

import pytest

from tests.policies.slurm.test_slurm import TICK_S, run, starts_s
from tests.small_site import job, write_site
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.scenario import Scenario
from vinesim.policies.documents import read_scenario
from vinesim.studies.priorities import Row, priorities_at

CONF = (
    "NodeName=n[1-4] CPUs=16 RealMemory=64000\nPartitionName=p Nodes=ALL PriorityJobFactor=2 MaxTime=60\n"
    "PartitionName=q Nodes=ALL PriorityJobFactor=10 MaxTime=60\nPriorityType=priority/multifactor\n"
    "PriorityCalcPeriod=1\nPriorityDecayHalfLife=20\nPriorityWeightAge=1000\nPriorityMaxAge=20\nPriorityWeightFairshare=10000\n"
    "PriorityWeightJobSize=1000\nPriorityWeightPartition=1000\nPriorityWeightQOS=1000\nPriorityWeightAssoc=100\n"
    "PriorityWeightTRES=CPU=1000,Mem=2000\nPriorityFlags="
)
DUMP = (
    "Cluster - 'small'\nParent - 'root'\nAccount - 'a':Fairshare=1\nAccount - 'b':Fairshare=1:Priority=300\n"
    "Parent - 'a'\nUser - 'ann':Fairshare=1\nUser - 'cat':Fairshare=1:Priority=500\n"
    "Parent - 'b'\nUser - 'bob':Fairshare=1\nUser - 'dan':Fairshare=1\n"
)
QOS = "Name|Priority|GraceTime\nnormal|50|00:00:00\nhi|100|00:00:00\n"
WHOLE = "-N4 --ntasks-per-node=16 --mem-per-cpu=100"  # of the cluster


def site(folder: Path, flags: str) -> Scenario:
    """Jobs 3 to 6 of all nodes wait for others."""
    ann, bob, cat, dan = (
        {"user": user, "account": "ab"[user in ("bob", "dan")]} for user in ("ann", "bob", "cat", "dan")
    )
    rows = [
        job(1, 0, 900, "-N3 --ntasks-per-node=16 --mem-per-cpu=100", partition="p", **ann),
        job(2, 1, 900, "-N1 -n16 --mem-per-cpu=100", partition="p", **bob),
        job(3, 3, 60, WHOLE, partition="p", **ann),
        job(4, 5, 60, WHOLE, partition="p", qos="hi", **bob),
        job(5, 7, 60, WHOLE, partition="q", **cat),
        job(6, 9, 60, f"{WHOLE} --nice=50", partition="p", **dan),
    ]
    report = import_site(
        write_site(folder / "site", rows, CONF + flags + "\n", dump=DUMP, qos=QOS), folder / "site.parquet"
    ).report
    assert report.numbers["not_modelled"] == {}
    return read_scenario(folder / "site.yaml")


def columns(scenario: Scenario, at_s: float, *names: str) -> list[tuple[float, ...]]:
    """Return columns of the jobs that wait, by their numbers."""
    rows = sorted(priorities_at(scenario, at_s).jobs, key=lambda row: int(row["job_id"]))
    return [tuple(round(row[name]) for name in names) for row in rows]


PARTS = ("assoc", "partition_factor", "qos_factor", "tres")
PRINTED = {  # of jobs 3 to 6: ASSOC, PARTITION, QOS and TRES of sprio
    "CALCULATE_RUNNING": [(0, 200, 500, 1050), (60, 200, 1000, 1050), (100, 1000, 500, 1050), (60, 200, 500, 1050)],
    "NO_NORMAL_PART,NO_NORMAL_TRES": [
        (0, 2000, 500, 12864000), (60, 2000, 1000, 12864000), (100, 10000, 500, 12864000), (60, 2000, 500, 12864000)],
    "NO_NORMAL_QOS,NO_NORMAL_ASSOC": [
        (0, 200, 50000, 1050), (30000, 200, 100000, 1050), (50000, 1000, 50000, 1050), (30000, 200, 50000, 1050)],
    "NO_NORMAL_ALL": [(0, 2000, 50000, 12864000), (30000, 2000, 100000, 12864000), (50000, 10000, 50000, 12864000),
                      (30000, 2000, 50000, 12864000)],
}  # fmt: skip


@pytest.mark.parametrize("flags", PRINTED)
def test_factors_as_they_are_given(tmp_path: Path, flags: str) -> None:
    """A user without a priority has that of the account."""
    assert columns(site(tmp_path, flags), 100.0, *PARTS) == PRINTED[flags]


@pytest.mark.parametrize("flags", ["", "INCR_ONLY"])
def test_priorities_that_only_increase(tmp_path: Path, flags: str) -> None:
    """Job 3 had 12,750 as it was submitted, before its user had used anything, and keeps it."""
    (priority, fair_share), *_ = columns(site(tmp_path, flags), 300.0, "priority", "fair_share")
    assert fair_share == 2000
    assert priority == 12750 if flags else 4750 < priority < 5050


AGE = (
    "NodeName=c1 CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=ALL MaxTime=60\n"
    "PriorityType=priority/multifactor\nPriorityWeightAge=10000\nPriorityMaxAge=16:40\nPriorityCalcPeriod=1\n"
)
ALWAYS = "PriorityFlags=ACCRUE_ALWAYS\n"


def ages(scenario: Scenario, at_s: float) -> dict[int, Row]:
    return {int(row["job_id"]): row["age"] for row in priorities_at(scenario, at_s).jobs}


@pytest.mark.parametrize(("flags", "first", "second"), [("", 0.0, 0.0), (ALWAYS, 2853.0, 2853.0)])
def test_jobs_age_while_they_are_held(tmp_path: Path, flags: str, first: float, second: float) -> None:
    """One that is held has 2853 as it is released after 291 s; so has one that waited for another one so long. The
    first age of each is that of the time when it became eligible, or of a calculation within a minute after it."""
    rows = [job(1, 0, 291, "-n1"), job(2, 0, 900, "-n3"), job(3, 0, 9, "-n4", eligible=291, start=900),
            job(4, 0, 9, "-n4 --dependency=afterany:1")]  # fmt: skip
    import_site(write_site(tmp_path / "site", rows, AGE + flags), tmp_path / "site.parquet")
    found = ages(read_scenario(tmp_path / "site.yaml"), 297.0)
    for number, expected in ((3, first), (4, second)):
        assert expected - 10 <= found[number] <= expected + 70


@pytest.mark.parametrize("flags", ["", ALWAYS])
def test_limits_on_aging_are_ignored_where_jobs_always_age(tmp_path: Path, flags: str) -> None:
    assoc = "Cluster|Account|User|Share|MaxJobsAccrue\ns|root||1|\ns|lab||1|\ns|lab|ann|1|1\n"
    rows = [job(1, 0, 900, "-n4"), job(2, 1, 9, "-n4"), job(3, 2, 9, "-n4")]
    import_site(write_site(tmp_path / "site", rows, AGE + flags, assoc=assoc), tmp_path / "site.parquet")
    found = ages(read_scenario(tmp_path / "site.yaml"), 200.0)
    assert found[2] > 1300
    assert (found[3] > 1300) == bool(flags)


@pytest.mark.parametrize("flags", ["", ALWAYS])
def test_a_requeued_job_ages_from_then_on(tmp_path: Path, flags: str) -> None:
    """It is eligible again after 121 s, and older by these with the flag: the printed 31 s after 31 s."""
    conf = AGE.replace("CPUs=4", "CPUs=4 Weight=1") + "NodeName=c2 CPUs=2 RealMemory=8000 Weight=5\n" + flags
    events = "NodeName|TimeStart|TimeEnd|State|Reason\nc1|2024-03-01T00:01:40|2024-03-01T00:02:00|DOWN|x\n"
    rows = [job(1, 0, 900, "-n4"), job(2, 110, 1500, "-n4", limit=60)]
    import_site(write_site(tmp_path / "site", rows, conf, events=events), tmp_path / "site.parquet")
    found = ages(read_scenario(tmp_path / "site.yaml"), 400.0)
    begin_s = 100.0 if flags else 221.0
    assert 10000 * (340 - begin_s) / 1020 - 10 <= found[1] <= 10000 * (400 - begin_s) / 1020 + 10


@pytest.mark.parametrize(("flags", "held_s"), [("", 0.0), (ALWAYS, 500.0)])
def test_what_jobs_of_a_snapshot_have_waited(tmp_path: Path, flags: str, held_s: float) -> None:
    head = "JOBID|NAME|USER|ACCOUNT|PARTITION|QOS|STATE|REASON|PRIORITY|SUBMIT|START|LIMIT|NODES|CPUS|NODELIST"
    rest = "2024-03-01T00:01:40|N/A|30:00|1|4|"
    lines = [f"{n}|j|ann|lab|batch|normal|PENDING|{why}|1|{rest}" for n, why in ((2, "Resources"), (3, "Dependency"))]
    queue = "\n".join([head, "## 1709251800", *lines]) + "\n"
    folder = write_site(tmp_path / "site", [job(1, 0, 50, "-n1")], AGE + flags, squeue=queue)
    work = read_scenario(write_snapshot(folder, tmp_path / "queue.parquet").scenario).workload
    assert [float(text or 0) for text in work.words_of("waited_s")] == [500.0, held_s]


def test_older_jobs_start_first_though_they_were_held(tmp_path: Path) -> None:
    """With the flag, a job that was submitted first and held for a while overtakes those that came meanwhile."""
    rows = [job(1, 0, 300, "-n4"), job(2, 1, 20, "-n4", eligible=200, start=500), job(3, 100, 20, "-n4")]
    without, having = (starts_s(run(tmp_path / (flags or "none"), rows, AGE + flags)) for flags in ("", ALWAYS))
    assert without[2] < without[1]
    assert having[1] < 300 + 2 * TICK_S < having[2]
