"""Limits of a partition's QOS, of the job's and of its association: which is in force. As real Slurm 22.05 had it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.test_slurm import TICK_S, nodes_of, run, starts_s
from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.model.scenario import Scenario
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm.policy import Slurm
from vinesim.policies.slurm.replay import EDGE, END, KNOWN, Books, Ran, Reason, reasons_of
from vinesim.studies.mechanisms import SWITCHES

COLUMNS = ("Flags", "GrpTRES", "GrpJobs", "GrpSubmit", "MaxTRES", "MaxWall", "MaxTRESPU", "MaxTRESPA", "MaxJobsPU",
           "MaxJobsPA", "MaxSubmitPU", "MaxSubmitPA", "MaxJobsAccruePU")  # fmt: skip
OF_USERS = ("GrpTRES", "GrpJobs", "GrpSubmit", "MaxTRES", "MaxWall", "MaxJobs", "MaxSubmit", "MaxJobsAccrue")
NODES = "NodeName=c[1-2] CPUs=16 RealMemory=8000\nPriorityType=priority/multifactor\n"
PARTS = "PartitionName=batch Nodes=ALL MaxTime=60 QOS=part\nPartitionName=plain Nodes=ALL MaxTime=60\n"
Values = dict[str, str]


def qos_table(**given: Values) -> str:
    """What sacctmgr shows of QOS with these limits."""
    rows = [f"{name}|0|00:00:00|" + "|".join(own.get(word, "") for word in COLUMNS) for name, own in given.items()]
    return "\n".join(["|".join(("Name", "Priority", "GraceTime", *COLUMNS)), *rows]) + "\n"


def assoc_table(own: Values, account: Values | None = None) -> str:
    """What sacctmgr shows of ann in lab."""
    rows = [("root", "", {}), ("lab", "", account or {}), ("lab", "ann", own)]
    lines = [f"{name}|{user}|1|" + "|".join(its.get(word, "") for word in OF_USERS) for name, user, its in rows]
    return "\n".join(["|".join(("Account", "User", "Share", *OF_USERS)), *lines]) + "\n"


def reasons(folder: Path, starts: Sequence[float], number: int) -> list[Reason]:
    """Why a job waited, if each runs for 100 s."""
    scenario = read_scenario(folder / "site.yaml")
    runs = [Ran(j, s * 1e6, s * 1e6 + 1e8, END) for j, s in enumerate(starts) if s == s]
    return reasons_of(slurm(scenario), scenario, runs, number, 1e9)


def waits(folder: Path, starts: Sequence[float], number: int) -> list[str]:
    """Slurm's reasons for a job, whatever it waited for besides limits left out."""
    found = reasons(folder, starts, number)
    return [one.reason for one in found if one.reason not in ("Resources", "Priority", "BeginTime")]


