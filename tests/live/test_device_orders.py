"""What a device process hears: the main thread while it waits, and a second thread while it computes."""

import contextlib
import io
import os
import threading
from unittest.mock import Mock

import pytest

from vinesim.live.agent import device_process
from vinesim.live.clock import lease_clock_us
from vinesim.live.wire.piping import piped, taken

WAIT_S = 10.0  # a test that takes longer has failed


class Agent:
    """The agent's end, and a device that notes who reads. What would end its process ends the thread."""

    def __init__(self, stream):
        reads, self._writes = os.pipe()
        self.device = device_process.Device(stream)
        self.device.has_come, self.device.end_all = Mock(side_effect=self._comes), Mock(side_effect=SystemExit)
        self._stream, self._outbox, self._threads = os.fdopen(reads, "rb", buffering=0), stream, []
        self.inbox = device_process.Inbox(self._stream, self.device)
        self.readers, self.heard = [], threading.Event()

    def _comes(self, order):
        self.readers.append(threading.current_thread())
        self.device._waiting.add(order["attempt"])
        self.heard.set()

    def say(self, op, **content):
        os.write(self._writes, piped({"op": op, **content}))

    def leave(self):
        os.close(self._writes)
        self._writes = None

    def end(self):
        if self._writes is not None:
            self.leave()
        for thread in self._threads:
            thread.join(WAIT_S)
        self._stream.close()

    def said(self):
        return [(one["op"], one.get("attempt")) for one in taken(bytearray(self._outbox.getvalue()))]

    def begun(self, function):
        """A thread that carries a function out."""

        def carry_out():
            with contextlib.suppress(SystemExit):
                function()

        self._threads.append(threading.Thread(target=carry_out))
        self._threads[-1].start()
        return self._threads[-1]


@pytest.fixture(params=["exclusive", "plain"])
def agent(request, monkeypatch):
    """An agent, where Linux wakes one thread alone, and where both wake up."""
    if request.param == "plain":
        monkeypatch.delattr(device_process.select, "EPOLLEXCLUSIVE", raising=False)
    with contextlib.closing(io.BytesIO()) as stream:
        one = Agent(stream)
        yield one
        one.end()


def test_while_it_waits_the_main_thread_reads(agent):
    agent.begun(agent.inbox.watch)
    timer = threading.Timer(0.05, agent.say, ["run"], {"attempt": 1})
    timer.start()
    assert agent.inbox.next()["attempt"] == 1
    assert agent.readers == [threading.current_thread()]
    timer.join()


def test_while_it_computes_the_second_thread_reads(agent):
    second = agent.begun(agent.inbox.watch)
    for attempt in (1, 2):  # the main thread is here, and waits for no order
        agent.heard.clear()
        agent.say("run", attempt=attempt)
        assert agent.heard.wait(WAIT_S)
    agent.say("withdraw", attempt=2)
    agent.say("run", attempt=3)
    while len(agent.readers) < 3:
        agent.heard.wait(0.01)
    assert [agent.inbox.next()["attempt"] for _ in range(3)] == [1, 2, 3]
    assert agent.readers == [second] * 3
    assert agent.said() == [("withdrawn", 2)]


def test_it_ends_with_its_lease_while_it_waits(agent):
    agent.device.lease_until_us = lease_clock_us() + 50e3
    agent.begun(agent.inbox.next)
    agent.begun(agent.inbox.watch).join(WAIT_S)
    agent.device.end_all.assert_called_once()


def test_it_ends_with_its_agent_while_it_waits(agent):
    waits = agent.begun(agent.inbox.next)
    agent.leave()
    waits.join(WAIT_S)
    agent.device.end_all.assert_called_once()
