"""``vinesim import slurm``: jobs as sacct prints them, nodes as scontrol does, and the scenario of both."""

import gzip
import json
import re

import numpy as np
import pytest
import yaml

import vinesim as vs
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.importers.slurm_jobs import slurm_jobs
from vinesim.formats.importers.slurm_nodes import gpus_of, read_slurm_nodes
from vinesim.formats.slurm.jobs import read_jobs
from vinesim.model.errors import InputError
from vinesim.model.workload import ANYWHERE, NO_GANG, NODE

JOBS = """JobIDRaw|User|Partition|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|ReqTRES|AllocTRES|JobName
1|ann|gpu|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:09|2024-05-01T09:00:09|3600|120|COMPLETED|\
billing=16,cpu=16,gres/gpu=2,mem=64G,node=1|billing=16,cpu=16,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1|train
1.batch|||2024-05-01T08:00:09||2024-05-01T08:00:09|2024-05-01T09:00:09|3600||COMPLETED||cpu=16,mem=64G,node=1|batch
2|ben|batch|2024-05-01T08:05:00|2024-05-01T08:06:00|2024-05-01T08:06:05|2024-05-01T08:16:05|600|UNLIMITED|FAILED|\
cpu=8,mem=62.5G,node=1|cpu=8,mem=62.5G,node=1|x
3|eve|gpu|2024-05-01T08:20:00|2024-05-01T08:20:00|2024-05-01T08:21:00|2024-05-01T10:21:30|7230|2:00:00|TIMEOUT|\
cpu=65,gres/gpu=15,mem=256G,node=2|cpu=65,gres/gpu:a100=15,gres/gpu=15,mem=256G,node=2|x
4|eve|gpu|2024-05-01T08:25:00|2024-05-01T08:25:00|None|2024-05-01T08:45:00|0|240|CANCELLED by 1001|\
cpu=64,gres/gpu=2,mem=250G,node=2,license/m=2||x
5|eve|gpu|2024-05-01T08:25:00||Unknown|Unknown|0|240|PENDING|cpu=64,mem=256G,node=2||x
6|eve|old|2024-05-01T08:25:00||2024-05-01T08:26:00|2024-05-01T08:36:00|600|240|COMPLETED||cpu=64,mem=2G,node=2|x
""".replace("2:00:00|TIMEOUT", "120|TIMEOUT")
NODES = """NodeName=gpu01 Arch=x86_64 CPUAlloc=0 CPUEfctv=62 CPUTot=64 Gres=gpu:a100:8(S:0-1) OS=Linux 5.14 #1 SMP \
RealMemory=515000 State=IDLE Partitions=gpu,long CfgTRES=cpu=64,mem=515000M,billing=64,gres/gpu=8
NodeName=gpu02 Arch=x86_64 CPUEfctv=62 CPUTot=64 Gres=gpu:a100:8(S:0-1) RealMemory=515000 State=IDLE+DRAIN \
Partitions=gpu,long
NodeName=c01 CPUTot=64 Gres=(null) RealMemory=257000 MemSpecLimit=1000 State=MIXED Partitions=batch

NodeName=c02 CPUTot=64
   Gres=(null)
   RealMemory=257000 MemSpecLimit=1000
   Partitions=batch
"""
GIB = 2**30


@pytest.fixture
def imported(vinesim, tmp_path):
    """Import jobs and nodes by their texts; the report as JSON, or the errors."""

    def take(jobs=JOBS, nodes=NODES, code=0):
        (tmp_path / "jobs.txt").write_text(jobs)
        words = []
        if nodes is not None:
            (tmp_path / "nodes.txt").write_text(nodes)
            words = ["--nodes", tmp_path / "nodes.txt"]
        done = vinesim("import", "slurm", tmp_path / "jobs.txt", *words, "-o", tmp_path / "out.parquet", "--json")
        assert done.code == code, done.err
        if code:
            assert not list(tmp_path.glob("out.*"))
            return done.err
        take.work = vs.read_scenario(tmp_path / "out.yaml").workload
        return json.loads(done.out)

    take.scenario = tmp_path / "out.yaml"
    return take


def log(*rows, fields="JobIDRaw|User|Partition|Submit|End|ElapsedRaw|State|AllocTRES"):
    return "\n".join([fields, *rows, ""])