GROUP_4, GROUP_8, GROUP_2 = ({"GrpTRES": f"cpu={n}"} for n in (4, 8, 2))
JOB_2, JOB_4, JOB_8 = ({"MaxTRES": f"cpu={n}"} for n in (2, 4, 8))
OVER, DENY = {"Flags": "OverPartQOS"}, {"Flags": "DenyOnLimit"}
IN_FORCE: list[tuple[str, Values, Values, Values, str]] = [  # a job, the partition's QOS, its own, its user's limits
    ("-N1 -n6", GROUP_4, GROUP_8, {}, "QOSGrpCpuLimit"),
    ("-N1 -n6", GROUP_4, GROUP_8 | OVER, {}, ""),
    ("-N1 -n6", GROUP_8, GROUP_2, {}, ""),
    ("-N1 -n6", GROUP_8, GROUP_2 | OVER, {}, "QOSGrpCpuLimit"),
    ("-N1 -n3", {"MaxTRESPU": "cpu=4"}, GROUP_2, {}, "QOSGrpCpuLimit"),
    ("-N1 -n5", {"MaxTRESPU": "cpu=4"}, {}, {}, "QOSMaxCpuPerUserLimit"),
    ("-N1 -n5", {"MaxTRESPA": "cpu=4"}, {"MaxTRESPU": "cpu=1", **OVER}, {}, "QOSMaxCpuPerUserLimit"),
    ("-N1 -n2 --mem=2000", GROUP_8, {"GrpTRES": "mem=1000"}, {}, "QOSGrpMemLimit"),
    ("-N1 -n6", {}, GROUP_8, GROUP_4, ""),
    ("-N1 -n6", {}, {"MaxTRESPU": "cpu=8"}, GROUP_4, "AssocGrpCpuLimit"),
    ("-N1 -n1", {"MaxWall": "06:00"}, {"MaxWall": "20:00"}, {}, "QOSMaxWallDurationPerJobLimit"),
    ("-N1 -n1", {"MaxWall": "15:00"}, {"MaxWall": "04:00"}, {}, ""),
    ("-N1 -n1", {}, {"MaxWall": "10:00"}, {"MaxWall": "05:00"}, ""),
    ("-N1 -n6", JOB_4, JOB_8, {}, "QOSMaxCpuPerJobLimit"),
    ("-N1 -n6", {}, JOB_8, JOB_2, ""),
    ("-N1 -n6", {}, {}, JOB_2, "AssocMaxCpuPerJobLimit"),
    ("-N1 -n1", {"GrpJobs": "0"}, {}, {}, "QOSGrpJobsLimit"),
]
REFUSED = [
    ("-N1 -n6", JOB_4 | DENY, {}, {}, "QOSMaxCpuPerJobLimit"),
    ("-N1 -n6", JOB_4, DENY, {}, "QOSMaxCpuPerJobLimit"),
    ("-N1 -n6", DENY, JOB_4, {}, "QOSMaxCpuPerJobLimit"),
    ("-N1 -n6", GROUP_4 | DENY, {}, {}, "QOSGrpCpuLimit"),
    ("-N1 -n1", {"MaxWall": "04:00", **DENY}, {}, {}, "QOSMaxWallDurationPerJobLimit"),
    ("-N1 -n3", {}, DENY, JOB_2, "AssocMaxCpuPerJobLimit"),
    ("-N1 -n3", JOB_4 | DENY, {}, JOB_2, ""),
]


@pytest.mark.parametrize(("options", "part", "own", "user", "reason"), IN_FORCE)
def test_of_the_same_limit_one_is_in_force(
    tmp_path: Path, options: str, part: Values, own: Values, user: Values, reason: str
) -> None:
    """The partition's QOS before the job's, unless that one is over it; both before the association."""
    rows = [
        job(1, 0, 60, options, qos="own", limit=8),
        job(2, 5, 60, "-N1 -n1", partition="plain", qos="free", user="bob"),
    ]
    tables = {"qos": qos_table(part=part, own=own, free={}), "assoc": assoc_table(user)}
    found = starts_s(run(tmp_path, rows, NODES + PARTS, **tables))
    assert np.isnan(found[0]) == (reason != "")
    assert found[1] < 5 + TICK_S
    assert waits(tmp_path, found, 0) == [reason] * (reason != "")


@pytest.mark.parametrize(("options", "part", "own", "user", "reason"), REFUSED)
def test_either_qos_may_refuse_jobs(
    tmp_path: Path, options: str, part: Values, own: Values, user: Values, reason: str
) -> None:
    """For any limit that is in force, also of the other QOS or the association."""
    rows = [
        job(1, 0, 60, options, qos="own", limit=8),
        job(2, 5, 60, "-N1 -n1 --dependency=afterany:1", qos="free", limit=3),
    ]
    tables = {"qos": qos_table(part=part, own=own, free={}), "assoc": assoc_table(user)}
    found = starts_s(run(tmp_path, rows, NODES + PARTS, **tables))
    assert np.isnan(found[0]) == (reason != "")
    assert waits(tmp_path, found, 0) == [reason] * (reason != "")
    assert (found[1] < 5 + TICK_S) == (reason != "")  # a refused job is over


