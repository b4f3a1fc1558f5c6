"""``vinesim import slurm DIR``: a whole site becomes a scenario under the policy slurm."""

import json
from pathlib import Path

from typer.testing import CliRunner

import vinesim as vs
from tests.small_site import CONF, at, job, write_site
from vinesim.cli.main import app

QOS = "Name|Priority|GraceTime|MaxJobsPU|MaxTRESPU\nnormal|10|00:00:00||\nlow|5|00:00:00|1|cpu=4\n"
ASSOC = "Cluster|Account|User|Share|GrpTRES|MaxJobs\ns|root||1||\ns|lab||20|cpu=8|\ns|lab|ann|10||3\n"
EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\ns|c2|2024-03-01T00:01:00|2024-03-01T00:05:00|DRAIN|disk\n"
RESERVATION = "ReservationName=fix StartTime=2024-03-01T00:10:00 EndTime=2024-03-01T00:20:00 Nodes=c[1-2]\n"


def imported(folder: Path, *jobs: str, conf: str = CONF, **files: str) -> vs.Scenario:
    """Import a site and read the scenario."""
    write_site(folder / "site", jobs, conf, **files)
    found = CliRunner().invoke(app, ["import", "slurm", str(folder / "site"), "-o", str(folder / "site.parquet")])
    assert found.exit_code == 0, found.output
    return vs.read_scenario(folder / "site.yaml")


def test_nodes_and_partitions_are_those_of_the_configuration(tmp_path: Path) -> None:
    """Nodes in their order, with names, weights, features and partitions."""
    site = imported(tmp_path, job(1, 0, 60, "-n1"))
    assert site.policy == "slurm"
    assert {name: dict(one) for name, one in site.options["nodes"].items()} == {
        "c": {"names": "c[1-3]", "weight": 1, "features": ["intel"]},
        "g": {"names": "g1", "weight": 5, "features": ["amd"]},
    }
    assert site.options["partitions"] == {"batch": {"max_time": 60.0}, "short": {"priority_tier": 2, "max_time": 10.0}}
    assert [len(one.nodes) for one in site.partitions if one.nodes is not None] == [4, 3]


def test_a_job_is_as_many_tasks_as_the_policy_places_by_themselves(tmp_path: Path) -> None:
    """One for a job of one node, one at each node for a number of tasks per node, else one for each of Slurm's
    tasks."""
    rows = ("-N1 -n4 --mem=2000", "-N2 --ntasks-per-node=2", "-n5 --mem-per-cpu=100", "-N1 -n2 --gres=gpu:a100:1")
    site = imported(tmp_path, *(job(i, i, 60, line) for i, line in enumerate(rows, 1)))
    work = site.workload
    assert [int(n) for n in work.job_first[1:] - work.job_first[:-1]] == [1, 2, 5, 1]
    assert work.words_of("request") == [
        "nodes=1-1 tasks=4 mem_node=2000",
        "nodes=2-2 tasks=4 per_node=2",
        "tasks=5 mem_cpu=100",
        "nodes=1-1 tasks=2 gpus=1 gpu_type=a100",
    ]


def test_limits_and_shares_are_options(tmp_path: Path) -> None:
    """Associations and QOS, by the names that keys of sweeps and plans use."""
    site = imported(tmp_path, job(1, 0, 60, "-n1"), qos=QOS, assoc=ASSOC)
    low = site.options["qos"]["low"]
    assert low == {"priority": 5.0, "max_jobs_per_user": 1, "max_tres_per_user": {"cpu": 4.0}}
    lab = site.options["accounts"]["lab"]
    assert lab == {"shares": 20.0, "grp_tres": {"cpu": 8.0}, "users": {"ann": {"shares": 10.0, "max_jobs": 3}}}


def test_reservations_and_events_are_of_the_scenario(tmp_path: Path) -> None:
    """Times count from the first submission."""
    site = imported(tmp_path, job(1, 0, 60, "-n1"), events=EVENTS, reservations=RESERVATION)
    assert [(o.shelf, o.down_us, o.up_us, o.running) for o in site.outages] == [(1, 60e6, 300e6, "finish")]
    assert site.options["reservations"]["fix"] == {"start_s": 600.0, "end_s": 1200.0, "nodes": ["c1", "c2"]}


def test_what_is_not_modelled_is_counted(tmp_path: Path) -> None:
    """Each thing by its name, with the number of jobs that it touches."""
    imported(tmp_path, job(1, 0, 60, "-n1 -L matlab"), job(2, 5, 60, "-n1"))
    report = json.loads((tmp_path / "site.import.json").read_text())
    assert report["not_modelled"] == {
        "SchedulerParameters=bf_exotic": 2,
        "licences that are not in slurm.conf, or a choice of them: any number is free": 1,
    }


