"""The files of a sweep: journals, rows, chunks."""

import json
import math
import os

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.formats.results.checksums import BLANK, with_checksum
from vinesim.formats.study.file import study
from vinesim.metrics.numbers import numbers
from vinesim.model.errors import InputError
from vinesim.model.study import Axis, Study
from vinesim.studies import chunks as chunks_module
from vinesim.studies.chunks import chunk_of, chunks
from vinesim.studies.expand import expand
from vinesim.studies.journal import Journal, read_journals
from vinesim.studies.layout import Layout, column_kinds
from vinesim.studies.parts import run_files, write_chunk
from vinesim.studies.rows import columns_of, number_columns, read_rows, stored_ids, stored_numbers
from vinesim.studies.run import Run
from vinesim.studies.store import Store

NUMBERS = st.dictionaries(
    st.sampled_from(["a", "b.c", "makespan_us", 'odd "name"']), st.floats() | st.sampled_from(["ALL_DONE", "ä'\n"])
)
ROWS = st.dictionaries(st.text("0123456789abcdef", min_size=16, max_size=16), NUMBERS, min_size=1, max_size=5)


PLAIN = Layout({}, "", ())


def alike(one, two):
    """Equal, NaN too."""
    return repr(one) == repr(two)


def runs(n, point=lambda i: {}):
    return [Run(i, point(i), {}, i % 2, i % 2, f"{i:016x}", i // 2) for i in range(n)]


@given(ROWS, st.data())
@settings(max_examples=60, deadline=None)
def test_a_journal_cut_anywhere_gives_whole_lines_or_none(tmp_path_factory, rows, data):
    folder = tmp_path_factory.mktemp("journal")
    with Journal(folder, "x", ()) as journal:
        for run_id, found in rows.items():
            journal.add({run_id: found}, {})
    found = read_journals(folder)
    assert alike(found.numbers, rows)
    assert (found.failed, found.n_damaged) == ({}, {})
    file = folder / "journal" / "x.jsonl"
    size = data.draw(st.integers(0, file.stat().st_size))
    os.truncate(file, size)
    cut = read_journals(folder)
    left = cut.numbers
    assert cut.n_damaged == {}
    assert alike(left, {run_id: rows[run_id] for run_id in list(rows)[: len(left)]})
    n_whole = file.read_bytes().count(b"\n")
    assert len(left) in (n_whole, n_whole + 1)  # a line without its end may still be whole
    with Journal(folder, "x", ()) as journal:  # what comes next is not torn by it
        journal.add({"next": {"a": 1.0}}, {})
    went_on = read_journals(folder)
    assert alike(went_on.numbers, {**left, "next": {"a": 1.0}})
    assert went_on.n_damaged == {}


def test_a_journal_tells_failures_until_the_run_succeeds(tmp_path):
    with Journal(tmp_path, "x", ()) as journal:
        journal.add({}, {"one": "broken", "two": "broken too"})
        journal.add({"one": {"a": 2.0}}, {})
    found = read_journals(tmp_path)
    assert (found.numbers, found.failed) == ({"one": {"a": 2.0}}, {"two": "broken too"})


@pytest.mark.parametrize(
    "line",
    [
        {"run_id": [1], "checksum": BLANK, "record": [], "numbers": {"a": 1.0}},
        {"run_id": {"a": 1}, "checksum": BLANK, "failed": "x"},
        {"run_id": "a", "checksum": BLANK, "record": [], "numbers": 5},
        {"run_id": "a", "checksum": BLANK, "record": [], "numbers": {"b": [1]}},
        {"run_id": "a", "checksum": BLANK, "record": "x", "numbers": {"b": 1.0}},
        {"run_id": "a", "checksum": BLANK, "failed": 3},
        {"run_id": "a", "checksum": BLANK},
        {"checksum": BLANK},
        [BLANK],
        BLANK,
    ],
)
def test_json_of_another_shape_is_no_line_of_a_journal(tmp_path, line):
    good, file = _journal_of_one(tmp_path)
    file.write_bytes(good + with_checksum(json.dumps(line).encode()) + b"\n")
    found = read_journals(tmp_path)
    assert (found.numbers, found.failed, found.n_damaged) == ({"good": {"a": 1.5}}, {}, {file: 1})


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "null", "3", '{"run_id": "a"}', '{"run_id": "a", "numbers": {"b": 2.0}, "record": []}', "\0"],
)
@pytest.mark.parametrize("place", ["before", "after", "at the end"])
def test_lines_without_a_checksum_are_damage(tmp_path, line, place):
    good, file = _journal_of_one(tmp_path)
    bad = line.encode()
    file.write_bytes({"before": bad + b"\n" + good, "after": good + bad + b"\n", "at the end": good + bad}[place])
    found = read_journals(tmp_path)
    is_torn = place == "at the end" and (not line or '{"run_id":"'.startswith(line))
    assert (found.numbers, found.failed) == ({"good": {"a": 1.5}}, {})
    assert found.n_damaged == ({} if is_torn else {file: 1})