@pytest.mark.parametrize(
    ("own", "user", "reason"),
    [
        ({"MaxJobsPU": "2"}, {"MaxJobs": "1"}, "QOSMaxJobsPerUserLimit"),
        ({"MaxJobsPA": "2"}, {"MaxJobs": "1"}, "MaxJobsPerAccount"),
        ({"GrpJobs": "2"}, {"GrpJobs": "1"}, "QOSGrpJobsLimit"),
        ({"MaxSubmitPU": "2"}, {"MaxSubmit": "1"}, "QOSMaxSubmitJobPerUserLimit"),
        ({"MaxSubmitPA": "2"}, {"MaxSubmit": "1"}, "MaxSubmitJobsPerAccount"),
        ({"GrpSubmit": "2"}, {"GrpSubmit": "1"}, "QOSGrpSubmitJobsLimit"),
    ],
)
@pytest.mark.parametrize("by", ["part", "own"])
def test_numbers_of_jobs_of_a_qos_replace_those_of_a_user(
    tmp_path: Path, own: Values, user: Values, reason: str, by: str
) -> None:
    """Two jobs may run, or be submitted, where the association alone would let one."""
    rows = [job(n, n, 100, "-N1 -n1", qos="own") for n in (1, 2, 3)]
    tables = {"qos": qos_table(**{"part": {}, "own": {}, by: own}), "assoc": assoc_table(user)}
    found = starts_s(run(tmp_path, rows, NODES + PARTS, **tables))
    assert max(found[:2]) < 2 + 2 * TICK_S
    assert np.isnan(found[2]) if "Submit" in reason else found[2] > 100
    assert set(waits(tmp_path, found, 2)) == {reason}


def test_jobs_count_at_both_qos_whatever_is_in_force(tmp_path: Path) -> None:
    """Also a user's jobs of one QOS, whether they have it from a partition, another one, or themselves."""
    parts = PARTS + "PartitionName=again Nodes=ALL QOS=part\nPartitionName=wide Nodes=ALL QOS=wide\n"
    qos = qos_table(part={"MaxTRESPU": "cpu=4"}, wide=GROUP_8, own=GROUP_2, free={})
    rows = [job(1, 0, 100, "-N1 -n3", qos="free"), job(2, 5, 100, "-N1 -n3", qos="part", partition="plain"),
            job(3, 10, 100, "-N1 -n3", qos="free", partition="again"),
            job(4, 20, 300, "-N1 -n6", qos="own", partition="wide"),
            job(5, 25, 100, "-N1 -n1", qos="own", partition="plain")]  # fmt: skip
    found = starts_s(run(tmp_path, rows, NODES + parts, qos=qos))
    assert found[3] < 20 + TICK_S
    assert found[4] > 300
    assert found[0] + 100 < found[1]
    assert found[1] + 100 < found[2]
    assert set(waits(tmp_path, found, 2)) == {"QOSMaxCpuPerUserLimit"}
    assert set(waits(tmp_path, found, 4)) == {"QOSGrpCpuLimit"}


def test_the_same_qos_counts_once(tmp_path: Path) -> None:
    """Where it is the partition's and the job's."""
    found = starts_s(run(tmp_path, [job(n, n, 100, "-N1 -n1", qos="part") for n in (1, 2, 3)], NODES + PARTS,
                         qos=qos_table(part={"GrpJobs": "2"})))  # fmt: skip
    assert max(found[:2]) < 2 + 2 * TICK_S
    assert found[2] > 100


@pytest.mark.parametrize("order", ["batch,plain", "plain,batch"])
def test_a_pending_job_counts_in_all_of_its_partitions(tmp_path: Path, order: str) -> None:
    """And where it runs, once it does: one at a time may be submitted to batch."""
    rows = [job(1, 0, 300, "-N1 -n1", partition=order, qos="free", eligible=50, start=50),
            job(2, 10, 60, "-N1 -n1", qos="free"), job(3, 70, 60, "-N1 -n1", qos="free"),
            job(4, 75, 60, "-N1 -n1", partition=order, qos="free")]  # fmt: skip
    qos = qos_table(part={"MaxSubmitPU": "1", "GrpJobs": "0"}, free={})
    found = starts_s(run(tmp_path, rows, NODES + PARTS, qos=qos))
    assert 50 <= found[0] < 50 + TICK_S  # in plain
    assert np.isnan(found[1:]).all()
    assert waits(tmp_path, found, 1) == ["QOSMaxSubmitJobPerUserLimit"]
    assert set(waits(tmp_path, [50, np.nan, np.nan, np.nan], 3)) == {"QOSMaxSubmitJobPerUserLimit"}


