"""A manager on the network, without processes."""

import asyncio
import sqlite3

from tests.live.clusters import CoreTest, content
from vinesim.live.manager import server
from vinesim.live.manager.server import Server
from vinesim.live.wire.connection import connected

TOKEN = b"t" * 32


class Peer:
    """An agent or a client of a server."""

    async def join(self, port):
        self.messages = asyncio.Queue()
        self.connection = await connected("127.0.0.1", port, TOKEN, 2**20, self._received, lambda *_: None)
        return self

    def say(self, op, **content):
        self.connection.send({"op": op, **content})

    async def hears(self, op):
        """Wait for a message of a kind."""
        while (message := await self.messages.get())["op"] != op:
            pass
        return message

    def _received(self, _, message):
        self.messages.put_nowait(message)


async def running(core, stopped):
    """A server, an agent and a client, and what the agent is to run: two requests."""
    one = Server(core, TOKEN, stopped.set)
    await one.start("127.0.0.1")
    agent, client = await Peer().join(one.port), await Peer().join(one.port)
    agent.say("agent.hello", node="n0", epoch=0, ready=[0, 1])
    await agent.hears("welcome")
    client.say("client.hello", n=0, id="c")
    runs = []
    for key in "12":
        client.say("client.request", key=key, application="ECHO", size=1.0, payload=content(1))
        runs.append(await agent.hears("run"))
    return one, agent, client, runs


def test_what_ends_while_the_cluster_is_stopped_is_in_the_journal(tmp_path):
    """The client of a request may have its result, and stop the cluster, before the manager knows of the end."""
    test = CoreTest(tmp_path)

    async def inside():
        stopped = asyncio.Event()
        one, agent, client, runs = await running(test.core, stopped)
        client.say("client.stop", n=1)
        await agent.hears("stop")
        assert not stopped.is_set()
        end = {"attempt": runs[1]["attempt"], "epoch": 1, "outcome": "done", "execution_us": 5.0}
        agent.say("agent.ended", ends=[{**end, "results": [{"is_sent": True}]}])
        agent.connection.close("stopped")
        await stopped.wait()
        await one.close()

    asyncio.run(asyncio.wait_for(inside(), 60))
    with sqlite3.connect(tmp_path / "state" / "journal") as journal:
        assert journal.execute("SELECT outcome, execution_us FROM requests").fetchall() == [("done", 5.0)]


def test_an_agent_that_does_not_stop_keeps_no_manager(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "STOP_S", 0.0)
    test = CoreTest(tmp_path)

    async def inside():
        stopped = asyncio.Event()
        one, agent, client, _ = await running(test.core, stopped)
        client.say("client.stop", n=1)
        await agent.hears("stop")
        await stopped.wait()
        await one.close()

    asyncio.run(asyncio.wait_for(inside(), 60))


def test_what_is_only_noted_is_kept_soon(tmp_path):
    test = CoreTest(tmp_path)

    async def inside():
        one, agent, client, runs = await running(test.core, asyncio.Event())
        end = {"attempt": runs[0]["attempt"], "epoch": 1, "outcome": "done", "results": [{"result": content(1)}]}
        agent.say("agent.ended", ends=[end])
        await client.hears("answer")
        while True:
            with sqlite3.connect(tmp_path / "state" / "journal") as journal:
                if journal.execute("SELECT count(*) FROM requests").fetchone() == (1,):
                    break
            await asyncio.sleep(0)
        await one.close()

    asyncio.run(asyncio.wait_for(inside(), 60))
