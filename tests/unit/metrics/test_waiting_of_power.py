"""Why a job waited for which power caps left too little."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.unit.engine.test_power_caps import PLAIN, scenario
from tests.unit.metrics.test_waiting import recorded
from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.tables import open_result
from vinesim.metrics.causes import causes_of
from vinesim.metrics.power_waits import POWER
from vinesim.metrics.waiting import waiting_of

JOBS = [(0, 10, 1), (2, 5, 1), (2, 4, 1), (3, 6, 1)]


def waits(found):
    return [(w.whose, w.begin_us, w.end_us, *w.drawn_w, w.cap_w, w.needed_w) for w in found.power]


def test_it_says_which_cap_left_too_little_and_when(tmp_path):
    """Four idle units draw 200 W, each task adds 100 W: two run at once."""
    recorded(tmp_path / "run", scenario("high", JOBS, caps=[400.0]))
    assert waits(waiting_of(tmp_path / "run", 2)) == [("rack 0", 2.0, 7.0, 400.0, 400.0, 400.0, 100.0)]
    assert waiting_of(tmp_path / "run", 1).power == []


def test_a_job_waits_for_power_only_if_no_rack_where_it_can_run_has_any(tmp_path):
    recorded(tmp_path / "run", scenario("high", JOBS, n_racks=2, caps=[200.0, 400.0]))
    found = waiting_of(tmp_path / "run", 2)
    assert [one[:3] for one in waits(found)] == [("rack 0", 2.0, 7.0), ("rack 1", 2.0, 7.0)]
    with open_result(tmp_path / "run") as result:
        causes = causes_of(result, read_record(result), np.array([0.0, 20.0]))
    assert causes.share == {POWER: pytest.approx(1.0)}


def test_racks_that_the_job_may_not_run_in_are_not_named(tmp_path):
    """Rack 0 has no power left; the partition of all jobs is rack 1, which has power for two tasks."""
    columns = {"partition": [0] * len(JOBS), "partition_names": ("p",), "demand": [vs.WHOLE_UNIT] * len(JOBS)}
    case = scenario("high", JOBS, n_racks=2, caps=[200.0, 400.0])
    only = vs.Partition("p", np.array([[1, shelf] for shelf in range(4)]))
    recorded(tmp_path / "run", replace(case, workload=replace(case.workload, **columns), partitions=(only,)))
    assert [one[:3] for one in waits(waiting_of(tmp_path / "run", 2))] == [("rack 1", 2.0, 7.0)]


def test_one_time_has_the_least_and_the_most_that_was_drawn(tmp_path):
    """Idle units draw 200 W; a task on a part of a unit adds 100 W times its share, and the last needs all of one."""
    jobs = [(0, 10, 1), (0, 6, 1), (1, 3, 1), (2, 4, 1)]
    kind = replace(PLAIN, capacity=4, dynamic_power_w=25.0)
    case = scenario("high", jobs, kind=kind, caps=[450.0], demand=[4, 4, 1, 4])
    recorded(tmp_path / "run", case)
    assert waits(waiting_of(tmp_path / "run", 3)) == [("rack 0", 2.0, 6.0, 400.0, 425.0, 450.0, 100.0)]


def test_the_command_says_it(tmp_path, vinesim):  # noqa: F811
    recorded(tmp_path / "run", scenario("high", JOBS, cap=400.0))
    out = " ".join(vinesim("explain", str(tmp_path / "run"), "--job", "2").out.split())
    assert "power cap of the datacenter: 400 W of 400 W drawn; it needs 100 W" in out
    assert "see the power caps" in out
