"""The policy slurm on small sites: each test is a rule of Slurm's, with times from the first submission."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.interpreted import simulate
from tests.small_site import CONF, at, job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.metrics.tables import Tables
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario

ONE = "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=ALL MaxTime=60\nPriorityType=priority/basic\n"
TICK_S = 5.0  # an event run comes so soon after an event at the latest
NO_BACKFILL = ONE + "SchedulerParameters=bf_interval=3000,sched_interval=3000"


def run(folder: Path, jobs: Sequence[str], conf: str = ONE, engine: str = "reference", **files: str) -> vs.Result:
    """Import a site and run it."""
    write_site(folder / "site", jobs, conf, **files)
    import_site(folder / "site", folder / "site.parquet")
    scenario = read_scenario(folder / "site.yaml")
    return simulate(scenario, engine)


def starts_s(result: vs.Result) -> list[float]:
    """When each job started first, s."""
    return [float(us) / 1e6 for us in result.jobs["start_us"]]


def nodes_of(result: vs.Result, folder: Path) -> list[list[int]]:
    """The shelves on which each job ran."""
    scenario = read_scenario(folder / "site.yaml")
    tables = Tables(scenario, result.outcome)
    first = scenario.workload.job_first
    units = tables.outcome.task_unit
    return [sorted({int(tables.shelf[u]) for u in units[a:b]}) for a, b in pairwise(first)]


def test_a_job_waits_for_room(tmp_path: Path) -> None:
    """The third job of a whole node starts at the tick after the first end."""
    found = starts_s(run(tmp_path, [job(i, 0, 100, "-N1 -n4") for i in (1, 2, 3)]))
    assert max(found[:2]) < TICK_S
    assert 100 <= found[2] < 100 + 2 * TICK_S


@pytest.mark.parametrize("delay_s", [3, 5])
def test_event_runs_are_a_delay_apart(tmp_path: Path, delay_s: int) -> None:
    """With a job each second there is a run exactly every ``batch_sched_delay``."""
    conf = f"{NO_BACKFILL},batch_sched_delay={delay_s}\n".replace("CPUs=4", "CPUs=64")
    found = starts_s(run(tmp_path, [job(i, i, 100, "-n1") for i in range(40)], conf))
    runs = np.unique(found)[1:]  # backfill may start the first job
    assert np.allclose(np.diff(runs), delay_s)


def test_an_event_run_comes_within_a_second(tmp_path: Path) -> None:
    """Where there was none shortly before: a second at most after a job is known, which is within its first second."""
    found = np.array(starts_s(run(tmp_path, [job(i, 20 * i, 10, "-n1") for i in range(1, 31)], NO_BACKFILL + "\n")))
    late_s = found - 20 * np.arange(30)
    assert 0 < late_s.min() < 0.6
    assert 1.4 < late_s.max() < 2.0


def test_jobs_of_a_second_come_as_they_are_numbered(tmp_path: Path) -> None:
    """Whatever parts of the second are drawn for them."""
    found = starts_s(run(tmp_path, [job(i, 0, 10, "-N1 -n4") for i in range(1, 21)]))
    assert found == sorted(found)


def test_one_node_goes_to_the_fullest_that_suffices(tmp_path: Path) -> None:
    """1 CPU of c1 is taken, 2 of c2 cannot be: the second job joins the first."""
    result = run(tmp_path, [job(1, 0, 300, "-N1 -n1"), job(2, 30, 300, "-N1 -n3")])
    assert nodes_of(result, tmp_path) == [[0], [0]]


def test_tasks_spread_over_nodes(tmp_path: Path) -> None:
    """6 tasks without -N take 4 CPUs of one node and 2 of the next."""
    result = run(tmp_path, [job(1, 0, 300, "-n6")])
    assert nodes_of(result, tmp_path) == [[0, 1]]


def test_backfill_starts_what_delays_nobody(tmp_path: Path) -> None:
    """The second job waits for both nodes. The third is over before, by its limit; the fourth is not."""
    rows = [job(1, 0, 600, "-N1 -n4", limit=12), job(2, 10, 60, "-N2 --ntasks-per-node=4"),
            job(3, 20, 60, "-N1 -n4", limit=2), job(4, 21, 60, "-N1 -n4", limit=55)]  # fmt: skip
    found = starts_s(run(tmp_path, rows))
    assert found[2] < 70
    assert found[1] >= 600
    assert found[3] > found[1]


def test_a_limit_ends_a_job_at_a_tick_of_30_s(tmp_path: Path) -> None:
    """A job that would run on is killed within 30 s after its limit, and its node is free then."""
    rows = [job(1, 0, 130, "-N2 --ntasks-per-node=4", limit=2, state="TIMEOUT"), job(2, 1, 60, "-N2 -n2")]
    found = starts_s(run(tmp_path, rows))
    assert 120 <= found[1] < 120 + 30 + 2 * TICK_S


def test_a_job_over_the_longest_time_never_starts_and_keeps_nobody(tmp_path: Path) -> None:
    """MaxTime is 60 min."""
    rows = [job(1, 0, 0, "-n8", limit=90, state="CANCELLED", start=None, end=500), job(2, 5, 60, "-n8")]
    found = starts_s(run(tmp_path, rows))
    assert np.isnan(found[0])
    assert found[1] < 5 + 2 * TICK_S


QOS = "Name|Priority|GraceTime|MaxJobsPU\nnormal|0|00:00:00|1\n"


def test_a_qos_limits_the_jobs_of_a_user(tmp_path: Path) -> None:
    """One at a time of ann; bob's is not kept."""
    rows = [job(1, 0, 100, "-n1"), job(2, 1, 100, "-n1"), job(3, 2, 100, "-n1", user="bob")]
    found = starts_s(run(tmp_path, rows, qos=QOS))
    assert 100 <= found[1] < 100 + 2 * TICK_S
    assert found[2] < 2 + 2 * TICK_S


