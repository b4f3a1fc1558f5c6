"""The jobs that jobs wait for, as columns."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.dependencies import chosen, cycles, successors


def columns(waits):
    return np.r_[0, np.cumsum([len(some) for some in waits])], np.array([j for some in waits for j in some], np.int64)


def work_of(waits, **reported):
    n = len(waits)
    first, after = columns(waits)
    return vs.Workload([0] * n, range(n + 1), [0.0] * n, [1.0] * n, *np.zeros((3, n)), [-1] * n,
                       task_types=(vs.TaskType("T"),), after_first=first, after=after, **reported)  # fmt: skip


def test_cycles_are_found_and_have_no_job_in_common():
    assert cycles(*columns([[1], [2], [0], [0], [5], [4]])) == [[0, 1, 2], [4, 5]]
    assert cycles(*columns([[1, 2], [2], [], [0]])) == []


def test_a_job_behind_a_cycle_is_of_none():
    assert cycles(*columns([[1], [2], [1]])) == [[1, 2]]


def test_successors_are_in_order():
    first, after = successors(*columns([[2], [2], [], [1, 2]]))
    assert (first.tolist(), after.tolist()) == ([0, 0, 1, 4, 4], [3, 0, 1, 3])


def test_all_that_is_wrong_is_said():
    with pytest.raises(vs.InputError) as raised:
        work_of([[0], [7], [-1]])
    assert [problem.where for problem in raised.value.problems] == [f"workload.after.job {j}" for j in range(3)]
    with pytest.raises(vs.InputError, match="job 0 after job 1 after job 0"):
        work_of([[1], [0]])


def test_a_workload_without_any_has_no_columns():
    assert work_of([[], []]).after is None


def test_a_job_that_runs_from_the_beginning_waits_for_none():
    with pytest.raises(vs.InputError, match="wait for no others"):
        work_of([[], [0]], placed=[-1, 0])


def test_chosen_jobs_wait_for_those_of_their_own_part():
    first, after = columns([[], [0], [0, 1]])
    jobs, part = np.array([0, 1, 2, 2, 0, 1]), np.array([0, 0, 0, 1, 1, 2])
    found = chosen(first, after, jobs, part)
    assert (found[0].tolist(), found[1].tolist()) == ([0, 0, 1, 3, 4, 4, 4], [0, 0, 1, 4])
