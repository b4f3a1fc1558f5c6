"""Waits, starts and slowdowns of tasks that lose their units and go on later."""

import json
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.unit.engine.test_early_ends import case
from tests.unit.metrics.test_waiting import recorded
from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.metrics.causes import causes_of
from vinesim.metrics.queue import mean_queues, queues_of
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.tables import Tables
from vinesim.metrics.times import TIMES
from vinesim.metrics.waiting import slowest_jobs, waiting_of
from vinesim.metrics.waiting_words import headline
from vinesim.model.workload import ANYWHERE, NO_GANG
from vinesim.report import waiting as of_report
from vinesim.report.timeline import write_timeline


def preempted_at(at_s, lasts_s=100.0, **more):
    """A task of 1000 s that leaves at some time for an urgent one."""
    scenario = case([0.0, at_s * 1e6], [1000e6, lasts_s * 1e6], "priority", priority=[0.0, 1.0])
    return vs.simulate(replace(scenario, **more), engine="reference")


@pytest.mark.parametrize("at_s", [1.0, 500.0, 999.0])
def test_a_job_was_running_before_it_was_preempted(at_s):
    done = preempted_at(at_s)
    assert done.jobs["start_us"].tolist() == [0.0, at_s * 1e6]
    assert done.tasks["generation_us"].tolist() == [0.0, at_s * 1e6]
    assert done.summary["jobs"]["wait_us"]["max"] == pytest.approx(100e6)
    assert done.summary["jobs"]["time_to_start_us"]["max"] == 0.0
    assert done.summary["tasks"]["wait_us"]["max"] == pytest.approx(100e6)
    assert done.summary["jobs"]["bounded_slowdown"]["max"] == pytest.approx(1.1)


def test_time_that_an_outage_made_worthless_is_time_on_a_unit():
    done = vs.simulate(case([0.0], [1000e6], "high", outages=[vs.Outage(0, 0, 400e6, 500e6)]), engine="reference")
    assert done.summary["tasks"]["wait_us"]["max"] == pytest.approx(100e6)
    assert done.summary["jobs"]["bounded_slowdown"]["max"] == pytest.approx(1500 / 1400)


def test_a_task_that_goes_on_at_once_elsewhere_waits_for_nothing_at_all(tmp_path):
    """Its node goes down at 0.2 and the next one at 0.9: summed otherwise, the times differ from 0 by a rounding."""
    outages = [vs.Outage(0, 0, 0.2, 100.0), vs.Outage(0, 1, 0.9, 100.0)]
    work = vs.Workload([0], [0, 1], [0.1], [5.0], *np.zeros((3, 1)), [-1], task_types=(vs.TaskType("T"),))
    center = vs.Datacenter(np.zeros(3), np.zeros(3), np.arange(3), (vs.ProcessorType("P"),))
    done = recorded(tmp_path / "run", vs.Scenario(center, work, "high", affinity=[[1.0]], outages=outages))
    assert done.tasks["init_us"].tolist() == [0.9]
    assert done.summary["tasks"]["wait_us"]["max"] == 0.0
    with open_result(tmp_path / "run") as result:
        assert TIMES["tasks.wait_us"].values(StoredColumns(result)).tolist() == [0.0]