def test_jobs_become_gangs_of_a_task_for_each_node(imported):
    report = imported()
    work = imported.work
    assert work.job_id.tolist() == [1, 2, 3, 4]
    assert work.arrival_us.tolist() == [0.0, 360e6, 1200e6, 1500e6]  # when they were eligible
    assert np.diff(work.job_first).tolist() == [1, 1, 2, 2]
    assert work.gang_within.tolist() == [NO_GANG, NO_GANG, ANYWHERE, ANYWHERE]
    assert work.tasks_per_node.tolist() == [0, 0, 1, 1]
    assert work.units.tolist() == [2, 1, 8, 7, 1, 1]
    assert work.demand.tolist() == [1, 8, 1, 1, 1, 1]
    assert work.companions["CPU"].tolist() == [16, 0, 33, 32, 32, 32]
    assert work.companions["memory"].tolist() == [64 * GIB, 62.5 * GIB, 128 * GIB, 128 * GIB, 125 * GIB, 125 * GIB]
    assert [work.lead_sets[i] for i in work.lead_types] == [("a100",), ("CPU",), *[("a100",)] * 4]
    assert [work.user_names[i] for i in work.user] == ["ann", "ben", "eve", "eve"]
    assert [work.partition_names[i] for i in work.partition] == ["gpu", "batch", "gpu", "gpu"]
    assert work.limit_us.tolist() == [7200e6, np.inf, 7200e6, 14400e6]
    assert work.operations.tolist() == [3600e6, 600e6, 7230e6, 7230e6, 14400e6, 14400e6]
    assert work.estimate_us.tolist() == [7200e6, 600e6, 7200e6, 7200e6, 14400e6, 14400e6]  # Slurm knows the limit
    assert work.withdraw_us.tolist() == [np.inf, np.inf, np.inf, 2700e6]
    assert report["dropped"] == {
        "a step of a job that has its own line": {"count": 1, "lines": [3]},
        "it had not started when the log ended": {"count": 1, "lines": [7]},
        "no node is in its partition, old": {"count": 1, "lines": [8]},
    }
    assert report["values"]["State"]["CANCELLED"] == {"kept": 1, "dropped": 0}
    assert report["unused"] == {"JobName": 7, "license/m": 1}
    assert (report["gangs"], report["withdrawn"], report["nodes"], report["gpus"]) == (2, 1, 4, 16)
    assert any("down or drained" in note and "1 nodes" in note for note in report["notes"])
    assert "UTC is assumed" in report["time_zone"]
    assert report["waited_us"] == {"mean": 74e6 / 3, "p50": 9e6, "p90": 60e6, "p99": 60e6}


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_they_run_in_their_partitions_until_their_limits_or_until_they_are_withdrawn(imported, engine):
    imported()
    scenario = vs.read_scenario(imported.scenario)
    result = vs.simulate(scenario, engine=engine)
    assert result.summary["jobs"] | {"killed": 1, "withdrawn": 1, "finished": 2} == result.summary["jobs"]
    rack_shelf = scenario.datacenter.shelf[result.tasks["unit"]]
    assert set(rack_shelf[[0, 2, 3]].tolist()) == {0, 1}
    assert rack_shelf[1] in (2, 3)


def test_nodes_are_groups_and_partitions_name_them(imported):
    imported()
    document = yaml.safe_load(imported.scenario.read_text())
    assert document["datacenter"]["racks"][0]["nodes"] == [
        {"count": 2, "units": {"CPU": {"cores": 62}, "a100": 8}, "memory": "515000 MiB", "group": "gpu+long"}
        | {"names": ["gpu01", "gpu02"]},
        {"count": 2, "units": {"CPU": {"cores": 64}}, "memory": "256000 MiB", "group": "batch"}
        | {"names": ["c01", "c02"]},
    ]
    assert document["partitions"] == [
        {"name": "batch", "groups": ["batch"]},
        {"name": "gpu", "groups": ["gpu+long"]},
        {"name": "long", "groups": ["gpu+long"]},
    ]
    assert document["policy"] == "easy_backfill"


@pytest.mark.parametrize(("zone", "date"), [("", "2024-05-01 08:00:00"), ("+02:00", "2024-05-01 06:00:00+00:00")])
def test_the_scenario_begins_when_the_first_job_arrived(imported, zone, date):
    imported(re.sub(r"(?<=T)(\d\d:\d\d:\d\d)", rf"\1{zone}", JOBS))
    assert yaml.safe_load(imported.scenario.read_text())["start_date"] == date
    assert str(vs.read_scenario(imported.scenario).start_date) == date


def test_times_that_are_no_dates_give_no_date(imported):
    far = -2 * 10**11  # s since 1970
    imported(log(f"1|a|p|{far}|{far + 10}|10|COMPLETED|cpu=1,mem=1G,node=1"), nodes=None)
    assert "start_date" not in yaml.safe_load(imported.scenario.read_text())


def test_without_nodes_some_are_made_that_hold_the_widest_job(imported):
    report = imported(nodes=None)
    work = imported.work
    assert work.partition is None
    assert work.n_jobs == 5
    assert any("give --nodes" in note for note in report["notes"])
    center = vs.read_scenario(imported.scenario).datacenter
    assert len(np.unique(center.shelf)) >= 2
    assert vs.simulate(vs.read_scenario(imported.scenario), engine="reference").summary["jobs"]["finished"] == 3


def test_a_gang_wider_than_the_load_needs_still_has_its_nodes(imported):
    imported(log("1|a|p|0|100|100|COMPLETED|cpu=40,node=10", "2|a|p|100000|100100|100|COMPLETED|cpu=1"), nodes=None)
    assert vs.read_scenario(imported.scenario).datacenter.shelf.max() == 9


def test_csv_makes_nodes_for_its_widest_job_too(vinesim, tmp_path):
    (tmp_path / "log.csv").write_text("submit,duration,cpus,nodes\n0,100,4,10\n100000,100,4,1\n")
    done = vinesim("import", "csv", tmp_path / "log.csv", "--column", "nodes=nodes", "-o", tmp_path / "jobs.csv")
    assert done.code == 0, done.err
    assert vs.read_scenario(tmp_path / "jobs.yaml").datacenter.shelf.max() == 9


