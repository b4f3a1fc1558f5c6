"""The client against managers that misbehave."""

import asyncio
import contextlib
import json
import logging
import sqlite3

import pytest

from tests.live.clusters import CLUSTER, CoreTest
from vinesim.live.address import read_token, write_place
from vinesim.live.client import LiveError, connect
from vinesim.live.logs import JsonLines
from vinesim.live.manager.server import Server

LONG = CLUSTER.replace("lease: 1 s", "lease: 1000 s")


def keep_failure(path):
    """Write a log as on a disk that was full: its last line is cut."""
    path.parent.mkdir()
    try:
        raise sqlite3.OperationalError("no room")
    except sqlite3.OperationalError as wrong:
        found = (type(wrong), wrong, wrong.__traceback__)
    record = logging.LogRecord("vinesim", logging.CRITICAL, "", 0, "the manager has failed", (), found)
    line = JsonLines().format(record)
    path.write_text(f'{{"level": "info", "event": "up"}}\n{line}\n{line[:-9]}')


def test_a_manager_that_accepts_and_closes_is_tried_again_and_one_that_stays_away_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("vinesim.live.client.PATIENCE_S", 1.0)

    async def run():
        core = CoreTest(tmp_path)
        state = tmp_path / "state"
        server = Server(core.core, read_token(state))
        await server.start("127.0.0.1")
        write_place(state, "127.0.0.1", server.port, 0)
        async with connect(state) as session:
            assert (await session.call("client.status"))["n_clients"] == 1
            n_dying = 0

            async def dying(_, writer):
                nonlocal n_dying
                n_dying += 1
                writer.close()

            doomed = await asyncio.start_server(dying, "127.0.0.1", 0)
            write_place(state, "127.0.0.1", doomed.sockets[0].getsockname()[1], 0)
            call = asyncio.ensure_future(session.call("client.status"))
            for peer in list(server._peers):
                peer.close("as if it had died")
            while n_dying < 2:
                await asyncio.sleep(0.01)
            write_place(state, "127.0.0.1", server.port, 0)
            assert (await call)["n_clients"] == 1
            doomed.close()
            place = json.loads((state / "address.json").read_text())
            await server.close()
            assert place["port"] == server.port
            keep_failure(state / "logs" / "manager.jsonl")
            request = asyncio.ensure_future(session.application("ECHO").request(1))
            for work in (request, session.call("client.status")):
                with pytest.raises(LiveError, match=r"lost: .*manager\.jsonl: sqlite3\.OperationalError: no room$"):
                    await work
            with pytest.raises(LiveError, match="lost"):
                await session.application("ECHO").request(1)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_new_client_does_not_give_up_because_a_manager_is_about_to_end(tmp_path):
    async def run():
        core = CoreTest(tmp_path)
        state = tmp_path / "state"
        server = Server(core.core, read_token(state))
        await server.start("127.0.0.1")
        n_dying = 0

        async def dying(_, writer):
            nonlocal n_dying
            n_dying += 1
            writer.close()
            if n_dying == 3:
                write_place(state, "127.0.0.1", server.port, 0)

        doomed = await asyncio.start_server(dying, "127.0.0.1", 0)
        write_place(state, "127.0.0.1", doomed.sockets[0].getsockname()[1], 0)
        async with connect(state) as session:
            assert (await session.call("client.status"))["n_clients"] == 1
        assert n_dying == 3
        doomed.close()
        await server.close()

    asyncio.run(asyncio.wait_for(run(), 60))


@contextlib.asynccontextmanager
async def served(tmp_path, text=CLUSTER):
    """A session with a manager in this process, whose clock stands still."""
    core = CoreTest(tmp_path, text)
    server = Server(core.core, read_token(tmp_path / "state"))
    await server.start("127.0.0.1")
    write_place(tmp_path / "state", "127.0.0.1", server.port, 0)
    try:
        async with connect(tmp_path / "state") as session:
            yield session, core, server
    finally:
        await server.close()


class Agent:
    """The connection of an agent that does nothing."""

    def send(self, message):
        pass

    def close(self, why):
        pass


