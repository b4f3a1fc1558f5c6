"""``vinesim import pbs``: accounting records of PBS and Torque."""

import csv
import json

import pytest

import vinesim as vs

GIB = 2**30
AT = "ctime=1714550400 qtime=1714550400 etime=1714550400 start=1714550405"
RECORDS = rf"""05/01/2024 08:00:00;L;license;floating license hour:3 day:3 month:3 max:10
05/01/2024 08:00:01;Q;17.head;queue=workq
05/01/2024 09:00:05;E;17.head;user=ann group="my users" jobname="a = \"b\" run" queue=workq {AT}
  exec_host=n1/0*16+n2/0*16 exec_vnode=(n1:ncpus=16:mem=8388608kb:ngpus=2)+(n2:ncpus=8:mem=4gb+n2b:ncpus=8:mem=4gb:ngpus=2)
	Resource_List.place=scatter:excl Resource_List.select=2:ncpus=16 Resource_List.walltime=02:00:00 end=1714554005
05/01/2024 10:00:06;D;19.head;requestor=ben@n1
05/01/2024 10:00:07;E;20.head;user=ben queue=workq ctime=1714550600 start=0 end=1714550700
not a record
05/01/2024 10:00:08;E;21[3].head;user=eve ctime=1714550600 start=1714550700 exec_host=n1/0-3+n2/1,5 Resource_List.mem=4gb Resource_List.walltime=26:00:00 end=1714550800
05/01/2024 10:00:09;E;22.head;user=eve ctime=1714550700 start=1714550700 Resource_List.select=2:ncpus=4:mem=1gb+1:ngpus=1 resources_used.walltime=00:01:00
05/01/2024 10:00:10;E;23.head;user=eve ctime=1714550700 start=1714550700 Resource_List.ncpus=99999999999999999999 end=1714550800
05/01/2024 10:00:11;E;22.head;user=eve ctime=1714550700 start=1714550800 Resource_List.select=2:ncpus=4:mem=1gb+1:ngpus=1 end=1714550900
"""  # noqa: E501 - records are long lines


@pytest.fixture
def imported(vinesim, tmp_path):
    (tmp_path / "log").write_text(RECORDS)
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    return json.loads(done.out), vs.read_scenario(tmp_path / "jobs.yaml"), (tmp_path / "jobs.csv").read_text()


def test_each_chunk_is_a_task_and_jobs_have_their_times(imported):
    report, scenario, rows = imported
    work = scenario.workload
    assert report["jobs"] == 3
    assert work.job_id.tolist() == [17, 21, 22]
    assert work.arrival_us.tolist() == [0.0, 200e6, 300e6]
    assert work.times_us[work.job_first[:-1], 0].tolist() == [3600e6, 100e6, 100e6]
    assert work.limit_us.tolist() == [7200e6, 26 * 3600e6, float("inf")]
    assert [work.user_names[i] for i in work.user] == ["ann", "eve", "eve"]
    assert (work.job_first[1:] - work.job_first[:-1]).tolist() == [2, 2, 3]
    assert work.units[:2].tolist() == [2, 2]
    assert work.companions["CPU"][:2].tolist() == [16, 16]
    assert work.companions["memory"].tolist() == [8 * GIB, 8 * GIB, 2 * GIB, 2 * GIB, GIB, GIB, 0]
    assert work.demand[2:4].tolist() == [4, 2]
    assert work.tasks_per_node.tolist() == [1, 0, 0]  # scatter
    assert '"a = ""b"" run"' in rows
    assert "2024-05-01T08:00:00+00:00" in rows
    assert str(scenario.start_date) == "2024-05-01 08:00:00+00:00"
    assert work.words_of("start_s") == ["5", "300", "400"]
    assert vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == 3


