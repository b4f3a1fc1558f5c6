"""The trace file: what it means, and what is refused, with the place."""

import numpy as np
import pytest

from vinesim.formats.papers.trace import read_trace, write_trace
from vinesim.model.affinity import table_1
from vinesim.model.catalog import ProcessorType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError
from vinesim.model.workload import NO_PREFERENCE, Workload
from vinesim.workloads.registry import generator


def problems_of(tmp_path, text, **options):
    path = tmp_path / "t.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_trace(path, **({"arrivals": 1.0} | options))
    return [(p.where.removeprefix(f"{path}:"), p.found) for p in caught.value.problems]


def assert_equal(a: Workload, b: Workload, names):
    for name in names:
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_lines_become_jobs_and_tasks(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("# head\n2 8192 0 1 30000000 2 7\n2 0 1 0 1.5 5 7\n0 1 0 0 1 0 3\n")
    work = read_trace(path, arrivals=2.5)
    assert work.job_task_type.tolist() == [2, 0]
    assert work.job_first.tolist() == [0, 2, 3]
    assert work.arrival_us.tolist() == [0.0, 2.5]
    assert work.operations.tolist() == [30e6, 1.5, 1]
    assert work.data_bytes.tolist() == [8192, 0, 1]
    assert (work.data_rack.tolist(), work.data_shelf.tolist()) == ([0, 1, 0], [1, 0, 0])
    assert work.preferred_type.tolist() == [2, NO_PREFERENCE, 0]
    assert work.job_id.tolist() == [7, 3]


def test_arrivals_as_times(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("0 0 0 0 1 5 0\n0 0 0 0 1 5 1\n")
    assert read_trace(path, arrivals=np.array([3.0, 9.0])).arrival_us.tolist() == [3, 9]
    with pytest.raises(InputError, match="2 times"):
        read_trace(path, arrivals=np.array([3.0]))
    for iat in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="iat"):
            read_trace(path, arrivals=iat)


def test_types_and_jobs_are_checked_with_places(tmp_path):
    text = "9 0 0 0 1 5 0\n0 0 0 0 1 6 1\n0 0 0 0 1 5 2\n1 0 0 0 1 5 2\n0 0 0 0 1 5 1\n"
    assert problems_of(tmp_path, text) == [("1:1", "9"), ("2:11", "6"), ("4:1", "1"), ("5:13", "1")]


def test_all_returns_of_a_job_are_reported(tmp_path):
    text = "".join(f"0 0 0 0 1 5 {job}\n" for job in (0, 1, 0, 1, 0))
    assert [where for where, _ in problems_of(tmp_path, text)] == ["3:13", "4:13", "5:13"]


def test_data_must_lie_in_the_deployment_and_tasks_must_be_runnable(tmp_path):
    center = Datacenter.of([("GPU", 0, 0), ("FPGA", 1, 2)])
    text = "2 0 1 2 1 5 0\n2 0 2 3 1 5 1\n6 0 0 0 1 5 2\n6 0 0 0 1 5 3\n"
    found = problems_of(tmp_path, text, datacenter=center, affinity=table_1())
    assert found == [("2:5", "2"), ("2:7", "3"), ("3:1", "6")]


def test_a_trace_with_many_problems_counts_them(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("".join(f"9 0 0 0 1 5 {job}\n" for job in range(50)))
    with pytest.raises(InputError) as caught:
        read_trace(path, arrivals=1.0)
    assert (len(caught.value.problems), caught.value.n_problems) == (20, 50)


def test_round_trip(tmp_path):
    path = tmp_path / "t.txt"
    work = generator("sized").generate({"n_tasks": 25_000, "operations": 1234.5, "data_bytes": 8192.0}, seed=3)
    write_trace(path, work)
    back = read_trace(path, arrivals=7.0)
    names = ("job_task_type", "job_first", "arrival_us", "operations", "data_bytes", "data_rack", "preferred_type")
    assert_equal(work, back, names)


def test_no_preference_needs_a_code(tmp_path):
    work = generator("identical").generate({"n_jobs": 2})
    with pytest.raises(InputError, match="UNSPECIFIED"):
        write_trace(tmp_path / "t.txt", work, (ProcessorType("CPU"),))
    assert not list(tmp_path.iterdir())
