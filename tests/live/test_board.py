"""Orders that leave the agent out: the board on which a manager leaves them, and deaths of all that use it."""

import asyncio
import contextlib
import io
import os
import random
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.live.clusters import CLUSTER, processes
from tests.live.test_processes import run, up
from vinesim.live.agent import device_process
from vinesim.live.client import LiveError
from vinesim.live.manager.channel import Channel
from vinesim.live.wire.board import ORDER_BYTES, AgentBoard, Bell, Board, emptied, rung
from vinesim.live.wire.piping import taken

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a board needs memory without a name")
KERNEL_S = 0.002
ONE_UNIT = (
    CLUSTER.replace("[{name: CPU, capacity: 2}, {name: ACC}]", "[{name: CPU}, {name: ACC, ahead: 0}]")
    .replace("[{name: n0, units: {ACC: 1, CPU: 1}}, {name: n1, units: {CPU: 1}}]", "[{name: n0, units: {ACC: 1}}]")
    .replace("consolidated: 8", "consolidated: 1")
    .replace("lease: 1 s", "lease: 20 s")
    .replace("pending: 50", "pending: 2000, attempts: 50")
)
OTHER_CLIENT = """
import asyncio, sys
from vinesim.live.client import connect

async def main():
    async with connect(sys.argv[1]) as session:
        mine = session.application("ECHO")
        wanted = [mine.request(["last", [sys.argv[2], f"other{i}", 0.002]]) for i in range(4)]
        for one in asyncio.as_completed(wanted):
            await one
            print(flush=True)

asyncio.run(main())
"""


class Agent:
    """What an agent gets through its own connection."""

    def __init__(self):
        self.given = []

    def send(self, *orders):
        self.given += orders


@pytest.fixture
def owned():
    one = AgentBoard(4)
    one.last = one.board.generation = 1
    yield one
    one.close()


@pytest.fixture
def bell():
    one = Bell()
    yield one
    one.close()


def device_of(owned, bell):
    """The board as its device has it."""
    message = {"unit": 3, "generation": owned.last, "board": owned.device_address, "bell": bell.address}
    found = device_process.DeviceBoard(message)
    found.open_to(message)
    return found


def order(attempt, **more):
    return {"op": "run", "attempt": attempt, **more}


def test_an_order_reaches_its_device_and_its_end_the_manager(owned, bell):
    device, channel = device_of(owned, bell), Channel(owned.address, 1, Agent(), 7)
    channel.send(order(5), order(6, word="x" * 100))
    first, second = device.orders()
    assert (first["attempt"], second["word"]) == (5, "x" * 100)
    assert device.orders() == []  # they are seen once
    device.begin(first, 1000.5)
    assert [(one.attempt, one.begun_us) for one in owned.board.found(1)] == [(5, 1000), (6, 0)]
    assert device.finish(first, {"outcome": "done"})
    assert int.from_bytes(emptied(bell.file), "little") == 3
    assert channel.ends() == [{"attempt": 5, "epoch": 7, "outcome": "done"}]
    assert channel.ends() == []
    channel.free()
    assert [one.attempt for one in owned.board.found(1)] == [6]


def test_the_end_of_an_order_whose_board_is_closed_is_said_to_the_agent(owned, bell):
    device, channel = device_of(owned, bell), Channel(owned.address, 1, Agent(), 7)
    channel.send(order(5), order(6))
    one, other = device.orders()
    owned.board.generation = 0
    assert not device.finish(one, {"outcome": "done"})
    owned.board.generation = 2
    assert not device.finish(other, {"outcome": "done"})
    assert not emptied(bell.file)


def test_an_order_that_comes_after_the_board_was_closed_is_not_taken_and_is_left(owned, bell):
    device, channel = device_of(owned, bell), Channel(owned.address, 1, Agent(), 7)
    channel.send(order(5))
    assert [one["attempt"] for one in device.orders()] == [5]
    owned.board.generation = 0
    channel.send(order(6))
    assert device.orders() == []
    assert [one["attempt"] for one in channel.left([5])] == [6]


def test_what_finds_no_place_goes_to_the_agent_with_all_that_follows(owned):
    agent = Agent()
    channel = Channel(owned.address, 1, agent, 7)
    channel.send(order(1), order(2, word="x" * ORDER_BYTES), order(3))
    channel.send(order(4))
    assert [one["attempt"] for one in agent.given] == [2, 3, 4]
    full = Channel(owned.address, 1, agent, 7)
    full.send(*(order(attempt) for attempt in range(5, 10)))
    assert [one["attempt"] for one in agent.given] == [2, 3, 4, 8, 9]


class Words:
    """The words of a board, which another process changes when some of a slot's were read."""

    def __init__(self, words, n_read, change):
        self._words, self._left, self._change = words, n_read, change

    def __getitem__(self, place):
        if place > 0:  # not the generation
            self._left -= 1
            if self._left == -1:
                self._change()
        return self._words[place]


@pytest.mark.parametrize("n_read", range(5))
def test_an_order_is_seen_although_its_slot_is_written_while_it_is_read(owned, bell, n_read):
    device, channel = device_of(owned, bell), Channel(owned.address, 1, Agent(), 7)
    channel.send(order(5))
    assert device.finish(device.orders()[0], {"outcome": "done"})

    def change():
        channel.ends()
        channel.free()
        channel.send(order(6))

    words = device._board._words
    device._board._words = Words(words, n_read, change)
    seen = device.orders()
    device._board._words = words
    assert [one["attempt"] for one in [*seen, *device.orders()]] == [6]