def test_work_after_a_limit_is_no_load_nor_is_a_job_that_was_withdrawn(imported):
    days = 86400
    rows = (
        f"1|a|p|0|{100 * days}|{100 * days}|10|COMPLETED|cpu=10|cpu=10",  # killed after 10 minutes
        f"2|a|p|0|600|0|{1440 * 100}|CANCELLED by 1|cpu=10|",  # it never ran
        "3|a|p|6000|6600|600|60|COMPLETED|cpu=10|cpu=10",
    )
    fields = "JobIDRaw|User|Partition|Submit|End|ElapsedRaw|TimelimitRaw|State|ReqTRES|AllocTRES"
    report = imported(log(*rows, fields=fields), "NodeName=n CPUTot=10 RealMemory=1 Partitions=p\n")
    load = next(found for found in report["findings"] if found["what"] == "load, CPU")
    assert load["load"] == pytest.approx(2 * 600 / 6000)
    imported(log(*rows, fields=fields), nodes=None)
    assert vs.read_scenario(imported.scenario).datacenter.n_units == 1


def test_gpus_without_a_type_are_any(imported):
    nodes = (
        "NodeName=a CPUTot=8 RealMemory=9 Gres=gpu:a100:4,gpu:t4:1(S:0),shard:8 Partitions=p\n"
        "NodeName=b CPUTot=8 RealMemory=9 Gres=gpu:h100:2,mps:100 Partitions=p\n"
    )
    rows = [
        "1|a|p|0|60|60|COMPLETED|cpu=1,gres/gpu=2",
        "2|a|p|0|60|60|COMPLETED|cpu=1,gres/gpu:t4=1",
        "3|a|p|0|60|60|COMPLETED|cpu=1,gres/gpu:t4=1,gres/gpu:a100=1",
        "4|a|p|0|60|60|COMPLETED|cpu=1,gres/gpu:t4=2",
        "5|a|p|0|60|60|COMPLETED|cpu=1,gres/gpu=5",
        "6|a|p|0|60|60|COMPLETED|cpu=1,gres/gpu:v100=1",
    ]
    report = imported(log(*rows), nodes)
    work = imported.work
    leads = [work.lead_sets[i] for i in work.lead_types]
    assert leads == [("a100", "h100", "t4"), ("t4",), ("a100",), ("t4",), ("a100",), ("t4",)]
    assert work.job_id.tolist() == [1, 2, 3, 5]
    assert report["dropped"] == {
        "its partition has too few nodes with all that it asks for": {"count": 2, "lines": [5, 7]},
    }
    plain = imported(log(*rows[:2]), "NodeName=a CPUTot=8 RealMemory=9 Gres=gpu:4 Partitions=p\n")
    assert {imported.work.lead_sets[i] for i in imported.work.lead_types} == {("GPU",)}
    assert any("do not say of which type" in note for note in plain["notes"])


def held(work):
    """The job of each task, and its GPUs, their type, cores and memory, GiB."""
    gpus = [0 if work.lead_sets[lead] == ("CPU",) else n for lead, n in zip(work.lead_types, work.units, strict=True)]
    cores = [demand if not n else own for demand, own, n in
             zip(work.demand, work.companions["CPU"], gpus, strict=True)]  # fmt: skip
    return [
        (int(job), n, "|".join(work.lead_sets[lead]), own, size / GIB)
        for job, n, lead, own, size in zip(
            np.repeat(work.job_id, np.diff(work.job_first)), gpus, work.lead_types, cores, work.companions["memory"],
            strict=True)
    ]  # fmt: skip


def test_a_job_that_ran_on_nodes_of_two_sizes_has_unequal_parts(imported):
    nodes = (
        "NodeName=a CPUTot=64 RealMemory=65536 Gres=gpu:a100:8 Partitions=p\n"
        "NodeName=b CPUTot=32 RealMemory=32768 Gres=gpu:a100:4 Partitions=p\n"
    )
    rows = [
        "1|a|p|0|60|60|COMPLETED|cpu=24,mem=24G,node=2,gres/gpu=12",
        "2|a|p|60|120|60|COMPLETED|cpu=96,mem=96G,node=2,gres/gpu:a100=4",
        "3|a|p|120|180|60|COMPLETED|cpu=97,node=2",
        "4|a|p|180|240|60|COMPLETED|cpu=24,node=2,gres/gpu=13",
        "5|a|p|240|300|60|COMPLETED|cpu=24,mem=97G,node=2",
        "6|a|p|300|360|60|COMPLETED|cpu=24,node=3",
    ]
    report = imported(log(*rows), nodes)
    assert held(imported.work) == [
        (1, 8, "a100", 12, 12),
        (1, 4, "a100", 12, 12),
        (2, 2, "a100", 64, 64),
        (2, 2, "a100", 32, 32),
    ]
    assert report["dropped"]["its partition has too few nodes with all that it asks for"]["lines"] == [4, 5, 6, 7]
    assert "with unequal parts, as their partition has no room for equal ones: 2" in report["notes"]
    result = vs.simulate(vs.read_scenario(imported.scenario), engine="reference")
    assert result.summary["jobs"]["finished"] == 2
    assert result.summary["jobs"]["wait_us"]["max"] == 0


