"""``vinesim explain`` says Slurm's reasons, and what a job waited for."""

import json
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from tests.small_site import job, write_site
from vinesim.cli.main import app
from vinesim.formats.importers.slurm_site import import_site

CONF = """NodeName=c[1-2] CPUs=4 RealMemory=8000
PartitionName=batch Nodes=ALL MaxTime=600
PartitionName=short Nodes=ALL MaxTime=10
PriorityType=priority/basic
"""
QOS = "Name|Priority|GraceTime|MaxTRESPU|MaxJobsPU|MaxWall\nnormal|10|00:00:00|||\none|90|00:00:00|cpu=4|1|00:40:00\n"
ASSOC = "Account|User|Share|GrpTRES\nroot||1|\nlab||50|\nlab|ann|10|\nsmall||1|cpu=2\nsmall|eve|1|\n"
WIDE = "-N2 -n8 --ntasks-per-node=4"
JOBS = {
    1: job(1, 0, 300, WIDE),
    2: job(2, 5, 100, "-N1 -n4", user="bob"),
    3: job(3, 6, 100, "-N1 -n4"),
    4: job(4, 7, 100, "-N1 -n4", qos="one"),
    5: job(5, 8, 50, "-N1 -n4", qos="one"),
    6: job(6, 9, 50, "-N1 -n1 --dependency=afterok:2", eligible=400, start=401),
    7: job(7, 10, 50, "-N1 -n1", eligible=900, start=901),
    8: job(8, 11, 50, "-N1 -n1", partition="short", limit=30, start=None, state="PENDING"),
    9: job(9, 12, 50, "-N1 -n1", qos="one", limit=50),
    10: job(10, 13, 50, "-N1 -n4", user="eve", account="small"),
    11: job(11, 14, 50, "-N1 -n1", eligible=None, start=None, state="CANCELLED by 0", end=800),
    12: job(12, 800, 50, "-N1 -n2", user="eve", account="small"),
    13: job(13, 801, 50, "-N1 -n1", user="eve", account="small"),
    14: job(14, 6300, 900, "-N1 -n1", limit=30),
}
RESERVED = "ReservationName=maint StartTime=2024-03-01T02:00:00 EndTime=2024-03-01T02:20:00 Nodes=c[1-2] Flags=MAINT\n"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm")
    site = write_site(folder / "site", JOBS.values(), CONF, qos=QOS, assoc=ASSOC, reservations=RESERVED)
    import_site(site, folder / "site.parquet")
    words = ["run", str(folder / "site.yaml"), "--engine", "reference", "--explain", "--out", str(folder / "out")]
    CliRunner().invoke(app, words)
    return folder / "out"


def explained(result, number, *words):
    found = CliRunner().invoke(app, ["explain", str(result), "--job-id", str(number), *words])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize(
    ("number", "reasons"),
    [
        (2, ["Resources"]),
        (3, ["Priority"]),
        (5, ["Priority", "Priority", "QOSMaxJobsPerUserLimit", "Resources"]),
        (6, ["Dependency", "Priority"]),
        (7, ["BeginTime", "Resources"]),
        (8, ["PartitionTimeLimit"]),
        (9, ["QOSMaxWallDurationPerJobLimit"]),
        (10, ["AssocGrpCpuLimit"]),
        (11, ["JobHeldUser"]),
        (13, ["AssocGrpCpuLimit", "Resources"]),
        (14, ["ReqNodeNotAvail", "Resources"]),
    ],
)
def test_reasons_follow_one_another(result, number, reasons):
    """One after another, as squeue would show them."""
    found = json.loads(explained(result, number, "--json"))["jobs"][0]["slurm"]
    assert [one["reason"] for one in found] == reasons
    for before, after in pairwise(found):
        assert before["end_us"] == after["begin_us"]


