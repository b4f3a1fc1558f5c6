"""Damage in the folder of a sweep: readers refuse it by name, the next sweep does again what was lost."""

import json
import shutil
import warnings
from contextlib import suppress

import duckdb
import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from tests.studies.conftest import files
from tests.studies.test_sweep import FEW, Crash, counting, crashing, stopping
from vinesim.formats.results.checksums import BLANK, is_intact, with_checksum
from vinesim.model.errors import InputError, InputWarning
from vinesim.studies import work
from vinesim.studies.compare import compare
from vinesim.studies.sweep import read_sweep, sweep


@pytest.fixture
def done(monkeypatch):
    """The ids of the runs that were simulated."""
    return counting(monkeypatch)


def flip(file, at=0.5, bit=0):
    """Turn one bit of a file."""
    data = bytearray(file.read_bytes())
    data[int(at * (len(data) - 1))] ^= 1 << bit
    file.write_bytes(data)


def parts(folder):
    return sorted((folder / "runs").iterdir())


@pytest.mark.parametrize("at", [0.0, 0.01, 0.3, 0.6, 0.9, 0.97, 1.0])
def test_one_flipped_bit_in_a_part_is_found_and_that_part_done_again(make_study, tmp_path, done, at):
    study, out = make_study(), tmp_path / "out"
    whole = sweep(study, out, workers=1)
    before, ((n_runs,),) = files(out), duckdb.sql(f"SELECT count(*) FROM '{parts(out)[1]}'").fetchall()
    flip(parts(out)[1], at, bit=3)
    with pytest.raises(InputError, match=f"{parts(out)[1].name}: expected an intact file of a sweep"):
        read_sweep(out)
    done.clear()
    with pytest.warns(InputWarning, match=f"damaged files are moved .*{parts(out)[1].name}"):
        again = sweep(study, out, workers=1)
    assert (len(done), again.n_found, files(out)) == (n_runs, 18 - n_runs, before)
    assert again.table["jobs.latency_us.mean"].tolist() == whole.table["jobs.latency_us.mean"].tolist()
    assert [file.name for file in (out / "damaged").iterdir()] == [parts(out)[1].name]
    assert sweep(study, out, workers=1).n_found == 18  # without a word


@pytest.mark.parametrize("harm", ["cut", "empty", "zeros", "text", "without a checksum", "the study"])
def test_other_damage_of_a_part(make_study, tmp_path, harm):
    study, out = make_study(), tmp_path / "out"
    sweep(study, out, workers=1)
    before = files(out)
    part = parts(out)[0]
    data = part.read_bytes()
    at = data.index(b"sha256:")
    part.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "empty": b"",
            "zeros": data[:100] + bytes(512) + data[612:],
            "text": b"run_id,point\n",
            "without a checksum": data[:at] + bytes(71) + data[at + 71 :],
            "the study": (out / "study.yaml").read_bytes(),  # intact, and no part
        }[harm]
    )
    with pytest.raises(InputError, match=part.name):
        read_sweep(out)
    with pytest.warns(InputWarning, match=part.name):
        sweep(study, out, workers=1)
    assert files(out) == before


def test_parts_that_changed_names_are_put_in_order(make_study, tmp_path, done):
    study, out = make_study(), tmp_path / "out"
    sweep(study, out, workers=1)
    before = files(out)
    one, other, *_ = parts(out)
    one.rename(out / "x")
    other.rename(one)
    (out / "x").rename(other)
    done.clear()
    assert sweep(study, out, workers=1).n_found == 18
    assert (done, files(out)) == ([], before)


def stopped(make_study, out, monkeypatch):
    """A sweep that was stopped in its second chunk: a part, and a journal of one run."""
    real, seen = work.one, []

    def one(study, run, *more):
        seen.append(run.run_id)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return real(study, run, *more)

    with monkeypatch.context() as patch:
        patch.setattr(work, "one", one)
        with pytest.raises(KeyboardInterrupt):
            sweep(make_study(), out, workers=1)
    (journal,) = (out / "journal").glob("*.jsonl")
    return journal


def test_a_changed_digit_in_a_journal_is_found(make_study, tmp_path, monkeypatch, done):
    out = tmp_path / "out"
    journal = stopped(make_study, out, monkeypatch)
    before = journal.read_text()
    line = json.loads(before)
    line["numbers"]["jobs.latency_us.mean"] += 1.0
    journal.write_text(json.dumps(line, separators=(",", ":")) + "\n")
    with pytest.raises(InputError, match=rf"{journal.name}: .*found 1 damaged line\."):
        read_sweep(out)
    done.clear()
    with pytest.warns(InputWarning, match=journal.name):
        assert sweep(make_study(), out, workers=1).n_found == 4
    assert len(done) == 14
    sweep(make_study(), tmp_path / "whole", workers=1)
    assert files(out) == files(tmp_path / "whole")


