"""Waits, starts and slowdowns of tasks that lose their units and go on later."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.unit.engine.test_early_ends import case
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.metrics.tables import Tables
from vinesim.metrics.times import TIMES, times_of
from vinesim.model.workload import ANYWHERE, NO_GANG


def preempted_at(at_s, lasts_s=100.0, **more):
    """A task of 1000 s that leaves at some time for an urgent one."""
    scenario = case([0.0, at_s * 1e6], [1000e6, lasts_s * 1e6], "priority", priority=[0.0, 1.0])
    return vs.simulate(replace(scenario, **more), engine="reference")


@pytest.mark.parametrize("at_s", [1.0, 500.0, 999.0])
def test_a_job_was_running_before_it_was_preempted(at_s):
    done = preempted_at(at_s)
    assert done.jobs["start_us"].tolist() == [0.0, at_s * 1e6]
    assert done.tasks["generation_us"].tolist() == [0.0, at_s * 1e6]
    assert done.summary["jobs"]["wait_us"]["max"] == 0.0
    assert done.summary["tasks"]["wait_us"]["max"] == pytest.approx(100e6)
    assert done.summary["jobs"]["bounded_slowdown"]["max"] == pytest.approx(1.1)


def test_time_that_an_outage_made_worthless_is_time_on_a_unit():
    done = vs.simulate(case([0.0], [1000e6], "high", outages=[vs.Outage(0, 0, 400e6, 500e6)]), engine="reference")
    assert done.summary["tasks"]["wait_us"]["max"] == pytest.approx(100e6)
    assert done.summary["jobs"]["bounded_slowdown"]["max"] == pytest.approx(1500 / 1400)


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
        found = result.columns(TIMES["tasks.wait_us"].query + " ORDER BY x")
    scenario = case([0.0, 500e6], [1000e6, 100e6], "priority", priority=[0.0, 1.0])
    waits, _ = times_of(Tables(scenario, done.outcome), "tasks.wait_us")
    assert found["x"].tolist() == sorted(waits.tolist()) == pytest.approx([0.0, 100e6])
