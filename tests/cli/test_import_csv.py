"""``vinesim import csv``: what it takes the columns of a log for, what it writes, and how a guess is corrected."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import vinesim as vs
from vinesim.formats.importers.csv_columns import columns_of
from vinesim.formats.importers.csv_guess import guessed
from vinesim.formats.source.table_source import open_table
from vinesim.policies.identity import content_id

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SLURM = """JobID,User,State,Submit,Start,End,Elapsed,NCPUS,ReqMem,NNodes
1001,alice,COMPLETED,2024-05-01T00:00:00,2024-05-01T00:00:05,2024-05-01T01:00:05,01:00:00,16,2 GiB,1
1001.batch,alice,COMPLETED,2024-05-01T00:00:00,2024-05-01T00:00:05,2024-05-01T01:00:05,01:00:00,16,2 GiB,1
1002,bob,FAILED,2024-05-01T00:10:00,2024-05-01T00:10:05,2024-05-01T00:30:05,00:20:00,8,1 GiB,1
1003,bob,CANCELLED,2024-05-01T00:20:00,2024-05-01T00:20:00,2024-05-01T00:20:00,00:00:00,8,1 GiB,1
1004,eve,COMPLETED,2024-05-01T02:10:00,2024-05-01T02:10:05,2024-05-02T00:30:05,22:20:00,32,4 GiB,1
"""
PODS = """name,creation_time_ms,deletionTime,cpu,memory (MiB),num_gpu,gpu_model
a,1714521600000,1714525200000,4,1024,0,
b,1714521700000,1714521900000,8,4096,2,A100
c,1714521900000,1714521800000,8,4096,1,
d,1714522900000,1714528800000,8,4096,1,T4
"""
LIKE = """extends: none
processor_types: [{name: CPU}]
task_types: [JOB]
affinity: {absolute: {CPU: {JOB: 2}}}
network: none
datacenter: {racks: [{nodes: [{count: 2, units: {CPU: {cores: 32}}, memory: 64 GiB}]}]}
workload: {generator: jobs, options: {n_jobs: 5, sizes: 5}}
arrivals: {iat: 5 s}
policy: fcfs
"""


@pytest.fixture
def imported(vinesim, tmp_path):
    """Import a log by its text; its report as JSON, and the scenario's path."""

    def take(text, *words, code=0):
        (tmp_path / "log.csv").write_text(text)
        done = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "jobs.csv", "--json", *words)
        assert done.code == code, done.err
        return json.loads(done.out) if code == 0 else done.err

    take.scenario = tmp_path / "jobs.yaml"
    return take


def test_jobs_without_a_user_are_kept(imported):
    imported("submit,duration,cpus,user\n0,10,1,ann\n1,10,1,\n2,10,1,bob\n", "--column", "user=user")
    work = vs.read_scenario(imported.scenario).workload
    assert [work.user_names[i] for i in work.user] == ["ann", "", "bob"]


def test_partitions_need_a_scenario_that_names_them(imported):
    err = imported("submit,duration,cpus,pool\n0,10,1,gpu\n", "--column", "pool=partition", code=2)
    assert "Give --like SCENARIO.yaml" in err
    assert not imported.scenario.exists()


def test_what_is_wrong_in_a_row_is_reported_with_its_line_in_the_log(imported):
    log = "submit,duration,cpus,app\n0,10,1,a\n1,0,1,b\n2,10,1,\n3,10,1,c\n"
    err = imported(log, "--column", "app=application", code=2)
    assert "log.csv:4: expected app: a name, found nothing" in err  # the second row is dropped
    assert "jobs.csv" not in err


def meanings(report):
    return {name: found["is"] for name, found in report["columns"].items()}


def test_a_log_of_slurm(imported, tmp_path):
    report = imported(SLURM)
    assert meanings(report) == {
        **{"JobID": "job_id", "User": "user", "State": "ignore", "Submit": "arrival_date", "Start": "start_date"},
        **{"End": "ignore", "Elapsed": "time_clock", "NCPUS": "cores", "ReqMem": "memory", "NNodes": "nodes"},
    }
    assert "UTC" in report["columns"]["Submit"]["why"]
    assert report["columns"]["End"]["why"] == "the time of a job is already Elapsed"
    assert report["dropped"] == {
        "a step of a job that has its own line": {"count": 1, "lines": [3]},
        "a duration of 0, or none": {"count": 1, "lines": [5]},
    }
    assert report["values"]["State"]["CANCELLED"] == {"kept": 0, "dropped": 1}
    assert (tmp_path / "jobs.csv").read_text().splitlines() == [SLURM.splitlines()[i] for i in (0, 1, 3, 5)]
    scenario = vs.read_scenario(imported.scenario)
    work = scenario.workload
    assert work.arrival_us.tolist() == [0.0, 600e6, 7800e6]
    assert work.words_of("start_s") == ["5.0", "605.0", "7805.0"]
    assert str(scenario.start_date) == "2024-05-01 00:00:00+00:00"
    assert work.times_us[:, 0].tolist() == [3600e6, 1200e6, 80400e6]
    assert work.demand.tolist() == [16, 8, 32]
    assert work.companions["memory"].tolist() == [2 * 2**30, 2**30, 4 * 2**30]
    assert work.user_names == ("alice", "bob", "eve")


