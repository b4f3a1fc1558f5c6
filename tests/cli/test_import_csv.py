"""``vinesim import csv``: what it takes the columns of a log for, what it writes, and how a guess is corrected."""

import gzip
import json
from pathlib import Path

import pytest
import yaml

import vinesim as vs
from vinesim.formats.importers.csv_columns import columns_of
from vinesim.formats.importers.csv_guess import guessed
from vinesim.formats.source.table_source import open_table

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


def test_what_is_wrong_in_a_row_is_told_with_its_line_in_the_log(imported):
    log = "submit,duration,cpus,app\n0,10,1,a\n1,0,1,b\n2,10,1,\n3,10,1,c\n"
    err = imported(log, "--column", "app=application", code=2)
    assert "log.csv:4: expected app: a name, found nothing" in err  # the second row is dropped
    assert "jobs.csv" not in err


def meanings(report):
    return {name: found["is"] for name, found in report["columns"].items()}


def test_a_log_of_slurm(imported, tmp_path):
    report = imported(SLURM)
    assert meanings(report) == {
        **{"JobID": "ignore", "User": "user", "State": "ignore", "Submit": "arrival_date", "Start": "ignore"},
        **{"End": "ignore", "Elapsed": "time_clock", "NCPUS": "cores", "ReqMem": "memory", "NNodes": "nodes"},
    }
    assert "UTC" in report["columns"]["Submit"]["why"]
    assert report["columns"]["End"]["why"] == "the time of a job is already Elapsed"
    assert report["dropped"] == {
        "a step of a job that has a line of its own": {"count": 1, "lines": [3]},
        "a duration of 0, or none": {"count": 1, "lines": [5]},
    }
    assert report["values"]["State"]["CANCELLED"] == {"kept": 0, "dropped": 1}
    assert (tmp_path / "jobs.csv").read_text().splitlines() == [SLURM.splitlines()[i] for i in (0, 1, 3, 5)]
    work = vs.read_scenario(imported.scenario).workload
    assert work.arrival_us.tolist() == [0.0, 600e6, 7800e6]
    assert work.times_us[:, 0].tolist() == [3600e6, 1200e6, 80400e6]
    assert work.demand.tolist() == [16, 8, 32]
    assert work.companions["memory"].tolist() == [2 * 2**30, 2**30, 4 * 2**30]
    assert work.user_names == ("alice", "bob", "eve")


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
        ("timestamp,duration", "1714521600000000,5000000 1714521700000000,6000000", "arrival_epoch_us time_ms"),
        ("job_submit_time,walltime", "0,3600000000 5,3600000000", "arrival_s time_us"),
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
        ("submit,duration,mem,user", "0,1,64,a 0,1,32,", "arrival_s time_s memory_gib ignore"),
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
    assert report["columns"]["duration"] == {"is": "time_min", "why": "as given"}
    work = vs.read_scenario(imported.scenario).workload
    assert work.times_us[:, 0].tolist() == [300e6, 360e6]
    assert work.priority.tolist() == [1, 2]
    text = imported.scenario.read_text()
    assert "    duration: time_min  # as given\n" in text
    imported.scenario.write_text(text.replace("time_min", "time_h"))
    assert vs.read_scenario(imported.scenario).workload.times_us[:, 0].tolist() == [5 * 3600e6, 6 * 3600e6]


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


@pytest.mark.skipif(not (DATA / "openb2023").exists(), reason="openb2023 is not beside the repository")
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