def test_gpus_of_two_types_at_one_node_are_a_task_for_each(imported):
    nodes = (
        "NodeName=a CPUTot=8 RealMemory=8192 Gres=gpu:a100:2,gpu:v100:2 Partitions=p\n"
        "NodeName=b CPUTot=64 RealMemory=65536 Gres=gpu:a100:3 Partitions=p\n"
    )
    rows = [
        "1|a|p|0|60|60|COMPLETED|cpu=8,mem=8G,gres/gpu=4",
        "2|a|p|60|120|60|COMPLETED|cpu=4,mem=6G,gres/gpu:a100=1,gres/gpu:v100=2",
        "3|a|p|120|180|60|COMPLETED|cpu=4,mem=3G,gres/gpu=3,gres/gpu:v100=2",  # only the v100 are accounted
        "4|a|p|180|240|60|COMPLETED|cpu=9,gres/gpu=4",
        "5|a|p|240|300|60|COMPLETED|cpu=4,mem=9G,gres/gpu=4",
        "6|a|p|240|300|60|COMPLETED|cpu=4,gres/gpu=5",
        "7|a|p|240|300|60|COMPLETED|cpu=4,node=2,gres/gpu:a100=1,gres/gpu:v100=2",
        "8|a|p|240|300|60|COMPLETED|cpu=4,gres/gpu:a100=1,gres/gpu:v100=3",
    ]
    report = imported(log(*rows), nodes)
    assert held(imported.work) == [
        (1, 2, "a100", 4, 4),
        (1, 2, "v100", 4, 4),
        (2, 2, "v100", 3, 4),
        (2, 1, "a100", 1, 2),
        (3, 2, "v100", 3, 2),
        (3, 1, "a100", 1, 1),
    ]
    assert [found["lines"] for found in report["dropped"].values()] == [[5, 6, 7], [8], [9]]
    assert imported.work.gang_within.tolist() == [NODE] * 3
    assert "with GPUs of several types at one node: a task for each type: 3" in report["notes"]
    assert vs.simulate(vs.read_scenario(imported.scenario), engine="reference").summary["jobs"]["finished"] == 3
    alone = imported(log(*rows[:2]), nodes=None)
    assert alone["dropped"] == {"GPUs of several types, and no node that has them": {"count": 1, "lines": [3]}}


ARRAY = "JobIDRaw|JobID|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|ReqTRES"


@pytest.mark.parametrize(
    ("job_id", "n"),
    [
        ("300_[201-300%50]", 100),
        ("300_[7]", 1),
        ("300_[1,3,5-9:2%4]", 5),
        ("300_[1-10:3]", 4),
        ("300_7", 1),
        ("300", 1),
    ],
)
def test_jobs_of_an_array_that_were_cancelled_while_they_waited(imported, job_id, n):
    report = imported(log(f"300|{job_id}|p|0|None|900|0|60|CANCELLED by 5|cpu=2", fields=ARRAY), nodes=None)
    assert imported.work.n_jobs == report["withdrawn"] == n
    assert imported.work.withdraw_us.tolist() == [900e6] * n
    assert any("arrays" in note for note in report["notes"]) == (n > 1)


@pytest.mark.parametrize("job_id", ["300_[1-3,...]", "300_[]", "300_[1-9:0]", "300_[1-9999999]", "300_[1--2]"])
def test_an_array_that_cannot_be_counted_is_dropped(imported, job_id):
    rows = [f"300|{job_id}|p|0|None|900|0|60|CANCELLED by 5|cpu=2", "301|301|p|0|0|60|60|60|COMPLETED|cpu=1"]
    report = imported(log(*rows, fields=ARRAY), nodes=None)
    assert report["dropped"] == {"jobs of an array that cannot be counted": {"count": 1, "lines": [2]}}


def test_an_array_has_at_most_a_million_jobs(tmp_path):
    rows = [f"300|300_[1-{n}]|p|0|None|900|0|60|CANCELLED|cpu=2" for n in (1_000_000, 1_000_001)]
    (tmp_path / "jobs.txt").write_text(log(*rows, fields=ARRAY))
    report = ImportReport("")
    assert [job.n_jobs for job in slurm_jobs(tmp_path / "jobs.txt", report)] == [1_000_000]
    assert report.dropped == {"jobs of an array that cannot be counted": [3]}


def test_the_nodes_have_at_most_the_units_of_a_scenario(tmp_path):
    def read(gpus, more=""):
        nodes = f"NodeName=a CPUTot=1 RealMemory=1 Gres=gpu:{gpus} Partitions=p\n{more}"
        (tmp_path / "nodes.txt").write_text(nodes)
        return read_slurm_nodes(tmp_path / "nodes.txt")

    assert read(9_999_998)[0].gpus == (("GPU", 9_999_998),)
    with pytest.raises(InputError, match="txt: expected at most 10,000,000 units: CPUs, memory and GPUs"):
        read(9_999_999)
    with pytest.raises(InputError, match="txt: expected at most"):
        read(9_999_996, "NodeName=b CPUTot=1 RealMemory=1 Gres=gpu:1\n")
    for gpus in (10_000_001, "1" * 400):
        with pytest.raises(InputError, match="txt:1: expected Gres: at most 10,000,000 GPUs"):
            read(gpus)


