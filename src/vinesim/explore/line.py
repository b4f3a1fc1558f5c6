"""A worker process and the line before it: one job at a time, and a newer job of a page replaces its older one."""

import asyncio
import multiprocessing
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from vinesim.explore.state import Explored
from vinesim.explore.worker import DROP, STOP, serve

PATIENCE_S = 5.0  # a job that does not stop within this time is ended with its process
ENDS = ("done", "failed", "stopped", "replaced")
Message = tuple[str, Any]


class Ticket:
    """A job in the line, and the messages about it."""

    def __init__(self, owner: str, job: str, question: Mapping[str, Any]):
        self.owner, self.job, self.question = owner, job, question
        self.is_over = False
        self._messages: asyncio.Queue[Message] = asyncio.Queue()

    def tell(self, message: Message) -> None:
        """Pass a message on; none after the one that ends the job."""
        if not self.is_over:
            self.is_over = message[0] in ENDS
            self._messages.put_nowait(message)

    async def messages(self) -> AsyncIterator[Message]:
        """Yield the messages, to the end of the job."""
        while True:
            message = await self._messages.get()
            yield message
            if message[0] in ENDS:
                return


class Line:
    """The jobs of one worker process, which is started with the first one."""

    def __init__(self, explored: Explored, niceness: int = 0):
        self._setting = (str(explored.path), explored.overrides, explored.engine, niceness)
        self._waiting: dict[str, Ticket] = {}  # by owner
        self._current: Ticket | None = None
        self._process: Any = None
        self._connection: Any = None
        self._received: asyncio.Queue[Message] = asyncio.Queue()
        self._is_wanted = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None

    def submit(self, owner: str, job: str, question: Mapping[str, Any]) -> Ticket:
        """Add a job; an older one of the same owner is replaced."""
        ticket = Ticket(owner, job, question)
        if older := self._waiting.get(owner):
            older.tell(("replaced", None))
        self._waiting[owner] = ticket
        if self._current is not None and self._current.owner == owner:
            self._end(self._current, DROP)
            self._current.tell(("replaced", None))
        self._is_wanted.set()
        if self._pump is None:
            self._pump = asyncio.create_task(self._work())
        return ticket

    def stop(self, owner: str) -> None:
        """End the running job of an owner, soon; it tells what it has."""
        if self._current is not None and self._current.owner == owner:
            self._end(self._current, STOP)

    def leave(self, ticket: Ticket) -> None:
        """Forget a job whose page has gone."""
        if self._waiting.get(ticket.owner) is ticket:
            del self._waiting[ticket.owner]
        elif self._current is ticket:
            self._end(ticket, DROP)

    async def close(self) -> None:
        """End the process."""
        if self._pump is not None:
            self._pump.cancel()
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.join)

    def _end(self, ticket: Ticket, order: str) -> None:
        if not ticket.is_over:
            self._send(order)
            asyncio.get_running_loop().call_later(PATIENCE_S, self._kill, ticket)

    def _send(self, what: Any) -> None:
        with suppress(OSError):  # it has died, which the reader tells
            self._connection.send(what)

    def _kill(self, ticket: Ticket) -> None:
        if self._current is ticket and self._process is not None:
            self._process.kill()

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._is_wanted.clear()
                await self._is_wanted.wait()
            ticket = self._current = self._waiting.pop(next(iter(self._waiting)))
            if self._process is None:
                self._start()
            self._send((ticket.job, dict(ticket.question)))
            while True:
                message = await self._received.get()
                if message[0] == "died":
                    self._process = None
                    ticket.tell(("failed", "the process that simulates has ended; is there enough memory?"))
                    break
                ticket.tell(message)
                if message[0] in ENDS:
                    break
            self._current = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # threads and the event loop do not survive a fork
        self._connection, other = context.Pipe()
        self._received = asyncio.Queue()
        self._process = context.Process(target=serve, args=(other, *self._setting), daemon=True)
        self._process.start()
        other.close()
        loop, connection, received = asyncio.get_running_loop(), self._connection, self._received

        def read() -> None:
            while True:
                try:
                    message = connection.recv()
                except (EOFError, OSError):
                    message = ("died", None)
                try:
                    loop.call_soon_threadsafe(received.put_nowait, message)
                except RuntimeError:  # the loop is closed
                    return
                if message[0] == "died":
                    return

        threading.Thread(target=read, daemon=True).start()
