"""Payloads and results that stay in their client's memory, where the devices of its machine take them."""

import asyncio
import io
import os
from unittest.mock import Mock

import numpy as np
import pytest

from tests.live.clusters import CoreTest, content, every, only, processes, result_of
from tests.live.test_processes import run, up
from vinesim.live import far as far_nodes
from vinesim.live.agent import device_process
from vinesim.live.wire import memory
from vinesim.live.wire.contents import parts_of, value_of
from vinesim.live.wire.memory import IS_POSSIBLE, RING_BYTES, Home, Visits
from vinesim.live.wire.messages import WrongMessage
from vinesim.live.wire.piping import taken

pytestmark = pytest.mark.skipif(not IS_POSSIBLE, reason="the operating system has no such memory")
ARRAY = np.arange(5_000.0)
HOME = {"shared_by": "this machine", "pid": 1, "memory": [3, 1], "bell": [4, 2]}


@pytest.fixture
def home():
    one = Home()
    yield one
    one.close()


def pages(home):
    return os.fstat(home.memory.file).st_blocks


def test_what_one_appends_another_reads_until_it_is_freed(home):
    visit = Visits().at(home.address)
    places = [side.append(parts_of(ARRAY + i)) for i, side in enumerate((home.memory, visit.memory, home.memory))]
    for i, place in enumerate(places):
        np.testing.assert_array_equal(value_of(visit.memory.read(place)), ARRAY + i)
    home.memory.free(places[1])
    np.testing.assert_array_equal(value_of(home.memory.read(places[2])), ARRAY + 2)
    for place in places:
        home.memory.free(place)
    assert pages(home) == 0


def test_a_place_outside_is_refused(home):
    with pytest.raises(WrongMessage, match="not in its client's memory"):
        home.memory.read([0, 1])


def test_answers_arrive_in_order_and_a_long_one_or_one_of_many_is_not_sent(home):
    visit = Visits().at(home.address)
    assert not visit.ring({"result": bytes(RING_BYTES)})
    n = 0
    while visit.ring({"key": n, "result": bytes(1_000)}):
        n += 1
    assert [answer["key"] for answer in home.received()] == list(range(n))
    assert visit.ring({"key": n})
    assert home.received() == [{"key": n}]


def test_a_device_gives_the_memory_of_a_client_back_that_has_gone():
    home, visits = Home(), Visits()
    visit = visits.at(home.address)
    visits.forget_gone()
    assert visits.at(home.address) is visit
    home.close()
    visits.forget_gone()
    with pytest.raises(OSError, match=r"closed|Bad file"):
        os.fstat(visit.memory.file)
    with pytest.raises(OSError, match=r"gone|No such"):
        visits.at(home.address)


def test_the_file_that_has_got_the_number_of_another_is_not_opened(home):
    with pytest.raises(FileNotFoundError):
        Visits().at({**home.address, "memory": [home.memory.file, 1]})


def order(home, *payloads):
    """An order for a device, whose payloads lie in its client's memory."""
    places = [home.memory.append(parts_of(one)) for one in payloads]
    items = [["SUM", 1.0, 0.0, "client", str(i)] for i in range(len(places))]
    homes = [home.address] * len(places)
    of = {"op": "run", "attempt": 1, "kernel": "sum", "items": items, "is_direct": True}
    return of | {"payloads": places, "homes": homes}


def test_a_device_has_the_payloads_of_its_next_order_before_it_begins_it(home, monkeypatch):
    """The client takes them back meanwhile."""
    monkeypatch.setattr(
        device_process, "kernel_for", lambda *_: lambda payloads: [float(one.sum()) for one in payloads]
    )
    device, outbox = on_a_device()
    given = order(home, ARRAY, ARRAY + 1)
    places = list(given["payloads"])
    device.has_come(given)
    for place in places:
        home.memory.free(place)
    device.carry_out(given)
    assert [value_of(one["result"]) for one in home.received()] == [ARRAY.sum(), ARRAY.sum() + len(ARRAY)]
    assert ends(outbox) == ["done"]


