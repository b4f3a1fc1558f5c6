"""Why a gang waited: by hand, and that it never waited while there was room for all under a policy that starts it."""

import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from tests.policies.test_backfill_of_nodes import job, random_jobs, scenario
from tests.unit.engine.test_request_gangs import case
from tests.unit.metrics.test_waiting import recorded
from vinesim.metrics.waiting import waiting_of, waits_of

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def spans(found):
    return [(room.begin_us, room.end_us, room.n_tasks, room.nodes) for room in found.gang_rooms]


def test_a_gang_is_reported_how_much_of_it_had_room(tmp_path):
    """Three nodes of 4 GPUs; jobs take 4, 2 and 4 of them until 10, 20 and 30. The gang needs 4 x 2."""
    jobs = [job(1, 4, 10), job(1, 2, 20), job(1, 4, 30), job(4, 2, 5, arrival=1)]
    recorded(tmp_path / "run", scenario("fcfs", jobs, 3, 4, 8, 8))
    found = waiting_of(tmp_path / "run", 3)
    assert (found.arrival_us, found.start_us) == (1.0, 20.0)
    assert (found.gang.n_tasks, found.gang.within, found.gang.per_node, found.gang.is_alike) == (4, "anywhere", 4, True)
    assert spans(found) == [(1.0, 10.0, 1, [(0, 1, 1)]), (10.0, 20.0, 3, [(0, 0, 2), (0, 1, 1)])]
    assert (found.shortage, found.fragmentation) == (None, None)
    assert waiting_of(tmp_path / "run", 0).gang is None


def test_within_a_node_the_best_node_counts_and_companions_do(tmp_path):
    """Of 8 cores two are left on node 0 and all on node 1, which has two GPUs of its four: three tasks fit on none."""
    jobs = [job(1, 2, 10, cores=6), job(1, 2, 20), job(3, 1, 5, arrival=1, cores=2, within_node=True)]
    recorded(tmp_path / "run", scenario("fcfs", jobs, 2, 4, 8, 8))
    found = waiting_of(tmp_path / "run", 2)
    assert found.start_us == 10.0
    assert spans(found) == [(1.0, 10.0, 2, [(0, 1, 2)])]


def test_a_gang_that_a_policy_leaves_waiting(tmp_path):
    jobs = [job(1, 4, 10), job(2, 4, 10), job(2, 1, 50, arrival=1)]
    recorded(tmp_path / "run", scenario("conservative_backfill", jobs, 2, 4, 8, 8))
    found = waiting_of(tmp_path / "run", 2)
    assert (found.start_us, found.waited_us) == (20.0, 19.0)
    assert spans(found) == [(1.0, 10.0, 2, [(0, 1, 2)]), (10.0, 20.0, 0, [])]


def test_a_request_on_several_nodes_says_how_many_nodes_had_room(tmp_path):
    """One of three nodes is free while the first one runs; none where the data is on nodes 0 and 2 only."""
    requests, units = [(0, "A"), (1, "A")], [(0, 0), (0, 1), (0, 2)]
    recorded(tmp_path / "run", case(requests, units))
    found = waiting_of(tmp_path / "run", 1)
    assert (found.gang.n_tasks, found.gang.within, found.gang.per_node) == (2, "anywhere", 1)
    assert spans(found) == [(1.0, 10.0, 1, [(0, 2, 1)])]
    recorded(tmp_path / "listed", case(requests, units, nodes=((0, 0), (0, 2))))
    found = waiting_of(tmp_path / "listed", 1)
    assert spans(found) == [(1.0, 10.0, 0, [])]


def test_a_single_request_waits_for_the_nodes_of_its_application(tmp_path):
    requests, units = [(0, "A"), (1, "A")], [(0, 0), (0, 1)]
    recorded(tmp_path / "run", case(requests, units, nodes=((0, 1),), gang_size=1))
    found = waiting_of(tmp_path / "run", 1)
    assert (found.start_us, found.shelf, found.openings[0].free_us, found.openings[0].shelf) == (10.0, 1, 10.0, 1)
    assert len(found.openings) == 1


def test_the_command_says_it(tmp_path, vinesim):  # noqa: F811
    jobs = [job(1, 4, 10), job(1, 2, 20), job(1, 4, 30), job(4, 2, 5, arrival=1)]
    recorded(tmp_path / "run", scenario("fcfs", jobs, 3, 4, 8, 8))
    text = " ".join(vinesim("explain", str(tmp_path / "run"), "--job", "3").out.split())
    assert "4 tasks start together." in text
    assert "the last to start" not in text
    assert "older" not in text
    assert "from 1.00 us to 10.0 us: gang incomplete: 2 of 8 GPU on allowed nodes: rack 0, shelf 1 (2)" in text
    assert "6 of 8 GPU on allowed nodes: rack 0, shelf 0 (4); rack 0, shelf 1 (2)" in text
    recorded(
        tmp_path / "left", scenario("conservative_backfill", [job(1, 4, 10), job(2, 4, 10), job(2, 1, 50)], 2, 4, 8, 8)
    )
    text = " ".join(vinesim("explain", str(tmp_path / "left"), "--job", "2").out.split())
    assert "room, but reserved for job 1 until 10.0 us" in text
    assert "room for all: see above for whom" in text


def test_there_is_never_room_for_all_while_a_policy_that_would_start_it_waits(tmp_path):
    n_waited = 0
    for seed in range(5):
        jobs, nodes = random_jobs(seed)
        recorded(tmp_path / str(seed), scenario("high", jobs, *nodes))
        for number, found in enumerate(waits_of(tmp_path / str(seed), range(len(jobs)))):
            n_waited += len(found.gang_rooms)
            assert all(room.n_tasks < found.gang.n_tasks for room in found.gang_rooms), (seed, number)
            times = [time for room in found.gang_rooms for time in (room.begin_us, room.end_us)]
            assert times == sorted(times)
            assert not times or (times[0], times[-1]) == (found.arrival_us, found.start_us)
    assert n_waited > 50