def test_an_end_that_is_too_long_or_that_nobody_hears_is_said_to_the_agent(owned, bell):
    device, channel = device_of(owned, bell), Channel(owned.address, 1, Agent(), 7)
    channel.send(order(5), order(6))
    one, other = device.orders()
    assert not device.finish(one, {"why": "x" * 10_000})
    while rung(device._managers_bell, b"full"):
        pass
    assert not device.finish(other, {"outcome": "done"})


def test_the_board_of_another_process_that_got_its_number_is_not_opened(owned):
    with pytest.raises(FileNotFoundError, match="gone"):
        Board.at(owned.address | {"memory": [owned.address["memory"][0], 1]})


def test_a_device_takes_an_order_once_from_the_board_and_its_agent(owned, bell):
    """The agent takes over an order that its device has seen, and gives it again."""
    reads, writes = os.pipe()
    said, stream = io.BytesIO(), os.fdopen(reads, "rb", buffering=0)
    inbox = device_process.Inbox(stream, device_process.Device(said))
    channel = Channel(owned.address, 1, Agent(), 7)
    say = device_process.piped
    os.write(
        writes, say({"op": "board", "unit": 0, "generation": 1, "board": owned.device_address, "bell": bell.address})
    )
    run_ = {"commands": {}, "unit": 0}
    channel.send(order(5, **run_))
    assert inbox.next()["attempt"] == 5
    os.write(writes, say({"op": "board"}) + say(order(5, **run_)) + say(order(6, **run_)))
    assert inbox.next()["attempt"] == 6
    inbox._device.withdraw(5)
    assert [one["op"] for one in taken(bytearray(said.getvalue()))] == ["withdrawn"]
    os.close(writes)
    stream.close()


async def through_deaths(session, cluster, notes, n_requests, n_deaths):
    """Send requests, 4 under way, while manager, agent, device and another client are killed in turn. Returns the
    answers, and how many of the other clients' requests were sent."""
    await up(session, "n0")
    mine, dice, answers = session.application("ECHO"), random.Random(1), []
    left = iter(range(n_requests))

    async def one_after_another():
        for number in left:
            found = await mine.request(["last", [str(notes), number, KERNEL_S]])
            answers.append(found[1])

    workers = [asyncio.ensure_future(one_after_another()) for _ in range(4)]
    for death in range(n_deaths):
        seen = len(answers)
        while len(answers) < min(seen + n_requests // (2 * n_deaths), n_requests - 1):
            await asyncio.sleep(0.005)
        name = ("manager", "n0", "device", "client")[death % 4]
        if name == "client":
            words = [sys.executable, "-c", OTHER_CLIENT, str(cluster.folder), str(notes)]
            with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
                await asyncio.to_thread(other.stdout.readline)
                other.kill()
            continue
        await asyncio.sleep(dice.random() * 0.02)  # at any moment; nothing waits for this time
        if name == "device":
            for pid in cluster.devices("n0"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            continue
        cluster.signal(name, signal.SIGKILL)
        cluster.start(name)
        await up(session, "n0")
    await asyncio.gather(*workers)
    return answers


def check(tmp_path, n_requests, n_deaths, ahead):
    """Each request is answered once; two kernels never run at once; each that ran again did so because of a death."""
    notes, answers = tmp_path / "notes", []

    async def work(session):
        answers.extend(await through_deaths(session, cluster, notes, n_requests, n_deaths))

    with processes(tmp_path, "manager", "n0", text=ONE_UNIT.replace("ahead: 0", f"ahead: {ahead}")) as cluster:
        run(cluster.folder, work, patience_s=1500)
    assert sorted(answers) == list(range(n_requests))
    lines = [line.split() for line in notes.read_text().splitlines()]
    running, cut = None, 0
    for number, word in lines:
        if word == "begins":
            cut += running is not None  # what ran was killed
            running = number
        else:
            assert number == running  # else two ran at once
            running = None
    assert cut <= n_deaths
    ended = Counter(number for number, word in lines if word == "ends" and not number.startswith("other"))
    assert set(ended) == {str(number) for number in range(n_requests)}
    again = sum(n - 1 for n in ended.values())
    assert again <= n_deaths * (1 + ahead)  # what ended and was not reported when somebody died
    return cut, again


@pytest.mark.parametrize("ahead", [0, 1])
def test_some_requests_through_some_deaths(tmp_path, ahead):
    check(tmp_path, 200, 4, ahead)


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_thousands_of_requests_through_forty_deaths(tmp_path, ahead, record_property):
    record_property("cut short, ran again", check(tmp_path, 5000, 40, ahead))


def test_limits_cancellation_and_errors_hold_on_a_board(tmp_path):
    text = ONE_UNIT.replace("kernel: 20 s", "kernel: 0.5 s").replace("ahead: 0", "ahead: 2")

    async def work(session):
        await up(session, "n0")
        mine = session.application("ECHO")
        assert await mine.request("warm") == "warm"
        slow, behind = (
            asyncio.ensure_future(mine.request(one)) for one in (["wait_for", str(tmp_path / "never")], "x")
        )
        with pytest.raises(LiveError, match=r"longer than its limit of 0.5 s"):
            await slow
        assert await behind == "x"  # it had not begun
        first = asyncio.ensure_future(mine.request(["last", [str(tmp_path / "notes"), 1, 0.2]]))
        gone = asyncio.ensure_future(mine.request(["note", str(tmp_path / "ran")]))
        while not (tmp_path / "notes").exists():
            await asyncio.sleep(0.01)
        gone.cancel()
        await first
        assert await mine.request("y") == "y"
        assert not (tmp_path / "ran").exists()
        with pytest.raises(LiveError, match="ValueError: no"):
            await mine.request(["raise", "no"])
        assert len(await mine.request(["big", 50_000])) == 50_000

    with processes(tmp_path, "manager", "n0", text=text) as cluster:
        run(cluster.folder, work)