def with_agent(core):
    core.core.handle(Agent(), {"op": "agent.hello", "node": "n1", "epoch": 0, "ready": [2]})


async def break_connection(server):
    n = len(server._peers)
    for peer in list(server._peers):
        peer.close("as if the network had failed")
    while len(server._peers) != n:
        await asyncio.sleep(0.01)


def test_a_request_that_gets_no_grant_is_said_to_who_waits_for_it(tmp_path):
    async def run():
        async with served(tmp_path) as (session, _, _):
            mine = await session.register("MINE", 1e6, task_type="ECHO")
            waiting = asyncio.ensure_future(mine.can_issue())
            key = mine.new_request(size=-1.0)
            with pytest.raises(LiveError, match="size: expected a number") as wrong:
                await waiting
            assert wrong.value.keys == (key,)
            waiting = asyncio.ensure_future(session.application("NONE").can_issue())
            session.application("NONE").new_request()
            with pytest.raises(LiveError, match="no application 'NONE'"):
                await waiting
            with pytest.raises(LiveError, match="new_request and can_issue"):
                await mine.request(1)
            session.application("ECHO").new_request()
            with pytest.raises(LiveError, match="is used with request"):
                await session.application("ECHO").can_issue()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_grant_that_is_withdrawn_before_it_is_taken_or_issued_is_said(tmp_path):
    async def run():
        async with served(tmp_path, LONG) as (session, core, _):
            mine = await session.register("MINE", 1e6, task_type="ECHO")
            with_agent(core)
            keys = [mine.new_request() for _ in range(2)]
            offer = await mine.can_issue()
            while 1 not in session.offers:
                await asyncio.sleep(0.01)
            core.clock.us += 20e6  # more than limits.kernel
            await session.call("client.status")
            assert await mine.complete(offer) is False
            with pytest.raises(LiveError, match="held for longer") as wrong:
                await mine.can_issue()
            assert wrong.value.keys == (keys[1],)
            with pytest.raises(LiveError, match="withdrawn"):
                await mine.issue(offer, "echo", [1])

    asyncio.run(asyncio.wait_for(run(), 60))


def test_what_is_awaited_ends_with_the_session(tmp_path):
    async def run():
        async with served(tmp_path) as (session, core, _):
            mine = await session.register("MINE", 1e6, task_type="ECHO")
            with_agent(core)
            mine.new_request()
            offer = await mine.can_issue()
            waiting = [asyncio.ensure_future(one) for one in (mine.can_issue(), mine.issue(offer, "echo", [1]))]
            await session.call("client.status")
            await session.close()
            for one in waiting:
                with pytest.raises(LiveError, match="closed"):
                    await one
            with pytest.raises(LiveError, match="closed"):
                await mine.can_issue()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_grant_is_taken_once_although_it_is_said_again(tmp_path):
    async def run():
        async with served(tmp_path) as (session, core, server):
            mine = await session.register("MINE", 1e6, task_type="ECHO")
            with_agent(core)
            mine.new_request()
            while 0 not in session.offers:
                await asyncio.sleep(0.01)
            await break_connection(server)
            await session.call("client.status")
            offer = await mine.can_issue()
            assert await mine.complete(offer)
            await break_connection(server)
            await session.call("client.status")
            assert 0 not in session.offers

    asyncio.run(asyncio.wait_for(run(), 60))


def test_large_payloads_at_once_arrive(tmp_path):
    """Together they are more than a peer may leave unread."""

    async def run():
        async with served(tmp_path, CLUSTER.replace("payload: 64 KiB", "payload: 16 MiB")) as (session, core, server):
            echo = session.application("ECHO")
            requests = [asyncio.ensure_future(echo.request(b"x" * 15 * 2**20)) for _ in range(6)]
            while core.core.n_waiting < 6:
                await asyncio.sleep(0.01)
            assert len(server._peers) == 1
            for request in requests:
                request.cancel()

    asyncio.run(asyncio.wait_for(run(), 60))
