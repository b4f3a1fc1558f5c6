"""The checks of an imported workload, each against numbers by hand."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.metrics.sanity import of_arrivals, sanity_of

TYPES = (vs.ProcessorType("SLOW"), vs.ProcessorType("FAST"))
CENTER = vs.Datacenter(np.array([0, 0, 1]), np.zeros(3), np.arange(3), TYPES)


def workload(arrival_s, time_s, **columns):
    """Jobs of one task each; the times are those of both types, or [N, 2]."""
    n = len(arrival_s)
    times = np.asarray(time_s, np.float64)
    times = np.stack([times, times], axis=1) if times.ndim == 1 else times
    zeros = np.zeros(n)
    return vs.Workload(
        zeros, np.arange(n + 1), np.asarray(arrival_s) * 1e6, zeros + 1, zeros, zeros, zeros, zeros - 1,
        times_us=times * 1e6, task_types=(vs.TaskType("T"),), **columns,
    )  # fmt: skip


def found(work, center=CENTER):
    return {one.what: one for one in sanity_of(work, center, np.ones((2, 1)))}


def test_span_gaps_and_the_same_instant():
    checks = {one.what: one for one in of_arrivals(np.array([0.0, 10, 10, 40, 41]) * 1e6)}
    assert checks["span"].numbers == {"span_us": 41e6}
    assert checks["longest gaps"].numbers == {"longest_us": [30e6, 10e6, 1e6], "from_us": [10e6, 0.0, 40e6]}
    assert checks["longest gaps"].is_odd
    assert checks["same instant"].numbers == {"together": 1}
    assert not checks["same instant"].is_odd
    even = {one.what: one for one in of_arrivals(np.arange(100) * 1e6)}
    assert not even["longest gaps"].is_odd
    assert {one.what: one for one in of_arrivals(np.repeat(np.arange(4.0), 2))}["same instant"].is_odd
    assert {one.what: one for one in of_arrivals(np.zeros(3))}["span"].is_odd


def test_the_load_of_each_type_is_its_work_by_its_capacity():
    # 2 slow units take 4 s a task, the fast one 1 s: rates 2/4 and 1/1, so a third of the tasks are on the slow ones
    checks = found(workload(np.arange(0, 11, 1.0), np.tile([4.0, 1.0], (11, 1))))
    slow, fast = checks["load, SLOW"].numbers, checks["load, FAST"].numbers
    assert slow["load"] == pytest.approx(11 / 3 * 4 / (2 * 10))
    assert fast["load"] == pytest.approx(11 * 2 / 3 * 1 / 10)
    assert fast["busiest_tenth"] == pytest.approx(2 * 2 / 3 * 1 / 1)  # the last tenth has two arrivals
    assert not checks["load, SLOW"].is_odd
    assert found(workload([0, 1, 2], [9.0] * 3))["load, FAST"].is_odd


def test_jobs_that_are_withdrawn_bring_no_load():
    """Unless all are: then each may run until then."""
    gone, stay = [np.inf, 1e9, np.inf], [[1.0, 1.0], [900.0, 900.0], [1.0, 1.0]]
    checks, alone = found(workload([0, 1, 10], stay, withdraw_us=gone)), found(workload([0, 10], [stay[0], stay[2]]))
    for name in ("load, SLOW", "load, FAST"):
        assert checks[name].numbers["load"] == pytest.approx(alone[name].numbers["load"])
    assert found(workload([0, 1, 10], stay, withdraw_us=[1e9] * 3))["load, FAST"].numbers["load"] > 1


def test_jobs_that_no_node_can_hold():
    work = workload([0, 1, 2], [1.0] * 3, demand=np.array([1.0, 2.0, 0.5]))
    assert found(work)["never run"].numbers == {"never": 1, "jobs": [1]}
    assert found(work)["never run"].is_odd
    assert not found(workload([0, 1], [1, 1]))["never run"].is_odd


def test_duplicates_and_numbers_that_come_again():
    checks = found(workload([0, 1, 1, 1], [5, 5, 5, 6.0], job_id=np.array([7, 8, 7, 9])))
    assert checks["duplicates"].numbers == {"equal": 1, "jobs": [2]}
    assert checks["job numbers"].numbers == {"again": 1}
    other = found(workload([0, 1, 1], [5, 5, 5.0], user=np.array([0, 0, 1]), user_names=("a", "b")))
    assert other["duplicates"].numbers == {"equal": 0, "jobs": []}
    assert not other["duplicates"].is_odd


def test_tasks_of_an_array_may_have_its_number_and_be_equal():
    array = {"attributes": {"array": np.array([0, 0, 0, -1, -1])}, "attribute_words": {"array": ("7",)}}
    same = {"arrival_s": [0, 1, 1, 1, 1], "time_s": [5.0] * 5, "job_id": np.array([7, 7, 7, 7, 7])}
    checks, plain = found(workload(**same, **array)), found(workload(**same))
    assert (checks["job numbers"].numbers, plain["job numbers"].numbers) == ({"again": 1}, {"again": 4})
    assert checks["duplicates"].numbers == {"equal": 1, "jobs": [4]}
    assert plain["duplicates"].numbers == {"equal": 3, "jobs": [2, 3, 4]}


def test_durations_that_were_cut_off_and_limits():
    cut = found(workload(np.arange(20), [1.0] * 14 + [100.0] * 6))
    assert cut["clipped"].is_odd
    assert cut["clipped"].numbers == {"longest": 6}
    assert cut["durations"].numbers == {"min_us": 1e6, "p50_us": 1e6, "p99_us": 100e6, "max_us": 100e6}
    whole = found(workload(np.arange(20), np.arange(1.0, 21), limit_us=np.full(20, 18e6)))
    assert not whole["clipped"].is_odd
    assert whole["beyond limit"].numbers == {"over": 2}
    assert whole["beyond limit"].is_odd
    left = found(workload(np.arange(3), [5.0, 9.0, 1e6], limit_us=np.full(3, 8e6), withdraw_us=[np.inf, np.inf, 4e6]))
    assert left["durations"].numbers == {"min_us": 5e6, "p50_us": 5e6, "p99_us": 9e6, "max_us": 9e6}
    assert left["beyond limit"].numbers == {"over": 1}