@pytest.mark.parametrize(
    ("log", "date", "starts"),
    [
        ("submit,start,duration\n1714521600,1714521605,10\n1714521650,,10\n", "2024-05-01 00:00:00+00:00", ["5.0", ""]),
        ("start,duration\n1714521605,10\n1714521650,10\n", "2024-05-01 00:00:05+00:00", ["", ""]),
        ("submit,start,duration\n0,5,10\n50,60,10\n", "None", ["5.0", "60.0"]),
        ("submit,start,duration\n0,1714521605,10\n50,1714521650,10\n", "None", ["", ""]),
        ("submit,duration\n1714521700,0\n1714521800,10\n1714521900,10\n", "2024-05-01 00:03:20+00:00", ["", ""]),
    ],
)
def test_dates_and_actual_starts_are_kept(imported, log, date, starts):
    imported(log)
    scenario = vs.read_scenario(imported.scenario)
    assert str(scenario.start_date) == date
    assert scenario.workload.words_of("start_s") == starts


def test_memory_as_slurm_writes_it(imported):
    log = SLURM.replace("2 GiB", "2Gn").replace("1 GiB", "512Mc").replace("4 GiB", "4G")
    report = imported(log)
    assert report["columns"]["ReqMem"]["is"] == "memory_slurm"
    work = vs.read_scenario(imported.scenario).workload
    assert work.companions["memory"].tolist() == [2 * 2**30, 8 * 2**29, 4 * 2**30]


def test_pods_with_ends_in_milliseconds_and_gpus_of_two_models(imported):
    report = imported(PODS)
    assert meanings(report) == {
        **{"name": "ignore", "creation_time_ms": "arrival_epoch_ms", "deletionTime": "end_epoch_ms", "cpu": "cores"},
        **{"memory (MiB)": "memory_mib", "num_gpu": "gpus", "gpu_model": "gpu_type"},
    }
    assert report["dropped"] == {"no duration that can be read, or an end before the start": {"count": 1, "lines": [4]}}
    work = vs.read_scenario(imported.scenario).workload
    assert work.arrival_us.tolist() == [0.0, 100e6, 1300e6]
    assert work.times_us[:, 0].tolist() == [3600e6, 200e6, 5900e6]
    assert work.lead_sets == (("A100",), ("CPU",), ("T4",))
    assert vs.simulate(vs.read_scenario(imported.scenario), engine="reference").summary["jobs"]["finished"] == 3


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        ("submit_time,runtime_sec", "0,5 1,6", "arrival_s time_s"),
        ("SubmitTime,Duration (min)", "0,5 1,6", "arrival_s time_min"),
        ("timestamp,duration", "1714521600,5 1714521700,6", "arrival_epoch_s time_s"),
        ("timestamp,duration", "1714521600000000,5000000 1714521700000000,6000000", "arrival_epoch_us time_us"),
        ("job_submit_time,walltime", "0,3600000000 5,3600000000", "arrival_us time_us"),
        ("time,length_ms", "3,1 4,2", "arrival_s time_ms"),
        ("submitted,time", "3,1 4,2", "arrival_s time_s"),
        ("start,end", "2024-05-01,2024-05-02 2024-05-02,2024-05-03", "arrival_date end_date"),
        ("arrival_ms,time_us.NODE", "3,1 4,2", "arrival_ms ignore"),
        ("submit,duration,cpus,ncpus", "0,1,2,3 0,1,2,3", "arrival_s time_s cores ignore"),
        ("submit,duration,ReqCPUS,req_gpus", "0,1,2,1 0,1,2,0", "arrival_s time_s cores gpus"),
        ("submit,duration,cpu_request", "0,1,500m 0,1,2", "arrival_s time_s cores_kubernetes"),
        ("submit,duration,cpu_requests,nvidia.com/gpu", "0,1,500m,1 0,1,2,0", "arrival_s time_s cores_kubernetes gpus"),
        ("submit,duration,AllocCPUS,ReqCPUS", "0,1,2,1 0,1,2,1", "arrival_s time_s cores ignore"),
        ("submit,duration,gpu_type", "0,1,A 0,1,B", "arrival_s time_s ignore"),
        ("submit,duration,cpus,nodes", "0,1,8,2 0,1,8,4", "arrival_s time_s cores ignore"),
        ("submit,duration,wait_time,node", "0,1,8,2 0,1,8,4", "arrival_s time_s ignore ignore"),
        ("submit,duration,timelimit", "0,1,1:00:00 0,1,2-00:00:00", "arrival_s time_s limit_clock"),
        ("submit,duration,mem,user", "0,1,64,a 0,1,32,", "arrival_s time_s memory_gib user"),
        ("submit,duration,mem_mb,job_id", "0,1,64,a 0,1,32,b", "arrival_s time_s memory_mb ignore"),
        ("submit,duration,cpu_milli,gpu_milli", "0,1,64,1 0,1,32,2", "arrival_s time_s cores_milli ignore"),
        ("submit,duration,job,Partition", "0,1,64,a 0,1,32,b", "arrival_s time_s job_id ignore"),
        ("submit,duration,ram,priority", "0,1,4000,1 0,1,8000,-3", "arrival_s time_s memory_mib priority"),
    ],
)
def test_columns_are_guessed_by_name_unit_and_value(tmp_path, header, rows, expected):
    (tmp_path / "log.csv").write_text("\n".join([header, *rows.split()]) + "\n")
    found = guessed(columns_of(open_table(tmp_path / "log.csv")), {})
    assert " ".join(guess.meaning for guess in found.values()) == expected, found
    assert all(guess.why for guess in found.values())


