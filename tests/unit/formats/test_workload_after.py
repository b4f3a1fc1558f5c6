"""The column after of a workload's table."""

import pytest

import vinesim as vs
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload


def read(folder, text):
    (folder / "jobs.csv").write_text(text)
    return read_workload(folder / "jobs.csv")


def waits(work):
    first = work.after_first.tolist()
    return [work.after[first[j] : first[j + 1]].tolist() for j in range(work.n_jobs)]


def test_jobs_are_named_by_job_id_before_or_after_their_rows(tmp_path):
    work = read(tmp_path, "job_id,arrival_us,after\n10,0,\n11,1,10;12\n12,2,\n-13,3,11  10\n")
    assert waits(work) == [[], [0, 2], [], [1, 0]]


def test_or_by_job_where_the_table_has_that(tmp_path):
    work = read(tmp_path, "job,job_id,arrival_us,after\n0,7,0,1\n0,7,0,1\n1,7,1,\n")
    assert waits(work) == [[1], []]


def test_or_by_row_where_it_has_neither(tmp_path):
    """The rows are sorted by arrival."""
    assert waits(read(tmp_path, "arrival_us,after\n5,\n1,0\n")) == [[1], []]


def test_a_table_keeps_them(tmp_path):
    work = read(tmp_path, "job_id,arrival_us,after\n7,0,\n7,1,\n8,2,\n9,3,8\n")
    write_workload(tmp_path / "jobs.parquet", work)
    assert waits(read_workload(tmp_path / "jobs.parquet")) == waits(work) == [[], [], [], [2]]


def test_an_empty_column_is_none(tmp_path):
    assert read(tmp_path, "arrival_us,after\n0,\n1,\n").after is None


def test_every_wrong_cell_is_reported(tmp_path):
    with pytest.raises(vs.InputError) as raised:
        read(tmp_path, "job_id,arrival_us,after\n7,0,x\n7,1,99\n8,2,8\n9,3,7 8\n")
    found = [(problem.where.rpartition(":")[2], problem.found) for problem in raised.value.problems]
    assert found == [("2", "'x'"), ("3", "'99'"), ("4", "'8'"), ("5", "'7'")]


def test_a_cycle_is_named_by_the_numbers_of_the_table(tmp_path):
    with pytest.raises(vs.InputError, match="job 10 after job 12 after job 10"):
        read(tmp_path, "job_id,arrival_us,after\n10,0,12\n11,1,\n12,2,10\n")


def test_one_value_per_job(tmp_path):
    with pytest.raises(vs.InputError, match="one value per job"):
        read(tmp_path, "job,arrival_us,after\n0,0,1\n0,0,\n1,1,\n")