def test_a_torn_last_line_is_no_damage(make_study, tmp_path, monkeypatch, done):
    out = tmp_path / "out"
    journal = stopped(make_study, out, monkeypatch)
    journal.write_bytes(journal.read_bytes()[:-20])
    assert read_sweep(out).table.n_rows == 4
    done.clear()
    assert sweep(make_study(), out, workers=1).n_found == 4  # without a word
    assert len(done) == 14


def test_a_journal_of_valid_json_and_another_shape_is_one_clear_message(make_study, tmp_path, monkeypatch, vinesim):  # noqa: F811
    out = tmp_path / "out"
    journal = stopped(make_study, out, monkeypatch)
    with open(journal, "ab") as lines:
        lines.write(with_checksum(b'{"run_id":[1],"checksum":"%s","numbers":{"a":1}}' % BLANK.encode()) + b"\n")
    for words in (["report", out], ["compare", out, "--by", "arrivals.poisson.mean", "--of", "makespan_us"]):
        reported = vinesim(*words)
        assert (reported.code, len(reported.err.splitlines())) == (2, 2), reported.err
        assert f"{journal}: expected an intact file of a sweep, found 1 damaged line. Run vinesim" in reported.err
    with pytest.warns(InputWarning, match=journal.name):
        sweep(make_study(), out, workers=1)


def test_failures_next_to_a_damaged_line_stay(make_study, tmp_path):
    out = tmp_path / "out"
    study = make_study({"policy": ["policies.py:Plain", "policies.py:Breaks"]})
    sweep(study, out, workers=1)
    journal = max((out / "journal").glob("*.jsonl"), key=lambda file: file.stat().st_size)
    flip(journal, 0.1)
    with pytest.warns(InputWarning, match=journal.name):
        sweep(study, out, workers=1)
    assert len(read_sweep(out).failures) == 3


@pytest.mark.parametrize("harm", [lambda data: data.replace(b"20", b"21"), lambda data: data[:40], lambda data: b""])
def test_a_damaged_study_is_found_and_written_again(make_study, tmp_path, done, harm):
    study, out = make_study(), tmp_path / "out"
    sweep(study, out, workers=1)
    before, reported = files(out), (out / "study.yaml").read_bytes()
    (out / "study.yaml").write_bytes(harm(reported))
    with pytest.raises(InputError, match=r"study.yaml: expected an intact file of a sweep"):
        read_sweep(out)
    done.clear()
    with pytest.warns(InputWarning, match=r"study.yaml"):
        sweep(study, out, workers=1)
    assert ((out / "study.yaml").read_bytes(), files(out), done) == (reported, before, [])


def test_a_study_may_grow_and_be_damaged_at_once(make_study, tmp_path, done):
    """What its axes were is known from the parts, not from study.yaml: else a label would be taken for a number."""
    axes = {"arrivals.poisson.mean": [5, 10], "datacenter.racks[0].units.GPU": [1]}
    sweep(make_study(axes), tmp_path / "out", workers=1)
    flip(tmp_path / "out" / "study.yaml")
    done.clear()
    grown = make_study({"arrivals.poisson.mean": [2, 5, 10]})
    with pytest.warns(InputWarning, match=r"study.yaml"):
        assert sweep(grown, tmp_path / "out", workers=1).n_found == 6
    sweep(grown, tmp_path / "whole", workers=1)
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_the_command_line_names_what_is_damaged(make_study, tmp_path, vinesim):  # noqa: F811
    axes, out = {"policy": ["policies.py:Plain"], "arrivals.poisson.mean": [5, 10]}, tmp_path / "out"
    sweep(make_study(axes, replications=4), out, workers=1)
    flip(parts(out)[0])
    for words in (["report", out], ["compare", out, "--by", "arrivals.poisson.mean", "--of", "makespan_us"]):
        reported = vinesim(*words)
        assert (reported.code, reported.out) == (2, "")
        assert f"{parts(out)[0]}: expected an intact file of a sweep, found a damaged one" in reported.err
        assert f"Run vinesim sweep again with --out {out}" in reported.err
    assert not (out / "report.html").exists()
    again = vinesim("sweep", out / "study.yaml", "--out", out, "--workers", 1, "--json")
    assert (again.code, json.loads(again.out)["found"]) == (0, 4)
    assert (
        f"vinesim: warning: damaged files are moved to {out}/damaged, and the sweep repeats what was lost:" in again.err
    )
    reported = (out / "study.yaml").read_text()
    (out / "study.yaml").write_text(reported.replace("[5, 10]", "[5, 11]"))
    again = vinesim("sweep", out / "study.yaml", "--out", out, "--workers", 1)
    assert (again.code, "expected a study whose checksum matches, found a damaged or edited file" in again.err) == (
        2,
        True,
    )
    (tmp_path / "mine.yaml").write_text("".join(reported.replace("folder: inputs", "folder: .").splitlines(True)[:-1]))
    assert vinesim("sweep", tmp_path / "mine.yaml", "--out", tmp_path / "new", "--workers", 1).code == 0