ASSOC = "Cluster|Account|User|Share|GrpTRES|MaxJobs\ns|root||1||\ns|lab||20|cpu=4|\ns|lab|ann|10||\n"


def test_an_account_limits_what_its_jobs_hold(tmp_path: Path) -> None:
    """4 CPUs in all."""
    rows = [job(1, 0, 100, "-n3"), job(2, 1, 100, "-n2"), job(3, 2, 100, "-n1")]
    found = starts_s(run(tmp_path, rows, assoc=ASSOC))
    assert found[1] >= 100
    assert found[2] < 2 + 2 * TICK_S


RESERVED = "ReservationName=fix StartTime=2024-03-01T00:05:00 EndTime=2024-03-01T00:10:00 Nodes=c[1-2] Flags=MAINT\n"


def test_no_job_reaches_into_a_maintenance(tmp_path: Path) -> None:
    """The long job waits until it is over; the short one starts before."""
    rows = [job(1, 0, 60, "-n1", limit=10), job(2, 1, 60, "-n1", limit=2)]
    found = starts_s(run(tmp_path, rows, reservations=RESERVED))
    assert 600 <= found[0] < 600 + 2 * TICK_S
    assert found[1] < 1 + 2 * TICK_S


def test_dependencies_and_throttled_arrays_wait(tmp_path: Path) -> None:
    """afterok of the first; of the array one at a time."""
    rows = [job(1, 0, 100, "-n1"), job(2, 1, 50, "-n1 --dependency=afterok:1"),
            *(job(n, 2, 40, "-n1 --array=0-1%1", id=f"3_{n - 3}") for n in (3, 4))]  # fmt: skip
    found = starts_s(run(tmp_path, rows))
    assert 100 <= found[1] < 100 + 2 * TICK_S
    assert found[3] >= found[2] + 40


TIERS = (
    "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=low Nodes=ALL PreemptMode=REQUEUE\n"
    "PartitionName=top Nodes=ALL PriorityTier=5 PreemptMode=OFF\nPriorityType=priority/basic\n"
    "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
)


def test_an_upper_tier_requeues_jobs_of_a_lower_one(tmp_path: Path) -> None:
    """The job that began first goes; it is eligible 121 s later and runs from its beginning."""
    rows = [job(1, 0, 300, "-N1 -n4", partition="low"), job(2, 20, 300, "-N1 -n4", partition="low"),
            job(3, 60, 30, "-N1 -n4", partition="top")]  # fmt: skip
    result = run(tmp_path, rows, TIERS)
    found = starts_s(result)
    assert found[2] < 60 + 2 * TICK_S
    assert 60 + 121 + 300 <= float(result.jobs["finish_us"][0]) / 1e6 < 60 + 121 + 300 + 4 * TICK_S