def test_a_guess_can_be_corrected_by_option_or_in_the_scenario(imported):
    log = "submit,duration,weight\n0,5,1\n60,6,2\n"
    report = imported(log, "--column", "duration=time_min", "--column", "weight=priority")
    assert report["columns"]["duration"] == {"is": "time_min", "why": "as given", "is_doubtful": False}
    work = vs.read_scenario(imported.scenario, ["policy=priority"]).workload
    assert work.times_us[:, 0].tolist() == [300e6, 360e6]
    assert work.priority.tolist() == [1, 2]
    text = imported.scenario.read_text()
    assert "    duration: time_min  # as given\n" in text
    imported.scenario.write_text(text.replace("time_min", "time_h"))
    assert vs.read_scenario(imported.scenario, ["policy=priority"]).workload.times_us[:, 0].tolist() == [
        5 * 3600e6,
        6 * 3600e6,
    ]


def test_the_datacenter_can_be_that_of_another_scenario(imported, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "base.yaml").write_text(LIKE)
    report = imported(SLURM, "--like", tmp_path / "sub" / "base.yaml")
    assert not any("datacenter" in note for note in report["notes"])
    written = yaml.safe_load(imported.scenario.read_text())
    assert written["extends"] == "sub/base.yaml"
    scenario = vs.read_scenario(imported.scenario)
    assert scenario.datacenter.count_by_type() == {"CPU": 2, "memory": 2}
    assert scenario.workload.n_jobs == 3
    assert scenario.policy == "fcfs"


def test_the_made_datacenter_has_nodes_for_the_load(imported):
    rows = "".join(f"{i * 60},3600,4,{i % 2}\n" for i in range(600))
    report = imported("submit,duration,cores,gpus\n" + rows)
    assert any("correct its datacenter" in note for note in report["notes"])
    scenario = vs.read_scenario(imported.scenario)
    # half of the jobs take 4 cores, half a GPU too: 30 of each run at once, at a load of 0.7 on 43 nodes each
    assert scenario.datacenter.count_by_type() == {"CPU": 86, "GPU": 43}