def test_the_parts_of_a_heterogeneous_job_start_together(imported):
    nodes = (
        "NodeName=a CPUTot=64 RealMemory=65536 Gres=gpu:a100:8 Partitions=p,q\n"
        "NodeName=b CPUTot=64 RealMemory=65536 Partitions=p\n"
        "NodeName=c CPUTot=64 RealMemory=65536 Partitions=p\n"
    )
    rows = [
        "12|12+0|p|0|100|160|60|10|COMPLETED|cpu=4,mem=1G",
        "13|13|p|10|100|160|60|10|COMPLETED|cpu=4,mem=1G",
        "12.0|12+0.0|p|0|100|160|60|10|COMPLETED|cpu=4,mem=1G",
        "14|12+1|p|0|100|170|70|20|COMPLETED|cpu=16,mem=2G,gres/gpu:a100=2",
        "20|20+0|p|0|100|160|60|10|COMPLETED|cpu=4",
        "21|20+1|p|0|100|160|60|10|COMPLETED|cpu=none",
        "30|30+0|p|0|100|160|60|10|COMPLETED|cpu=4,node=2",
        "31|30+1|p|0|100|160|60|10|COMPLETED|cpu=4,node=2",
        "40|40+0|p|20|100|160|60|10|COMPLETED|cpu=4",
        "41|40+1|q|20|100|160|60|10|COMPLETED|cpu=5",
        "50|50+0|p|30|100|160|60|10|COMPLETED|cpu=4,node=2",
        "51|50+1|p|30|100|160|60|10|COMPLETED|cpu=1",
    ]
    report = imported(log(*rows, fields=ARRAY), nodes)
    work = imported.work
    assert work.job_id.tolist() == [12, 13, 40, 50]
    assert held(work) == [(12, 2, "a100", 16, 2), (12, 0, "CPU", 4, 1), (13, 0, "CPU", 4, 1),
                          (40, 0, "CPU", 5, 0), (40, 0, "CPU", 4, 0),
                          (50, 0, "CPU", 2, 0), (50, 0, "CPU", 2, 0), (50, 0, "CPU", 1, 0)]  # fmt: skip
    assert work.operations.tolist() == [70e6] * 2 + [60e6] * 6
    assert work.limit_us.tolist() == [1200e6, 600e6, 600e6, 600e6]
    assert work.gang_within.tolist() == [ANYWHERE, NO_GANG, ANYWHERE, ANYWHERE]
    assert [work.partition_names[i] if i >= 0 else "" for i in work.partition] == ["p", "p", "", "p"]
    assert report["gangs"] == 3
    assert "jobs of several parts, which start together: 3" in report["notes"]
    assert {reason: found["lines"] for reason, found in report["dropped"].items()} == {
        "a step of a job that has its own line": [4],
        "cpu: no amount that can be read": [7],
        "a part of a heterogeneous job of which another part is dropped": [6],
        "its partition has too few nodes with all that it asks for": [8],
    }
    assert vs.simulate(vs.read_scenario(imported.scenario), engine="reference").summary["jobs"]["finished"] == 4


def test_jobs_that_run_when_the_log_ends_are_kept_as_far_as_they_ran(imported):
    rows = [
        "1|1|p|0|0|60|60|60|COMPLETED|cpu=1",
        "2|2|p|0|10|Unknown|500|60|RUNNING|cpu=2",
        "3|3|p|0|10|510|500|60|RUNNING|cpu=3",  # with sacct --truncate
        "4|4|p|0|Unknown|Unknown|0|60|PENDING|cpu=4",
        "5|5|p|0|10|Unknown||60|RUNNING|cpu=5",
    ]
    report = imported(log(*rows, fields=ARRAY), nodes=None)
    assert imported.work.job_id.tolist() == [1, 2, 3]
    assert imported.work.operations.tolist() == [60e6, 500e6, 500e6]
    (cut,) = (found for found in report["findings"] if found["what"] == "cut off")
    assert cut["is_odd"]
    assert cut["cut_off"] == 2
    assert report["dropped"] == {
        "it had not started when the log ended": {"count": 1, "lines": [5]},
        "it had not ended, and only ElapsedRaw would say how long it ran": {"count": 1, "lines": [6]},
    }


def test_a_job_with_all_memory_of_its_nodes(imported):
    nodes = (
        "NodeName=a CPUTot=4 RealMemory=10240 Partitions=p\n"
        "NodeName=b CPUTot=8 RealMemory=20480 Partitions=p\n"
        "NodeName=c CPUTot=8 RealMemory=30720 Partitions=p\n"
    )
    rows = [
        "1|a|p|0|60|60|COMPLETED|cpu=1,mem=0",
        "2|a|p|10|60|60|COMPLETED|cpu=5,mem=0",
        "3|a|p|20|60|60|COMPLETED|cpu=16,mem=0,node=2",
        "4|a|p|30|60|60|COMPLETED|cpu=1,mem=5G",
    ]
    report = imported(log(*rows), nodes)
    assert (imported.work.companions["memory"] / GIB).tolist() == [10, 20, 20, 20, 5]
    (memory,) = (found for found in report["findings"] if found["what"] == "memory")
    assert (memory["is_odd"], memory["all_of_a_node"]) == (True, 3)
    imported(log(*rows), nodes=None)
    assert (imported.work.companions["memory"] / GIB).tolist() == [5, 5, 5, 5, 5]
    report = imported(log(*rows[:3], "5|a|p|30|60|60|COMPLETED|cpu=1"), nodes)  # memory is not accounted
    assert imported.work.companions is None
    assert not any(found["what"] == "memory" for found in report["findings"])