def test_a_job_on_fewer_nodes_is_requeued_first(tmp_path: Path) -> None:
    """Though the one on two nodes has begun earlier; of those on one node it is the first."""
    rows = [job(1, 0, 300, "-N2 --ntasks-per-node=4", partition="low"), job(2, 20, 300, "-N1 -n4", partition="low"),
            job(3, 40, 300, "-N1 -n4", partition="low"), job(4, 60, 30, "-N1 -n4", partition="top")]  # fmt: skip
    result = run(tmp_path, rows, TIERS.replace("c[1-2]", "c[1-4]"))
    ended_s = [float(us) / 1e6 for us in result.jobs["finish_us"]]
    assert starts_s(result)[3] < 60 + 2 * TICK_S
    assert ended_s[0] < 300 + 2 * TICK_S
    assert ended_s[1] > 60 + 121 + 300
    assert ended_s[2] < 340 + 2 * TICK_S


def requeued(result: vs.Result, folder: Path) -> dict[int, float]:
    """When each job that was requeued lost its nodes last, s, by its place in the log."""
    early, first = result.outcome.early, read_scenario(folder / "site.yaml").workload.job_first
    assert early is not None
    return {int(np.searchsorted(first, task, "right")) - 1: us / 1e6
            for task, us in zip(early.task.tolist(), early.end_us.tolist(), strict=True)}  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_the_victim_that_made_room_is_tried_first_once_more(tmp_path: Path, engine: str) -> None:
    """The youngest job, on c2, does not suffice; with the next one c2 and c3 would do, but that one suffices alone."""
    rows = [job(1, 0, 300, "-N1 -n4", partition="low"), job(2, 1, 10, "-N1 -n4", partition="low"),
            job(3, 2, 300, "-N2 --ntasks-per-node=4", partition="low"), job(4, 30, 300, "-N1 -n4", partition="low"),
            job(5, 60, 30, "-N2 --ntasks-per-node=4", partition="top")]  # fmt: skip
    conf = TIERS.replace("c[1-2]", "c[1-4]") + "SchedulerParameters=preempt_youngest_first\n"
    result = run(tmp_path, rows, conf, engine)
    assert nodes_of(result, tmp_path)[3:] == [[1], [2, 3]]
    assert starts_s(result)[4] < 60 + TICK_S
    assert set(requeued(result, tmp_path)) == {2}


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_backfill_preempts_in_one_cycle_and_starts_in_the_next(tmp_path: Path, engine: str) -> None:
    """The third job waits for both nodes, and closes its partition for the fourth in the main run."""
    rows = [job(1, 0, 300, "-N1 -n4", partition="top"), job(2, 5, 300, "-N1 -n4", partition="low"),
            job(3, 20, 30, "-N2 --ntasks-per-node=4", partition="top"),
            job(4, 25, 60, "-N1 -n4", partition="top", limit=2)]  # fmt: skip
    result = run(tmp_path, rows, TIERS, engine)
    lost_s = requeued(result, tmp_path)[1]
    assert 25 <= lost_s < 25 + 32
    assert lost_s + 29 < starts_s(result)[3] < lost_s + 31


def test_an_upper_tier_suspends_jobs_of_a_lower_one(tmp_path: Path) -> None:
    """The job goes on with what is left when the other one is over."""
    conf = TIERS.replace("REQUEUE", "SUSPEND")
    rows = [job(1, 0, 300, "-N2 --ntasks-per-node=4", partition="low"), job(2, 60, 30, "-N1 -n4", partition="top")]
    result = run(tmp_path, rows, conf)
    ended = [float(us) / 1e6 for us in result.jobs["finish_us"]]
    assert starts_s(result)[1] < 60 + 2 * TICK_S
    assert 329 < ended[0] < 330 + 3 * TICK_S


