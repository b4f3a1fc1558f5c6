"""Files of a site that are not as they should be: one error that names each problem, or a line of the report."""

import json

import pytest

from tests.small_site import CONF, job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError

JOBS = [job(1, 0, 100, "-n2"), job(2, 10, 200, "-N2 -n8", user="bob")]


def report(folder):
    return import_site(folder, folder / "out.parquet").report


@pytest.mark.parametrize(
    ("old", "new", "where", "expected"),
    [
        ("c[1-3]", "c[3-1", 2, "a list of hosts"),
        ("c[1-3]", "c[3-1]", 2, "a list of hosts"),
        ("CPUs=4", "CPUs=four", 2, "a whole number up to 1,000,000 as cpus"),
        ("RealMemory=8000", "RealMemory=8G", 2, "a whole number as realmemory"),
        ("PriorityTier=2", "PriorityTier=high", 5, "a whole number as prioritytier"),
        ("PriorityTier=2", "PriorityJobFactor=high", 5, "a number as priorityjobfactor"),
        ("MaxTime=10", "MaxTime=soon", 5, "a time, such as"),
        ("PriorityType=priority/basic", "PriorityWeightAge=lots", 6, "a whole number as priorityweightage"),
        ("PriorityType=priority/basic", "PriorityMaxAge=soon", 6, "a time, such as"),
        ("PriorityType=priority/basic", "OverTimeLimit=x", 6, "a time, such as"),
    ],
)
def test_values_of_a_configuration_that_cannot_be_read_are_errors(tmp_path, old, new, where, expected):
    with pytest.raises(InputError) as found:
        report(write_site(tmp_path / "s", JOBS, CONF.replace(old, new)))
    problem = found.value.problems[0]
    assert str(problem.at).endswith(f"slurm.conf:{where}")
    assert expected in problem.expected
    assert new.rpartition("=")[2].strip("'") in problem.found


def test_all_of_them_are_listed(tmp_path):
    nodes = "NodeName=n1 Arch=x86_64 CPUTot=x RealMemory=y\n"
    folder = write_site(tmp_path / "s", JOBS, "ClusterName=c\n", nodes=nodes)
    with pytest.raises(InputError) as found:
        report(folder)
    assert [problem.found for problem in found.value.problems] == ["'x'", "'y'"]


def test_hosts_of_a_reservation_that_are_none(tmp_path):
    text = "ReservationName=m StartTime=1970-01-01T00:01:00 EndTime=1970-01-01T00:02:00 Nodes=n[1- Users=root\n"
    with pytest.raises(InputError, match=r"reservations\.txt:1: expected a list of hosts as Nodes"):
        report(write_site(tmp_path / "s", JOBS, reservations=text))


def test_a_node_list_of_a_job_that_is_cut_off_contradicts(tmp_path):
    found = report(write_site(tmp_path / "s", [job(1, 0, 10, "-n1", nodes="c[1-"), job(2, 0, 10, "-n1")]))
    assert found.numbers["contradictory"] == {"jobs that ran on nodes that are not known": 1}


def test_marks_and_line_ends_of_windows(tmp_path):
    folder = write_site(tmp_path / "s", JOBS)
    before = report(folder).numbers
    for name in ("sacct.txt", "slurm.conf"):
        file = folder / name
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert json.dumps(report(folder).numbers) == json.dumps(before)


def test_a_comment_in_another_encoding(tmp_path):
    folder = write_site(tmp_path / "s", JOBS)
    (folder / "slurm.conf").write_bytes(b"# f\xfcr alle\n" + CONF.encode())
    assert report(folder).numbers["jobs"] == 2


def test_parameters_out_of_range_have_their_defaults_and_are_counted(tmp_path):
    conf = CONF.replace("bf_interval=30,bf_exotic=1", "bf_interval=-2,bf_window=x,bf_max_job_user=0,bf_hetjob_prio=1")
    missing = report(write_site(tmp_path / "s", JOBS, conf + "SchedulerType=sched/slow\n")).numbers["not_modelled"]
    assert missing == {
        "SchedulerParameters=bf_interval=-2: the default is taken": 2,
        "SchedulerParameters=bf_window=x: the default is taken": 2,
        "SchedulerParameters=bf_hetjob_prio=1: the default is taken": 2,
        "SchedulerType=sched/slow: jobs are backfilled nevertheless": 2,
    }


def test_jobs_of_unknown_partitions_and_endless_arrays_are_dropped(tmp_path):
    pending = job(3, 0, 0, "-n1", id="3_[0-99999999%3]", start=None, state="PENDING")
    found = report(write_site(tmp_path / "s", [*JOBS, job(4, 0, 10, "-n1", partition="nope"), pending]))
    assert {reason: len(lines) for reason, lines in found.dropped.items()} == {
        "no partition that is known": 1,
        "JobID: no array of 1 to 1,000,000 tasks": 1,
    }


def test_limits_of_partitions_that_are_not_modelled_are_counted(tmp_path):
    """Those that allow everything are not."""
    conf = CONF.replace("MaxTime=60", "MaxTime=60 MaxMemPerNode=2 AllowAccounts=lab AllowQos=ALL")
    missing = report(write_site(tmp_path / "s", JOBS, conf)).numbers["not_modelled"]
    assert {words: n for words, n in missing.items() if words.startswith("partition")} == {
        "partition batch: MaxMemPerNode": 2,
        "partition batch: AllowAccounts": 2,
    }