def test_a_gang_is_away_while_none_of_its_tasks_runs():
    """Two units: at 4 s an urgent task takes one, both tasks leave, and go on at 24 s."""
    work = vs.Workload(
        [0, 0], [0, 2, 3], [0.0, 4e6], [40e6, 30e6, 20e6], *np.zeros((3, 3)), np.full(3, -1),
        gang_within=[ANYWHERE, NO_GANG], priority=[0.0, 1.0], task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter(np.zeros(2), np.zeros(2), np.arange(2), (vs.ProcessorType("P"),))
    done = vs.simulate(vs.Scenario(center, work, "priority", affinity=[[1.0]]), engine="reference")
    assert done.summary["jobs"]["bounded_slowdown"]["max"] == pytest.approx(60 / 40)


def test_a_stored_result_has_the_same_waits(tmp_path):
    done = preempted_at(500.0)
    write_result(tmp_path / "out", done)
    with open_result(tmp_path / "out") as result:
        found = TIMES["tasks.wait_us"].values(StoredColumns(result))
    scenario = case([0.0, 500e6], [1000e6, 100e6], "priority", priority=[0.0, 1.0])
    waits = Tables(scenario, done.outcome).task_wait_us
    assert found.tolist() == waits.tolist() == pytest.approx([100e6, 0.0])


def test_a_job_that_was_withdrawn_waits_until_then(tmp_path):
    """A unit, busy until 100: the second job is withdrawn at 30."""
    scenario = case([0.0, 10.0, 20.0], [100.0, 10.0, 10.0], "high", withdraw_us=[np.inf, 30.0, np.inf])
    done = recorded(tmp_path / "run", scenario)
    assert np.array_equal(done.jobs["withdraw_us"], [np.nan, 30.0, np.nan], equal_nan=True)
    found = waiting_of(tmp_path / "run", 1)
    assert (found.waited_us, found.start_us, found.is_withdrawn) == (20.0, None, True)
    assert "never started: arrived at 10.0 us; it was withdrawn." in headline(found)[0]
    assert not waiting_of(tmp_path / "run", 2).is_withdrawn
    assert slowest_jobs(tmp_path / "run", 3) == [0, 2, 1]
    with open_result(tmp_path / "run") as result:
        (queue,) = queues_of(result, [None])
        causes = causes_of(result, read_record(result), np.array([0.0, 110.0]))
    assert (queue.time_us.tolist(), queue.length.tolist()) == ([0, 10, 20, 30, 100], [0, 1, 2, 1, 0])
    assert causes.waited_us == queue.waited_us == 20.0 + 80.0
    (mean,) = mean_queues(Tables(scenario, done.outcome), [None], 11)
    assert mean.tolist() == pytest.approx([0, 1, 2, 1, 1, 1, 1, 1, 1, 1, 0])


def test_a_job_is_slow_until_its_limit_or_its_withdrawal_ends_it(tmp_path):
    """Three jobs one after the other: one ends at 100, one is killed at 140, one is withdrawn as it runs, at 190; one
    waits until the run ends."""
    more = {"limit_us": [np.inf, 40.0, np.inf, np.inf], "withdraw_us": [np.inf, np.inf, 190.0, np.inf]}
    scenario = case([0.0, 10.0, 20.0, 150.0], [100.0, 500.0, 500.0, 10.0], "fcfs", **more)
    recorded(tmp_path / "run", replace(scenario, horizon_us=195.0))
    assert slowest_jobs(tmp_path / "run", 4) == [2, 1, 0, 3]
    ends = [headline(waiting_of(tmp_path / "run", job))[-1] for job in range(4)]
    assert ends[1] == "Its limit ended it at 140 us, before it was done."
    assert ends[2] == "It was withdrawn at 190 us, before it was done."
    assert not any("before it was done" in ends[job] for job in (0, 3))
    more["withdraw_us"][1] = 200.0  # the kill came first
    recorded(tmp_path / "again", case([0.0, 10.0, 20.0, 150.0], [100.0, 500.0, 500.0, 10.0], "fcfs", **more))
    assert slowest_jobs(tmp_path / "again", 4) == [2, 1, 0, 3]


def test_a_preempted_job_that_was_withdrawn_waits_no_more(tmp_path):
    scenario = case([0.0, 10.0], [100.0, 50.0], "priority", priority=[0.0, 1.0], withdraw_us=[30.0, np.inf])
    done = recorded(tmp_path / "run", scenario)
    with open_result(tmp_path / "run") as result:
        (queue,) = queues_of(result, [None])
    assert (queue.time_us.tolist(), queue.length.tolist()) == ([0, 10, 30], [0, 1, 0])
    (mean,) = mean_queues(Tables(scenario, done.outcome), [None], 6)
    assert mean.tolist() == pytest.approx([0, 1, 1, 0, 0, 0])


def test_a_task_that_loses_its_unit_as_it_starts_goes_on_from_its_last_start(tmp_path):
    """It arrives as its node goes down, goes on at once on the other node, and is withdrawn there."""
    outages = [vs.Outage(0, 0, 10.0, 50.0)]
    scenario = case([10.0, 10.0], [100.0, 80.0], "high", units=3, outages=outages, withdraw_us=[30.0, np.inf])
    done = recorded(tmp_path / "run", scenario)
    assert done.segments["end_us"].tolist() == [10, 30, 90]
    with open_result(tmp_path / "run") as result:
        (queue,) = queues_of(result, [None])
    assert queue.length.tolist() == [0]
    found = waiting_of(tmp_path / "run", 0)
    assert (found.unit, found.moves, found.cut_off.end_us) == (2, 0, 30.0)
    assert [(run.unit, run.begin_us, run.outcome) for run in found.lost_runs] == [(0, 10.0, "interrupted")]


def test_the_earlier_run_of_a_task_that_is_pending_at_the_end_is_no_waiting(tmp_path):
    """The first task runs until 10, when an urgent one preempts it; the run ends at 40."""
    scenario = case([0.0, 10.0], [100.0, 50.0], "priority", priority=[0.0, 1.0])
    recorded(tmp_path / "run", replace(scenario, horizon_us=40.0))
    with open_result(tmp_path / "run") as result:
        causes = causes_of(result, read_record(result), np.array([0.0, 10.0, 40.0]))
    found = waiting_of(tmp_path / "run", 0)
    assert causes.waited_us == found.waited_us == 30.0
    assert headline(found)[0] == "Job 0 waited 30.0 us and did not start again: arrived at 0 us; the run ended."
    assert causes.share == {"overtaken": pytest.approx(1.0)}
    assert sum(causes.over_time.values()).tolist() == pytest.approx([0.0, 1.0])


def test_the_timeline_tells_what_a_task_waited_before_each_stay(tmp_path):
    """A task is on the unit from 0 to 10, from 15 to 30 and from 40; from 60 on it is pending until the run ends."""
    urgent = {"priority": [0.0, 1.0, 1.0, 1.0]}
    scenario = case([0.0, 10.0, 30.0, 60.0], [1000.0, 5.0, 10.0, 50.0], "priority", **urgent)
    recorded(tmp_path / "run", replace(scenario, horizon_us=100.0))
    write_timeline(tmp_path / "run", tmp_path / "timeline.json")
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    found = [(e["ts"], e["args"]["wait_us"]) for e in events if e.get("cat") == "task" and e["args"]["task"] == 0]
    assert found == [(0.0, 0.0), (15.0, 5.0), (40.0, 15.0)]


def test_the_slowest_jobs_of_the_report_did_not_wait_while_they_ran(tmp_path):
    """A task leaves for an urgent one from 10 to 15, and ends at 105: what that time was, wait, data and run."""
    recorded(tmp_path / "run", case([0.0, 10.0], [100.0, 5.0], "priority", priority=[0.0, 1.0]))
    with open_result(tmp_path / "run") as result:
        assert of_report.times_of(result, [0]) == [(0, 0.0, 105.0, 5.0, 0.0, 100.0)]