def test_a_client_that_goes_before_its_answer_costs_its_device_nothing(monkeypatch):
    monkeypatch.setattr(device_process, "kernel_for", lambda *_: lambda payloads: payloads)
    (device, outbox), home = on_a_device(), Home()
    given = order(home, ARRAY)
    device.has_come(given)
    home.close()
    device.carry_out({"op": "lease"})
    device.carry_out(given)
    assert ends(outbox) == ["done"]


def test_an_order_whose_payloads_cannot_be_taken_fails_and_the_next_one_runs(home, monkeypatch):
    monkeypatch.setattr(device_process, "kernel_for", lambda *_: lambda payloads: payloads)
    device, outbox = on_a_device()
    for given, raises in ((order(home, ARRAY), MemoryError), (order(home, ARRAY), None)):
        with monkeypatch.context() as patch:
            if raises is not None:
                patch.setattr(memory.Memory, "read", Mock(side_effect=raises))
            device.has_come(given)
        device.carry_out(given)
    assert ends(outbox) == ["raised", "done"]


def on_a_device():
    """A device, and what it says."""
    outbox = io.BytesIO()
    device = device_process.Device(outbox)
    device._limit_bytes = 2**20
    return device, outbox


def ends(outbox):
    return [message["outcome"] for message in taken(bytearray(outbox.getvalue()))]


async def echoes(session):
    """Whether small and large payloads and results come back; nothing is left in the client's memory. Returns what went
    through the manager: the payloads, and the keys of the results."""
    payloads, results, say, confirm = [], [], session._say, session._confirm_later
    session._say = lambda data: (payloads.append(data) if b"client.payload" in data else None, say(data))
    session._confirm_later = lambda key: (results.append(key), confirm(key))
    echo = session.application("ECHO")
    await up(session, "n1")
    for value in (1, ARRAY, list(range(3_000)), b"x" * 60_000):
        np.testing.assert_array_equal(await echo.request(["say", value]), value)
    assert await echo.request(["big", 50_000]) == b"x" * 50_000
    many = await asyncio.gather(*(echo.request(["say", ARRAY + i]) for i in range(20)))
    np.testing.assert_array_equal(many, [ARRAY + i for i in range(20)])
    assert pages(session._home) == 0
    return payloads, results


def test_payloads_and_results_pass_the_manager_by_on_one_machine(tmp_path):
    with processes(tmp_path, "manager", "n1") as cluster:
        assert run(cluster.folder, echoes) == ([], [])


def test_a_client_of_another_machine_takes_its_payloads_to_the_node_when_they_are_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "shared_by", lambda: "another machine")
    with processes(tmp_path, "manager", "n1") as cluster:
        payloads, results = run(cluster.folder, echoes)
    assert not payloads
    assert results == ["1"]  # it was not connected to the node yet


def test_a_client_that_cannot_reach_a_node_sends_its_payloads_to_the_manager(tmp_path, monkeypatch):
    async def nobody(*_):
        raise OSError

    monkeypatch.setattr(memory, "shared_by", lambda: "another machine")
    monkeypatch.setattr(far_nodes, "connected", nobody)
    with processes(tmp_path, "manager", "n1") as cluster:
        payloads, results = run(cluster.folder, echoes)
    assert len(payloads) == 22
    assert len(results) == 25


def test_a_client_whose_memory_cannot_be_opened_takes_its_payloads_to_the_node(tmp_path, monkeypatch):
    monkeypatch.setattr(memory.os, "getpid", lambda: 2**22 + 1)  # no process has it
    with processes(tmp_path, "manager", "n1") as cluster:
        assert not run(cluster.folder, echoes)[0]


def test_requests_at_a_node_survive_its_agent(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "shared_by", lambda: "another machine")
    note = tmp_path / "note"

    async def work(session):
        echo = session.application("ECHO")
        await up(session, "n1")
        await echo.request(["say", ARRAY])
        asked = [asyncio.ensure_future(echo.request(["note", str(note)])) for _ in range(5)]
        asked += [asyncio.ensure_future(echo.request(["say", ARRAY + i])) for i in range(40)]
        while not note.exists():
            await asyncio.sleep(0.001)
        cluster.signal("n1", 9)
        cluster.start("n1")
        answers = await asyncio.gather(*asked)
        np.testing.assert_array_equal(answers[5:], [ARRAY + i for i in range(40)])
        assert pages(session._home) == 0
        while (status := await session.call("client.status"))["n_running"]:  # a node answers before the manager knows
            await asyncio.sleep(0.01)
        assert status["n_waiting"] == 0

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