def test_seeds_draw_the_phases_and_repeat_them(tmp_path: Path) -> None:
    """The same seed gives the same times, another one others."""
    write_site(tmp_path / "site", [job(i, i, 30, "-n2") for i in range(1, 9)], ONE)
    import_site(tmp_path / "site", tmp_path / "site.parquet")
    found = [
        vs.simulate(read_scenario(tmp_path / "site.yaml", settings={"seed": seed}), engine="reference").outcome
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(found[0].task_init_us, found[1].task_init_us)
    assert not np.array_equal(found[0].task_init_us, found[2].task_init_us)


@pytest.mark.slow
def test_both_engines_decide_alike(tmp_path: Path) -> None:
    """Bit for bit, with GPUs, features, limits and tiers."""
    rows = [
        job(i, 7 * i % 90, 20 + i * 13 % 70, line, partition=("batch", "short")[i % 3 == 0], limit=2 + i % 9,
            user=("ann", "bob")[i % 2])
        for i, line in enumerate(("-n3", "-N1 -n4", "-N2 --ntasks-per-node=2", "-N1 -n2 --mem=3000") * 10, 1)
    ]  # fmt: skip
    rows.sort(key=lambda row: row.split("|")[7])
    outcomes = [run(tmp_path / engine, rows, CONF, engine, qos=QOS).outcome for engine in ("compiled", "reference")]
    for name in ("task_unit", "task_init_us", "task_finish_us"):
        assert np.array_equal(getattr(outcomes[0], name), getattr(outcomes[1], name), equal_nan=True)


@pytest.mark.parametrize("is_reserved", [False, True])
def test_seeds_draw_when_the_first_cycle_of_backfill_is(tmp_path: Path, is_reserved: bool) -> None:
    """Within ``bf_interval`` of the beginning where there are reservations, else of the first job: only backfill starts
    the third job, past the second."""
    rows = [job(1, 0, 900, "-N1 -n4"), job(2, 1, 60, "-N2 --ntasks-per-node=4"), job(3, 2, 60, "-N1 -n1", limit=5)]
    later = "ReservationName=x StartTime=2024-03-02T02:00:00 EndTime=2024-03-02T02:20:00 Nodes=c1 Users=ann\n"
    files = {"reservations": later} if is_reserved else {}
    write_site(tmp_path / "site", rows, ONE + "SchedulerParameters=bf_interval=300,sched_interval=3000\n", **files)
    import_site(tmp_path / "site", tmp_path / "site.parquet")
    scenarios = [read_scenario(tmp_path / "site.yaml", settings={"seed": seed}) for seed in range(1, 9)]
    found = [starts_s(vs.simulate(scenario, engine="reference"))[2] for scenario in scenarios]
    assert 0 < min(found) <= max(found) < 300 + TICK_S
    assert (max(found) - min(found) > 100) is is_reserved


LICENCES = """NodeName=n[1-4] CPUs=16 RealMemory=64000
PartitionName=p Nodes=ALL Default=YES MaxTime=240
Licenses=lic:2
PriorityType=priority/basic
SchedulerParameters=bf_interval=10
"""


def test_a_job_waits_for_its_licences_and_holds_up_nobody(tmp_path: Path) -> None:
    """As real daemons did: the second job waits for the licences of the first, the third and fifth start past it and
    past the fourth, which wants all nodes and the last licence."""
    jobs = [
        job(1, 0, 120, "-N1 -n4 -Llic:2", limit=5, partition="p"),
        job(2, 5, 60, "-N1 -n4 --licenses=lic", limit=5, partition="p"),
        job(3, 8, 60, "-N1 -n4", limit=5, partition="p"),
        job(4, 12, 60, "-N4 --ntasks-per-node=16 -Llic:1", limit=5, partition="p"),
        job(5, 15, 60, "-N1 -n4", limit=2, partition="p"),
    ]
    found = starts_s(run(tmp_path, jobs, LICENCES))
    assert found[0] < TICK_S
    assert found[2] - 8 < TICK_S
    assert found[4] - 15 < TICK_S
    assert 120 <= found[1] < 120 + 2 * TICK_S  # real: 1 s after the end of the first
    assert 180 <= found[3] < 180 + 4 * TICK_S


def test_licences_that_slurm_conf_lacks_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("lic", "other:3", "lic|other")
    jobs = [job(i, 0, 60, f"-N1 -n1 -L{text}", partition="p") for i, text in enumerate(texts, 1)]
    write_site(tmp_path / "site", jobs, LICENCES)
    report = import_site(tmp_path / "site", tmp_path / "site.parquet")
    (line,) = [one for one in str(report).splitlines() if "licences" in one]
    assert "2" in line


def test_backfill_starts_a_job_with_time_min_before_a_maintenance(tmp_path: Path) -> None:
    """A maintenance of both nodes begins at 300 s: a job of 6 min that takes 2 starts before it, one without after it.
    sacct has the 2 min that it got, the command the 6 that it asked for."""
    asked = job(2, 12, 60, "-N1 -n4 --time-min=2", limit=6)
    jobs = [job(1, 0, 60, "-N1 -n4", limit=6), asked.replace("|60|6|", "|60|2|")]
    reservation = f"ReservationName=m StartTime={at(300)} EndTime={at(480)} Nodes=c[1-2] Flags=MAINT Users=root\n"
    found = starts_s(run(tmp_path, jobs, ONE, reservations=reservation))
    assert 480 <= found[0] < 480 + 2 * TICK_S
    assert 12 <= found[1] < 12 + 35
    estimates = read_scenario(tmp_path / "site.yaml").workload.estimate_us
    assert estimates is not None
    assert estimates.tolist() == [360e6, 360e6]


def test_the_main_scheduler_leaves_a_job_its_whole_limit(tmp_path: Path) -> None:
    """Nothing is in its way: a job with --time-min runs for longer than that."""
    result = run(tmp_path, [job(1, 0, 300, "-N1 -n4 --time-min=1", limit=6)])
    assert float(result.jobs["finish_us"][0]) / 1e6 > 300


def test_a_job_ages_while_the_limit_of_its_array_holds_it(tmp_path: Path) -> None:
    """One job of the array at a time. Its second one is older than the job that came at 50."""
    conf = ONE.replace("basic", "multifactor") + "PriorityWeightAge=100000\nPriorityMaxAge=0-1\nPriorityCalcPeriod=1\n"
    words = "-N2 --ntasks-per-node=4 --array=1-2%1"
    tasks = [job(10 + i, 0, 300, words, id=f"10_{i}", eligible=300 * i - 300, start=300 * i - 300) for i in (1, 2)]
    found = starts_s(run(tmp_path, [*tasks, job(20, 50, 300, "-N2 --ntasks-per-node=4")], conf))
    assert 300 <= found[1] < 600 <= found[2]


def test_the_limit_of_an_array_counts_what_runs(tmp_path: Path) -> None:
    """While nothing of it runs, backfill plans each task of an array with a limit of one, and these are all that it
    looks at of a user; so another job of the user, which would fit next to it, waits until the others are few."""
    conf = ONE.replace("c[1-2]", "c1")
    rows = [job(1, 0, 200, "-N1 -n3", user="bob", limit=10),
            *(job(n, 2, 40, "-N1 -n4 --array=0-2%1", id=f"2_{n - 2}", limit=2) for n in (2, 3, 4)),
            job(5, 5, 20, "-N1 -n1", limit=2)]  # fmt: skip
    assert starts_s(run(tmp_path, rows, f"{conf}SchedulerParameters=bf_max_job_user=3\n"))[4] >= 200
    assert starts_s(run(tmp_path / "other", rows, conf))[4] < 5 + 31


def test_backfill_keeps_its_beat_while_jobs_end(tmp_path: Path) -> None:
    """Its cycles are 30 s apart from the first job on, as jobs end in each of them, though none waits until 95 s."""
    rows = [*(job(i, 0, 20 * i, "-N1 -n1") for i in (1, 2, 3, 4)), job(5, 95, 300, "-N1 -n3", limit=10),
            job(6, 100, 60, "-N1 -n4"), job(7, 101, 20, "-N1 -n1", limit=1)]  # fmt: skip
    assert 120 <= starts_s(run(tmp_path, rows, ONE.replace("c[1-2]", "c1")))[6] < 124


def test_backfill_plans_twenty_tasks_of_an_array(tmp_path: Path) -> None:
    """So of a user, of whom it looks at 21 jobs, it looks at the one behind 25 tasks too, but not of 20 jobs."""
    tasks = [job(n, 2, 40, "-N1 -n4 --array=0-24%1", id=f"2_{n - 2}", limit=2) for n in range(2, 27)]
    rows = [job(1, 0, 200, "-N1 -n3", user="bob", limit=10), *tasks, job(27, 5, 20, "-N1 -n1", limit=2)]
    conf = ONE.replace("c[1-2]", "c1") + "SchedulerParameters=bf_max_job_user="
    assert starts_s(run(tmp_path / "20", rows, f"{conf}20\n"))[26] >= 200
    assert starts_s(run(tmp_path / "21", rows, f"{conf}21\n"))[26] < 5 + 31


@pytest.mark.parametrize("engine", ["reference", "interpreted"])
def test_each_job_may_name_several_partitions(tmp_path: Path, engine: str) -> None:
    """So that no job is of one partition alone: the first three have a node of batch each, the last waits for one."""
    rows = [job(i, 0, 100, "-N1 -n4", partition="batch,short", limit=5) for i in range(1, 5)]
    found = starts_s(run(tmp_path, rows, CONF.replace("Nodes=ALL Def", "Nodes=c[1-3] Def"), engine))
    assert max(found[:3]) < TICK_S
    assert found[3] >= 100


def test_a_quota_of_a_partition_without_jobs_is_refused(tmp_path: Path) -> None:
    run(tmp_path, [job(1, 0, 100, "-N1", partition="batch,short", limit=5)], CONF)
    text = (tmp_path / "site.yaml").read_text().replace("- name: batch\n", "- name: batch\n  quota: {CPU: 4}\n")
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(InputError, match="the workload names no partition"):
        read_scenario(tmp_path / "site.yaml")
