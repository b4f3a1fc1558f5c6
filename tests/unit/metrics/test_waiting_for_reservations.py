"""Why a job waited while reservations did not admit it."""

import numpy as np
import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from tests.unit.engine.test_reservations import maintenance, scenario
from tests.unit.metrics.test_waiting import recorded
from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.tables import open_result
from vinesim.metrics.causes import causes_of
from vinesim.metrics.reservation_waits import RESERVATION
from vinesim.metrics.waiting import waiting_of
from vinesim.model.reservation import Reservation

JOBS = [(0, 12), (1, 15), (2, 30)]


def waits(found):
    return [(wait.name, wait.begin_us, wait.end_us) for wait in found.reservations]


def test_a_job_waits_for_maintenance_that_it_would_run_into(tmp_path):
    """One node: the first job ends at 12, and the second would run until 27, past 20."""
    recorded(tmp_path / "run", scenario("high", JOBS[:2], [maintenance(20.0, 40.0)], units=1))
    found = waiting_of(tmp_path / "run", 1)
    assert waits(found) == [("upgrade", 12.0, 40.0)]
    assert found.start_us == 40.0
    with open_result(tmp_path / "run") as result:
        causes = causes_of(result, read_record(result), np.array([0.0, 60.0]))
    assert causes.share == {"busy": pytest.approx(11 / 39), RESERVATION: pytest.approx(28 / 39)}


@pytest.mark.parametrize("users", [("ann",), ("bob",)])
def test_a_reservation_is_no_reason_for_whom_it_admits_nor_where_other_nodes_are_free(tmp_path, users):
    """Node 1 is reserved from the beginning: who is admitted starts at once, the other one when node 0 is free."""
    given = [Reservation("course", 0.0, 100.0, [[0, 1]], users)]
    case = scenario("high", JOBS, given, user=[0, 0, 1], user_names=("bob", "ann"))
    recorded(tmp_path / "run", case)
    first, last = waiting_of(tmp_path / "run", 1), waiting_of(tmp_path / "run", 2)
    if users == ("bob",):
        assert (waits(first), first.start_us) == ([], 1.0)
        assert last.start_us == 12.0
    else:
        assert waits(first) == [("course", 1.0, 2.0)]  # then the job that is admitted takes the node
        assert (first.start_us, last.start_us, waits(last)) == (12.0, 2.0, [])


def test_the_command_says_it(tmp_path, vinesim):  # noqa: F811
    recorded(tmp_path / "run", scenario("high", JOBS[:2], [maintenance(20.0, 40.0)], units=1))
    out = " ".join(vinesim("explain", str(tmp_path / "run"), "--job", "1").out.split())
    assert "room, but reservation upgrade (maintenance) from 20.0 us to 40.0 us does not admit it" in out
    assert "see the reservations" in out
    assert vinesim("explain", str(tmp_path / "run"), "--job", "1", "--json").code == 0