def test_gzip_and_parquet(vinesim, imported, tmp_path):
    import duckdb

    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(SLURM.encode()))
    duckdb.sql("SELECT 0.5 AS arrival, TIMESTAMP '2024-05-01' AS submit, 7 AS duration").write_parquet(
        str(tmp_path / "log.parquet")
    )
    for name, n_jobs in (("log.csv.gz", 3), ("log.parquet", 1)):
        done = vinesim("import", "csv", tmp_path / name, "-o", tmp_path / "jobs.csv", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["jobs"] == n_jobs == vs.read_scenario(imported.scenario).workload.n_jobs


def test_what_cannot_be_imported_is_said_and_nothing_is_written(vinesim, imported, tmp_path):
    refused = imported("a,b\n1,2\n", code=2)
    for words in ("a column that says when jobs arrive", "how long jobs take", "--column NAME=time_s", "no meaning is"):
        assert words in " ".join(refused.split()), refused
    assert "Did you mean submit?" in imported("submit,duration\n0,1\n", "--column", "submti=arrival_s", code=2)
    assert "NAME=MEANING" in imported("submit,duration\n0,1\n", "--column", "submit", code=2)
    assert "at least one job" in imported("submit,duration\n0,0\n", code=2)
    assert "Give --like SCENARIO" in imported("submit,operations\n0,1\n", code=2)
    assert "Did you mean time_s" in imported("submit,duration\n0,1\n", "--column", "duration=tme_s", code=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.csv"]
    done = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "jobs.parquet")
    assert done.code == 2
    assert "a name that ends in .csv" in done.err


@pytest.mark.parametrize(
    ("columns", "is_doubtful"), [("submit,end", True), ("submit,start,end", False), ("start,end", False)]
)
def test_an_end_without_a_start_is_in_doubt(imported, columns, is_doubtful):
    """The time from the arrival on has the wait in the log's own queue."""
    n = columns.count(",") + 1
    rows = "".join(",".join(str(60 * i + 10 * k) for k in range(n)) + "\n" for i in range(5))
    report = imported(f"{columns}\n{rows}")
    assert report["columns"]["end"]["is_doubtful"] == is_doubtful


@pytest.mark.skipif(not (DATA / "openb2023").exists(), reason="openb2023 is not next to the repository")
def test_a_real_log(vinesim, imported, tmp_path):
    log = DATA / "openb2023" / "pods_gpuspec33.csv"
    done = vinesim("import", "csv", log, "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert meanings(report)["memory_mib"] == "memory_mib"
    assert meanings(report)["creation_time"] == "arrival_s"
    assert meanings(report)["deletion_time"] == "end_s"
    assert meanings(report)["scheduled_time"] == "ignore"
    assert meanings(report)["cpu_milli"] == "cores_milli"
    assert meanings(report)["gpu_spec"] == "gpu_type"
    assert report["jobs"] == vs.read_scenario(imported.scenario).workload.n_jobs > 7000


def finding(report, what):
    """What a check found; None if it is not in the report."""
    return next((found for found in report["findings"] if found["what"] == what), None)


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("s", ["0.4", "0.1", "0.2648", "5"]),
        ("h", ["0.25", "0.45", "2.5", "1e-6"]),
        ("us", ["3000000000", "5000000", "1", "0.001"]),
        ("clock", ["0:00:00.40", "00:00:00.30", "00:01", "1-00:00:00"]),
    ],
)
def test_no_job_is_too_short_or_too_long_for_a_whole_number(imported, unit, times):
    rows = "".join(f"{i},{time},1\n" for i, time in enumerate(times))
    report = imported(f"submit,duration,cpus\n{rows}", "--column", f"duration=time_{unit}")
    assert (report["jobs"], report["dropped"]) == (4, {})


@pytest.mark.parametrize("zero", ["0", "0.0", "-0", "0e5", "", "abc", "-1", "inf", "nan"])
def test_a_duration_of_nothing_costs_its_row(imported, zero):
    report = imported(f"submit,duration,cpus\n0,1,1\n1,{zero},1\n2,3,1\n")
    assert [found["lines"] for found in report["dropped"].values()] == [[3]]