@pytest.mark.parametrize("field", ["cpu={}", "cpu=1,node={}", "cpu=1,gres/gpu={}", "cpu=1,mem={}G"])
@pytest.mark.parametrize("n_digits", [16, 400, 5000])
def test_a_number_of_too_many_digits_costs_its_line(imported, field, n_digits):
    rows = ["1|a|p|0|60|60|COMPLETED|cpu=1", f"2|a|p|0|60|60|COMPLETED|{field.format('1' * n_digits)}"]
    report = imported(log(*rows), nodes=None)
    assert [found["lines"] for found in report["dropped"].values()] == [[3]]


def test_a_job_may_have_a_number_of_15_digits(imported):
    numbers = ["9" * 15, "1"]
    imported(log(*(f"{number}|a|p|0|60|60|COMPLETED|cpu=1" for number in numbers)), nodes=None)
    assert imported.work.job_id.tolist() == [999999999999999, 1]


@pytest.mark.parametrize("field", ["Submit", "End", "ElapsedRaw", "TimelimitRaw"])
def test_so_does_a_time_of_too_many_digits(imported, field):
    good = {"JobIDRaw": "2", "Submit": "0", "Start": "0", "End": "60", "ElapsedRaw": "60", "TimelimitRaw": "5",
            "ReqTRES": "cpu=1"}  # fmt: skip
    rows = ["|".join(row.values()) for row in (good, good | {"Start": "", field: "1" * 400})]
    rows.append("|".join((good | {"TimelimitRaw": f"{'1' * 400}-00:00:00"}).values()))
    report = imported(log(*rows, fields="|".join(good)), nodes=None)
    assert sum(found["count"] for found in report["dropped"].values()) == 2


def test_memory_that_sacct_rounded_up_still_fits_its_node(imported):
    nodes = "NodeName=a CPUTot=4 RealMemory=515000 Partitions=p\n"  # 502.93 GiB are 320 KiB more
    rows = [
        f"{i}|a|p|0|60|60|COMPLETED|cpu=1,mem={mem}" for i, mem in enumerate(("502.93G", "502.94G", "515001M", "1.5G"))
    ]
    report = imported(log(*rows), nodes)
    assert imported.work.job_id.tolist() == [0, 3]
    assert imported.work.companions["memory"].tolist() == [502.925 * GIB, 1.5 * GIB]
    assert report["dropped"]["its partition has too few nodes with all that it asks for"]["lines"] == [3, 4]


def test_what_no_node_of_the_partition_holds_is_dropped(imported):
    nodes = "".join(f"NodeName=n{i} CPUTot=4 RealMemory=1024 Partitions={p}\n" for i, p in enumerate("ppq"))
    rows = [
        "1|a|p|0|60|60|COMPLETED|cpu=8,mem=2G,node=2",
        "2|a|q|0|60|60|COMPLETED|cpu=8,node=2",  # one node only
        "3|a|p|0|60|60|COMPLETED|cpu=5,node=1",
        "4|a|p|0|60|60|COMPLETED|cpu=1,mem=1025M",
        "5|a|p,q|0|60|60|COMPLETED|cpu=4,mem=1024M",
    ]
    report = imported(log(*rows), nodes)
    assert imported.work.job_id.tolist() == [1, 5]
    assert [found["lines"] for found in report["dropped"].values()] == [[3, 4, 5]]


@pytest.mark.parametrize(
    ("gres", "expected"),
    [
        ("(null)", ()),
        ("", ()),
        ("gpu:8", (("GPU", 8),)),
        ("gpu:a100:8(S:0-1)", (("a100", 8),)),
        ("gpu:a100:4(S:0,1),gpu:t4:2(S:0)", (("a100", 4), ("t4", 2))),
        ("craynetwork:4,gpu:a100_1g.5gb:7", (("a100_1g.5gb", 7),)),
        ("gpu:a100:0", ()),
    ],
)
def test_gpus_of_a_node(gres, expected):
    assert gpus_of(gres) == expected


def test_one_line_or_a_paragraph_for_each_node(tmp_path):
    (tmp_path / "lines").write_text(NODES)
    (tmp_path / "paragraphs").write_text(NODES.replace(" CPU", "\n   CPU").replace(" Gres", "\n   Gres"))
    lines, paragraphs = (read_slurm_nodes(tmp_path / name) for name in ("lines", "paragraphs"))
    assert lines == paragraphs
    assert [node.cores for node in lines] == [62, 62, 64, 64]
    assert [node.is_off for node in lines] == [False, True, False, False]


