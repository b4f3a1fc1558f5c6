"""Frames, messages and the handshake: what a stranger can do to a port, and what arrives."""

import asyncio
import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vinesim.live.wire import connection as wire
from vinesim.live.wire import handshake
from vinesim.live.wire.connection import Connection, connected, listening
from vinesim.live.wire.frames import LENGTH, Opener, Sealer, WrongFrame
from vinesim.live.wire.handshake import Refused
from vinesim.live.wire.messages import WrongMessage, packed, unpacked

KEY = b"k" * 32
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(PLAIN)
def test_messages_come_back(message):
    assert unpacked(packed(message)) == message


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(1, 50))
def test_frames_come_back_in_chunks_of_any_size(messages, n):
    sealer, opener = Sealer(KEY), Opener(KEY, 1000)
    stream = b"".join(sealer.frame(message) for message in messages)
    found = [m for at in range(0, len(stream), n) for m in opener.feed(stream[at : at + n])]
    assert found == messages


@given(st.binary(max_size=300))
def test_strange_bytes_are_a_wrong_message_or_plain_data(data):
    with contextlib.suppress(WrongMessage):
        unpacked(data)


def test_arrays_and_what_cannot_be_sent():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    back = unpacked(packed({"a": array, "n": np.int64(4)}))
    np.testing.assert_array_equal(back["a"], array)
    assert back["a"].dtype == array.dtype
    assert back["n"] == 4
    for value in (object(), np.array([object()]), {1, 2}):
        with pytest.raises(TypeError, match="cannot be sent"):
            packed(value)


@pytest.mark.parametrize("value", [2**70, "\ud800", 1j, np.complex64(1), np.datetime64("2020-01-01")])
def test_what_has_no_form_in_a_message_is_one_kind_of_error(value):
    with pytest.raises(TypeError, match=r"cannot be sent: .*; use numbers, text"):
        packed({"a": [value]})


def test_what_cannot_be_read_back_is_a_wrong_message():
    with pytest.raises(WrongMessage, match="a key of a dict must be text or a number"):
        unpacked(packed({(1, 2): 3}))
    with pytest.raises(WrongMessage):
        unpacked(b"\x91" * 5_000 + b"\x01")


@pytest.mark.parametrize("change", ["bit", "repeat", "swap", "other key"])
def test_a_changed_stream_is_noticed(change):
    sealer, opener = Sealer(KEY if change != "other key" else b"o" * 32), Opener(KEY, 100)
    first, second = sealer.frame(b"first"), sealer.frame(b"second")
    stream = {
        "bit": first[:-1] + bytes([first[-1] ^ 1]),
        "repeat": first + first,
        "swap": second + first,
        "other key": first,
    }[change]
    with pytest.raises(WrongFrame, match="did not write"):
        list(opener.feed(stream))


def test_a_length_beyond_the_limit_is_refused_before_the_message_comes():
    with pytest.raises(WrongFrame, match="the limit is 100"):
        list(Opener(KEY, 100).feed(LENGTH.pack(101) + b"m" * 16))


async def serve(token, received, opened=None):
    loop = asyncio.get_running_loop()
    closed = []

    on_open = (lambda _: None) if opened is None else opened.append

    def connection():
        return Connection(
            token, 1000, True, on_open, lambda c, m: received.append(m), lambda c, why: closed.append(why)
        )

    server = await loop.create_server(connection, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1], closed


def test_with_the_token_messages_flow_without_it_nothing_is_read():
    received, closed_here = [], asyncio.Event()

    async def run():
        server, port, closed = await serve(b"t" * 32, received)
        with pytest.raises(Refused, match="token"):
            await connected("127.0.0.1", port, b"x" * 32, 1000, lambda *_: None, lambda *_: None)
        assert closed == ["wrong token"]
        good = await connected("127.0.0.1", port, b"t" * 32, 1000, lambda *_: None, lambda *_: closed_here.set())
        good.send({"op": "hello"})
        good.send({"op": "too long", "data": b"x" * 2000})
        await asyncio.wait_for(closed_here.wait(), 30)
        assert "the limit is 1,000" in closed[-1]
        server.close()
        await server.wait_closed()

    asyncio.run(run())
    assert received == [{"op": "hello"}]