def test_a_missing_duration_in_a_parquet_file_costs_its_row(vinesim, tmp_path):
    import duckdb

    values = "(0, 1.5, 1), (1, 'nan', 1), (2, NULL, 1), (3, 0, 1), (4, 1e-9, 1)"
    table = duckdb.sql(f"SELECT * FROM (VALUES {values}) AS t(submit, duration_s, cpus)")
    table.select("submit, duration_s::DOUBLE AS duration_s, cpus").write_parquet(str(tmp_path / "log.parquet"))
    done = vinesim("import", "csv", tmp_path / "log.parquet", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["dropped"] == {"a duration of 0, or none": {"count": 3, "lines": [3, 4, 5]}}


@pytest.mark.parametrize(
    ("column", "most", "more"),
    [
        ("duration", "4.1e9", "4.2e9"),
        ("submit", "4e9", "4.2e9"),
        ("cpus", "1e7", "1.1e7"),
        ("gpus", "1e7", "10000001"),
        ("mem_gib", "1073741824", "1073741825"),
        ("duration", "4e9", "1" + "0" * 30),
        ("cpus", "4", "1" * 400),
    ],
)
def test_a_number_that_is_too_large_to_be_true_costs_its_row(imported, tmp_path, column, most, more):
    (tmp_path / "like.yaml").write_text(LIKE)
    row = {"submit": "1", "duration": "5", "cpus": "1", "gpus": "1", "mem_gib": "1"}
    rows = [row, row | {"submit": "2"}, row | {column: most}, row | {column: more}]
    text = "\n".join(",".join(each) for each in (row, *(one.values() for one in rows))) + "\n"
    units = ("--column", "submit=arrival_s", "--column", "duration=time_s")
    report = imported(text, *units, "--like", tmp_path / "like.yaml")
    lost = next(iter(report["dropped"].values()))
    assert lost == {"count": 1, "lines": [5]}


def test_a_bad_cell_costs_its_row_and_no_column(imported):
    rows = "".join(f"{i},10,{'abc' if i == 3 else 8},{i % 2}\n" for i in range(6))
    report = imported(f"submit,duration,cpus,gpus\n{rows}")
    assert report["dropped"] == {"cpus: a cell that cannot be read": {"count": 1, "lines": [5]}}
    assert vs.read_scenario(imported.scenario).workload.companions["CPU"].max() == 8


def test_steps_decide_nothing(imported):
    """Their rows have no user; the allocations are jobs though their numbers have a point, as pandas writes them."""
    header = "JobID,User,Partition,Submit,Elapsed,AllocCPUS\n"
    steps = "".join(f"1001.{step},,,,00:00:05,\n" for step in ("batch", "extern", "0", "1"))
    report = imported(header + "1001,ann,p,2024-05-01T00:00:00,00:10:00,4\n" + steps)
    assert meanings(report) | {"User": "user", "AllocCPUS": "cores", "JobID": "job_id"} == meanings(report)
    assert report["dropped"]["a step of a job that has its own line"]["lines"] == [3, 4, 5, 6]
    floats = imported(header + "".join(f"{i}.0,ann,p,2024-05-01T0{i}:00:00,00:10:00,4\n" for i in range(3)))
    assert (floats["jobs"], floats["dropped"]) == (3, {})


def test_a_log_that_does_not_say_what_jobs_take_is_marked(imported):
    report = imported("submit,run_time,cpu_time,req_procs_x\n0,60,480,4\n10,120,960,8\n")
    assert meanings(report)["cpu_time"] == "ignore"
    assert finding(report, "size of jobs")["is_odd"]
    assert finding(imported("submit,run_time,cpus\n0,60,4\n10,60,8\n"), "size of jobs") is None
    assert finding(imported("submit,run_time,gpus\n0,60,4\n10,60,8\n"), "size of jobs") is None


def test_doubts_are_marked_where_they_are_read(vinesim, imported, tmp_path):
    log = "submit_ms,duration,cpus\n0,3600,4\n9000,3600,8\n"
    report = imported(log)
    assert report["columns"]["duration"]["is_doubtful"]
    assert finding(report, "columns") == {
        "what": "columns",
        "finding": "in doubt, marked above: duration",
        "is_odd": True,
        "names": ["duration"],
    }
    done = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "jobs.csv")
    assert "in ms its median is 3.60 s; in s it would be 1.00 h !\n" in done.out
    assert finding(imported(log, "--column", "duration=time_s"), "columns") is None


def test_gpus_may_be_shares_of_one(imported):
    report = imported("submit,duration,gpus,cpus\n0,60,0.5,4\n60,60,0.25,4\n120,60,1,4\n180,60,2,4\n240,60,1.5,4\n")
    assert report["dropped"] == {"gpus: a cell that cannot be read": {"count": 1, "lines": [6]}}
    scenario = vs.read_scenario(imported.scenario)
    assert scenario.workload.demand.tolist()[:2] == [0.5, 0.25]
    assert scenario.workload.units.tolist() == [1, 1, 1, 2]


def test_all_memory_of_a_node_is_the_most_of_any_job(imported):
    log = SLURM.replace("2 GiB", "0n").replace("1 GiB", "512Mc").replace("4 GiB", "6G")
    report = imported(log)
    work = vs.read_scenario(imported.scenario).workload
    assert work.companions["memory"].tolist() == [6 * 2**30, 8 * 2**29, 6 * 2**30]
    assert (finding(report, "memory")["is_odd"], finding(report, "memory")["all_of_a_node"]) == (True, 1)
    report = imported(log.replace("512Mc", "0n").replace("6G", "0n"))  # memory is not accounted
    assert vs.read_scenario(imported.scenario).workload.companions is None
    assert finding(report, "memory") is None


def test_a_column_without_a_name_has_its_number(imported, tmp_path):
    report = imported(",arrival_s,time_s,cores\n0,0,300,4\n1,5,100,2\n")
    assert meanings(report)["column_1"] == "ignore"
    assert (tmp_path / "jobs.csv").read_text().startswith("column_1,arrival_s,")
    assert vs.read_scenario(imported.scenario).workload.n_jobs == 2


