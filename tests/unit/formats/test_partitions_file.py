"""Partitions in a scenario file, and the column of the workload's table that names them."""

import re

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.workload import NO_PARTITION
from vinesim.policies.documents import read_scenario
from vinesim.studies.expand import expand, scenario_of

JOBS = """arrival_s,time_s,cores,memory,gpus,user,partition
0,300,4,16 GiB,4,ada,gpu
5,300,4,16 GiB,4,ada,gpu
20,60,8,32 GiB,,bob,batch
30,60,8,32 GiB,,bob,
"""
NODES = """extends: none
processor_types: [{name: CPU}, {name: A100}]
network: none
datacenter:
  racks:
    - count: 2
      nodes:
        - {units: {CPU: {cores: 32}}, memory: 64 GiB, group: thin}
        - {count: 2, units: {CPU: {cores: 96}, A100: 8}, memory: 512 GiB, group: fat}
workload: {file: jobs.csv}
policy: fcfs
partitions:
"""
TWO = """  - {name: gpu, groups: [fat], user_quota: {A100: 6}}
  - {name: batch, racks: [0], nodes: [{rack: 1, shelf: 0}], quota: {"CPU|A100": 16, memory: 128 GiB}}
"""


@pytest.fixture
def read(tmp_path):
    """The scenario of a list of partitions and of jobs."""

    def read(partitions=TWO, jobs=JOBS):
        (tmp_path / "jobs.csv").write_text(jobs)
        (tmp_path / "s.yaml").write_text(NODES + partitions)
        return read_scenario(tmp_path / "s.yaml")

    return read


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
def test_partitions_and_quotas_are_as_in_the_file(read):
    case = read()
    gpu, batch = case.partitions
    assert (gpu.name, gpu.nodes.tolist()) == ("gpu", [[0, 1], [0, 2], [1, 1], [1, 2]])
    assert (dict(gpu.quota), dict(gpu.user_quota)) == ({}, {"A100": 6.0})
    assert batch.nodes.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert dict(batch.quota) == {"CPU|A100": 16.0, "memory": 128 * 2.0**30}
    assert case.job_partition.tolist() == [0, 0, 1, NO_PARTITION]
    assert vs.simulate(case, engine="reference").tasks["init_us"].tolist() == [0.0, 3e8, 2e7, 3e7]
    assert read("  - {name: gpu}\n  - {name: batch}\n").partitions[0].nodes is None


def test_a_table_written_and_read_again_is_the_same(read, tmp_path):
    case = read()
    types = case.datacenter.processor_types
    write_workload(tmp_path / "again.parquet", case.workload, types)
    again = read_workload(tmp_path / "again.parquet", types)
    assert np.array_equal(again.partition, case.workload.partition)
    assert again.partition_names == ("batch", "gpu")


def test_a_study_varies_a_quota(read, tmp_path):
    read()
    (tmp_path / "study.yaml").write_text("scenario: s.yaml\naxes:\n  partitions[0].user_quota.A100: [4, 6, 8]\n")
    study = vs.read_study(tmp_path / "study.yaml")
    cases = [scenario_of(study, run) for run in expand(study)]
    assert [dict(case.partitions[0].user_quota)["A100"] for case in cases] == [4.0, 6.0, 8.0]
    begins = [vs.simulate(case, engine="reference").tasks["init_us"][1] for case in cases]
    assert begins == [3e8, 3e8, 5e6]