def test_other_forms_of_the_same_log(imported, tmp_path, vinesim):
    imported()
    plain = imported.work
    epoch = JOBS
    for day in {text for text in JOBS.replace("\n", "|").split("|") if text.startswith("2024-")}:
        epoch = epoch.replace(day, str(int(np.datetime64(day).astype("datetime64[s]").astype(int))))
    report = imported(epoch)
    assert report["time_zone"] == "UTC, as times since 1970"
    same = [plain, imported.work]
    imported(JOBS.replace("\n", "|\n").replace("TimelimitRaw", "Timelimit").replace("|120|", "|02:00:00|").replace(
        "|240|", "|0-04:00:00|"))  # fmt: skip
    same.append(imported.work)
    (tmp_path / "jobs.gz").write_bytes(gzip.compress(JOBS.replace("ElapsedRaw", "ElapsedOther").encode()))
    done = vinesim("import", "slurm", tmp_path / "jobs.gz", "--nodes", tmp_path / "nodes.txt", "-o",
                   tmp_path / "gz.parquet")  # fmt: skip
    assert done.code == 0, done.err
    same.append(vs.read_scenario(tmp_path / "gz.yaml").workload)
    for work in same[1:]:
        for name in ("arrival_us", "operations", "limit_us", "withdraw_us", "demand"):
            np.testing.assert_array_equal(getattr(work, name), getattr(plain, name), name)


def test_a_job_that_was_cancelled_before_it_was_eligible_never_waited(imported):
    """Held jobs, jobs whose dependency failed, and jobs that should begin later: Slurm would not have started them."""
    rows = [
        "1|a|p|0|0|60|60|60|COMPLETED|cpu=1",
        "2|a|p|10|Unknown|500|0|60|CANCELLED by 1|cpu=1",
        "3|a|p|10|900|500|0|60|CANCELLED by 1|cpu=1",
        "4|a|p|10|20|500|0|60|CANCELLED by 1|cpu=1",
        "5|a|p|10|20|500|0|60|DEADLINE|cpu=1",
        "6|a|p|10||500|0|60|CANCELLED|cpu=1",
        "7|a|p|10|500|500|0|60|CANCELLED|cpu=1",
        "8|a|p|10||9|0|60|CANCELLED|cpu=1",
    ]
    report = imported(
        log(*rows, fields="JobIDRaw|User|Partition|Submit|Eligible|End|ElapsedRaw|TimelimitRaw|State|ReqTRES"), None
    )
    assert imported.work.job_id.tolist() == [1, 6, 4, 5, 7]
    assert imported.work.arrival_us.tolist() == [0.0, 10e6, 20e6, 20e6, 500e6]
    assert imported.work.withdraw_us.tolist() == [np.inf, 500e6, 500e6, 500e6, 500e6]
    assert report["dropped"] == {
        "cancelled before it was eligible, so that it never waited for nodes": {"count": 2, "lines": [3, 4]},
        "a run time of 0 or less, or none": {"count": 1, "lines": [9]},
    }


@pytest.mark.parametrize(
    ("submit", "words"),
    [
        ("2024-05-01T08:00:00+0200", "as the dates say"),
        ("2024-05-01T08:00:00", "UTC is assumed: Slurm writes the cluster's local time"),
        ("1714543200", "UTC, as times since 1970"),
    ],
)
def test_the_report_says_in_which_time_zone_the_times_are(imported, submit, words):
    report = imported(log(f"1|a|p|{submit}|{submit}|60|COMPLETED|cpu=1"), nodes=None)
    assert report["time_zone"] == words


def test_lines_that_are_no_jobs_are_dropped_with_the_reason(imported):
    rows = [
        "1|a|p|0|60|60|COMPLETED|cpu=1",
        "2|a|p|0|60|60|COMPLETED",
        "3|a|p|Unknown|60|60|COMPLETED|cpu=1",
        "4|a|p|0|60|0|FAILED|cpu=1",
        "5|a|p|0|60|60|COMPLETED|cpu=one",
        "6|a|p|0|60|60|COMPLETED|mem=5G",
        "7|a|p|0|60|60|COMPLETED|cpu=1,mem=5X",
        "8|a|p|0|60|60|COMPLETED|cpu=2,node=3",
        "9|a|p|0|60|0|CANCELLED|cpu=2",
        "",
        "10_3|a|p|0|60|60|COMPLETED|cpu=1",
    ]
    report = imported(log(*rows), nodes=None)
    assert imported.work.job_id is None  # 10_3 is no number
    assert imported.work.n_jobs == 2
    assert {reason: found["lines"] for reason, found in report["dropped"].items()} == {
        "not 8 fields, as the first line has": [3],
        "Submit: no time that can be read": [4],
        "a run time of 0 or less, or none": [5],
        "cpu: no amount that can be read": [6],
        "no CPUs": [7],
        "mem: no amount that can be read": [8],
        "no nodes, or more than CPUs": [9],
        "cancelled before it ran, and without a time limit": [10],
    }