def test_jobs_that_would_share_cpus_are_counted(tmp_path: Path) -> None:
    """All of a partition that forces it, those that ask for it where they may, none where nothing is shared; jobs of an
    exclusive partition have whole nodes."""
    modes = {"batch": "FORCE", "short": "YES:2", "alone": "EXCLUSIVE", "one": "FORCE:1"}
    lines = "".join(f"PartitionName={name} Nodes=ALL OverSubscribe={mode}\n" for name, mode in modes.items())
    conf = (
        "NodeName=c[1-3] CPUs=4 RealMemory=8000\nSchedulerParameters=bf_hetjob_immediate\nEpilog=/a\nProlog=/b\n"
        + lines
    )
    rows = [job(i, i, 60, "-n1 -s" if i % 2 else "-n1", partition=name) for i, name in enumerate([*modes, *modes])]
    site = imported(tmp_path, *rows, job(9, 9, 60, "-n1 : -n2", id="9+0"), conf=conf)
    assert json.loads((tmp_path / "site.import.json").read_text())["not_modelled"] == {
        "Epilog: takes no time": 9,
        "partition batch: OverSubscribe=FORCE: jobs do not share CPUs": 3,
        "partition short: OverSubscribe=YES:2: jobs do not share CPUs": 2,
        "SchedulerParameters=bf_hetjob_immediate": 1,
    }
    alone = ["exclusive" in text for text in site.workload.words_of("request")]
    assert alone == [False, False, True, False] * 2 + [False]


def test_limits_that_are_not_modelled_are_named(tmp_path: Path) -> None:
    """Those of users, accounts and QOS, with the number of their jobs."""
    assoc = "Cluster|Account|User|Share|MaxTRESPerNode|MaxTRESMins\ns|root||1||\ns|lab||1||cpu=10\ns|lab|ann|1|cpu=2|\n"
    qos = "Name|Priority|GraceTime|MinTRES\nnormal|0|00:00:00|cpu=2\n"
    imported(tmp_path, job(1, 0, 60, "-n1"), job(2, 5, 60, "-n1", user="bob"), assoc=assoc, qos=qos)
    report = json.loads((tmp_path / "site.import.json").read_text())
    assert {name: n for name, n in report["not_modelled"].items() if "TRES" in name} == {
        "user ann of lab: MaxTRESPerNode": 1,
        "account lab: MaxTRESMinsPerJob": 2,
        "QOS normal: MinTRESPerJob": 2,
    }


def test_jobs_that_no_node_can_run_are_dropped(tmp_path: Path) -> None:
    """They would end the run with an error; the report says how many."""
    site = imported(tmp_path, job(1, 0, 60, "-N1 -n4"), job(2, 1, 60, "-N1 -n99"))
    assert site.workload.n_jobs == 1
    report = json.loads((tmp_path / "site.import.json").read_text())
    assert report["dropped"]["no node of its partition has what it asks for"]["count"] == 1


def test_a_folder_without_nodes_is_refused(tmp_path: Path) -> None:
    """With what to add, and nothing written."""
    write_site(tmp_path / "site", [job(1, 0, 60, "-n1")], "ClusterName=empty\n")
    found = CliRunner().invoke(app, ["import", "slurm", str(tmp_path / "site"), "-o", str(tmp_path / "x.parquet")])
    assert found.exit_code != 0
    assert not (tmp_path / "x.parquet").exists()


def test_a_job_that_was_held_or_delayed_is_eligible_later(tmp_path: Path) -> None:
    """It waits from then on, in truth and here."""
    site = imported(tmp_path, job(1, 0, 60, "-n1"), job(2, 10, 60, "-n1 --begin=now+60", eligible=70, start=71))
    assert site.workload.words_of("begin_s") == ["", "70"]
    assert site.workload.words_of("start_s") == ["0", "71"]


def test_a_job_as_large_as_the_largest_node_is_kept(tmp_path: Path) -> None:
    """In CPUs, memory and GPUs; one more of any is too many."""
    options = ("-N1 -n8", "-N1 -n9", "-N1 -n1 --mem=16000M", "-N1 -n1 --mem=16001M", "-N1 -n1 --gres=gpu:2",
               "-N1 -n1 --gres=gpu:3")  # fmt: skip
    site = imported(tmp_path, *(job(i, i, 60, words) for i, words in enumerate(options)))
    assert site.workload.job_id.tolist() == [0, 2, 4]


