"""Sweeps in this process: what they hold, how they go on, what they refuse."""

import json
import math
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tests.studies.conftest import files
from vinesim.engine.simulate import simulate
from vinesim.metrics.numbers import numbers
from vinesim.model.errors import InputError, InputWarning
from vinesim.pages.sweep import sweep_page
from vinesim.studies import work
from vinesim.studies.expand import expand, scenario_of
from vinesim.studies.sweep import read_sweep, sweep
from vinesim.studies.sweep_notes import equal_note


@pytest.fixture
def done(monkeypatch):
    """The ids of the runs that were simulated."""
    return counting(monkeypatch)


def counting(patch):
    """A list that gets the ids of the runs that are simulated, each by itself: also where an earlier test has compiled
    the policy, so that blocks of runs would be quicker."""
    found, real = [], work.one
    patch.setattr(work, "are_quicker_in_blocks", lambda *_: False)
    patch.setattr(work, "one", lambda study, run, *more: (found.append(run.run_id), real(study, run, *more))[1])
    return found


def stopping(after):
    """An `on_progress` that stops the sweep as Ctrl-C does, at the n-th call."""
    calls = []

    def on_progress(progress):
        calls.append(progress)
        if len(calls) == after:
            raise KeyboardInterrupt

    return on_progress


def test_rows_are_the_numbers_of_the_runs_in_their_order(make_study):
    study = make_study()
    table = sweep(study, workers=1).table
    runs = expand(study)
    assert table["run_id"].tolist() == [run.run_id for run in runs]
    assert table["point"].tolist() == [i // 3 for i in range(18)]
    assert table["replication"].tolist() == [0, 1, 2] * 6
    assert table["arrivals.poisson.mean"].tolist() == [run.point["arrivals.poisson.mean"] for run in runs]
    for i in (0, 7, 17):
        expected = numbers(simulate(scenario_of(study, runs[i]), engine="reference").summary)
        for name, value in expected.items():
            if isinstance(value, str) or not math.isnan(value):
                assert table[name][i] == value
    assert len(set(table["jobs.latency_us.mean"].tolist())) == 18


def test_compiled_runs_in_batches_are_the_same_as_one_by_one(make_study):
    study = make_study({"policy": ["high"], "arrivals.poisson.mean": [5, 10]})
    table = sweep(study, workers=1).table
    for i, run in enumerate(expand(study)):
        alone = numbers(simulate(scenario_of(study, run)).summary)
        assert {name: table[name][i] for name in alone if name in table} == {n: v for n, v in alone.items() if v == v}


def test_in_memory_leaves_no_files(make_study, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = {*tmp_path.rglob("*")}
    assert sweep(make_study(), workers=1).table.n_rows == 18
    assert {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts} <= before | {
        tmp_path / "policies.py"
    }


def test_a_second_call_does_nothing_again(make_study, tmp_path, done):
    first = sweep(make_study(), tmp_path / "out", workers=1)
    assert (first.n_found, len(done)) == (0, 18)
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == [
        "inputs",
        "origin.json",
        "runs",
        "study.yaml",
    ]
    before = files(tmp_path / "out")
    second = sweep(make_study(), tmp_path / "out", workers=1)
    assert (second.n_found, second.n_runs, len(done)) == (18, 18, 18)
    assert files(tmp_path / "out") == before
    assert second.table["run_id"].tolist() == first.table["run_id"].tolist()


@pytest.mark.parametrize("after", range(1, 7))
def test_a_stopped_sweep_goes_on_to_the_same_files(make_study, tmp_path, done, after):
    sweep(make_study(), tmp_path / "whole", workers=1)
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        sweep(make_study(), tmp_path / "out", workers=1, on_progress=stopping(after))
    sweep(make_study(), tmp_path / "out", workers=1)
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert len(done) == len(set(done)) == 18


def test_a_chunk_goes_on_from_its_journal(make_study, tmp_path, monkeypatch):
    whole = sweep(make_study(), tmp_path / "whole", workers=1)
    real, seen = work.one, []

    def one(study, run, *more):
        seen.append(run.index)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return real(study, run, *more)

    monkeypatch.setattr(work, "one", one)
    with pytest.raises(KeyboardInterrupt):
        sweep(make_study(), tmp_path / "out", workers=1)
    assert len(files(tmp_path / "out")) == 1
    rest = sweep(make_study(), tmp_path / "out", workers=1)
    assert seen == [0, 1, 2, 3, 4, 5, *range(5, 18)]  # run 5 was broken off
    assert rest.n_found == 5
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert rest.table["jobs.latency_us.mean"].tolist() == whole.table["jobs.latency_us.mean"].tolist()


def test_failed_runs_are_reported_and_tried_again(make_study, tmp_path, done):
    axes = {"policy": ["policies.py:Plain", "policies.py:Breaks"]}
    study = make_study(axes)
    first = sweep(study, tmp_path / "out", workers=1)
    assert [(failure.point["policy"], failure.seed) for failure in first.failures] == [
        ("policies.py:Breaks", seed) for seed in range(3)
    ]
    assert "unit_order must return a permutation" in first.failures[0].message
    assert first.table["policy"].tolist() == ["policies.py:Plain"] * 3
    assert [failure.message for failure in read_sweep(tmp_path / "out").failures] == [
        failure.message for failure in first.failures
    ]
    (tmp_path / "mended").touch()
    done.clear()
    second = sweep(study, tmp_path / "out", workers=1)
    assert (second.failures, second.n_found, second.table.n_rows, len(done)) == ((), 3, 6, 3)
    sweep(study, tmp_path / "whole", workers=1)
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert not (tmp_path / "out" / "journal").exists()


@pytest.mark.parametrize(
    ("axes", "replications"),
    [
        ({"arrivals.poisson.mean": [5, 10, 20], "datacenter.racks[0].units.GPU": [1, 2]}, 5),
        ({"arrivals.poisson.mean": [2, 5, 10, 20], "datacenter.racks[0].units.GPU": [3, 1, 2]}, 3),
    ],
)
def test_a_grown_study_takes_over_what_is_done(make_study, tmp_path, done, axes, replications):
    sweep(make_study(), tmp_path / "out", workers=1)
    done.clear()
    grown = make_study(axes, replications=replications)
    found = sweep(grown, tmp_path / "out", workers=1)
    assert (found.n_found, len(done)) == (18, grown.n_runs - 18)
    sweep(grown, tmp_path / "whole", workers=1)
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_the_sweep_of_another_study_is_left_alone(make_study, tmp_path):
    sweep(make_study(), tmp_path / "out", workers=1)
    before = files(tmp_path / "out")
    with pytest.raises(InputError, match="9 of 18 runs there that are not in this study"):
        sweep(make_study({"arrivals.poisson.mean": [5, 10, 20]}), tmp_path / "out", workers=1)
    (tmp_path / "policies.py").write_text((tmp_path / "policies.py").read_text() + "# edited\n")
    with pytest.raises(InputError, match="a policy's code or VineSim's version changed"):
        sweep(make_study(), tmp_path / "out", workers=1)
    assert files(tmp_path / "out") == before


def test_a_policy_that_is_edited_while_the_sweep_runs_is_noticed(make_study, tmp_path):
    def on_progress(progress):
        if progress.n_done:
            (tmp_path / "policies.py").write_text((tmp_path / "policies.py").read_text() + "# edited\n")

    with pytest.raises(InputError, match=r"unchanged files .*, found .*policies\.py changed or gone"):
        sweep(make_study(), tmp_path / "out", workers=1, on_progress=on_progress)


TABLE = "job,task_type,operations,arrival_us\n0,INT,9,0\n1,INT,9,0\n"
MINE = """
import numpy as np
from helper import SIZE
from vinesim.workloads.assemble import assemble


def made(setting):
    ones = np.ones(5, int)
    return assemble(ones, 0 * ones, SIZE * ones, **setting.common())
"""
NAMED = {  # what a workload is made from -> its section, and the files that it needs
    "table": ({"file": "work.csv"}, {"work.csv": TABLE}),
    "generator": ({"generator": "mine.py:made"}, {"mine.py": MINE, "helper.py": "SIZE = 9.0\n"}),
}


@pytest.mark.parametrize("harm", ["written", "written and put back", "removed"])
@pytest.mark.parametrize("kind", NAMED)
def test_a_file_that_changes_while_a_run_reads_it_gives_no_row(make_study, tmp_path, monkeypatch, kind, harm):
    section, contents = NAMED[kind]
    arrivals = {"arrivals": {"iat": 5} if kind == "generator" else None}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    axes = {"datacenter.racks[0].units.GPU": list(range(1, 7))}
    study = make_study(axes, {"workload": section, **arrivals}, replications=1)
    whole = sweep(study, tmp_path / "whole", workers=1)
    changed = tmp_path / list(contents)[-1]
    before, real, asked = changed.read_text(), work.one, []

    def one(study, run, *more):
        asked.append(run.run_id)
        if len(asked) == 3:
            changed.write_text(before.replace("9", "4"))
            if harm == "removed":
                changed.unlink()
        try:
            return real(study, run, *more)
        finally:
            if harm == "written and put back" and len(asked) == 3:
                changed.write_text(before)

    with monkeypatch.context() as patch:
        patch.setattr(work, "one", one)
        with pytest.raises(InputError, match=rf"found .*{changed.name} changed or gone\. Put back the files"):
            sweep(study, tmp_path / "out", workers=1)
    changed.write_text(before)
    again = sweep(study, tmp_path / "out", workers=1)
    assert again.n_found == 2
    assert again.table["makespan_us"].tolist() == whole.table["makespan_us"].tolist()


def test_a_file_that_is_touched_between_chunks_or_named_by_an_axis_is_compared_by_what_it_holds(make_study, tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(TABLE.replace("9", "3" if name == "a.csv" else "4"))
    study = make_study(
        {"workload.file": ["a.csv", "b.csv"]}, {"workload": {"file": "a.csv"}, "arrivals": None}, replications=8
    )
    sweep(study, tmp_path / "out", workers=1, on_progress=lambda _: (tmp_path / "a.csv").touch())

    def on_progress(progress):
        if progress.n_done:
            (tmp_path / "b.csv").write_text(TABLE)

    with pytest.raises(InputError, match=r"found .*b\.csv changed or gone"):
        sweep(study, tmp_path / "other", workers=1, on_progress=on_progress)


def test_rows_with_other_numbers_are_not_taken_for_these(make_study, tmp_path):
    sweep(make_study(record=["makespan_us"]), tmp_path / "out", workers=1)
    before = files(tmp_path / "out")
    with pytest.raises(InputError, match="record: expected as in the folder: makespan_us, found all numbers"):
        sweep(make_study(), tmp_path / "out", workers=1)
    assert files(tmp_path / "out") == before


def test_a_policy_that_changes_the_working_folder_moves_nothing(make_study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = replace(make_study({"policy": ["policies.py:Goes"]}, replications=8), folder=Path())
    assert sweep(study, "out", workers=1).table.n_rows == 8
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_workers_warn_of_is_reported_once(make_study, tmp_path, workers):
    study = make_study({"policy": ["policies.py:Warns"]}, replications=12)
    with pytest.warns(InputWarning) as reported:
        sweep(study, tmp_path / "out", workers=workers)
    assert [str(warning.message) for warning in reported] == ["the units are many"]


@pytest.mark.parametrize("name", ["study.yaml", "notes.txt"])
def test_a_folder_with_other_files_is_left_alone(make_study, tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    with pytest.raises(InputError, match="a new or empty folder"):
        sweep(make_study(), tmp_path / "mine", workers=1)
    assert [(path.name, path.read_text()) for path in (tmp_path / "mine").iterdir()] == [(name, "mine")]


def test_parts_of_several_machines_make_one_sweep(make_study, tmp_path):
    whole = sweep(make_study(), tmp_path / "whole", workers=1)
    for k in (1, 2, 3):
        sweep(make_study(), tmp_path / f"part{k}", workers=1, shard=(k, 3))
    parts = [files(tmp_path / f"part{k}") for k in (1, 2, 3)]
    assert {**parts[0], **parts[1], **parts[2]} == files(tmp_path / "whole")
    assert sum(map(len, parts)) == len(files(tmp_path / "whole"))
    shutil.copytree(tmp_path / "part2" / "runs", tmp_path / "part1" / "runs", dirs_exist_ok=True)
    shutil.copytree(tmp_path / "part3" / "runs", tmp_path / "part1" / "runs", dirs_exist_ok=True)
    assert read_sweep(tmp_path / "part1").table["run_id"].tolist() == whole.table["run_id"].tolist()
    assert sweep(make_study(), tmp_path / "part1", workers=1).n_found == 18


def test_rows_that_came_twice_count_once(make_study, tmp_path, monkeypatch):
    whole = sweep(make_study(), tmp_path / "out", workers=1)
    monkeypatch.setattr("vinesim.studies.chunks.MAX_RUNS", 2)  # as another version might cut it
    sweep(make_study(), tmp_path / "other", workers=1)
    shutil.copytree(tmp_path / "other" / "runs", tmp_path / "out" / "runs", dirs_exist_ok=True)
    assert read_sweep(tmp_path / "out").table["run_id"].tolist() == whole.table["run_id"].tolist()
    sweep(make_study(), tmp_path / "out", workers=1)
    rows = duckdb.sql(f"SELECT count(*) FROM read_parquet('{tmp_path}/out/runs/*.parquet', union_by_name = true)")
    assert rows.fetchall() == [(18,)]


def test_until_repeats_each_point_by_itself(make_study, tmp_path):
    until = {"ci_width": 0.15, "of": "jobs.latency_us.mean", "at_most": 20}
    study = make_study({"arrivals.poisson.mean": [2, 5, 1000]}, until=until)
    found = sweep(study, tmp_path / "out", workers=1)
    counts = []
    for number in range(3):
        mine = found.table["point"] == number
        values = found.table["jobs.latency_us.mean"][mine]
        counts.append(len(values))
        assert found.table["seed"][mine].tolist() == list(range(len(values)))  # the same random numbers at each point
        assert len(values) == 20 or relative_half_width(values) <= 0.15
        assert len(values) == 3 or relative_half_width(values[: _before(len(values))]) > 0.15
    assert len(set(counts)) > 1
    assert found.n_runs == sum(counts)
    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "stopped", workers=1, on_progress=stopping(5))
    again = sweep(study, tmp_path / "stopped", workers=1)
    assert files(tmp_path / "stopped") == files(tmp_path / "out")
    assert again.table.n_rows == found.table.n_rows
    assert sweep(study, tmp_path / "out", workers=1).n_found == found.n_runs


T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
T_975 += (2.120, 2.110, 2.101, 2.093)  # of Student's t, from a table: by degrees of freedom, from 1


def relative_half_width(values):
    """Of the 95 % interval of the mean, by the book."""
    values = [float(value) for value in values]
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return T_975[len(values) - 2] * math.sqrt(variance / len(values)) / abs(mean)


def _before(n):
    """How many replications a point had before its last round."""
    counts = [3]
    while counts[-1] < n:
        counts.append(min(20, math.ceil(1.5 * counts[-1])))
    return counts[-2]


def test_warm_up_and_record_reach_the_numbers(make_study):
    whole = sweep(make_study(), workers=1).table
    cut = sweep(make_study(warm_up={"share": 0.5}, record=["jobs.latency_us.mean", "jobs.warm_up"]), workers=1).table
    own = ["run_id", "point", "replication", "seed", "arrivals.poisson.mean", "datacenter.racks[0].units.GPU"]
    assert list(cut) == [*own, "exit_reason", "jobs.latency_us.mean", "jobs.warm_up.dropped"]
    assert set(cut["jobs.warm_up.dropped"].tolist()) == {6.0}
    assert cut["jobs.latency_us.mean"].tolist() != whole["jobs.latency_us.mean"].tolist()


def test_wrong_arguments_are_all_reported(make_study):
    with pytest.raises(InputError) as wrong:
        sweep(make_study(), backend="slurm", workers=0)
    assert [problem.where for problem in wrong.value.problems] == ["--backend", "--workers"]
    with pytest.raises(InputError, match="K from 1 to N"):
        sweep(make_study(), shard=(0, 2))
    with pytest.raises(InputError, match="a study without until"):
        sweep(make_study(until={"ci_width": 0.1, "of": "makespan_us"}), shard=(1, 2))
    with pytest.raises(InputError, match="one of"):
        sweep(make_study({"policy": ["high", "hihg"]}), workers=1)


def test_study_yaml_is_the_study(make_study, tmp_path):
    study = make_study()
    sweep(study, tmp_path / "out", workers=1)
    stored = read_sweep(tmp_path / "out").study
    assert [run.run_id for run in expand(stored)] == [run.run_id for run in expand(study)]


def test_read_sweep_refuses_other_folders(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="the folder of a sweep"):
            read_sweep(folder)


FEW = {"workload": {"generator": "identical", "options": {"n_jobs": 2}}}  # jobs, where it is not about what they do


class Crash(BaseException):
    """The process ends here."""


def crashing(monkeypatch, at):
    """Let the n-th write, sync or move of a sweep's files end everything, a write after a part of it."""
    import os

    count = 0

    def now():
        nonlocal count
        count += 1
        return count == at

    def write(file, data, real=os.write):
        if now():
            real(file, data[: len(data) // 2])
            raise Crash
        return real(file, data)

    def other(real):
        def call(*arguments, **options):
            if now():
                raise Crash
            return real(*arguments, **options)

        return call

    monkeypatch.setattr("vinesim.studies.journal.os.write", write)
    monkeypatch.setattr("vinesim.studies.parts.os.replace", other(os.replace))
    monkeypatch.setattr("vinesim.studies.parts.os.fsync", other(os.fsync))
    monkeypatch.setattr("pathlib.Path.unlink", other(Path.unlink))
    return lambda: count >= at


@pytest.mark.parametrize("grown", [False, True])
def test_a_crash_at_any_write_loses_nothing_that_is_finished(make_study, tmp_path, grown):
    axes = {"arrivals.poisson.mean": [5, 10]}
    first, study = make_study(axes, FEW), make_study(axes, FEW, replications=5) if grown else make_study(axes, FEW)
    sweep(study, tmp_path / "whole", workers=1)
    whole, at = files(tmp_path / "whole"), 0
    if grown:
        sweep(first, tmp_path / "first", workers=1)
    while True:
        at += 1
        out = tmp_path / f"out{at}"
        if grown:
            shutil.copytree(tmp_path / "first", out)
        with pytest.MonkeyPatch.context() as patch:
            crashed = crashing(patch, at)
            with suppress(Crash):
                sweep(study, out, workers=1)
            if not crashed():
                break
        finished = _finished(out)
        with pytest.MonkeyPatch.context() as patch:
            redone = counting(patch)
            sweep(study, out, workers=1)
        assert files(out) == whole, at
        assert not finished & set(redone), at
        assert not (out / "journal").exists(), at
    assert at > 10


def _finished(folder):
    """The ids of the runs that a crashed sweep has got, by a plain reading of its files."""
    found = set()
    for file in (folder / "runs").glob("*.parquet"):
        found |= {row[0] for row in duckdb.sql(f"SELECT run_id FROM read_parquet('{file}')").fetchall()}
    for file in (folder / "journal").glob("*.jsonl"):
        for line in file.read_text().split("\n")[:-1]:
            with_id = line.startswith('{"run_id"') and line.endswith("}}")
            found |= {json.loads(line)["run_id"]} if with_id else set()
    return found


def test_replications_that_no_seed_changes_are_run_once(make_study, done, tmp_path):
    """Their rows are those of runs of their own; points with random policies or arrivals run all replications."""
    axes = {"policy": ["pref", "random_fit"], "arrivals": [{"iat": 5}, {"poisson": {"mean": 5}}]}
    study = make_study(axes, {"workload": {"generator": "identical", "options": {"n_jobs": 12}}}, replications=3)
    swept = sweep(study, tmp_path / "out", workers=1)
    assert [sum(run.run_id in done for run in expand(study)[i : i + 3]) for i in (0, 3, 6, 9)] == [1, 3, 3, 3]
    assert swept.table["replication"].tolist() == [0, 1, 2] * 4
    for run, value in zip(expand(study), swept.table["makespan_us"].tolist(), strict=True):
        assert value == numbers(simulate(scenario_of(study, run), engine="reference").summary)["makespan_us"]
    assert equal_note(swept) == (
        "All replications of 2 of 4 points are equal: the seed changed nothing, and intervals say nothing."
    )
    assert equal_note(swept) in str(sweep_page(tmp_path / "out"))
    grown = sweep(replace(study, replications=4), tmp_path / "out", workers=1)
    assert grown.table.n_rows == 16
    assert len(done) == 10 + 3  # the first point's row stands for those that are added
    assert equal_note(sweep(make_study(replications=1), workers=1)) is None