def test_a_study_varies_what_a_cohort_lends(read, tmp_path):
    """Ada's two jobs of 4 GPUs are in gpu, with a quota of 4; batch has 4 too, and lends 0, 2 or all of them."""
    parts = "  - {name: gpu, quota: {A100: 4}, cohort: c}\n"
    parts += "  - {name: batch, quota: {A100: 4}, cohort: c, lending_limit: {A100: 0}, weight: 2}\n"
    case = read(parts, JOBS.replace("user,", "job_id,").replace("ada", "1").replace("bob", "2"))
    assert (case.partitions[1].cohort, case.partitions[1].lending_limit, case.partitions[1].weight) == (
        "c",
        {"A100": 0.0},
        2.0,
    )
    (tmp_path / "study.yaml").write_text("scenario: s.yaml\naxes:\n  partitions[1].lending_limit.A100: [0, 2, 4]\n")
    study = vs.read_study(tmp_path / "study.yaml")
    begins = [vs.simulate(scenario_of(study, run), engine="reference").tasks["init_us"][1] for run in expand(study)]
    assert begins == [3e8, 3e8, 5e6]


WRONG = [
    (TWO.replace("user_quota: {A100: 6}", "quota: {A100: 6}, lending_limit: {A100: 2}"), JOBS,
     r"s.yaml:13:.*a partition with a cohort, found none"),
    (TWO.replace("user_quota: {A100: 6}", "quota: {A100: 6}, cohort: c, lending_limit: {A100: 7}"), JOBS,
     r"s.yaml:13:.*at most its quota, 6, found 7"),
    (TWO.replace("user_quota: {A100: 6}", "quota: {A100: 6}, cohort: c, borrowing_limit: {A100: -1}"), JOBS,
     r"s.yaml:13:"),
    (TWO.replace("[fat]", "[fast]"), JOBS, r"s.yaml:13:.*a group of nodes: one of thin, fat, found 'fast'.*fat"),
    (TWO.replace("racks: [0]", "racks: [2]"), JOBS, r"s.yaml:14:.*a rack with nodes, 0 to 1, found 2"),
    (TWO.replace("rack: 1, shelf: 0", "rack: 1, shelf: 9"), JOBS, r"s.yaml:14:.*rack 1, shelf 9, which has no unit"),
    (TWO.replace("memory: 128 GiB", "disk: 1"), JOBS, r"s.yaml:14:.*processor types of the datacenter.*'disk'"),
    (TWO.replace("A100: 6", "A100: 0"), JOBS, r"s.yaml:13:.*a value above 0"),
    (TWO.replace("A100: 6", "A100: 3"), JOBS, r"jobs.csv:2: expected at most 3, the quota of user ada"),
    (TWO, JOBS.replace("bob,batch", "bob,bathc"), r"jobs.csv:4: expected partition: one of gpu, batch, found 'bathc'"),
    (TWO.replace("memory: 128 GiB", "memory: 8 GiB"), JOBS,
     r"jobs.csv:4: expected at most 8 GiB, the quota of partition batch on memory, found 32 GiB"),
    (TWO.replace('"CPU|A100": 16', "A100: 2"), JOBS.replace("ada,gpu", "ada,batch", 1),
     r"jobs.csv:2: expected at most 2, the quota of partition batch on A100, found 4"),
    (TWO.replace("groups: [fat]", "groups: [thin]"), JOBS, r"jobs.csv:2: expected a node of the partition gpu"),
    (TWO, "\n".join(line.rpartition(",")[0] for line in JOBS.splitlines()) + "\n", "the workload names no partition"),
    (TWO, JOBS.replace("user,", "job_id,").replace("ada", "1").replace("bob", "2"), r"s.yaml:13:.*jobs with users"),
]  # fmt: skip


@pytest.mark.parametrize(("partitions", "jobs", "message"), WRONG)
def test_what_is_wrong_is_said_with_its_line(read, partitions, jobs, message):
    with pytest.raises(vs.InputError) as wrong:
        read(partitions, jobs)
    assert re.search(message, str(wrong.value)), wrong.value


def test_all_wrong_jobs_are_listed(read):
    with pytest.raises(vs.InputError) as wrong:
        read(TWO.replace("A100: 6", "A100: 3"))
    assert [problem.where.rpartition(":")[2] for problem in wrong.value.problems] == ["2", "3"]