def test_nodes_and_tasks_per_node_are_vinesims_own(imported):
    imported(
        "arrival_s,time_s,cores,memory,gpus,gpu_type,nodes,tasks_per_node\n"
        "0,600,4,16 GiB,1,A100,2,8\n10,300,4,16 GiB,1,A100,1,4\n20,60,4,16 GiB,1,A100,,\n"
    )
    scenario = vs.read_scenario(imported.scenario)
    assert np.diff(scenario.workload.job_first).tolist() == [16, 4, 1]
    at_node = scenario.datacenter.count_by_type()
    assert (at_node["A100"] // at_node["CPU"], at_node["CPU"] >= 2) == (8, True)
    assert vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == 3


def test_the_faults_of_the_scenario_of_like_are_found_before_anything_is_written(imported, tmp_path):
    for change in (("policy: fcfs", "policy: fcfs\npolicy: high"), ("network", "netwrk"), ("datacenter", "centre")):
        (tmp_path / "like.yaml").write_text(LIKE.replace(*change))
        assert "like.yaml:" in imported("submit,duration,cpus\n0,1,1\n", "--like", tmp_path / "like.yaml", code=2)
        assert not imported.scenario.exists()
    (tmp_path / "like.yaml").write_text(LIKE.replace("workload: {generator: jobs", "workload: {generator: gone"))
    imported("submit,duration,cpus\n0,1,1\n", "--like", tmp_path / "like.yaml")


def test_more_work_than_any_datacenter_can_do_is_an_error(imported):
    err = imported("submit,duration_h,cpus\n0,1e6,1\n0.001,1e6,1\n", code=2)
    assert "at most 10,000,000 units in all" in err
    assert "unit that they are taken for" in err


@pytest.mark.parametrize(("n", "is_counted"), [(20, True), (21, False)])
def test_statuses_are_counted_unless_there_are_too_many(imported, n, is_counted):
    report = imported("submit,duration,cpus,status\n" + "".join(f"{i},1,1,S{i}\n" for i in range(n)))
    assert ("status" in report["values"]) == is_counted


GERMAN = """Job;Beginn submit;submit;Laufzeit;duration;ncpus;mem_gb
1;x;31.12.2024 23:50:00;x;1.234,5;4;1,5
2;x;01.01.2025 00:10;x;600;1;16
"""


def test_decimal_commas_thousands_and_days_first(imported):
    report = imported(GERMAN)
    assert "dates written d/m/y" in report["columns"]["submit"]["why"]
    assert report["columns"]["duration"] == {
        "is": "time_s",
        "why": "its name; no unit is given, in s its median is 15.3 min; numbers with a decimal comma such as 1.234,5",
        "is_doubtful": False,
    }
    work = vs.read_scenario(imported.scenario).workload
    assert work.arrival_us.tolist() == [0.0, 1200e6]
    assert work.times_us[:, 0].tolist() == [1234.5e6, 600e6]
    assert work.companions["memory"].tolist() == [1.5e9, 16e9]


def test_what_can_be_read_in_two_ways_is_in_doubt_until_an_option_says_it(imported):
    log = 'submit,duration,cpus\n01/02/2024 8:00 AM,"1,234",4\n02/02/2024 1:30 PM,"2,345",4\n'
    report = imported(log)
    assert report["columns"]["submit"]["is_doubtful"]
    assert report["columns"]["duration"]["is_doubtful"]
    assert "say --decimal" in report["columns"]["duration"]["why"]
    work = vs.read_scenario(imported.scenario).workload
    assert work.times_us[:, 0].tolist() == [1234e6, 2345e6]
    assert work.arrival_us.tolist() == [0.0, (24 + 5.5) * 3600e6]
    report = imported(log, "--decimal", "comma", "--date-format", "m/d/y")
    assert not any(found["is_doubtful"] for found in report["columns"].values())
    work = vs.read_scenario(imported.scenario).workload
    assert work.times_us[:, 0].tolist() == [1.234e6, 2.345e6]
    assert work.arrival_us.tolist() == [0.0, (31 * 24 + 5.5) * 3600e6]  # 2 January to 2 February


def test_months_first_if_a_day_says_so(imported):
    report = imported("submit,duration,cpus\n12/31/2024 08:00,60,4\n01/02/2025 08:00,60,4\n")
    assert "dates written m/d/y" in report["columns"]["submit"]["why"]
    assert vs.read_scenario(imported.scenario).workload.arrival_us[1] == 48 * 3600e6


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--date-format", "%d %b %Y"), "a column with dates such as %d %b %Y, found submit: '12/31/2024'"),
        (("--date-format", "%Q"), "a format such as %d/%m/%Y %H:%M"),
        (("--date-format", "DD/MM"), "d/m/y, m/d/y or a format such as"),
        (("--decimal", ","), "expected comma or point, found ','"),
    ],
)
def test_a_wrong_format_is_refused_before_anything_is_written(imported, tmp_path, words, expected):
    assert expected in imported("submit,duration,cpus\n12/31/2024,60,4\n", *words, code=2)
    assert [file.name for file in tmp_path.iterdir()] == ["log.csv"]


def test_a_date_format_with_names_of_months(imported):
    imported("submit,duration,cpus\n31-Dec-24 08:00,60,4\n01-Jan-25 08:00,60,4\n", "--date-format", "%d-%b-%y %H:%M")
    assert vs.read_scenario(imported.scenario).workload.arrival_us[1] == 24 * 3600e6