@pytest.mark.skipif(not wire.HAS_NAMES, reason="needs abstract Unix sockets")
def test_programs_of_this_machine_do_without_tcp_and_prove_the_token_there_too():
    token, received, closed, strange = b"t" * 32, [], [], []

    def made():
        end = lambda _, why: closed.append(why)  # noqa: E731
        return Connection(token, 1000, True, lambda _: None, lambda _, m: received.append(m), end)

    def ours(port):
        return connected("127.0.0.1", port, token, 1000, lambda *_: None, lambda *_: None)

    def stranger(_, writer):
        strange.append(True)
        writer.close()

    async def run():
        port, servers = await listening(made, token, "127.0.0.1", 0)
        near = await ours(port)
        assert near.local_host == ""
        near.send({"op": "near"})
        near.close("done")
        reader, writer = await asyncio.open_unix_connection(wire._name(token, port))
        await reader.readexactly(wire.handshake.GREETING_BYTES)
        writer.write(bytes(wire.handshake.ANSWER_BYTES))
        assert await reader.read() == b""
        writer.close()
        assert closed[-1] == "wrong token"
        servers.pop().close()
        taken = await asyncio.start_unix_server(stranger, wire._name(token, port))
        far = await ours(port)
        assert (far.local_host, strange) == ("127.0.0.1", [True])
        far.send({"op": "far"})
        far.close("done")
        while len(received) < 2:
            await asyncio.sleep(0)
        taken.close()
        servers.pop().close()

    asyncio.run(asyncio.wait_for(run(), 30))
    assert received == [{"op": "near"}, {"op": "far"}]


def test_a_message_without_meaning_arrives_as_such_and_the_connection_stays():
    """The peer would come back and send it again."""
    received = []

    async def run():
        server, port, closed = await serve(b"t" * 32, received)
        good = await connected("127.0.0.1", port, b"t" * 32, 1000, lambda *_: None, lambda *_: None)
        good.send({(1, 2): 3})
        good.send_packed(b"\xc1")
        good.send({"op": "hello"})
        while len(received) < 3:
            await asyncio.sleep(0)
        assert closed == []
        good.close("done")
        server.close()
        await server.wait_closed()

    asyncio.run(asyncio.wait_for(run(), 30))
    assert [message["op"] for message in received] == ["unreadable", "unreadable", "hello"]
    assert "a key of a dict" in received[0]["why"]


@pytest.mark.parametrize("reads", [True, False])
def test_who_reads_slowly_is_served_and_who_does_not_read_at_all_is_disconnected(monkeypatch, reads):
    monkeypatch.setattr("vinesim.live.wire.connection.UNSENT_BYTES", 1_000_000)
    monkeypatch.setattr("vinesim.live.wire.connection.UNREAD_S", 60.0 if reads else 0.0)
    opened, received, data = [], [], b"x" * 400_000

    async def run():
        server, port, closed = await serve(b"t" * 32, [], opened)
        good = await connected("127.0.0.1", port, b"t" * 32, 10**6, lambda _, m: received.append(m), lambda *_: None)
        while not opened:
            await asyncio.sleep(0)
        if not reads:
            good._transport.pause_reading()
        for _ in range(50):
            opened[0].send(data)
        while not closed and len(received) < 50:
            await asyncio.sleep(0)
        assert closed == ([] if reads else ["the peer does not read what it is sent"])
        good.close("done")
        server.close()
        await server.wait_closed()

    asyncio.run(asyncio.wait_for(run(), 30))


def test_a_server_without_the_token_is_refused_by_the_client():
    """A stranger on the manager's port learns nothing that lets it answer, and is sent no message."""

    async def run():
        async def stranger(reader, writer):
            text, _ = handshake.greeting()
            writer.write(text)
            await reader.readexactly(handshake.ANSWER_BYTES)
            writer.write(b"p" * handshake.PROOF_BYTES)
            assert await reader.read() == b""
            writer.close()

        server = await asyncio.start_server(stranger, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Refused, match="does not know this token"):
            await connected("127.0.0.1", port, b"t" * 32, 1000, lambda *_: None, lambda *_: None)
        server.close()

    asyncio.run(run())


def test_something_else_on_the_port_is_said():
    async def run():
        async def web(_, writer):
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 3)
            writer.close()

        server = await asyncio.start_server(web, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Refused, match="no VineSim manager"):
            await connected("127.0.0.1", port, b"t" * 32, 1000, lambda *_: None, lambda *_: None)
        server.close()

    asyncio.run(run())