def test_jobs_and_limits_are_named(result):
    """By the numbers of the log."""
    assert "behind job 2" in explained(result, 3)
    assert "waits for job 2" in explained(result, 6)
    assert "user ann in QOS one may run 1 jobs: 1 run; used by job 4" in " ".join(explained(result, 5).split())
    assert "account small may hold cpu 2: 2 held, it asks for 1" in " ".join(explained(result, 13).split())
    assert "reserved: maint" in explained(result, 14)


def test_other_policies_have_no_such_reasons(tmp_path):
    """Only ours."""
    run = CliRunner().invoke(app, ["run", "examples/quickstart.yaml", "--explain", "--out", str(tmp_path / "out")])
    assert run.exit_code == 0
    assert "Slurm" not in CliRunner().invoke(app, ["explain", str(tmp_path / "out"), "--job", "3"]).output


def test_jobs_that_are_killed_or_withdrawn_are_as_for_the_policy(tmp_path):
    """A pending job that is withdrawn is before nobody any more; one that its limit ends is not ``afterok``."""
    jobs = [
        job(1, 0, 300, WIDE),
        job(2, 5, 0, WIDE, start=None, state="CANCELLED by 0", end=60),
        job(3, 6, 50, WIDE),
        job(4, 400, 60, "-N1 -n1", limit=1, start=401, state="TIMEOUT"),
        job(5, 401, 50, "-N1 -n1 --dependency=afterok:4", eligible=None, start=None, state="PENDING"),
        job(6, 402, 50, "-N1 -n1 --dependency=afternotok:4", eligible=480, start=481),
    ]
    import_site(write_site(tmp_path / "site", jobs, CONF), tmp_path / "site.parquet")
    words = ["--engine", "reference", "--explain", "--out", str(tmp_path / "out")]
    CliRunner().invoke(app, ["run", str(tmp_path / "site.yaml"), *words])
    found = {
        number: json.loads(explained(tmp_path / "out", number, "--json"))["jobs"][0]["slurm"] for number in (3, 5, 6)
    }
    assert [(one["reason"], one["end_us"] == 60e6) for one in found[3]] == [("Priority", True), ("Resources", False)]
    assert [one["reason"] for one in found[5]] == ["Dependency"]
    assert [one["reason"] for one in found[6]] == ["Dependency", "Resources"]


LICENCES = [job(1, 0, 317, "-N1 -n1 -Llic"), job(2, 12, 49, "-N1 -n1 -Llic"), job(3, 22, 56, "-N1 -n1")]
YOUNG = [job(1, 0, 200, "-N1 -n4"), job(2, 10, 60, WIDE), job(3, 20, 300, "-N1 -n4"), job(4, 22, 60, "-N1 -n4")]


@pytest.mark.parametrize(
    ("rows", "parameters", "reasons", "words"),
    [
        (LICENCES, "bf_interval=250,partition_job_depth=1", ["Priority"], "tries 1 job of its partition; behind job 2"),
        (LICENCES, "bf_interval=250", ["Resources"], ""),
        (YOUNG, "bf_min_age_reserve=100", ["Resources", "Priority", "Resources"], "00:02:36: Resources"),
        (YOUNG, "bf_interval=30", ["Priority", "Priority"], "behind job 2"),
    ],
)  # fmt: skip
def test_a_job_is_behind_those_that_keep_it_from_starting(tmp_path, rows, parameters, reasons, words):
    """Real Slurm says Priority where as many jobs of a partition are before it as a main run tries, though they lack
    licences. A job that is too young to keep anything from others is before nobody."""
    conf = f"{CONF}Licenses=lic:1\nSchedulerParameters={parameters}\n"
    import_site(write_site(tmp_path / "site", rows, conf), tmp_path / "site.parquet")
    run = ["--engine", "reference", "--explain", "--out", str(tmp_path / "out")]
    CliRunner().invoke(app, ["run", str(tmp_path / "site.yaml"), *run])
    found = json.loads(explained(tmp_path / "out", len(rows), "--json"))["jobs"][0]["slurm"]
    assert [one["reason"] for one in found] == reasons
    assert words in " ".join(explained(tmp_path / "out", len(rows)).split())
