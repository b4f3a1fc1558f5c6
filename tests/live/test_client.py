"""The client against managers that misbehave."""

import asyncio
import json

import pytest

from tests.live.clusters import CoreTest
from vinesim.live.address import read_token, write_place
from vinesim.live.client import LiveError, connect
from vinesim.live.manager.server import Server


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
            request = asyncio.ensure_future(session.application("ECHO").request(1))
            for work in (request, session.call("client.status")):
                with pytest.raises(LiveError, match="lost"):
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
