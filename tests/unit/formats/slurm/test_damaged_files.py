"""Files of a site that are cut off, or say what nobody can read: each line that is left out is counted, by kind."""

import pytest

from tests.small_site import CONF, at, job, write_site
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.importers.slurm_site import import_site
from vinesim.formats.slurm.site import read_site
from vinesim.model.errors import InputError

JOBS = [job(1, 0, 100, "-n2"), job(2, 10, 200, "-N2 -n8", user="bob")]
EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\n"
QOS = "Name|Priority|GraceTime|MaxJobsPU\nnormal|1|00:00:00|\n"
ASSOC = "Cluster|Account|User|ParentName|Share|MaxJobs\ns|lab||root|1|\ns|lab|ann||1|\ns|lab|bob||1|\n"
DUMP = "Cluster - 's'\nParent - 'root'\nAccount - 'lab':Fairshare=1\nParent - 'lab'\nUser - 'ann':Fairshare=1\n"
DUMP += "User - 'bob':Fairshare=1\n"


def report(folder, jobs=JOBS, conf=CONF, **files):
    return import_site(write_site(folder / "s", jobs, conf, **files), folder / "out.parquet").report


def found(report, what):
    return [finding.words for finding in report.findings if finding.what == what]


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("qos", QOS + "high|2\n", "a wrong number of fields: 1 line (3)"),
        ("qos", QOS + "|2|00:00:00|\n", "Name: none: 1 line (3)"),
        ("assoc", ASSOC + "s|lab|zoe\ns|l\n", "a wrong number of fields: 2 lines (5, 6)"),
        ("assoc", ASSOC + "s|||root|1|\n", "Account: none: 1 line (5)"),
        ("dump", DUMP + "User - \nUser\n", "no line of a dump: 2 lines (7, 8)"),
        ("events", EVENTS + f"s|c1|{at(60)}|{at(90)}|DO\n", "a wrong number of fields: 1 line (2)"),
        (
            "events",
            EVENTS + f"s|c1|soon|{at(90)}|DOWN|x\n",
            "TimeStart or TimeEnd: no time that can be read: 1 line (2)",
        ),
        (
            "events",
            EVENTS + f"s|c1|{at(60)}|late|DOWN|x\n",
            "TimeStart or TimeEnd: no time that can be read: 1 line (2)",
        ),
        ("reservations", f"ReservationName=m StartTime={at(9)}\n", "StartTime or EndTime: no time that can be read"),
        (
            "reservations",
            f"ReservationName=m StartTime={at(9)} EndTime={at(99)} Nodes= Licenses=a:1\n",
            "Nodes: none, as of licences: 1 line (1)",
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_counted(tmp_path, kind, text, words):
    """With its number; the others count as without it."""
    (line,) = found(report(tmp_path, **{kind: text}), "not understood")
    assert words in line


def test_what_cannot_be_read_of_a_job_is_counted(tmp_path):
    """A time of no calendar, one that is no number, a run time below nothing; the job stays, without that value."""
    rows = [row.split("|") for row in JOBS]
    rows[0][9], rows[1][10], rows[1][11] = "2024-02-31T00:00:00", "nan", "-5"
    done = report(tmp_path, ["|".join(row) for row in rows])
    assert found(done, "not understood") == [
        "jobs in sacct.txt: Start: not read: 1 line (2)",
        "jobs in sacct.txt: End: not read: 1 line (3)",
        "jobs in sacct.txt: ElapsedRaw: not read: 1 line (3)",
    ]
    assert done.numbers["jobs"] == 2


def test_a_job_that_ends_before_it_starts_takes_no_time(tmp_path):
    """Where only start and end are known, after the clock went back by an hour."""
    row = job(1, 0, 0, "-n1", start=3700, end=200).replace("|0|30|", "||30|")
    numbers = report(tmp_path, [row, JOBS[1]]).numbers
    assert numbers["contradictory"] == {
        "jobs whose end is not start plus run time, as after a change of the clock: the run time is taken": 1
    }


@pytest.mark.parametrize("submit", ["nan", "inf", "-7", "9e300"])
def test_a_submission_at_no_time_is_dropped(tmp_path, submit):
    row = JOBS[0].replace(at(0), submit, 1)
    assert report(tmp_path, [row, JOBS[1]]).dropped["Submit: no time that can be read"] == [2]


def test_jobs_of_absurd_size_are_dropped(tmp_path):
    many = [job(3, 0, 10, "-n999999999999999999"), job(4, 0, 10, "-n1", id="9" * 40)]
    assert report(tmp_path, [*JOBS, *many]).dropped == {
        "more tasks than the site has CPUs": [4],
        "JobID: no number of a job": [5],
    }


@pytest.mark.parametrize(
    ("files", "words", "count"),
    [
        ({"qos": QOS + "normal|2|00:00:00|3\n"}, "QOS that are in their table twice", 1),
        ({"qos": QOS + "high|2|00:00:00|many\n"}, "accounts, users and QOS with limits that cannot be read", 1),
        ({"assoc": ASSOC + "s|a||b|1|\ns|b||a|1|\n"}, "accounts above themselves", 2),
        ({"assoc": ASSOC + "s|gone|bob||1|\n"}, "users of accounts that are not in their table", 1),
        ({"events": EVENTS + f"s|z9|{at(60)}|{at(90)}|DOWN|x\n"}, "events of nodes that are not known", 1),
        ({"gres": "NodeName=g1 Name=gpu Type=a100 File=/dev/nvidia[0-2]\n"}, "nodes with other GPUs", 1),
        ({"gres": "NodeName=g1 Name=gpu Type=t4 Count=2\n"}, "nodes with other GPUs", 1),
    ],
)
def test_a_further_contradiction_is_counted(tmp_path, files, words, count):
    numbers = report(tmp_path, **files).numbers["contradictory"]
    assert [n for name, n in numbers.items() if name.startswith(words)] == [count]


def test_what_agrees_does_not_contradict(tmp_path):
    """GPUs that both files have, one by one or as a file for each; limits that are none."""
    files = {"gres": "NodeName=g1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n", "assoc": ASSOC}
    qos = QOS + "high|2|00:00:00|-1\n"
    assert "contradictory" not in report(tmp_path, qos=qos, **files).numbers


@pytest.mark.parametrize(
    ("more", "where", "words"),
    [
        ("Include no.conf\nInclude neither.conf\n", (8, 9), ("no.conf", "neither.conf")),
        ("PartitionName=\nNodeName=\n", (8, 9), ("''", "''")),
        ("NodeName=c3 CPUs=1\nPartitionName=short Nodes=c1\n", (8, 9), ("'c3'", "'short'")),
        ("NodeName=h1 CPUs=9999999\nNodeName=h2 Gres=gpu:t4:lots\n", (8, 9), ("'9999999'", "'gpu:t4:lots'")),
    ],
)
def test_all_that_is_wrong_in_a_configuration_is_listed(tmp_path, more, where, words):
    with pytest.raises(InputError) as caught:
        report(tmp_path, conf=CONF + more)
    problems = caught.value.problems
    assert [str(one.at).rpartition(":")[2] for one in problems] == [str(line) for line in where]
    assert all(word in one.found for one, word in zip(problems, words, strict=True))


def test_a_circle_of_includes_is_an_error(tmp_path):
    write_site(tmp_path / "s", JOBS, CONF + "Include more.conf\n")
    (tmp_path / "s" / "more.conf").write_text("Include slurm.conf\n")
    with pytest.raises(InputError, match=r"more\.conf:1: .*a circle: slurm\.conf again"):
        read_site(tmp_path / "s")


def test_problems_of_several_files_are_one_error(tmp_path):
    reservation = f"ReservationName=m StartTime={at(9)} EndTime={at(99)} Nodes=c[1-\n"
    with pytest.raises(InputError) as caught:
        report(tmp_path, conf=CONF + "no pair\n", reservations=reservation)
    assert len(caught.value.problems) == 2


def test_without_jobs_the_error_says_what_there_is(tmp_path):
    """A damaged file of jobs, and an empty one of another kind."""
    write_site(tmp_path / "s", JOBS, qos="")
    (tmp_path / "s" / "sacct.txt").write_bytes(b"JobID|Submit\n\0\n")
    with pytest.raises(InputError, match=r"qos\.txt \(it is empty\), sacct\.txt \(expected UTF-8 text"):
        read_site(tmp_path / "s")


def test_a_log_without_starts_says_so(tmp_path):
    rows = [job(1, 0, 0, "-n1", start=None, state="PENDING"), job(2, 0, 0, "-n1", start=None, state="COMPLETED")]
    done = report(tmp_path, rows)
    assert found(done, "starts") == ["no job has a start: the site cannot be back-tested"]
    assert done.numbers["not_modelled"]["still pending when the log ended"] == 1


def test_a_partition_without_nodes_is_none(tmp_path):
    """The scenario can be read; its jobs are dropped."""
    conf = CONF + "PartitionName=empty MaxTime=5\n"
    done = report(tmp_path, [*JOBS, job(3, 0, 10, "-n1", partition="empty")], conf)
    assert done.dropped == {"no node of its partition has what it asks for": [4]}
    assert "empty" not in (tmp_path / "out.yaml").read_text()


def test_a_snapshot_looks_at_the_configuration_too(tmp_path):
    """As an import does; a list of nodes that is cut off leaves out its job."""
    queue = "JOBID|USER|PARTITION|STATE|SUBMIT|START|LIMIT|NODES|CPUS|NODELIST\n"
    queue += f"5|ann|batch|RUNNING|{at(0)}|{at(1)}|30:00|1|1|c[1-\n6|ann|batch|PENDING|{at(5)}|N/A|30:00|1|lots|\n"
    queue += f"7|ann|batch|PENDING|{at(5)}|N/A|30:00|1|2|\n"
    site = write_site(tmp_path / "s", JOBS, squeue=queue)
    assert write_snapshot(site, tmp_path / "q.parquet").queue.dropped == {
        "it runs where there is no room for it": 1,
        "CPUS or NODES: no number": 1,
    }
    (site / "slurm.conf").write_text(CONF.replace("CPUs=8", "CPUs=x"))
    with pytest.raises(InputError, match="a whole number"):
        write_snapshot(site, tmp_path / "q.parquet")