def test_json_lines_with_objects_in_objects(vinesim, tmp_path):
    rows = [
        {"submit": "2024-05-01T08:00:00Z", "duration": 60, "cpus": 4, "mem_gb": 1.5, "owner": {"user": "ann"}},
        None,
        {"submit": "2024-05-01T08:00:10Z", "duration": 0, "cpus": 4},
        {"submit": "2024-05-01T08:00:20Z", "duration": 9007199254740993, "cpus": 2, "note": 'a, "b"'},
        {"submit": "2024-05-01T08:00:30Z", "duration": 30, "cpus": 2, "mem_gb": None},
    ]
    log = tmp_path / "log.jsonl.gz"
    log.write_bytes(gzip.compress("\n".join(json.dumps(row) if row else "" for row in rows).encode()))
    done = vinesim("import", "csv", log, "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["columns"]["owner.user"]["is"] == "user"
    assert report["dropped"]["a duration of 0, or none"]["lines"] == [3]
    assert report["dropped"]["duration: too large to be true"]["lines"] == [4]
    work = vs.read_scenario(tmp_path / "jobs.yaml").workload
    assert work.times_us[:, 0].tolist() == [60e6, 30e6]


def test_lines_that_are_no_objects_are_named(vinesim, tmp_path):
    (tmp_path / "log.jsonl").write_bytes(b'[{"submit": 0}]\n{"submit": 0\n{"submit": 1}\n7\n{"submit": "\xa9"}\n')
    done = vinesim("import", "csv", tmp_path / "log.jsonl", "-o", tmp_path / "jobs.csv")
    assert done.code == 2
    for place in ("log.jsonl:1: expected a JSON object, found a list", "log.jsonl:2: ", "log.jsonl:4: "):
        assert place in done.err
    assert "log.jsonl:5: expected a JSON object, found bytes that are not UTF-8 text" in done.err
    assert not (tmp_path / "jobs.csv").exists()


def test_the_mapping_is_a_file_that_can_be_corrected(imported, vinesim, tmp_path):
    log = "submit,duration,cpus,mem_mb\n0,60,4,1000\n9,60,4,1000\n"
    imported(log)
    mapping = tmp_path / "jobs.mapping.yaml"
    assert yaml.safe_load(mapping.read_text())["columns"]["mem_mb"] == "memory_mb"
    mapping.write_text(mapping.read_text().replace("mem_mb: memory_mb", "mem_mb: memory_mib"))
    report = imported(log, "--mapping", mapping)
    assert report["columns"]["mem_mb"] == {"is": "memory_mib", "why": "as given", "is_doubtful": False}
    assert str(mapping) in report["wrote"]
    mapping.write_text("decimal: dot\ncolumns: {mem: memory_mb}\nunits: x\n")
    err = imported(log, "--mapping", mapping, code=2)
    assert "units" in err
    assert "comma or point" in err


def test_a_doubt_is_marked_in_the_mapping(imported, tmp_path):
    imported("submit,duration,cpus\n01/02/2024 08:00,60,4\n02/02/2024 08:00,60,4\n")
    (line,) = (line for line in (tmp_path / "jobs.mapping.yaml").read_text().splitlines() if "submit" in line)
    assert line.startswith("  submit: arrival_date  # ! ")


def test_gpus_in_total_over_any_nodes(imported):
    log = "submit,duration,cpus,mem_gb,total_gpus,gpu_type\n0,60,16,32,4,A100\n10,60,8,8,,\n20,60,2,4,1,A100\n"
    report = imported(log)
    assert report["columns"]["total_gpus"]["is"] == "total_gpus"
    work = vs.read_scenario(imported.scenario).workload
    assert work.job_first.tolist() == [0, 4, 5, 6]
    assert work.units is None  # one GPU for each task
    assert work.companions["CPU"].tolist() == [4, 4, 4, 4, 0, 2]
    assert work.companions["memory"].tolist() == [8e9] * 5 + [4e9]
    assert np.isfinite(work.demand).tolist() == [False, False, False, False, True, False]  # whole GPUs
    assert (work.gang_within > 0).tolist() == [True, False, False]
    assert vs.simulate(vs.read_scenario(imported.scenario), engine="reference").summary["jobs"]["finished"] == 3


def test_gpus_are_in_total_or_at_each_node(imported):
    log = "submit,duration,gpus,all_gpus\n0,60,1,4\n"
    assert "expected no column gpus" in imported(log, "--column", "all_gpus=total_gpus", code=2)


@pytest.mark.parametrize("command", ["import csv", "import csv other.csv --nodes"])
@pytest.mark.parametrize(
    ("name", "text", "place"),
    [("log.csv.gz", "", ":1"), ("log.tsv", "a\ta\n1\t2\n", ":1"), ("log.tsv.gz", "a\ta\n1\t2\n", ":1")],
)
def test_an_error_about_a_log_that_is_copied_names_the_log(vinesim, tmp_path, command, name, text, place):
    """Not the copy, which is gone by then."""
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    words = [tmp_path / word if word == "other.csv" else word for word in command.split()]
    (tmp_path / "other.csv").write_text("arrival_s,time_s\n0,60\n")
    done = vinesim(*words, tmp_path / name, "-o", tmp_path / "jobs.csv")
    assert done.code == 2
    assert done.err.splitlines()[1].startswith(f"  {tmp_path / name}{place}: expected")


@pytest.mark.parametrize("last", ["7003,ben,COMPL", '7003,"be', "7003,ben,COMPLETED,20,60,8,9,10"])
def test_a_line_with_too_many_or_too_few_cells_is_dropped_and_named(vinesim, tmp_path, last):
    rows = ["JobID,User,State,submit_s,duration_s,NCPUS", "7001,ann,COMPLETED,0,60,16", "7002,ben,COMPLETED,10,60,8"]
    (tmp_path / "log.csv").write_text("\n".join([*rows, last]))
    done = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "jobs.csv")
    assert "dropped 1: an empty line, or more or fewer cells than the header (line 4)" in done.out, done.err
    assert "JobID: job_id: its name" in done.out
    assert vinesim("run", tmp_path / "jobs.yaml").code == 0
    if '"' not in last:  # an open quotation mark makes one cell of the lines after it
        (tmp_path / "log.csv").write_text("\n".join([*rows, last, last]))
        done = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "jobs.csv")
        assert (done.code, "expected 6 fields, as in the header" in done.err) == (2, True), done.out


