"""Busy intervals, active time and energy on outcomes written by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vinesim as vs
from tests.demands import taken
from tests.policies.kinds.consolidate import Consolidate
from tests.policies.kinds.overcommit import Pile
from vinesim.metrics.segments import segments_of
from vinesim.metrics.utilization import active_time, allocated_time, busy_intervals, time_series
from vinesim.model.result import Outcome


def segments(rows, shares_units=True, end_us=100.0, capacity=(1.0, 1.0, 1.0), followers=()):
    """From (unit, init, finish) or (unit, init, finish, demand) rows; None = never, or no demand."""
    unit, init, finish, *demand = (list(column) for column in zip(*rows, strict=True))
    as_time = lambda values: np.array([np.nan if v is None else v for v in values], float)  # noqa: E731
    outcome = Outcome(
        task_unit=np.array(unit, np.int32),
        task_init_us=as_time(init),
        task_start_us=as_time(init),
        task_finish_us=as_time(finish),
        unit_order=np.arange(max(unit) + 1),
        shares_units=shares_units,
        exit_reason=vs.ExitReason.HORIZON,
        reason="",
        end_us=end_us,
        n_events=0,
        followers=np.array(followers, np.int64),
    )
    return segments_of(outcome, as_time(demand[0]) if demand else np.nan, np.array(capacity))


def intervals(case):
    return [tuple(float(x) for x in row) for row in zip(*busy_intervals(case), strict=True)]


def test_intervals_that_overlap_or_touch_are_one():
    case = segments([(0, 0, 10), (0, 5, 8), (0, 10, 12), (0, 20, 30), (1, 25, 40), (0, 29, 31), (1, 5, 6)])
    assert intervals(case) == [(0, 0, 12), (0, 20, 31), (1, 5, 6), (1, 25, 40)]
    assert active_time(case).tolist() == [23, 16, 0]


def test_a_task_that_did_not_finish_is_active_to_the_end_and_one_that_did_not_start_is_not():
    assert intervals(segments([(0, 10, None), (-1, None, None), (1, 0, 5)])) == [(0, 10, 100), (1, 0, 5)]


def test_nothing_started_is_nothing_active():
    for is_shared in (False, True):
        case = segments([(-1, None, None), (-1, None, None)], is_shared, capacity=(1.0, 4.0))
        for time in (active_time(case), allocated_time(case)):
            assert (time.tolist(), time.dtype) == ([0.0, 0.0], np.float64)


def test_allocated_is_share_times_time_and_may_be_more_than_all():
    """Capacity 4 with 2 from 0 to 10 and 3 from 5 to 20; one slot of 4 and of 0.5; a leader holds it for all."""
    rows = [(0, 0, 10, 2), (0, 5, 20, 3), (1, 0, 40, None), (2, 0, 8, None), (1, 50, 60, np.inf), (1, 50, 60, np.inf)]
    case = segments([*rows, (0, 90, None, 0)], capacity=(4.0, 4.0, 0.5), followers=[5])
    assert allocated_time(case).tolist() == [(10 * 2 + 15 * 3) / 4, 40 / 4 + 10, 8]
    assert active_time(case).tolist() == [30, 50, 8]
    over = segments([(0, 0, 10, 1), (0, 5, 20, 1)])
    assert (allocated_time(over)[0], active_time(over)[0]) == (25, 20)
    whole = segments([(0, 0.1, 0.7), (0, 0.7, 1.9), (0, 0.7, 1.9)], followers=[2])
    assert allocated_time(whole)[0] == active_time(whole)[0]  # to the bit


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(0, 40),
            st.integers(0, 12),
            st.sampled_from([1.0, 0.0, 0.3, 2.5, math.inf, math.nan]),
        ),
        min_size=1,
        max_size=12,
    ),
    interval_us=st.sampled_from([1.0, 3.0, 7.5, 60.0, 1000.0]),
)
def test_busy_time_is_the_union_of_the_tasks_times(rows, interval_us):
    capacity = (1.0, 2.0, 0.5)
    case = segments([(unit, begin, begin + length, d) for unit, begin, length, d in rows], True, 60.0, capacity)
    covered, held = np.zeros((3, 60), bool), np.zeros((3, 60))  # microsecond by microsecond
    for unit, begin, length, demand in rows:
        covered[unit, begin : begin + length] = True
        held[unit, begin : begin + length] += taken(demand, capacity[unit]) / capacity[unit]
    assert active_time(case).tolist() == covered.sum(axis=1).tolist()
    assert allocated_time(case) == pytest.approx(held.sum(axis=1), abs=1e-12)
    series = time_series(case, np.array([0, 0, 1]), ["A", "B"], interval_us, 60.0, np.ones(3, bool))
    fine, full = covered.repeat(2, axis=1), held.repeat(2, axis=1)  # half microseconds, for the intervals of 7.5
    edges = np.unique(np.minimum(np.arange(0, 60 + interval_us, interval_us), 60.0))
    for group, units in (("all", [0, 1, 2]), ("A", [0, 1]), ("B", [2])):
        chosen = series["group"] == group
        for name, of, weights in (("active", fine, None), ("utilization", full, np.array(capacity)[units])):
            every = np.average(of[units], axis=0, weights=weights)
            shares = [every[int(2 * low) : int(2 * high)].mean() for low, high in itertools.pairwise(edges)]
            assert series[name][chosen] == pytest.approx(shares, abs=1e-12), name
        assert series["t_start_us"][chosen].tolist() == edges[:-1].tolist()
        assert series["t_end_us"][chosen].tolist() == edges[1:].tolist()


def test_too_many_samples_are_refused():
    case = segments([(0, 0, 1)])
    with pytest.raises(vs.InputError, match="Sample less often"):
        time_series(case, np.zeros(1, int), ["A"], 1e-9, 100.0, np.ones(1, bool))


def test_as_many_samples_as_are_allowed_are_given(monkeypatch):
    monkeypatch.setattr("vinesim.metrics.utilization.MAX_SAMPLES", 4)
    case = segments([(0, 0, 1)])
    assert (
        len(time_series(case, np.zeros(3, int), ["A"], 1.0, 4.0, np.ones(3, bool))["active"]) == 2 * 4
    )  # of all units, and of A
    with pytest.raises(vs.InputError, match="at most 4 samples"):
        time_series(case, np.zeros(3, int), ["A"], 0.9, 4.0, np.ones(3, bool))


def energy(units, jobs, **more):
    """One task type; a GPU draws 100 W at work and 20 W idle, a CPU 50 W and none; an operation takes 1 us."""
    types = (
        vs.ProcessorType(
            "GPU", idle_power_w=20.0, capacity=more.pop("capacity", 1.0), parallelism=more.pop("shared", None)
        ),
        vs.ProcessorType("CPU"),
    )
    n = len(jobs)
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        [arrival for arrival, _ in jobs],
        [operations for _, operations in jobs],
        data_bytes=more.pop("data_bytes", np.zeros(n)),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        demand=more.pop("demand", None),
        task_types=(vs.TaskType("T"),),
    )
    case = vs.Scenario(
        vs.Datacenter.of(units, types),
        work,
        affinity=np.ones((2, 1)),
        power_w=more.pop("power_w", [[100.0], [50.0]]),
        **more,
    )
    return vs.simulate(case, engine="reference")


def test_energy_is_power_times_time():
    """GPU: 10 us at 100 W, 20 us idle at 20 W; CPU: 30 us at 50 W."""
    result = energy([("GPU", 0, 0), ("CPU", 0, 1)], [(0.0, 10), (0.0, 30)])
    assert result.units["energy_j"] == pytest.approx([(10 * 100 + 20 * 20) * 1e-6, 30 * 50e-6])
    assert result.summary["energy_j"] == pytest.approx(result.units["energy_j"].sum())


def test_a_transfer_draws_idle_power():
    """100 bytes at 10 bytes per us: 10 us of idle power, then 5 us of work."""
    network = vs.Network(local=10.0, intra_rack=5.0, inter_rack=1.0)
    result = energy([("GPU", 0, 0)], [(0.0, 5)], data_bytes=[100.0], network=network)
    assert result.units["energy_j"] == pytest.approx([(10 * 20 + 5 * 100) * 1e-6])
    assert result.units["active_us"] == pytest.approx([15.0])


def test_a_unit_that_runs_several_tasks_idles_only_while_it_runs_none():
    """Two tasks of half a unit side by side from 0 to 10, a third from 30 to 40: half its power, and 20 us idle."""
    result = energy([("GPU", 0, 0)], [(0.0, 10), (0.0, 10), (30.0, 10)], capacity=2.0, demand=[1.0, 1.0, 1.0])
    assert result.units["energy_j"] == pytest.approx([(10 * 100 + 10 * 50 + 20 * 20) * 1e-6])


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_consolidated_tasks_draw_the_power_of_one_and_the_unit_idles_while_it_runs_none(share):
    """A task of the whole unit until 5, two of 10 us as one until 25, one of 5 us from 35 on; these hold a share."""
    jobs = [(0.0, 5), (1.0, 10), (1.0, 10), (35.0, 5)]
    more = {} if share == 1.0 else {"capacity": 2.0, "demand": np.array([2.0, 1.0, 1.0, 1.0])}
    result = energy([("GPU", 0, 0)], jobs, policy=Consolidate(most=2), **more)
    assert result.tasks["finish_us"].tolist() == [5.0, 25.0, 25.0, 40.0]
    assert result.tasks["amount"].tolist() == ([1.0, 1.0, 0.0, 1.0] if share == 1.0 else [2.0, 1.0, 0.0, 1.0])
    allocated_us = 5 + 25 * share
    parts = result.summary["energy"]["by_state"]
    assert (parts["active"], parts["idle"]) == (pytest.approx(allocated_us * 100e-6), pytest.approx(10 * 20e-6))
    assert result.units["active_us"] == pytest.approx([30.0])
    assert result.summary["utilization"]["overall"] == pytest.approx(allocated_us / 40)


def test_a_unit_that_is_never_idle_has_no_idle_energy_whatever_the_rounding():
    """Shortest first: in the order of the trace, times of 0.1, 1.1 and 0.3 us add up to more than their last end."""
    jobs = [(0.0, 0.1), (0.0, 1.1), (0.0, 0.3)]
    result = energy([("GPU", 0, 0)], jobs, policy="rb_sjf")
    assert np.argsort(result.tasks["init_us"]).tolist() == [0, 2, 1]
    assert (result.tasks["finish_us"] - result.tasks["init_us"]).sum() > result.summary["makespan_us"]
    assert result.units["idle_j"].tolist() == [0.0]


def test_without_a_power_table_there_is_no_energy():
    result = energy([("GPU", 0, 0)], [(0.0, 10)], power_w=None)
    assert np.isnan(result.units["energy_j"]).all()
    assert result.summary["energy_j"] is None


def test_a_task_cut_off_by_the_horizon_draws_power_until_then():
    result = energy([("GPU", 0, 0)], [(0.0, 10)], horizon_us=4.0)
    assert result.units["energy_j"] == pytest.approx([4 * 100e-6])


def test_units_that_are_over_committed_by_whole_tasks_count_their_time_once():
    types = (vs.ProcessorType("GPU", idle_power_w=20.0),)
    work = vs.Workload(np.zeros(3), np.arange(4), np.zeros(3), [10.0, 10.0, 30.0], *np.zeros((3, 3)), [-1] * 3)
    case = vs.Scenario(vs.Datacenter.of([("GPU", 0, 0)], types), work, Pile, affinity=np.ones((1, 7)), sampling_us=15.0)
    result = vs.simulate(case, engine="reference")
    assert result.summary["utilization"]["active"]["overall"] == 1.0
    assert result.summary["utilization"]["overall"] == pytest.approx(50 / 30)
    assert result.utilization["active"].tolist() == [1.0] * 4
    assert result.utilization["utilization"][:2] == pytest.approx([35 / 15, 1.0])
