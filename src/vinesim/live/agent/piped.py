"""A process that exchanges messages with its agent through pipes. They go straight to a function: a task that reads a
stream costs a turn of the event loop more for each."""

import asyncio
from collections.abc import Callable
from typing import Any, BinaryIO

from vinesim.live.wire.piping import piped, taken

Message = dict[str, Any]


class Piped(asyncio.SubprocessProtocol):
    """A process that was started."""

    def __init__(self, on_messages: Callable[[list[Message]], None]):
        loop = asyncio.get_running_loop()
        self._on_messages, self._buffer = on_messages, bytearray()
        self._transport: Any = None
        self.said_all: asyncio.Future[None] = loop.create_future()  # or what was raised when it was handled
        self.ended: asyncio.Future[None] = loop.create_future()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return int(self._transport.get_pid())

    def say(self, message: Message) -> None:
        """Send a message to the process; one that has ended does not get it."""
        self._transport.get_pipe_transport(0).write(piped(message))

    # --- called by asyncio ---

    def connection_made(self, transport: Any) -> None:
        """The process has started."""
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Handle what the process says."""
        if self.said_all.done():
            return
        self._buffer += data
        try:
            self._on_messages(taken(self._buffer))
        except Exception as wrong:
            self.said_all.set_exception(wrong)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        """Note that a pipe is closed."""
        if fd == 1 and not self.said_all.done():
            self.said_all.set_result(None)

    def process_exited(self) -> None:
        """Note the end of the process."""
        self.ended.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Give everything back: the process has ended, and all pipes are closed."""
        self._transport.close()


async def started(
    on_messages: Callable[[list[Message]], None], words: list[str], environment: dict[str, str], errors: BinaryIO
) -> Piped:
    """Start a process in a session of its own. Raises :class:`OSError`."""
    pipe = asyncio.subprocess.PIPE
    _, process = await asyncio.get_running_loop().subprocess_exec(
        lambda: Piped(on_messages), *words, stdin=pipe, stdout=pipe, stderr=errors, start_new_session=True,
        env=environment,
    )  # fmt: skip
    return process