def _journal_of_one(folder):
    """The bytes and the file of a journal with one finished run."""
    with Journal(folder, "x", ()) as journal:
        journal.add({"good": {"a": 1.5}}, {})
    file = folder / "journal" / "x.jsonl"
    return file.read_bytes(), file


@given(st.lists(NUMBERS, min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_rows_come_back_as_they_were(tmp_path_factory, found):
    folder = tmp_path_factory.mktemp("rows")
    mine = runs(len(found))
    kinds = {name: {type(row[name]) for row in found if name in row} for name in {n for row in found for n in row}}
    found = [{name: value for name, value in row.items() if len(kinds[name]) == 1} for row in found]
    rows = {run.run_id: row for run, row in zip(mine, found, strict=True)}
    write_chunk(folder, chunk_of(mine), rows, PLAIN, is_done=True)
    stored = stored_numbers(run_files(folder), ())
    expected = {
        key: {n: v for n, v in row.items() if isinstance(v, str) or not math.isnan(v)} for key, row in rows.items()
    }
    assert {key: dict(sorted(row.items())) for key, row in stored.items()} == {
        key: dict(sorted(row.items())) for key, row in expected.items()
    }
    table = read_rows(run_files(folder))
    assert table["run_id"].tolist() == [run.run_id for run in mine]
    assert list(table)[:4] == ["run_id", "point", "replication", "seed"]
    assert number_columns(table, ()) == sorted(number_columns(table, ()))


def test_the_types_of_columns_do_not_depend_on_the_rows(tmp_path):
    labels = ((1, "a", True, None), (2.5, 3, False, "x"))
    axes = tuple(Axis((f"axis{i}",), tuple((row[i],) for row in labels), ({}, {})) for i in range(4))
    kinds = column_kinds(Study(scenario={}, axes=axes))
    mine = runs(4, lambda i: {f"axis{k}": labels[i // 2][k] for k in range(4)})
    rows = {run.run_id: {"makespan_us": 1.0, "nothing": math.nan} for run in mine}
    for i in (0, 2):
        write_chunk(tmp_path, chunk_of(mine[i : i + 2]), rows, Layout(kinds, "", ()), is_done=True)
    types = {
        tuple(row[1] for row in duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall())
        for file in run_files(tmp_path)
    }
    assert types == {("VARCHAR", "INTEGER", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "VARCHAR", "DOUBLE")}
    table = read_rows(run_files(tmp_path))
    assert table["axis0"].tolist() == [1.0, 1.0, 2.5, 2.5]
    assert table["axis1"].tolist() == ["a", "a", "3", "3"]
    assert "nothing" not in table
    assert table["axis2"].tolist() == [True, True, False, False]
    assert table["axis3"].tolist() == [None, None, "x", "x"]


def test_the_same_rows_are_the_same_bytes(tmp_path):
    mine = runs(700)
    random = np.random.default_rng(1)
    rows = {run.run_id: {"b": float(random.random()), "a": float(run.index)} for run in mine}
    turned = {run_id: dict(reversed(row.items())) for run_id, row in reversed(rows.items())}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    write_chunk(tmp_path / "one", chunk_of(mine), rows, PLAIN, is_done=True)
    write_chunk(tmp_path / "two", chunk_of(mine), turned, PLAIN, is_done=True)
    (one,), (two,) = run_files(tmp_path / "one"), run_files(tmp_path / "two")
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    mine = chunk_of(runs(2))
    write_chunk(tmp_path, mine, {run.run_id: {"a": 1.0} for run in mine.runs}, PLAIN, is_done=True)
    (file,) = run_files(tmp_path)
    before = file.read_bytes()
    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(f"vinesim.studies.parts.os.{name}", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
            with pytest.raises(OSError, match="full"):
                write_chunk(tmp_path, mine, {run.run_id: {"a": 2.0} for run in mine.runs}, PLAIN, is_done=True)
        assert file.read_bytes() == before
        assert not list(tmp_path.rglob("*.tmp"))


def test_a_run_that_is_in_two_files_is_read_once(tmp_path):
    mine = runs(4)
    rows = {run.run_id: {"a": float(run.index)} for run in mine}
    write_chunk(tmp_path, chunk_of(mine[:3]), rows, PLAIN, is_done=True)
    write_chunk(tmp_path, chunk_of(mine[2:]), rows, PLAIN, is_done=True)
    assert read_rows(run_files(tmp_path))["a"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert sorted(map(len, stored_ids(run_files(tmp_path)).values())) == [2, 3]


def test_no_files_are_no_rows():
    table = read_rows([])
    assert (list(table), table.n_rows) == (["run_id", "point", "replication", "seed"], 0)


def test_only_files_within_larger_ones_are_removed(tmp_path):
    mine = runs(6)
    rows = {run.run_id: {"a": float(run.index)} for run in mine}
    store = Store(tmp_path, "text", [], {run.run_id for run in mine}, PLAIN)
    parts = [mine[:4], mine[:2], mine[3:], mine[2:4], mine[5:]]
    for part in parts:
        write_chunk(tmp_path, chunk_of(part), rows, PLAIN, is_done=True)
    store.close({run.run_id for run in mine})
    assert {file.stem for file in run_files(tmp_path)} == {chunk_of(mine[:4]).id, chunk_of(mine[3:]).id}


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a folder, found a file"):
        Store(tmp_path / "file", "text", [], set(), PLAIN)
    with pytest.raises(InputError, match="a writable folder"):
        Store(tmp_path / "file" / "below", "text", [], set(), PLAIN)


def test_chunks_are_stretches_of_about_half_a_second(monkeypatch):
    scenario = {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 2}}]},
        "workload": {"generator": "identical", "options": {"n_jobs": 10}},
        "arrivals": {"iat": 7},
    }
    axes = {"workload.options.n_jobs": [1, 100_000, 1_000_000], "arrivals.iat": [5, 6]}
    found = study({"scenario": scenario, "axes": axes, "replications": 1500})
    mine = expand(found)
    cut = chunks(found, mine)
    assert [run for chunk in cut for run in chunk.runs] == mine
    sizes = [len(chunk.runs) for chunk in cut]
    assert sizes[:3] == [999] * 3  # of 0.501 ms each
    assert sizes[4:-3000] == [5] * len(sizes[4:-3000])  # of 0.1 s each
    assert sizes[-2999:] == [1] * 2999
    assert [chunk.id for chunk in cut] == [chunk.id for chunk in chunks(found, mine)]
    assert len({chunk.id for chunk in cut}) == len(cut)
    monkeypatch.setattr(chunks_module, "RUN_S", 0.0)
    assert len(chunks(found, mine)[0].runs) == chunks_module.MAX_RUNS


def test_numbers_are_the_summary_without_levels_and_provenance():
    summary = {
        "jobs": {"count": 3, "latency_us": {"mean": 2.5, "p50": None}, "warm_up": {"rule": "mser5", "dropped": 2}},
        "cost": {"purchase": None},
        "exit_reason": "ALL_DONE",
        "provenance": {"wall_s": 3.0},
    }
    found = numbers(summary)
    assert math.isnan(found.pop("jobs.latency_us.p50"))
    assert math.isnan(found.pop("cost.purchase"))
    assert found == {
        "jobs.count": 3.0,
        "jobs.latency_us.mean": 2.5,
        "jobs.warm_up.dropped": 2.0,
        "exit_reason": "ALL_DONE",
    }
    assert numbers(summary, ["jobs.latency_us.mean"]) == {"jobs.latency_us.mean": 2.5, "exit_reason": "ALL_DONE"}


def test_columns_of_nothing_are_left_out():
    mine = runs(2)
    columns = columns_of(mine, {mine[0].run_id: {"a": math.nan, "b": 1.0}}, {})
    assert columns["run_id"].tolist() == [mine[0].run_id]
    assert list(columns)[4:] == ["b"]