def test_a_job_starts_in_the_partition_whose_qos_lets_it(tmp_path: Path) -> None:
    """The first one is full."""
    rows = [job(n, n, 100, "-N1 -n3", partition="batch,plain", qos="free") for n in (1, 2)]
    rows.append(job(3, 5, 60, "-N1 -n1", partition="plain", qos="free"))
    rows.append(job(4, 10, 60, "-N1 -n2", qos="free"))
    found = starts_s(run(tmp_path, rows, NODES + PARTS, qos=qos_table(part=GROUP_4, free={})))
    assert max(found[:3]) < 5 + TICK_S
    assert found[3] > 100
    details = [one.detail for one in reasons(tmp_path, found, 3) if one.reason == "QOSGrpCpuLimit"]
    assert details == ["QOS part may hold cpu 4: 3 held, it asks for 2"]


@pytest.mark.parametrize(("part", "own", "ages"), [("1", "", 3), ("1", "2", 2), ("", "1", 1)])
def test_a_partitions_qos_has_no_say_in_whose_age_counts(tmp_path: Path, part: str, own: str, ages: int) -> None:
    """The job's has, and its limit replaces that of the user."""
    rows = [job(n, n, 100, "-N1 -n1", qos="own") for n in (1, 2, 3)]
    qos = qos_table(part={"MaxJobsAccruePU": part, "GrpJobs": "0"}, own={"MaxJobsAccruePU": own})
    write_site(tmp_path / "site", rows, NODES + PARTS, qos=qos,
               assoc=assoc_table({"MaxJobsAccrue": "1"} if own else {}))  # fmt: skip
    import_site(tmp_path / "site", tmp_path / "site.parquet")
    scenario = read_scenario(tmp_path / "site.yaml")
    books = Books(slurm(scenario), scenario)
    for number in range(3):
        books.note(KNOWN, number, 0.0)
    books.note(EDGE, -1, 1e7)
    assert books.s.job_accrues.sum() == ages


LIMITED = "PartitionName=batch Nodes=ALL MaxTime=5 MinNodes={least} MaxNodes={most} QOS={qos}\n"


@pytest.mark.parametrize(
    ("options", "least", "most", "flag", "reason"),
    [
        ("-N2 -n2", 0, 1, "", "PartitionNodeLimit"),
        ("-N1-2 -n2", 0, 1, "", "PartitionNodeLimit"),
        ("-N2 -n2", 0, 1, "PartitionMaxNodes", ""),
        ("-N1 -n2", 2, "UNLIMITED", "", "PartitionNodeLimit"),
        ("-N1 -n2", 2, "UNLIMITED", "PartitionMinNodes", ""),
        ("-N1-3 -n3", 2, "UNLIMITED", "", ""),
        ("-N1 -n1 -t8", 0, "UNLIMITED", "", "PartitionTimeLimit"),
        ("-N1 -n1 -t8", 0, "UNLIMITED", "PartitionTimeLimit", ""),
    ],
)
@pytest.mark.parametrize("by", ["own", "part"])
def test_a_job_may_pass_limits_of_a_partition_by_its_qos(
    tmp_path: Path, options: str, least: int, most: object, flag: str, reason: str, by: str
) -> None:
    """Not by that of the partition."""
    limit = 8 if "-t8" in options else 5
    rows = [job(1, 0, 60, options, qos="own", limit=limit, start=None, state="PENDING"),
            job(2, 5, 60, "-N2 -n2 --ntasks-per-node=1", qos="pass", limit=5)]  # fmt: skip
    qos = qos_table(**{"part": {}, "own": {}, by: {"Flags": flag}, "pass": {"Flags": "PartitionMaxNodes"}})
    found = starts_s(run(tmp_path, rows, NODES + LIMITED.format(least=least, most=most, qos="part"), qos=qos))
    expected = reason or (flag if by == "part" else "").replace("Max", "").replace("Min", "").replace(
        "Nodes", "NodeLimit"
    )
    assert np.isnan(found[0]) == (expected != "")
    assert found[1] < 5 + TICK_S
    assert waits(tmp_path, found, 0) == [expected] * (expected != "")