def test_merged_parts_are_checked_and_relabelled(make_study, tmp_path, done):
    """Parts of the study before it grew, copied into the folder of the grown one, count its points again."""
    small, grown = make_study({"arrivals.poisson.mean": [10, 20]}), make_study({"arrivals.poisson.mean": [5, 10, 20]})
    sweep(small, tmp_path / "one", workers=1)
    with pytest.raises(KeyboardInterrupt):
        sweep(grown, tmp_path / "two", workers=1, on_progress=stopping(2))
    shutil.copytree(tmp_path / "one" / "runs", tmp_path / "two" / "runs", dirs_exist_ok=True)
    with pytest.raises(InputError, match=r"found rows of another study, or of this one before it grew"):
        read_sweep(tmp_path / "two")
    sweep(grown, tmp_path / "two", workers=1)
    sweep(grown, tmp_path / "whole", workers=1)
    assert files(tmp_path / "two") == files(tmp_path / "whole")
    assert compare(read_sweep(tmp_path / "two"), "arrivals.poisson.mean", "makespan_us").pairs


def test_parts_with_other_numbers_are_refused(make_study, tmp_path):
    study = make_study(record=["makespan_us"])
    sweep(study, tmp_path / "one", workers=1, shard=(1, 2))
    sweep(make_study(), tmp_path / "two", workers=1, shard=(2, 2))
    shutil.copytree(tmp_path / "one" / "runs", tmp_path / "two" / "runs", dirs_exist_ok=True)
    with pytest.raises(InputError, match="record: expected as in the folder: makespan_us, found all numbers"):
        sweep(make_study(), tmp_path / "two", workers=1)


def test_parts_with_other_numbers_are_not_read(make_study, tmp_path):
    sweep(make_study(record=["makespan_us"]), tmp_path / "few", workers=1)
    sweep(make_study(record=["makespan_us", "jobs.count"]), tmp_path / "more", workers=1)
    shutil.copy(tmp_path / "more" / "study.yaml", tmp_path / "few" / "study.yaml")
    with pytest.raises(InputError, match="found rows of another study"):
        read_sweep(tmp_path / "few")


def test_every_file_of_a_folder_carries_its_checksum(make_study, tmp_path):
    out = tmp_path / "out"
    sweep(make_study({"policy": ["policies.py:Plain", "policies.py:Breaks"]}), out, workers=1)
    own = [path for path in out.rglob("*") if path.is_file() and out / "inputs" not in path.parents]
    assert {path.suffix for path in own} == {".parquet", ".jsonl", ".yaml", ".json"}
    for path in own:
        data = path.read_bytes()
        assert all(map(is_intact, data.splitlines() if path.suffix == ".jsonl" else [data])), path


def test_a_folder_whose_name_is_a_pattern(make_study, tmp_path, done):
    out = tmp_path / "out[1]*"
    sweep(make_study(), out, workers=1)
    assert read_sweep(out).table.n_rows == 18
    assert sweep(make_study(), out, workers=1).n_found == 18


def test_a_crash_while_damage_is_set_aside_loses_nothing_else(make_study, tmp_path, monkeypatch):
    study = make_study({"arrivals.poisson.mean": [5, 10]}, FEW)
    sweep(study, tmp_path / "whole", workers=1)
    journal = stopped(lambda: study, tmp_path / "harmed", monkeypatch)
    for file in (journal, tmp_path / "harmed" / "study.yaml", *parts(tmp_path / "harmed")):
        flip(file)
    at = 0
    while True:
        at += 1
        out = tmp_path / f"out{at}"
        shutil.copytree(tmp_path / "harmed", out)
        with monkeypatch.context() as patch:
            crashed = crashing(patch, at)
            with suppress(Crash), pytest.warns(InputWarning):
                sweep(study, out, workers=1)
            if not crashed():
                break
        with warnings.catch_warnings(action="ignore"):
            sweep(study, out, workers=1)
        assert files(out) == files(tmp_path / "whole"), at
        assert read_sweep(out).table.n_rows == 6
    assert at > 8
