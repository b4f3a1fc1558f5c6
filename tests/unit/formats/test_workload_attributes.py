"""Columns ``attribute.NAME``: what a policy may know of jobs besides the rest."""

import numpy as np

from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.workloads.select_jobs import select_jobs

TABLE = "job,arrival_s,attribute.account,attribute.note\n0,0,lab,a|b\n0,0,lab,a|b\n1,1,,5\n2,2,bio,\n"


def test_a_table_gives_texts_of_jobs(tmp_path):
    """One for each job, empty for none."""
    path = tmp_path / "jobs.csv"
    path.write_text(TABLE)
    work = read_workload(path)
    assert work.words_of("account") == ["lab", "", "bio"]
    assert work.words_of("note") == ["a|b", "5", ""]
    assert work.words_of("other") == ["", "", ""]


def test_they_are_written_and_go_with_selected_jobs(tmp_path):
    """The same after a file, and those of the jobs that are taken."""
    (tmp_path / "jobs.csv").write_text(TABLE)
    work = read_workload(tmp_path / "jobs.csv")
    write_workload(tmp_path / "jobs.parquet", work)
    again = read_workload(tmp_path / "jobs.parquet")
    assert again.words_of("account") == ["lab", "", "bio"]
    chosen = select_jobs(again, np.array([2, 0]), np.array([0.0, 1.0]))
    assert chosen.words_of("account") == ["bio", "lab"]
    assert chosen.words_of("note") == ["", "a|b"]
