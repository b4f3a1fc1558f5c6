"""Requests that wait ahead on a unit: the manager without sockets, and processes that are killed."""

import asyncio
import os
import signal
from collections import Counter

import pytest

import vinesim as vs
from tests.live.clusters import CLUSTER, CoreTest, every, only, processes
from tests.live.test_many_deaths import SLOTS, check
from tests.live.test_processes import run, up

LEASE_US, GRACE_US = 1e6, 0.5e6
TWO = "[{name: CPU, capacity: 2}, {name: ACC}]"
ONE = "[{name: CPU, ahead: 1}, {name: ACC, ahead: 1}]"
AHEAD = CLUSTER.replace(TWO, ONE).replace("consolidated: 8", "consolidated: 1")


@pytest.fixture
def core(tmp_path):
    """A manager, a client, and the node n1, whose CPU is unit 2."""
    one = CoreTest(tmp_path, AHEAD)
    one.client()
    one.agent("n1")
    return one


def ordered(core, key):
    """The attempts that are ordered as a request comes."""
    return [order["attempt"] for order in every(core.request(key), "run")]


def test_a_unit_gets_its_next_request_while_it_computes(core):
    (first,), (second,) = ordered(core, "1"), ordered(core, "2")
    assert ordered(core, "3") == []
    assert [order["items"][0][-1] for order in every(core.end("n1", first), "run")] == ["3"]
    assert every(core.end("n1", second), "run") == []
    assert core.core.counters.n_done == 2


def test_all_units_of_a_type_compute_before_one_gets_a_second_request(core):
    core.agent("n0")
    units = [order["unit"] for key in "123456" for order in every(core.request(key), "run")]
    assert units[:2] == [0, 0]  # the fastest type, as long as it has room
    assert sorted(units[2:4]) == sorted(units[4:]) == [1, 2]


def test_a_request_that_waits_ahead_is_cancelled_and_its_place_is_given_on(core):
    (first,), (second,) = ordered(core, "1"), ordered(core, "2")
    core.request("3")
    sent = core.turn(("c", {"op": "client.cancel", "key": "2"}))
    assert only(sent, "kill")["attempt"] == second
    assert only(sent, "answer")["error"] == "cancelled"
    third = only(core.end("n1", second, outcome="killed"), "run")
    assert third["items"][0][-1] == "3"
    core.end("n1", first)
    core.end("n1", third["attempt"])
    assert (core.core.counters.n_done, core.core.counters.n_cancelled) == (2, 1)


def test_what_ran_and_what_waited_on_a_node_that_is_lost_both_run_again(core):
    for key in "12":
        ordered(core, key)
    core.core.closed("n1")
    core.agent("n0")
    renewal = ("n0", {"op": "agent.lease", "at_us": 0.0})
    assert not every(core.turn(renewal, after_us=LEASE_US), "run")
    again = every(core.turn(renewal, after_us=GRACE_US), "run")
    assert sorted(order["items"][0][-1] for order in again) == ["1", "2"]


def test_a_manager_that_starts_again_waits_for_both(core):
    orders = [only(core.request(key), "run") for key in "12"]
    core.begin()
    core.client()
    for key in "123":
        assert not every(core.request(key), "run")
    running = [{"attempt": order["attempt"], "unit": 2, "items": order["items"]} for order in orders]
    assert not every(core.agent("n1", epoch=1, running=running), "run")
    sent = core.end("n1", orders[0]["attempt"])
    assert only(sent, "answer")["key"] == "1"
    assert not every(sent, "run")  # the other one is still there
    sent = core.end("n1", orders[1]["attempt"])
    assert only(sent, "answer")["key"] == "2"
    assert only(sent, "run")["items"][0][-1] == "3"


def test_what_is_not_modelled_is_refused(tmp_path):
    with pytest.raises(vs.InputError, match="reserves units"):
        CoreTest(tmp_path, AHEAD.replace("policy: fcfs", "policy: easy_backfill"))


@pytest.mark.parametrize("name", ["n1", "device", "manager"])
def test_a_kill_loses_and_doubles_nothing(tmp_path, name):
    """A request computes and others wait ahead of it when a device, its agent or the manager is killed."""
    go, answers = tmp_path / "go", []

    async def work(session):
        await up(session, "n1")
        mine = session.application("ECHO")
        first = asyncio.ensure_future(mine.request(["wait_for", str(go)]))
        while not (tmp_path / "go.started").exists():
            await asyncio.sleep(0.01)
        others = [asyncio.ensure_future(mine.request(["note", str(tmp_path / f"note{i}")])) for i in range(6)]
        await asyncio.sleep(0)
        if name == "device":
            for pid in cluster.devices("n1"):
                os.kill(pid, signal.SIGKILL)
        else:
            cluster.signal(name, signal.SIGKILL)
            cluster.start(name)
        go.touch()
        answers.extend(await asyncio.gather(first, *others))

    with processes(tmp_path, "manager", "n1", text=AHEAD) as cluster:
        run(cluster.folder, work)
    assert len(answers) == 7
    counts = Counter({i: len((tmp_path / f"note{i}").read_text().split()) for i in range(6)})
    assert min(counts.values()) == 1
    assert name != "device" or max(counts.values()) == 1  # what waited behind the process had not begun


def test_jobs_through_deaths(tmp_path):
    check(tmp_path, 24, 4, SLOTS.replace(TWO, ONE))