def test_wrong_files_are_one_error_that_says_what_to_do(imported):
    err = imported(log("x", fields="JobID|Submitt|Submit2|AllocTRES|AllocTRES"), code=2)
    for word in ("a field Submit", "a field End", "a field Start or ElapsedRaw", "AllocTRES again", "sacct --allusers"):
        assert word in err, err
    err = imported(NODES, code=2)
    assert err.count("sacct --allusers") == 1
    assert "1 problem" in err
    assert "sacct --allusers" in imported("", code=2)
    assert "at least one job" in imported(log("1|a|p|0|60|60|COMPLETED|mem=5G"), nodes=None, code=2)
    assert "no CPUs" in imported(log("1|a|p|0|60|60|COMPLETED|mem=5G"), nodes=None, code=2)
    nodes = (
        "NodeName=a CPUTot=x RealMemory=9\nNodeName=a CPUTot=2 RealMemory=9\nNodeName=n[1-4] CPUTot=2 RealMemory=9\n"
        "NodeName=b CPUTot=2\nNodeName=c CPUTot=2 RealMemory=9 MemSpecLimit=9\n"
        "NodeName=d CPUTot=2 RealMemory=9 Gres=gpu:CPU:2\n"
    )
    err = imported(nodes=nodes, code=2)
    for word in ("nodes.txt:1: expected CPUTot", "nodes.txt:2: expected each node once", "nodes.txt:3: expected NodeN",
                 "nodes.txt:4: expected RealMemory", "nodes.txt:5: expected CPUs and memory",
                 "nodes.txt:6: expected Gres"):  # fmt: skip
        assert word in err, err
    assert "scontrol show nodes" in imported(nodes="hello\n", code=2)


AGAIN = (
    "JobID|JobIDRaw|User|JobName|Partition|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|ReqTRES|AllocTRES"
)


def of_job(number, submit, start, run, state="COMPLETED", user="ann", held="cpu=4,node=1"):
    return f"{number}|{number}|{user}|a|p|{submit}|{submit}|{start}|{start + run}|{run}|60|{state}|{held}|{held}"


def test_a_job_is_one_job_whatever_records_it_has(imported, tmp_path):
    """As in the import of a site: records that are there again, a requeued job, a number that is used again."""
    again = of_job(8, 100, 110, 90, "NODE_FAIL"), of_job(8, 200, 250, 600, held="cpu=8,node=1")
    rows = of_job(7, 0, 9, 60), of_job(7, 0, 9, 60), *again, of_job(7, 300, 301, 30, user="bob")
    report, work = imported(log(*rows, fields=AGAIN), nodes=None), imported.work
    assert report["dropped"] == {"the record of a job that is there again": {"count": 1, "lines": [3]}}
    assert any(note.startswith("requeued jobs") and note.endswith(": 1") for note in report["notes"])
    assert report["values"]["State"]["COMPLETED"] == {"kept": 3, "dropped": 1}
    assert work.job_id.tolist() == [7, 8, 7]
    assert work.arrival_us.tolist() == [0.0, 100e6, 300e6]
    assert work.operations.tolist() == [60e6, 600e6, 30e6]
    assert work.demand.tolist() == [4, 8, 4]
    assert work.words_of("start_s") == ["9", "110", "301"]
    of_site = read_jobs(tmp_path / "jobs.txt").jobs
    assert [job.number for job in of_site] == work.job_id.tolist()


def test_a_part_that_was_requeued_is_one_part(imported):
    rows = of_job("12+0", 0, 9, 60, "NODE_FAIL"), of_job("12+1", 0, 9, 70), of_job("12+0", 100, 200, 80)
    report = imported(log(*(row.replace("|12+", "|1", 1) for row in rows), fields=AGAIN), nodes=None)
    assert report["jobs"] == 1
    assert np.diff(imported.work.job_first).tolist() == [2]


def test_an_array_of_equal_jobs_is_not_marked(imported):
    rows = ["300|300_[1-3]|p|0|None|900|0|60|CANCELLED by 5|cpu=2", "301|300_7|p|0|0|60|60|60|COMPLETED|cpu=1"]
    report = imported(log(*rows, fields=ARRAY), nodes=None)
    assert imported.work.job_id.tolist() == [300, 300, 300, 301]
    assert imported.work.words_of("array") == ["300"] * 4
    odd = {one["what"]: one["is_odd"] for one in report["findings"]}
    assert not odd["job numbers"]
    assert not odd["duplicates"]


def test_a_constraint_may_hold_the_separator(imported):
    row = of_job(7, 0, 9, 60)
    report = imported(log(f"{row}|amd|intel", f"{row.replace('7', '8')}|", fields=f"{AGAIN}|Constraints"), nodes=None)
    assert report["dropped"] == {}
    assert imported.work.job_id.tolist() == [7, 8]


def test_nodes_are_made_for_the_jobs_that_ran(imported):
    """A job that was cancelled while it waited has run for no time, whatever it asked for."""
    ran = [of_job(i, 100 * i, 100 * i, 60) for i in range(1, 20)]
    imported(log(*ran, fields=AGAIN), nodes=None)
    alone = yaml.safe_load(imported.scenario.read_text())["datacenter"]
    gone = of_job(99, 150, 160, 0, "CANCELLED").replace("|60|CANCELLED", "|90000|CANCELLED")
    report = imported(log(*ran, gone, fields=AGAIN), nodes=None)
    assert report["withdrawn"] == 1
    assert yaml.safe_load(imported.scenario.read_text())["datacenter"] == alone
