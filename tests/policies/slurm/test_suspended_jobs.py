"""A suspended job goes on when the job in its place leaves, unless its limit, its user or an outage takes it too."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.small_site import at, job, write_site
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.importers.slurm_site import import_site
from vinesim.formats.slurm.values import time_s
from vinesim.policies.documents import read_scenario

CONF = (
    "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=low Nodes=ALL Default=YES\n"
    "PartitionName=top Nodes=ALL PriorityTier=5 PreemptMode=OFF\nPriorityType=priority/basic\n"
    "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"
)
HEAD = "JOBID|NAME|USER|ACCOUNT|PARTITION|QOS|STATE|REASON|PRIORITY|SUBMIT|START|LIMIT|TIME|NODES|CPUS|NODELIST"
NOW = 1200  # of the snapshot
PENDING = 2  # the job that waits
WHOLE = "-N{n} --ntasks-per-node=4"


def snapshot(folder: Path, low: str, top: str, limit: int = 30, ran: str = "") -> vs.Scenario:
    """A snapshot of a suspended job, a job that has its CPUs, by their nodes, and one that waits for both nodes. Each
    has a limit, min, and would run twice as long. ``ran`` is what squeue says of the suspended job."""
    rows, past = [], []
    for number, (partition, state, nodes) in enumerate((("low", "SUSPENDED", low), ("top", "RUNNING", top))):
        n, start = 1 + ("-" in nodes), 1000 + 100 * number
        what = f"j|ann|lab|{partition}|normal|{state}|None|1|{at(start)}|{at(start)}"
        rows.append(f"{number}|{what}|{limit}:00|{'' if number else ran}|{n}|{4 * n}|{nodes}")
        past.append(job(number, start, 900, WHOLE.format(n=n), limit=limit, partition=partition))
    rows.append(f"2|j|ann|lab|low|normal|PENDING|Resources|1|{at(NOW)}|N/A|10:00||2|8|")
    past.append(job(2, NOW, 100, WHOLE.format(n=2), start=None, limit=10, partition="low", state="PENDING"))
    queue = "\n".join([HEAD, f"## {time_s(at(NOW)):.0f}", *rows]) + "\n"
    site = write_site(folder / "site", past, CONF, squeue=queue)
    scenario = read_scenario(write_snapshot(site, folder / "queue.parquet").scenario)
    work = scenario.workload
    return replace(scenario, workload=replace(work, operations=work.operations * 2.0))


def outage(folder: Path, low: str, top: str, node: int, running: str = "requeue") -> vs.Scenario:
    """The same, with an outage of a node from 50 s to 5,000 s."""
    down = vs.Outage(0, node, 50e6, 5000e6, running=running)  # type: ignore[arg-type]
    return replace(snapshot(folder, low, top), outages=(down,))


def withdrawal(folder: Path) -> vs.Scenario:
    """Both jobs are withdrawn at 100 s; the upper one comes first in the log, and begins later."""
    rows = [job(1, 0, 300, WHOLE.format(n=1), partition="top", start=60, eligible=60),
            job(2, 1, 300, WHOLE.format(n=2), partition="low")]  # fmt: skip
    import_site(write_site(folder / "site", rows, CONF), folder / "site.parquet")
    scenario = read_scenario(folder / "site.yaml")
    return replace(scenario, workload=replace(scenario.workload, withdraw_us=np.array([100e6, 100e6])))


def started_s(scenario: vs.Scenario) -> list[float]:
    return [float(us) / 1e6 for us in vs.simulate(scenario, engine="reference").jobs["start_us"]]


def test_a_job_over_its_limit_ends_as_it_goes_on(tmp_path: Path) -> None:
    """The upper job reaches its limit of 3 min 80 s after the snapshot, and the lower one has used up its own.
    Both end at the next tick of 30 s, and the pending job starts."""
    assert 80 < started_s(snapshot(tmp_path, "c1", "c1", limit=3, ran="3:00"))[PENDING] < 80 + 30 + 10


def test_the_time_that_a_job_was_suspended_before_a_snapshot_does_not_count(tmp_path: Path) -> None:
    """It ran 100 s of 3 min before the upper job took its place, and has the other 80 s when it goes on."""
    assert 80 + 80 < started_s(snapshot(tmp_path, "c1", "c1", limit=3))[PENDING] < 80 + 30 + 80 + 30 + 10


def test_jobs_that_are_withdrawn_together_do_not_go_on(tmp_path: Path) -> None:
    scenario = withdrawal(tmp_path)
    result = vs.simulate(scenario, engine="reference")
    assert np.all(np.isnan(result.outcome.task_finish_us))
    assert 60 <= float(result.jobs["start_us"][0]) / 1e6 < 70


OUTAGES = [
    ("c1", "c1", 0, "requeue"),
    ("c1", "c[1-2]", 1, "requeue"),  # only the upper job loses a node
    ("c[1-2]", "c1", 0, "requeue"),
    ("c[1-2]", "c1", 1, "requeue"),  # only the suspended one
    ("c[1-2]", "c1", 1, "finish"),
]


@pytest.mark.parametrize(("low", "top", "node", "running"), OUTAGES)
def test_outages(tmp_path: Path, low: str, top: str, node: int, running: str) -> None:
    """A suspended job that has lost a node ends or waits again. The queue goes on when the node is back."""
    assert started_s(outage(tmp_path, low, top, node, running))[PENDING] >= 5000


@pytest.mark.slow  # compiles the policy: a minute
def test_both_engines_agree(tmp_path: Path) -> None:
    scenarios = [snapshot(tmp_path / "limit", "c1", "c1", limit=3), withdrawal(tmp_path / "withdrawal")]
    scenarios += [outage(tmp_path / str(i), *one) for i, one in enumerate(OUTAGES)]
    scenarios += [tiers(tmp_path / f"tiers {i}", given) for i, given in enumerate((CORES, SHADOWS))]
    for i, scenario in enumerate(scenarios):
        one, other = (vs.simulate(scenario, engine=engine).outcome for engine in ("reference", "compiled"))
        for name in ("task_unit", "task_init_us", "task_finish_us"):
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), (i, name)


def test_an_exclusive_job_suspends_all_jobs_at_its_node(tmp_path: Path) -> None:
    """It asks for two CPUs, two are free, and it gets the whole node: both lower jobs stop for its minute."""
    rows = [job(number, 0, 600, "-N1 -n1", partition="low") for number in (1, 2)]
    rows.append(job(3, 100, 60, "-N1 -n2 --exclusive", partition="top"))
    write_site(tmp_path / "site", rows, CONF.replace("c[1-2]", "c1"))
    import_site(tmp_path / "site", tmp_path / "site.parquet")
    result = vs.simulate(read_scenario(tmp_path / "site.yaml"), engine="reference")
    assert result.exit_reason == "ALL_DONE"
    start_s, finish_s = (result.tasks[name][-1] / 1e6 for name in ("start_us", "finish_us"))
    assert 100 <= start_s < 110
    assert finish_s - start_s == pytest.approx(60)
    assert np.all(result.tasks["finish_us"][:2] / 1e6 > 655)


TIERS = (
    "NodeName=c[1-2] Sockets=2 CoresPerSocket=8 RealMemory=8000\nPartitionName=low Nodes=ALL Default=YES\n"
    "PartitionName=mid Nodes=ALL PriorityTier=5\nPartitionName=kept Nodes=ALL PriorityTier=2 PreemptMode=OFF\n"
    "PartitionName=top Nodes=ALL PriorityTier=9 PreemptMode=OFF\nPriorityType=priority/basic\n"
    "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"
)
CORES = [  # what a run of Slurm 22.05 showed, with the numbers of the cores: partition, submission, run, CPUs, node
    ("low", 0, 600, 4, "c1"), ("low", 10, 600, 4, "c1"), ("low", 20, 600, 6, "c1"),
    ("low", 30, 600, 3, "c2"), ("low", 40, 600, 12, "c2"),
    ("top", 60, 100, 4, "c1"),  # the first job's cores, not the two that are free
    ("top", 80, 100, 2, "c2"),  # of three of the fourth's
    ("mid", 120, 150, 6, ""),  # the cores of the second and some of the third
]  # fmt: skip
SUSPENDED_S = [100, 150, 150, 100, 0, 0, 0, 0]
SHADOWS = [
    ("top", 0, 60, 12, "c1"), ("low", 10, 600, 2, "c1"), ("low", 20, 600, 2, "c1"), ("kept", 30, 200, 16, "c2"),
    ("mid", 40, 300, 4, "c1"),  # the cores of both jobs below
    ("top", 90, 100, 13, "c1"),  # suspends it; the second job below goes on meanwhile
    ("top", 100, 60, 2, "c2"),  # waits, as the job of the partition that nobody preempts has all
]  # fmt: skip
SHADOWED_S = [0, 400, 300, 0, 100, 0, 0]


def tiers(folder: Path, given: list[tuple[str, int, int, int, str]]) -> vs.Scenario:
    rows = [
        job(number, submit, run, f"-N1 -n{cpus}" + (f" -w {node}" if node else ""), partition=partition, limit=20)
        for number, (partition, submit, run, cpus, node) in enumerate(given, 1)
    ]
    import_site(write_site(folder / "site", rows, TIERS), folder / "site.parquet")
    return read_scenario(folder / "site.yaml")


def after_tiers(folder: Path, given: list[tuple[str, int, int, int, str]]) -> tuple[np.ndarray, np.ndarray]:
    """When jobs started, and for how long they were suspended, s."""
    result = vs.simulate(tiers(folder, given), engine="reference")
    start_s, finish_s = (result.jobs[name] / 1e6 for name in ("start_us", "finish_us"))
    return start_s, finish_s - start_s - np.array([run for _, _, run, _, _ in given])


def test_an_upper_job_takes_the_lowest_cores(tmp_path: Path) -> None:
    """Whether or not others are free, so lower jobs are suspended and free CPUs are left."""
    start_s, suspended_s = after_tiers(tmp_path, CORES)
    assert np.all(start_s < np.array([submit for _, submit, *_ in CORES]) + 10)
    assert np.allclose(suspended_s, SUSPENDED_S, atol=5)


def test_tiers_that_suspend_one_another(tmp_path: Path) -> None:
    """A suspended job keeps no lower one from going on, and nobody takes cores of a partition without preemption."""
    start_s, suspended_s = after_tiers(tmp_path, SHADOWS)
    assert start_s[6] > 230
    assert np.allclose(suspended_s, SHADOWED_S, atol=10)
