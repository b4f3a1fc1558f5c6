"""Blocks of a log drawn with replacement."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import vinesim as vs
from vinesim.cli.main import app
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.errors import InputError
from vinesim.model.study import Until
from vinesim.model.workload import Workload
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id
from vinesim.studies.blocks import blocks
from vinesim.studies.expand import expand
from vinesim.studies.same_workload import same_workload
from vinesim.studies.sweep import sweep
from vinesim.workloads.resample import resampled
from vinesim.workloads.select_jobs import select_jobs


def log(times, application=None, counts=None):
    times = np.asarray(times, float)
    counts = np.ones(len(times), int) if counts is None else np.asarray(counts)
    n = counts.sum()
    return Workload(
        job_task_type=np.zeros(len(times)),
        job_first=np.concatenate(([0], np.cumsum(counts))),
        arrival_us=times,
        operations=np.repeat(np.arange(len(times)), counts) + np.arange(n) / 1000,
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        deadline_us=times + 5,
        application=application,
        requests={"cores": np.arange(n, dtype=float)},
        times_us=np.arange(2.0 * n).reshape(n, 2),
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_each_slot_holds_one_block_of_the_log(data):
    n = data.draw(st.integers(3, 60))
    times = np.cumsum([0.0, *data.draw(st.lists(st.integers(0, 30), min_size=n - 1, max_size=n - 1))])
    counts = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    block = data.draw(st.sampled_from([10.0, 25.0, 100.0]))
    if times[-1] // block < 2:
        return
    work = log(times, counts=counts)
    drawn = np.random.default_rng(3).integers(0, int(times[-1] // block), int(times[-1] // block))
    expected = [
        (i * block + times[j] - b * block, j)
        for i, b in enumerate(drawn)
        for j in range(n)
        if b * block <= times[j] < (b + 1) * block
    ]
    if not expected:
        return
    made = resampled(work, block, 0.0, np.random.default_rng(3))
    assert made.arrival_us.tolist() == [time for time, _ in sorted(expected)]
    first = made.job_first[:-1]
    assert np.floor(made.operations[first]).tolist() == [j for _, j in sorted(expected)]
    assert np.diff(made.job_first).tolist() == [counts[j] for _, j in sorted(expected)]
    assert made.deadline_us == pytest.approx(made.arrival_us + 5)
    task = np.searchsorted(work.operations, made.operations)
    assert made.requests["cores"].tolist() == task.tolist()
    assert made.times_us[:, 1].tolist() == (2 * task + 1).tolist()


def test_sessions_stay_whole():
    times = [0, 8, 9, 11, 12, 19, 25, 29, 31, 36, 40]
    work = log(times, application=[0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1])
    for seed in range(20):
        made = resampled(work, 10.0, 4.0, np.random.default_rng(seed))
        names = np.floor(made.operations).astype(int).tolist()
        for session in ([1, 3], [2, 4], [6, 7, 8]):
            assert len({names.count(job) for job in session}) == 1
    apart = [np.floor(resampled(work, 10.0, 0.0, np.random.default_rng(s)).operations).tolist() for s in range(20)]
    assert any(names.count(6) != names.count(8) for names in apart)


def test_a_block_that_is_too_long_is_refused():
    with pytest.raises(InputError, match="at most half the 15 us"):
        resampled(log([0, 5, 15]), 10.0, 0.0, np.random.default_rng(0))


@pytest.mark.parametrize("block_us", [1e-7, 1e-300])
def test_more_blocks_than_memory_has_room_for_are_refused_before_they_are_drawn(block_us):
    with pytest.raises(InputError, match=r"block: expected 1\.5e-06 us or more: at most 10,000,000 blocks"):
        resampled(log([0, 5, 15]), block_us, 0.0, np.random.default_rng(0))


def test_selected_jobs_are_the_jobs():
    work = log([0, 1, 2], counts=[2, 1, 3])
    same = select_jobs(work, np.arange(3), work.arrival_us)
    assert np.array_equal(same.operations, work.operations)
    assert select_jobs(work, np.array([2]), np.array([7.0])).deadline_us.tolist() == [12]


def test_what_tasks_hold_and_when_jobs_are_withdrawn_goes_with_them():
    work = replace(log([0, 1, 2], counts=[2, 1, 3]), companions={"MEM": np.arange(6.0)}, withdraw_us=[9, np.inf, 4])
    some = select_jobs(work, np.array([2, 0, 2]), np.array([7.0, 8.0, 9.0]))
    assert some.companions["MEM"].tolist() == [3, 4, 5, 0, 1, 3, 4, 5]
    assert some.withdraw_us.tolist() == [9, 17, 11]
    assert select_jobs(work, np.array([1]), np.array([5.0])).withdraw_us.tolist() == [np.inf]


def test_every_column_of_the_jobs_and_tasks_is_selected():
    """A new column of one value each cannot be forgotten."""
    work = replace(log([0, 1, 2], counts=[2, 1, 3]), companions={"MEM": np.arange(6.0)})
    some = select_jobs(work, np.array([1]), np.array([0.0]))
    for name, value in vars(some).items():
        for column in value.values() if isinstance(value, dict) else [value]:
            assert not isinstance(column, np.ndarray) or len(column) in (1, 2), name


SCENARIO = """
extends: none
processor_types: [{name: X}]
task_types: [TASK]
affinity: {absolute: {X: 1}}
datacenter: {racks: [{units: {X: 2}}]}
workload: {file: log.parquet, resample: {block: 1 ms}}
"""


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(5)
    times = np.sort(random.uniform(0, 20_000, 300))
    n = len(times)
    work = Workload(
        job_task_type=np.zeros(n),
        job_first=np.arange(n + 1),
        arrival_us=times,
        operations=random.exponential(100, n),
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(n)),
        preferred_type=np.full(n, -1),
        task_types=(vs.TaskType("TASK"),),
    )
    write_workload(tmp_path / "log.parquet", work, (vs.ProcessorType("X"),))
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


def test_the_seed_decides(folder):
    one, again, other = (read_scenario(folder / "s.yaml", [f"seed={seed}"]) for seed in (1, 1, 2))
    assert content_id(one) == content_id(again)
    assert not np.array_equal(one.workload.operations[:50], other.workload.operations[:50])
    plain = read_scenario(folder / "s.yaml", ["workload={file: log.parquet}"])
    assert plain.workload.n_jobs == 300
    assert set(one.workload.operations) <= set(plain.workload.operations)
    assert one.workload.n_jobs == pytest.approx(300, abs=60)


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
def test_other_arrivals_move_deadlines_and_withdrawals(folder):
    (folder / "log.csv").write_text("arrival_us,operations,deadline_us,withdraw_us\n5,1,9,\n6,1,7,8\n")
    given = ["workload={file: log.csv}", "arrivals.iat=100"]
    work = read_scenario(folder / "s.yaml", given).workload
    assert work.deadline_us.tolist() == [4, 101]
    assert work.withdraw_us.tolist() == [np.inf, 102]


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
def test_runs_whose_arrivals_move_deadlines_are_not_one_block(folder):
    (folder / "log.csv").write_text("arrival_us,operations,deadline_us\n0,10,10\n6,10,17\n")
    axes = {"arrivals": [{"iat": 5}, {"iat": 20}]}
    changed = {"workload": {"file": "log.csv"}, "datacenter": {"racks": [{"units": {"X": 1}}]}}
    study = vs.study({"scenario": yaml.safe_load(SCENARIO) | changed, "axes": axes}, folder)
    assert [len(block.runs) for block in blocks(study, expand(study))] == [1, 1]
    assert sweep(study, workers=1).table["deadlines.missed"].tolist() == [1, 0]


def test_replications_differ_and_are_never_put_into_one_block(folder):
    mapping = {"scenario": "s.yaml", "replications": 4, "axes": {"policy": ["high"]}}
    study = vs.study(mapping, folder)
    assert [len(block.runs) for block in blocks(study, expand(study))] == [1] * 4
    found = sweep(study, workers=1)
    assert len(set(found.table["jobs.latency_us.mean"])) == 4
    assert same_workload(study) is None
    fixed = vs.study(mapping | {"axes": {"workload": [{"file": "log.parquet"}]}}, folder)
    assert len(set(sweep(fixed, workers=1).table["jobs.latency_us.mean"])) == 1
    assert "resample: {block: 1 d}" in str(same_workload(fixed))


@pytest.mark.parametrize(
    ("workload", "arrivals", "replications", "is_reported"),
    [
        ({"file": "log.parquet"}, None, 2, True),
        ({"file": "log.parquet"}, None, 1, False),
        ({"file": "log.parquet"}, {"iat": 3}, 2, True),
        ({"file": "log.parquet"}, {"poisson": {"mean": 3}}, 2, False),
        ({"file": "log.parquet", "estimate_error": 1}, None, 2, False),
        ({"file": "log.parquet", "resample": {"block": 1000}}, None, 2, False),
    ],
)
def test_who_learns_that_replications_are_the_same(folder, workload, arrivals, replications, is_reported):
    scenario = {**yaml.safe_load(SCENARIO), "workload": workload, "arrivals": arrivals}
    study = vs.study({"scenario": scenario, "axes": {}, "replications": replications}, folder)
    assert (same_workload(study) is not None) == is_reported
    until = {"ci_width": 0.1, "of": "jobs.latency_us.mean"}
    assert (same_workload(replace(study, replications=1, until=Until(**until))) is None) == (
        not is_reported and replications > 1
    )


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ("{file: log.parquet, resample: {block: 1 d}}", "workload.resample.block: expected a block of at most half"),
        ("{file: log.parquet, resample: {block: 0}}", "workload.resample.block: expected a value above 0"),
        ("{file: log.parquet, resample: {blok: 1 s}}", "Did you mean block?"),
        ("{generator: 500jobs, resample: {block: 1 d}}", "resample only with a file"),
    ],
)
def test_wrong_resampling_is_reported(folder, workload, says):
    with pytest.raises(InputError) as error:
        read_scenario(folder / "s.yaml", [f"workload={workload}"])
    assert says in str(error.value)


NODES = """
extends: none
processor_types: [{name: CPU}]
network: none
datacenter: {racks: [{nodes: [{count: 2, units: {CPU: {cores: 8}}, memory: 16 GB}]}]}
partitions: [{name: batch, quota: {CPU: 4}}]
workload: {file: jobs.csv}
policy: fcfs
"""


@pytest.mark.parametrize(
    "row",
    [
        "5,1,1,1 GB,gpu,",  # a partition that is not declared
        "5,1,9,1 GB,,",  # more cores than a node has
        "5,1,1,17 GB,,",  # more memory
        "5,1,6,1 GB,batch,",  # more than the quota of its partition
        "5,1,1,1 GB,,3",  # more nodes than there are
    ],
)
def test_a_wrong_row_is_reported_as_it_was_written_whatever_is_drawn(tmp_path, row):
    rows = [f"{10 * i},1,1,1 GB,," for i in range(2, 8)]
    table = ["arrival_s,time_s,cores,memory,partition,nodes", "0,1,1,1 GB,batch,", row, *rows]
    (tmp_path / "jobs.csv").write_text("\n".join(table))
    (tmp_path / "s.yaml").write_text(NODES)

    def reported(*changes: str) -> str:
        with pytest.raises(InputError) as error:
            read_scenario(tmp_path / "s.yaml", changes)
        return str(error.value)

    assert "jobs.csv:3" in reported()
    block = "workload.resample.block=10 s"
    assert {reported(block, f"seed={seed}") for seed in range(6)} == {reported()}


def test_the_commands_tell_it(folder, capsys):
    from vinesim.cli.sweep import sweep as command

    (folder / "study.yaml").write_text(
        "scenario: s.yaml\nreplications: 2\naxes:\n  policy: [high, flat]\n  workload: [{file: log.parquet}]\n"
    )
    words = "Every replication has the same jobs"
    command(folder / "study.yaml", folder / "out", "loky", 1, None, None, [], False)
    assert words in capsys.readouterr().out
    compared = ["compare", str(folder / "out"), "--by", "policy", "--of", "jobs.latency_us.mean"]
    assert words in CliRunner().invoke(app, compared).output
    assert CliRunner().invoke(app, ["report", str(folder / "out")]).exit_code == 0
    assert any(words in page.read_text() for page in (folder / "out").glob("*.html"))
    assert words in CliRunner().invoke(app, ["validate", str(folder / "study.yaml")]).output


def test_jobs_wait_for_those_of_their_own_block():
    """Jobs 1 and 3 are after the one before them in their block, job 2 is after one of another block."""
    work = replace(log([0, 1, 10, 11, 20]), after_first=[0, 0, 1, 2, 3, 3], after=[0, 1, 2])
    with pytest.warns(vs.InputWarning, match="times a job is after one that is not in its block"):
        found = resampled(work, 10.0, 0.0, np.random.default_rng(1))
    assert found.n_jobs == 4
    job = np.repeat(np.arange(4), np.diff(found.after_first))
    assert job.tolist() == [1, 3]
    assert found.after.tolist() == [0, 2]