def test_a_reservation_that_ends_as_it_begins_is_left_out(tmp_path: Path) -> None:
    empty = f"ReservationName=fix StartTime={at(600)} EndTime={at(600)} Nodes=c[1-2]\n"
    assert "reservations" not in imported(tmp_path, job(1, 0, 60, "-n1"), reservations=empty).options
    assert "ends before it begins" in (tmp_path / "site.import.json").read_text()


def test_events_of_a_node_that_follow_one_another_are_one_outage(tmp_path: Path) -> None:
    """A second apart, not two; one of no length is none, nor is what was over when the first job came."""
    times = [(-9, 0), (60, 300), (301, 400), (402, 500), (700, 700)]
    rows = "".join(f"small|c1|{at(100 + down)}|{at(100 + up)}|DOWN|x|root\n" for down, up in times)
    events = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n" + rows
    site = imported(tmp_path, job(1, 100, 60, "-n1"), events=events)
    assert [(one.down_us, one.up_us) for one in site.outages] == [(60e6, 400e6), (402e6, 500e6)]


def test_times_and_memory_keep_all_their_digits(tmp_path: Path) -> None:
    """A job of the second month, on a node with more than a TB of memory, which has an outage then too."""
    conf = "NodeName=c1 CPUs=4 RealMemory=1031523\nPartitionName=batch Nodes=ALL MaxTime=60\n"
    late = 1709251200 + 4_000_003  # 2024-03-01 and 46 days
    rows = ["JobID|User|Partition|Submit|Eligible|Start|ElapsedRaw|TimelimitRaw|State|SubmitLine"]
    rows += [f"1|ann|batch|{late - 4_000_003}|{late - 4_000_003}|{late - 4_000_003}|60|10|COMPLETED|sbatch -N1 a.sh"]
    rows += [f"2|ann|batch|{late}|{late}|{late + 4}|60|10|COMPLETED|sbatch -N1 --mem=1031523 a.sh"]
    events = f"NodeName|TimeStart|TimeEnd|State\nc1|{late + 1_000_001}|{late + 1_000_005}|DOWN\n"
    scenario = imported(tmp_path, conf=conf, sacct="\n".join(rows) + "\n", events=events)
    assert scenario.workload.words_of("start_s") == ["0", "4000007"]
    assert scenario.workload.words_of("request")[1].endswith("mem_node=1031523")
    assert [(one.down_us, one.up_us) for one in scenario.outages] == [(5_000_004e6, 5_000_008e6)]


NODES = "NodeName=c1 Arch=x86_64 CPUTot=4 RealMemory=8000 State=IDLE Partitions=batch\n\n" + (
    "NodeName=c2 Arch=x86_64 CPUTot=4 RealMemory=8000 State=IDLE Partitions=gpu,batch\n"
)


def test_partitions_are_those_that_the_nodes_name_where_no_file_has_more(tmp_path: Path) -> None:
    """The report says that the rest of them is not known; without any partition the error says what to add."""
    jobs = [job(1, 0, 60, "-n1"), job(2, 0, 60, "-n1", partition="gpu")]
    site = imported(tmp_path, *jobs, conf="ClusterName=small\n", nodes=NODES)
    assert [(one.name, 0 if one.nodes is None else len(one.nodes)) for one in site.partitions] == [
        ("batch", 2),
        ("gpu", 1),
    ]
    assert site.options["partitions"] == {"batch": {}, "gpu": {}}
    findings = json.loads((tmp_path / "site.import.json").read_text())["findings"]
    assert [one["partitions"] for one in findings if one["what"] == "partitions"] == [2]
    write_site(tmp_path / "none", jobs, "ClusterName=small\n", nodes=NODES.replace("Partitions=", "Owner="))
    command = ["import", "slurm", str(tmp_path / "none"), "-o", str(tmp_path / "x.parquet")]
    assert "Add slurm.conf, or the output of scontrol show partitions." in str(
        CliRunner().invoke(app, command).exception
    )


def test_the_time_zone_is_that_of_the_times(tmp_path: Path) -> None:
    """Dates without a zone, dates with one, and times since 1970."""
    row = job(1, 0, 60, "-n1")
    s = "1709251200"
    for zone, words in (("", "UTC is assumed: Slurm"), ("+02:00", "as the dates say"), (s, "UTC, as times since 1970")):
        changed = row.replace("2024-03-01T00:00:00", s) if zone == s else row.replace("T00:00:00", f"T00:00:00{zone}")
        imported(tmp_path, changed.replace("2024-03-01T00:01:00", "1709251260" if zone == s else at(60) + zone))
        assert json.loads((tmp_path / "site.import.json").read_text())["time_zone"].startswith(words)