def test_amounts_in_hundredths_and_thousandths(vinesim, tmp_path):
    """The same jobs as in whole cores and GPUs, also when read again with the mapping of the import."""
    rows = [(50, 600, 500), (200, 400, 1000), (25, 50, 1000), (100, 1100, 250), (0, 100, 1000)]
    log = "start_time,end_time,plan_gpu,plan_cpu,gpu_milli\n"
    log += "".join(f"{i},{i + 60},{gpu},{cpu},{milli}\n" for i, (gpu, cpu, milli) in enumerate(rows))
    whole = "start_time,end_time,gpus,cores\n"
    whole += "".join(f"{i},{i + 60},{gpu / 100},{cpu / 100}\n" for i, (gpu, cpu, _) in enumerate(rows))
    (tmp_path / "log.csv").write_text(log)
    (tmp_path / "whole.csv").write_text(whole)
    doubt = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "x.csv").out.replace("\n", " ")
    assert "plan_gpu=gpus, or gpus_percent or gpus_milli if it is in hundredths or thousandths !" in doubt
    assert "give --column gpu_milli=gpus_milli, or gpu_share_milli if another column counts them" in doubt
    said = ["--column", "plan_gpu=gpus_percent", "--column", "plan_cpu=cores_percent"]
    assert vinesim("import", "csv", tmp_path / "log.csv", *said, "-o", tmp_path / "a.csv").code == 0
    assert vinesim("import", "csv", tmp_path / "whole.csv", "-o", tmp_path / "b.csv").code == 0
    again = ["--mapping", tmp_path / "a.mapping.yaml"]
    assert vinesim("import", "csv", tmp_path / "log.csv", *again, "-o", tmp_path / "c.csv").code == 0
    assert len({content_id(vs.read_scenario(tmp_path / f"{name}.yaml")) for name in "abc"}) == 1
    (tmp_path / "log.csv").write_text("start_time,end_time,num_gpu,gpu_milli\n0,60,1,250\n1,61,2,1000\n")
    assert vinesim("import", "csv", tmp_path / "log.csv", "--column", "gpu_milli=gpu_share_milli", "-o",
                   tmp_path / "d.csv").code == 0  # fmt: skip
    work = vs.read_scenario(tmp_path / "d.yaml").workload
    assert (work.units.tolist(), work.demand.tolist()) == ([1, 2], [0.25, np.inf])


def test_lines_of_other_lengths_are_looked_for_only_where_there_are_some(vinesim, tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr("vinesim.formats.importers.csv_files.other_lengths", lambda *of: looked.append(of) or {})
    monkeypatch.setattr("vinesim.formats.importers.csv_files._whole", None)
    (tmp_path / "log.csv").write_text("submit,duration\n0,1\n2,3\n")
    assert vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "a.csv").code == 0
    assert not looked
    (tmp_path / "log.csv").write_text("submit,duration\n0,1\n2,3,4\n")
    assert vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "a.csv").code == 2
    assert len(looked) == 1