def test_a_payload_in_memory_survives_the_manager(tmp_path):
    gate = tmp_path / "gate"

    async def work(session):
        echo = session.application("ECHO")
        await up(session, "n1")
        first = asyncio.ensure_future(echo.request(["wait_for", str(gate)]))
        others = [asyncio.ensure_future(echo.request(["say", ARRAY + i])) for i in range(30)]
        while not (tmp_path / "gate.started").exists():
            await asyncio.sleep(0.01)
        cluster.signal("manager", 9)
        (cluster.folder / "address.json").unlink()
        cluster.start("manager")
        gate.touch()
        assert await first == str(gate)
        np.testing.assert_array_equal(await asyncio.gather(*others), [ARRAY + i for i in range(30)])
        assert pages(session._home) == 0

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


@pytest.fixture
def far(tmp_path):
    """A core whose client is on another machine than its node, and a request that waits for its payload there."""
    core = CoreTest(tmp_path)
    core.agent("n0", facts={"shared_by": "another machine"})
    hello = ("c", {"op": "client.hello", "n": 0, "id": "c", "home": HOME})
    core.turn(hello)
    request = {"op": "client.request", "key": "k", "application": "ECHO", "size": 1.0, "payload": [0, 9_000]}
    return core, hello, core.turn(("c", request))


def payload(attempt, place=0):
    data = content(5)
    return {"op": "client.payload", "attempt": attempt, "node": "n0", "place": place, "payload": data}


def test_the_manager_asks_for_a_payload_once_it_has_granted_and_passes_it_on(far):
    core, hello, sent = far
    order, asked = only(sent, "run"), only(sent, "send")
    assert order["payloads"] == [None]
    assert (asked["key"], asked["payload"], asked["attempt"]) == ("k", [0, 9_000], order["attempt"])
    assert only(core.turn(hello), "send") == asked  # its connection broke before it could send
    assert not every(core.turn(("c", payload(order["attempt"], 1))), "payload")
    assert only(core.turn(("c", payload(order["attempt"]))), "payload")["payload"] == content(5)
    assert not every(core.turn(("c", payload(order["attempt"]))), "payload")  # sent again
    assert not every(core.turn(hello), "send")
    assert result_of(only(core.end("n0", order["attempt"]), "answer")) == 7


def test_a_request_whose_answer_was_lost_between_node_and_client_runs_again(far):
    core, _, sent = far
    order = only(sent, "run")
    lost = {"op": "client.request", "key": "k", "application": "ECHO", "size": 1.0, "payload": [0, 9_000]}
    core.turn(("c", lost | {"is_lost": True}))
    again = only(core.end("n0", order["attempt"], results=[{"is_sent": True}]), "run")
    assert not every(core.end("n0", again["attempt"], results=[{"is_sent": True}]), "run")
    assert only(core.turn(("c", lost | {"is_lost": True})), "run")  # it had ended already


def test_nobody_sends_a_payload_of_another_client(far):
    core, _, sent = far
    core.client("thief")
    assert not every(core.turn(("thief", payload(only(sent, "run")["attempt"]))), "payload")


def test_a_payload_beyond_the_limit_is_refused_wherever_it_lies(far):
    core, _, _ = far
    request = {"op": "client.request", "key": "l", "application": "ECHO", "size": 1.0, "payload": [0, 2**20]}
    assert "at most 65,536 bytes" in only(core.turn(("c", request)), "answer")["why"]


def test_a_device_that_has_answered_leaves_nothing_to_send_or_to_confirm(tmp_path):
    core = CoreTest(tmp_path)
    core.agent("n0", facts={"shared_by": "this machine"})
    core.turn(("c", {"op": "client.hello", "n": 0, "id": "c", "home": HOME}))
    order = only(core.request(payload=5), "run")
    assert order["homes"] == [HOME]
    assert order["is_direct"]
    sent = core.end("n0", order["attempt"], results=[{"is_sent": True}])
    assert not every(sent, "answer")
    (client,) = core.core.clients._all.values()
    assert not client.items
    assert not client.answers
    assert core.status()["counters"]["n_done"] == 1