@pytest.mark.parametrize(("options", "least", "most", "n"), [("-n2", 2, 9, 2), ("-n2", 0, 9, 1), ("-n20", 0, 9, 2)])
def test_a_job_that_does_not_say_gets_as_many_nodes_as_its_partition_lets_it(
    tmp_path: Path, options: str, least: int, most: int, n: int
) -> None:
    """At least MinNodes, at most MaxNodes: a job of 12 CPUs waits for one node, though two have 8 free each."""
    parts = LIMITED.format(least=least, most=most, qos="part")
    result = run(
        tmp_path, [job(1, 0, 60, options, qos="free", limit=5)], NODES + parts, qos=qos_table(part={}, free={})
    )
    assert len(set(nodes_of(result, tmp_path)[0])) == n
    rows = [job(1, 0, 100, "-N2 -n16 --ntasks-per-node=8", limit=5), job(2, 5, 60, "-n12", partition="one", limit=5)]
    one = NODES + PARTS.replace(" QOS=part", "") + "PartitionName=one Nodes=ALL MaxNodes=1\n"
    found = starts_s(run(tmp_path / "one", rows, one))
    assert found[1] > 100


def test_what_if_takes_a_qos_of_a_partition(tmp_path: Path) -> None:
    """By its name, from the QOS that there are; the waterfall takes it away. An anonymous site has it."""
    rows = [job(1, 0, 60, "-N1 -n6", qos="own")]
    folder = write_site(tmp_path / "in", rows, NODES + PARTS, qos=qos_table(part=GROUP_4, own={}, wide=GROUP_8))
    import_site(folder, tmp_path / "site.parquet", is_anonymous=True)
    site, key = tmp_path / "site.yaml", "options.partitions.batch.qos"
    assert never(read_scenario(site))
    assert not never(read_scenario(site, [f"{key}=wide"]))
    assert not never(SWITCHES["QOS of partitions"](read_scenario(site)))
    with pytest.raises(InputError, match=r"partitions\.batch\.qos: expected names in options\.qos.*Did you mean wide"):
        read_scenario(site, [f"{key}=wid"], check_policy=resolve)


def test_limits_on_nodes_are_a_mechanism(tmp_path: Path) -> None:
    """The waterfall takes them away."""
    parts = LIMITED.format(least=2, most=3, qos="part")
    folder = write_site(tmp_path / "in", [job(1, 0, 60, "-N1 -n6", limit=5)], NODES + parts, qos=qos_table(part={}))
    import_site(folder, tmp_path / "site.parquet")
    scenario = read_scenario(tmp_path / "site.yaml")
    assert scenario.options["partitions"]["batch"] == {"max_time": 5.0, "qos": "part", "min_nodes": 2, "max_nodes": 3}
    assert never(scenario)
    assert not never(SWITCHES["limits on nodes of partitions"](scenario))


def slurm(scenario: Scenario) -> Slurm:
    """The policy of a scenario."""
    policy = resolve(scenario.policy, scenario.options)
    assert isinstance(policy, Slurm)
    return policy


def never(scenario: Scenario | None) -> bool:
    """Whether the first job can never start."""
    assert scenario is not None
    return bool(Books(slurm(scenario), scenario).s.part_never[0])


def test_partitions_as_scontrol_shows_them(tmp_path: Path) -> None:
    """With words for none; a QOS that is not in the table is reported."""
    shown = (
        "PartitionName=batch AllowGroups=ALL QoS=part MaxNodes=UNLIMITED MaxTime=01:00:00 MinNodes=0 Nodes=c[1-2]\n"
        "PartitionName=plain AllowGroups=ALL QoS=N/A MaxNodes=1 MaxTime=01:00:00 MinNodes=1 Nodes=c[1-2]\n"
        "PartitionName=odd AllowGroups=ALL QoS=gone MaxNodes=1 MaxTime=01:00:00 MinNodes=1 Nodes=c[1-2]\n"
    )
    folder = write_site(
        tmp_path / "in", [job(1, 0, 60, "-N1 -n6")], NODES, qos=qos_table(part={}, normal={}), partitions=shown
    )
    report = import_site(folder, tmp_path / "site.parquet").report
    assert read_scenario(tmp_path / "site.yaml").options["partitions"] == {
        "batch": {"max_time": 60.0, "qos": "part"}, "plain": {"max_time": 60.0, "min_nodes": 1, "max_nodes": 1},
        "odd": {"max_time": 60.0, "min_nodes": 1, "max_nodes": 1},
    }  # fmt: skip
    assert report.numbers["contradictory"] == {"QOS of partitions that are not in their table: without their limits": 1}