@pytest.mark.parametrize(
    ("cut", "put", "reason"),
    [
        ("end=1714550800", "", "no start or end that can be read"),
        ("end=1714550800", f"end={10**30}", "no start or end that can be read"),
        ("start=1714550700", "start=x", "no start or end that can be read"),
        ("start=1714550700", "start=0", "it never started"),
        ("ncpus=4", "ncpus=-4", "what it held cannot be read"),
        ("mem=1gb", "mem=1e9gb", "what it held cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(vinesim, tmp_path, cut, put, reason):
    good = (
        "05/01/2024 10:00:09;E;22.head;ctime=1714550700 start=1714550700 "
        "exec_vnode=(n1:vmem=9gb:ncpus=4:mem=1gb) end=1714550800"
    )
    (tmp_path / "log").write_text(f"{good}\n{good.replace('22', '23').replace(cut, put)}\n")
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    report = json.loads(done.out)
    assert report["dropped"] == {reason: {"count": 1, "lines": [2]}}
    assert report["values"]["record"]["E"] == {"kept": 1, "dropped": 1}
    assert vs.read_scenario(tmp_path / "jobs.yaml").workload.companions["memory"].tolist() == [GIB]


def test_jobs_of_an_array_have_its_number_and_are_not_marked(vinesim, tmp_path):
    lines = (RECORDS.splitlines()[8].replace("21[3]", f"21[{i}]").replace("10:00:08", f"10:00:0{i}") for i in (1, 2))
    (tmp_path / "log").write_text("\n".join(lines))
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    assert vs.read_scenario(tmp_path / "jobs.yaml").workload.words_of("array") == ["21", "21"]
    odd = {one["what"]: one["is_odd"] for one in json.loads(done.out)["findings"]}
    assert not odd["job numbers"]
    assert not odd["duplicates"]


def test_records_that_are_no_jobs_are_named(imported):
    report, _, _ = imported
    dropped = {reason: found["lines"] for reason, found in report["dropped"].items()}
    assert dropped == {
        "it never started": [7],
        "no record: date;type;job;text": [8],
        "what it held cannot be read": [11],
        "an earlier run of a job that ran again": [10],
    }
    assert report["values"]["record"]["E"] == {"kept": 3, "dropped": 3}


@pytest.mark.parametrize("text", ["submit,duration\n0,1\n", "1 0 0 60 4 -1\n", "{}\n"])
def test_another_format_is_refused(vinesim, tmp_path, text):
    (tmp_path / "log").write_text(text)
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv")
    assert done.code == 2
    assert "log:1: expected a record of PBS accounting" in done.err
    assert not (tmp_path / "jobs.csv").exists()


def test_a_log_without_a_job_that_ran_is_refused(vinesim, tmp_path):
    (tmp_path / "log").write_text(RECORDS.splitlines()[0] + "\n")
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv")
    assert done.code == 2
    assert "at least one job that ran" in done.err


@pytest.mark.parametrize(("first", "second", "n_none"), [("mem=1gb", "mem=1gb", 0), ("", "mem=1gb", 1), ("", "", 0)])
def test_jobs_without_memory_are_in_doubt_where_others_have_some(vinesim, tmp_path, first, second, n_none):
    rows = [
        f"05/01/2024 10:00:09;E;{i}.head;user=eve {AT} Resource_List.select=1:ncpus=1:{memory} end=1714550900"
        for i, memory in enumerate((first, second), 30)
    ]
    (tmp_path / "log").write_text("\n".join(rows) + "\n")
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    found = [one["finding"] for one in json.loads(done.out)["findings"] if one["what"] == "memory"]
    assert found == [f"{n} jobs asked for no memory: they hold none" for n in (n_none,) if n]


def test_torque_says_what_a_job_holds_in_other_ways_too(vinesim, tmp_path):
    """Without exec_host, ``nodes`` says it; ``pmem`` is the memory of each process."""
    (tmp_path / "log").write_text(
        f"05/01/2024 08:00:00;E;1.head;user=a {AT} Resource_List.nodes=2:ppn=6:gpus=1+n9:ppn=2 end=1714550500\n"
        f"05/01/2024 08:00:00;E;2.head;user=a {AT} exec_host=n1/0-3 Resource_List.pmem=2gb end=1714550500\n"
        f"05/01/2024 08:00:00;E;3.head;user=a {AT} Resource_List.nodes=n1.site end=1714550500\n"
    )
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((tmp_path / "jobs.csv").read_text().splitlines()))
    held = [(row["job_id"], row["cores"], row["gpus"], row["memory_bytes"]) for row in rows]
    assert held == [
        ("1", "6", "1", ""),
        ("1", "6", "1", ""),
        ("1", "2", "", ""),
        ("2", "4", "", f"{8 * GIB}"),
        ("3", "1", "", ""),
    ]


def test_records_without_times_have_the_dates_of_the_records(vinesim, tmp_path):
    (tmp_path / "log").write_text(
        "01/01/2019 00:01:33;Q;7.head;queue=route\n"
        "01/01/2019 00:01:44;S;7.head;Resource_List.nodes=4:ppn=40\n"
        "01/01/2019 00:28:07;E;7.head;Resource_List.nodes=4:ppn=40 resources_used.walltime=00:26:03 account=x\n"
    )
    done = vinesim("import", "pbs", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((tmp_path / "jobs.csv").read_text().splitlines()))
    assert [(row["submitted"], row["run_s"], row["cores"]) for row in rows] == [
        ("2019-01-01T00:01:33+00:00", "1583", "40")
    ] * 4
