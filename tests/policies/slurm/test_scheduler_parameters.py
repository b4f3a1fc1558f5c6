"""SchedulerParameters and grace times, compared with what real daemons of Slurm 22.05 did with the same jobs."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.test_heterogeneous_jobs import parts
from tests.policies.slurm.test_least_loaded import nodes_of
from tests.policies.slurm.test_slurm import run, starts_s
from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.studies.mechanisms import without_each

FOUR = "NodeName=n[1-4] CPUs=4 RealMemory=64000\n"
P, Q = "PartitionName=p Nodes=ALL MaxTime=240\n", "PartitionName=q Nodes=ALL MaxTime=240\n"
BASIC = "PriorityType=priority/basic\n"
APART = """NodeName=n[1-6] CPUs=4 RealMemory=64000
PartitionName=p Nodes=n[1-3]
PartitionName=q Nodes=n[4-6]
"""
TIERS = """PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE {low}
PartitionName=mid Nodes=ALL PriorityTier=5 PreemptMode=CANCEL {mid}
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
"""
TWO, THREE, ALL = (f"-N{n} --ntasks-per-node=4" for n in (2, 3, 4))
WHOLE, ONE = "-N1 -n4", "-N1 -n1"
NEAR_S = 30.0  # cycles of backfill come each 20 s, at other phases
Expected = float | tuple[float, float]


@dataclass
class Case:
    """What was set, and when jobs started with real Slurm: as a time, or where only its clocks decide, in a span."""

    parameters: str
    rows: list[str]
    started_s: list[Expected]
    conf: str = FOUR + P + Q + BASIC
    others: str = "bf_interval=20,sched_interval=300"
    files: dict[str, str] = field(default_factory=dict)


def of(user: str, submit: float, ran: float, options: str, limit: int, partition: str = "p", **values: object):
    """Return what a job is, without its number."""
    return lambda number: job(number, submit, ran, options, limit=limit, partition=partition, user=user, **values)


def numbered(*jobs) -> list[str]:
    return [one(number) for number, one in enumerate(jobs, 1)]


FILLERS = [(49, 98, "p"), (50, 94, "p"), (52, 93, "p"), (54, 95, "q"), (55, 95, "q")]
ACCOUNTS = [(51, 94, "a"), (52, 96, "a"), (54, 94, "b"), (56, 96, "b")]
OF_ARRAY = [(6, 81), (7, 84), (8, 83), (9, 81), (10, 87), (4, 87)]  # the last has the number of the array
ASSOC = "Account|User|Share\nroot||1\na||1\na|ann|1\na|bob|1\nb||1\nb|ann|1\n"
LICENCES = FOUR + P + Q + BASIC + "Licenses=lic:1\n"
NICE = FOUR + "PartitionName=p Nodes=ALL PriorityJobFactor=100\nPriorityType=priority/multifactor\n"
CASES = {
    "bf_max_job_user_part": Case(
        "bf_max_job_user_part=1",
        numbered(of("bob", 0, 313, THREE, 10), of("bob", 6, 63, ALL, 10),
                 *(of("ann", at, ran, ONE, 2, part) for at, ran, part in FILLERS)),
        [0, 314, 61, 81, 157, 61, 81],
    ),
    "bf_max_job_assoc": Case(
        "bf_max_job_assoc=1",
        numbered(of("bob", 0, 304, THREE, 10, account="a"), of("bob", 5, 66, ALL, 10, account="a"),
                 *(of("ann", at, ran, ONE, 2, account=account) for at, ran, account in ACCOUNTS)),
        [0, 305, (54, 77), (74, 97), (54, 77), (74, 97)],
        files={"assoc": ASSOC},
    ),
    "bf_max_job_array_resv": Case(
        "bf_max_job_array_resv=2",
        [*numbered(of("bob", 0, 219, "-N1 -n4 -wn1", 10), of("bob", 6, 220, "-N1 -n4 -wn2", 10),
                   of("bob", 12, 221, "-N1 -n4 -wn3", 30)),
         *(of("ann", 18, ran, f"{TWO} --array=0-5", 10, id=f"4_{i}")(n) for i, (n, ran) in enumerate(OF_ARRAY)),
         of("cat", 41, 127, WHOLE, 60)(5)],
        [2, 7, 14, 225, 237, 310, 326, 397, 411, 42],
    ),
    "no plan for arrays": Case(
        "bf_max_job_array_resv=0",
        [*numbered(of("bob", 0, 211, "-N1 -n4 -wn1", 10), of("bob", 3, 212, "-N1 -n4 -wn2", 10),
                   of("bob", 5, 210, "-N1 -n4 -wn3", 30)),
         *(of("ann", 8, 70, f"{TWO} --array=0-5", 10, id=f"4_{i}")(n) for i, (n, _) in enumerate(OF_ARRAY)),
         of("cat", 30, 115, WHOLE, 60)(5)],
        [1, 5, 7, 215, 220, 296, 300, 365, 370, 42],
    ),
    "bf_min_age_reserve": Case(
        "bf_min_age_reserve=120",
        numbered(of("bob", 0, 418, THREE, 10), of("bob", 12, 64, ALL, 10), of("ann", 39, 59, WHOLE, 60),
                 of("ann", 178, 65, WHOLE, 60), of("ann", 248, 34, WHOLE, 2), of("bob", 499, 505, THREE, 20),
                 of("bob", 510, 70, f"{ALL} --begin=2024-03-01T00:11:40", 10, eligible=700),
                 of("ann", 718, 67, WHOLE, 60), of("ann", 900, 75, WHOLE, 60)),
        [0, 419, 39, 484, 259, 499, 1007, 719, 1078], others="bf_interval=20",
    ),
    "bf_min_prio_reserve": Case(
        "bf_min_prio_reserve=500",
        numbered(of("bob", 0, 222, THREE, 10), of("bob", 9, 78, f"{ALL} --nice=501", 10),
                 of("ann", 40, 69, f"{WHOLE} --nice=900", 60), of("bob", 498, 209, THREE, 10),
                 of("bob", 512, 72, f"{ALL} --nice=500", 10), of("ann", 542, 58, f"{WHOLE} --nice=900", 60)),
        [1, 227, 41, 500, 713, 787], NICE + "PriorityWeightPartition=1000\n", "bf_interval=20",
    ),
    "bf_job_part_count_reserve": Case(
        "bf_job_part_count_reserve=1",
        numbered(of("bob", 0, 218, THREE, 10), of("bob", 10, 80, ALL, 10), of("bob", 16, 79, TWO, 20),
                 of("ann", 21, 116, WHOLE, 60, "q"), of("bob", 495, 307, TWO, 10), of("bob", 500, 207, WHOLE, 10),
                 of("bob", 505, 65, TWO, 10), of("bob", 507, 70, ALL, 10), of("ann", 515, 107, WHOLE, 60)),
        [0, 220, 302, 302, 496, 502, 710, 805, 516],
    ),
    "bf_one_resv_per_job": Case(
        "bf_one_resv_per_job",
        numbered(of("bob", 0, 204, TWO, 10), of("bob", 2, 405, TWO, 20, "q"), of("bob", 10, 67, THREE, 10, "p,q"),
                 of("ann", 40, 105, WHOLE, 60, "q"), of("ann", 41, 111, WHOLE, 60)),
        [0, 4, 206, 40, 275], APART + BASIC,
    ),
    "bf_busy_nodes": Case(
        "bf_busy_nodes",
        numbered(of("bob", 0, 271, "-N1 -n4 -wn3", 5), of("bob", 10, 260, "-N1 -n4 -wn4", 5),
                 of("bob", 17, 71, THREE, 10), of("ann", 33, 104, WHOLE, 60), of("ann", 34, 121, WHOLE, 60)),
        [1, 13, 276, 42, 163],
    ),
    "bf_interval": Case(
        "bf_interval=-1",
        numbered(of("bob", 0, 226, THREE, 10), of("bob", 14, 79, ALL, 10), of("ann", 41, 68, WHOLE, 2),
                 of("ann", 302, 67, WHOLE, 2), of("ann", 306, 67, WHOLE, 2)),
        [1, 229, 310, 310, 310], others="sched_interval=60",
    ),
    "sched_interval": Case(
        "sched_interval=-1",
        numbered(of("bob", 0, 222, THREE, 10), of("bob", 10, 86, ALL, 10), of("ann", 38, 84, WHOLE, 2),
                 of("ann", 301, 95, WHOLE, 2), of("ann", 306, 73, WHOLE, 2)),
        [(0, 101), (235, 402), (38, 201), (320, 502), (320, 502)], others="bf_interval=100",
    ),
    "partition_job_depth": Case(
        "partition_job_depth=1",
        numbered(of("bob", 0, 317, f"{ONE} -Llic:1", 10), of("bob", 12, 49, f"{ONE} -Llic:1", 10),
                 of("ann", 22, 56, ONE, 10), of("ann", 27, 46, ONE, 10, "q")),
        [1, 320, (60, 275), 29], LICENCES, "bf_interval=250",
    ),
    "sched_max_job_start": Case(
        "sched_max_job_start=2",
        numbered(of("bob", 0, 91, ALL, 10), *(of("ann", at, 146, ONE, 10) for at in (3, 5, 13, 17, 23, 27, 41))),
        [2, (91, 99), (91, 99), (95, 160), (95, 160), (155, 220), (155, 220), (215, 280)], others="bf_interval=250",
    ),
    "bf_window_linear": Case(
        "bf_window_linear=1",
        numbered(*(of("ann", 10 * i, 200, f"-N1 -n4 -wn{i + 2}", 3 + i) for i in range(9)),
                 of("bob", 95, 66, "-N8 --ntasks-per-node=4", 5), of("bob", 125, 38, WHOLE, 8)),
        [*range(0, 90, 10), 271, 280], FOUR.replace("1-4", "1-10") + P + BASIC, "bf_interval=20",
    ),
    "GraceTime of a partition": Case(
        "max_switch_wait=300",
        numbered(of("ann", 0, 300, ALL, 10, "low"), of("bob", 53, 68, WHOLE, 5, "high"),
                 of("bob", 58, 36, WHOLE, 5, "low")),
        [0, (113, 150), (113, 150)], FOUR + TIERS.format(low="GraceTime=60", mid="") + BASIC,
    ),
}  # fmt: skip


def conf_of(case: Case, parameters: str) -> str:
    return f"{case.conf}SchedulerParameters={parameters}\n"


def are_far(found: list[float], expected: list[Expected]) -> list[bool]:
    """Whether each job started at another time than with real Slurm."""
    spans = [one if isinstance(one, tuple) else (one - NEAR_S, one + NEAR_S) for one in expected]
    return [not least <= start <= most for start, (least, most) in zip(found, spans, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_jobs_start_when_they_do_with_real_slurm(tmp_path: Path, name: str) -> None:
    """And some start at another time without what was set."""
    case = CASES[name]
    found = starts_s(run(tmp_path / "with", case.rows, conf_of(case, f"{case.others},{case.parameters}"), **case.files))
    assert not any(are_far(found, case.started_s)), found
    without = conf_of(case, case.others).replace("GraceTime=60", "")
    other = starts_s(run(tmp_path / "without", case.rows, without, **case.files))
    assert any(are_far(other, case.started_s))


BATCH = "PartitionName=batch Nodes=ALL\n"
SHAPES = ["-n2 -wn2", "-n1", "-n1 -c2", "-N1 -n1 -c3", "-N1 -n2", "-n1", "-n1", "-n1 -c2"]


@pytest.mark.parametrize(
    ("parameter", "got"),
    [("pack_serial_at_end", [2, 4, 2, 1, 4, 4, 3, 3]), ("bf_continue", [2, 2, 1, 3, 1, 2, 3, 4])],
)
def test_jobs_of_one_cpu_are_packed_at_the_end(tmp_path: Path, parameter: str, got: list[int]) -> None:
    """Not those of one task with two CPUs. Nodes as with real Slurm."""
    conf = f"{FOUR}{BATCH}{BASIC}SchedulerParameters=bf_interval=200,{parameter}\n"
    assert nodes_of(tmp_path, SHAPES, conf) == [[node] for node in got]


def test_weights_come_before_the_end(tmp_path: Path) -> None:
    """As with real Slurm: the last of the light nodes first."""
    nodes = "NodeName=n[1-2] CPUs=4 RealMemory=64000 Weight=5\nNodeName=n[3-4] CPUs=4 RealMemory=64000 Weight=9\n"
    conf = f"{nodes}{BATCH}{BASIC}SchedulerParameters=pack_serial_at_end\n"
    assert nodes_of(tmp_path, ["-n1"] * 10, conf) == [[2]] * 4 + [[1]] * 4 + [[4]] * 2


def test_weights_come_before_nodes_in_use(tmp_path: Path) -> None:
    """As with real Slurm: two light nodes are planned, of which one is idle, not two that are in use."""
    nodes = "NodeName=n[1-2] CPUs=4 RealMemory=64000 Weight=1\nNodeName=n3 CPUs=4 RealMemory=64000 Weight=9\n"
    rows = numbered(of("bob", 0, 276, "-N1 -n4 -wn2", 5), of("bob", 1, 271, "-N1 -n4 -wn3", 5),
                    of("bob", 21, 90, TWO, 10), of("ann", 47, 166, WHOLE, 60))  # fmt: skip
    conf = f"{nodes}{P}{BASIC}SchedulerParameters=bf_interval=20,sched_interval=300,bf_busy_nodes\n"
    assert not any(are_far(starts_s(run(tmp_path, rows, conf)), [0, 3, 280, 283]))


@pytest.mark.parametrize(
    ("partitions", "wait_s", "ended_s"),
    [(TIERS.format(low="", mid=""), 0, 0), (TIERS.format(low="GraceTime=60", mid=""), 60, 90),
     (TIERS.format(low="", mid="GraceTime=45"), 45, 75)],
)  # fmt: skip
def test_a_victim_runs_on_for_its_grace(tmp_path: Path, partitions: str, wait_s: int, ended_s: int) -> None:
    """It is preempted at the next check of time limits, of which one comes each 30 s: in real Slurm 141 - 54.6 s later
    with 60 s of grace, and 715.3 - 642.9 s later with 45 s."""
    of_mid = wait_s == 45
    rows = numbered(of("ann", 0, 900, ALL, 20, "mid" if of_mid else "low"), of("bob", 53, 60, WHOLE, 5, "high"))
    result = run(tmp_path, rows, f"{FOUR}{partitions}{BASIC}SchedulerParameters=bf_interval=20\n")
    waited_s = starts_s(result)[1] - 53
    assert wait_s <= waited_s < ended_s + 10
    ended = float(result.jobs["finish_us"][0]) / 1e6
    assert np.isnan(ended) if of_mid else ended > 53 + wait_s + 121 + 900


def test_the_grace_of_a_qos_counts_where_qos_preempt(tmp_path: Path) -> None:
    """As with real Slurm: 60 s from 20.7 s on, and then until the next check of time limits."""
    table = "Name|Priority|GraceTime|Preempt\nlow|1|{grace}|\nhigh|9|00:00:00|low\n"
    conf = f"{FOUR}{P}PriorityType=priority/multifactor\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\n"
    rows = numbered(of("ann", 0, 300, ALL, 10, qos="low"), of("bob", 17, 97, TWO, 5, qos="high"))
    found = [
        starts_s(run(tmp_path / grace, rows, conf, qos=table.format(grace=grace)))[1]
        for grace in ("00:01:00", "00:00:00")
    ]
    assert 77 <= found[0] < 134
    assert found[1] < 17 + 10


@pytest.mark.parametrize(("mode", "other_s"), [("min", 66), ("avg", 70), ("max", 82)])
def test_components_are_tried_one_after_the_other(tmp_path: Path, mode: str, other_s: int) -> None:
    """As with real Slurm, which starts nothing any more without it: the first components of two jobs keep the nodes of
    the second ones, which are of a lower tier. The last job is of a tier between."""
    tiers = "".join(
        f"PartitionName={name} Nodes=ALL PriorityTier={tier}\n" for name, tier in zip("pqr", (5, 1, 3), strict=True)
    )
    rows = [job(1, 0, 215, THREE, limit=5, partition="p")]
    for first, submit in ((2, 9), (4, 19)):
        pair = parts(first, submit, 80, TWO, TWO, limits=(5, 5), partition="p")
        rows += [pair[0], pair[1].replace("|p|", "|q|")]
    rows += [job(6, 29, 36, WHOLE, limit=2, partition="p"), job(7, 39, 67, WHOLE, limit=3, partition="r")]
    conf = FOUR + tiers + BASIC + "SchedulerParameters=bf_interval=20"
    found = starts_s(run(tmp_path / "with", rows, f"{conf},bf_hetjob_prio={mode}\n"))
    assert found[1] == found[2]
    assert found[3] == found[4]
    assert not any(are_far(found, [0, 226, 226, 320, 320, 41, other_s])), found
    assert np.isnan(starts_s(run(tmp_path / "without", rows, f"{conf}\n"))[1:5]).all()


def imported(folder: Path, rows: list[str], conf: str, **files: str):
    """Import a site. Returns its scenario, and what the import counted as left out."""
    write_site(folder / "site", rows, conf, **files)
    report = import_site(folder / "site", folder / "site.parquet").report
    return read_scenario(folder / "site.yaml"), report.numbers["not_modelled"]


def test_they_are_options_that_a_question_may_change(tmp_path: Path) -> None:
    """The import counts nothing of them as left out, and a back-test tells what they contribute."""
    rows = numbered(of("ann", 0, 60, ONE, 5))
    given = "bf_max_job_user_part=3,bf_max_job_assoc=4,bf_max_job_array_resv=5,bf_min_age_reserve=60,"
    given += "bf_min_prio_reserve=70,bf_job_part_count_reserve=8,bf_one_resv_per_job,bf_window_linear=9,bf_busy_nodes,"
    given += "bf_hetjob_prio=avg,partition_job_depth=10,sched_max_job_start=11,pack_serial_at_end,sched_interval=-1"
    table = "Name|Priority|GraceTime\nnormal|1|00:01:30\n"
    conf = f"{FOUR}{TIERS.format(low='GraceTime=60', mid='')}{P}{BASIC}SchedulerParameters={given}\n"
    scenario, missing = imported(tmp_path, rows, conf, qos=table)
    options = scenario.options or {}
    assert missing == {}
    for item in given.split(","):
        name, _, value = item.partition("=")
        assert str(options[name]) == (value or "True")
    assert options["partitions"]["low"]["grace_time"] == 60
    assert options["qos"]["normal"]["grace_time"] == 90
    changed = dict(without_each(scenario))
    for name, key, value in (
        ("limits on backfill (bf_max_*)", "bf_max_job_user_part", 0),
        ("limits on backfill (bf_max_*)", "bf_max_job_assoc", 0),
        ("jobs that keep nothing from others (bf_*_reserve)", "bf_min_age_reserve", 0),
        ("jobs that keep nothing from others (bf_*_reserve)", "bf_one_resv_per_job", False),
        ("limits on main runs", "partition_job_depth", 0),
        ("components tried together (bf_hetjob_prio)", "bf_hetjob_prio", "off"),
    ):
        assert changed[name].options[key] == value
    left = changed["grace of preempted jobs"].options
    assert not any("grace_time" in one for what in ("partitions", "qos") for one in left[what].values())
    more = read_scenario(tmp_path / "site.yaml", ["options.partitions.low.grace_time=5", "options.bf_hetjob_prio=max"])
    assert vars(resolve(more.policy, more.options).suited_to(more))["arrays"]["class_grace_us"].tolist()[0] == 5e6


def test_a_site_without_backfill_has_none(tmp_path: Path) -> None:
    """As with real Slurm: a short job waits behind one that lacks room. What backfill contributes is not asked."""
    rows = numbered(of("bob", 0, 220, THREE, 10), of("bob", 11, 77, ALL, 10), of("ann", 41, 68, WHOLE, 2))
    conf = f"{FOUR}{P}{BASIC}SchedulerType=sched/builtin\nSchedulerParameters=bf_interval=20\n"
    assert not any(are_far(starts_s(run(tmp_path, rows, conf)), [1, 225, 303]))
    scenario, missing = imported(tmp_path, rows, conf)
    assert missing == {}
    assert "backfill" not in dict(without_each(scenario))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("options.bf_interval=0", "bf_interval: expected 1 or more, or -1 for never, found 0"),
        ("options.bf_resolution=-1", "bf_resolution: expected 1 or more, found -1"),
        ("options.bf_max_job_array_resv=-1", "bf_max_job_array_resv: expected 0 or more, found -1"),
        ("options.bf_hetjob_prio=mean", "bf_hetjob_prio: expected .*min, avg, max"),
        ("options.partitions.p.grace_time=long", r"p\.grace_time: expected a number"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, change: str, words: str) -> None:
    imported(tmp_path, numbered(of("ann", 0, 60, ONE, 5)), FOUR + P + BASIC)
    with pytest.raises(InputError, match=words):
        read_scenario(tmp_path / "site.yaml", [change], check_policy=resolve)
