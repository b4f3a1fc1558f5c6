"""A device process, as its agent sees it."""

import asyncio
import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vinesim.live.agent.content import words_of
from vinesim.live.agent.piped import Piped, started
from vinesim.live.agent.processes import collect, descendants, end_descendants, end_group, started_at
from vinesim.live.agent.records import forget_process, write_process
from vinesim.live.alarm import Alarm
from vinesim.live.clock import lease_clock_us
from vinesim.live.wire.board import BEGUN, ENDED, GIVEN, Address, AgentBoard

log = logging.getLogger(__name__)
Message = dict[str, Any]
PROGRAM = [sys.executable, "-m", "vinesim.live.agent.device_process"]
CLOSED_S = 0.1  # a board stays closed that long
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Device:
    """One process of a unit. It carries out its orders one after another, and may have some ahead."""

    def __init__(
        self,
        unit: int,
        processor_type: str,
        family: "Family",
        on_messages: Callable[["Device", Sequence[Message]], None],
        gpu: str = "",
    ):
        self._gpu = gpu  # that the process can see; empty: all that the agent can see
        self.unit, self._type, self._family, self._on_messages = unit, processor_type, family, on_messages
        self._folder = family.folder
        self.orders: deque[Message] = deque()  # the first is what it runs; given_us is by the lease clock
        self.why = ""  # it was killed for this reason
        self.is_ready = False  # it has imported the kernels, and answers
        self.alive_us = lease_clock_us()  # when it last answered
        self.command: tuple[int, str | None] | None = None  # the command that it runs: process group, start
        self.agent_board: AgentBoard | None = None  # the board that its agent has for it, once it has been open
        self.takes_boards = False
        self._closed_s = -math.inf  # when the board was closed, by the loop's clock
        self._limit = Alarm(self._over_limit)
        self._process: Piped | None = None
        self._started: str | None = None
        self._early: list[Message] = []  # what is to be sent once there is a process
        self.over = asyncio.get_running_loop().create_future()  # done when the process has ended

    async def run(self, kernels: dict[str, str], limit_bytes: int) -> None:
        """Start the process, which begins to import the kernels, and pass on what it says until it ends."""
        try:
            process = await self._start(kernels, limit_bytes)
            await process.said_all
        except Exception as wrong:  # it cannot be started, or what it says cannot be handled
            log.error("device failed", exc_info=True, extra={"unit": self.unit})
            self.why = self.why or f"its process failed: {words_of(wrong)}"
        self.kill("it ended by itself")  # what is left of its group
        if self._process is not None:
            await self._process.ended
        await self._family.end_orphans(self)
        for pid in (self.pid, 0 if self.command is None else self.command[0]):
            forget_process(self._folder, pid)
        self.over.set_result(None)
        self._on_messages(self, [{"op": "over"}])

    async def _start(self, kernels: dict[str, str], limit_bytes: int) -> Piped:
        environment = dict.fromkeys(THREADS, "1") | os.environ | {"VINESIM_UNIT": str(self.unit)}
        if self._gpu:
            environment["CUDA_VISIBLE_DEVICES"] = self._gpu
        with open(self._folder / "devices.log", "ab") as errors:
            async with self._family.lock:
                self._process = await started(self._receive, PROGRAM, environment, errors)
                self._family.members.add(self)
        self._started = started_at(self._process.pid)
        write_process(self._folder, self._process.pid, self._started)
        if self.why:  # it was killed before there was a process
            self.kill(self.why)
        place = {"type": self._type, "folder": str(self._folder)}
        early, self._early = self._early, []
        for message in ({"op": "begin", **place, "kernels": kernels, "limit": limit_bytes}, *early):
            self.say(message)
        return self._process

    @property
    def attempt(self) -> int | None:
        """The attempt that it runs."""
        return self.orders[0]["attempt"] if self.orders else None

    @property
    def order(self) -> Message:
        """The order of the attempt that it runs."""
        return self.orders[0] if self.orders else {}

    @property
    def is_open(self) -> bool:
        """Whether it can take an order, now or ahead."""
        return not self.why and not self.over.done()

    @property
    def is_idle(self) -> bool:
        """Whether it can take an order now."""
        return not self.orders and self.is_open

    @property
    def pid(self) -> int:
        """The number of the process; 0 before there is one."""
        return 0 if self._process is None else self._process.pid

    def give(self, order: Message) -> None:
        """Let it carry out an order: now, or once it has started and the orders before it have ended."""
        order.setdefault("given_us", lease_clock_us())
        self.orders.append(order)
        self.say(order)

    def withdraw(self, attempt: int, why: str) -> bool:
        """Take back an order that it has ahead; the process says whether it has begun that order. Returns whether it
        has the order."""
        for order in list(self.orders)[1:]:
            if order["attempt"] == attempt:
                order["withdrawn"] = why
                self.say({"op": "withdraw", "attempt": attempt})
                return True
        return False

    def forget(self, attempt: int) -> Message | None:
        """Note that it will not begin an order that it had ahead. Returns the order, if it has it."""
        found = next((order for order in self.orders if order["attempt"] == attempt), None)
        if found is not None:
            self.orders.remove(found)
        return found

    def free(self) -> None:
        """Note that what it runs has ended: it runs the next order, if it has one."""
        if self.orders:
            self.orders.popleft()
        self._limit.set(math.inf)

    def watch(self) -> None:
        """Let the time that its order may take begin, if it has not begun."""
        if self.is_open and self.order.get("limit_us"):
            left_us = self.order["limit_us"]
            if "begun_us" in self.order:
                left_us += self.order["begun_us"] - lease_clock_us()
            self._limit.set(asyncio.get_running_loop().time() + left_us / 1e6)

    # --- the board, on which the manager of the same machine leaves orders ---

    def open_board(self, n_slots: int, bell: Address) -> Message | None:
        """Open the board to a manager, if the device is idle and has one. Returns what the manager must know. A board
        that was just closed stays closed for a while: the cause may come again."""
        is_soon = asyncio.get_running_loop().time() < self._closed_s + CLOSED_S
        if not (self.takes_boards and self.is_ready and self.is_idle) or self.is_board_open or is_soon:
            return None
        if self.agent_board is None:
            try:
                self.agent_board = AgentBoard(n_slots)
            except OSError as wrong:
                log.warning("no board", extra={"unit": self.unit, "why": str(wrong)})
                self.takes_boards = False
                return None
        self.agent_board.last += 1
        self.agent_board.board.generation = self.agent_board.last
        own = {"unit": self.unit, "generation": self.agent_board.last}
        self.say({"op": "board", **own, "board": self.agent_board.device_address, "bell": bell})
        return {"op": "agent.board", **own, "board": self.agent_board.address}

    @property
    def is_board_open(self) -> bool:
        """Whether the board is open."""
        return self.agent_board is not None and self.agent_board.board.generation > 0

    def close_board(self) -> tuple[list[Message], list[int]]:
        """Close the board, and take over what is on it, as if the manager had sent it. Returns the ends, and the
        attempts that were found."""
        assert self.agent_board is not None
        board, ends, taken = self.agent_board.board, [], []
        board.generation = 0
        self._closed_s = asyncio.get_running_loop().time()
        self.say({"op": "board"})  # a system call: what the device leaves from now on it says, too
        for one in self.agent_board.found():
            taken.append(one.attempt)
            if one.state == ENDED:
                ends.append({"attempt": one.attempt, **board.end(one.slot)})
                continue
            order = board.order(one)
            if order is None:
                continue
            if one.state == GIVEN:
                self.give(order)  # again, if it has seen it
            else:
                self.orders.append(order | {"begun_us": one.begun_us})
        self.watch()
        return ends, taken

    def forget_board(self) -> None:
        """Give the board back."""
        if self.agent_board is not None:
            self.agent_board.close()
            self.agent_board = None

    def holds(self, attempt: int) -> bool:
        """Whether an attempt is on the open board."""
        return self.is_board_open and any(one.attempt == attempt for one in self.agent_board.found())  # type: ignore[union-attr]

    def longest_since_us(self) -> float:
        """Return when the oldest order that it runs by the open board began; infinite if it runs none."""
        if not self.is_board_open:
            return math.inf
        assert self.agent_board is not None
        found = [one for one in self.agent_board.found() if one.state == BEGUN]
        return min((one.begun_us for one in found), default=math.inf)

    def _over_limit(self) -> None:
        self.order["is_over_limit"] = True
        self.kill(f"it took longer than its limit of {self.order['limit_us'] / 1e6:g} s")

    def say(self, message: Message) -> None:
        """Send a message to the process."""
        if self._process is None:
            self._early.append(message)
        elif not self.over.done():
            self._process.say(message)

    def kill(self, why: str) -> None:
        """End the process, its group, and the command that it runs. ``over`` is done once it has ended.

        The process is first: it would report a command that is killed as one that has ended."""
        self.why = self.why or why
        self._limit.cancel()
        if self._process is not None:
            end_group(self._process.pid, self._started)
        if self.command is not None:
            end_group(*self.command)

    def _receive(self, messages: Sequence[Message]) -> None:
        """Pass on what the process says."""
        self.alive_us = lease_clock_us()
        for message in messages:
            if message["op"] == "ready":
                self.is_ready, self.takes_boards = True, message.get("takes_boards", False)
            elif message["op"] == "started":
                self.command = (message["group"], message["started"])
                write_process(self._folder, *self.command, is_command=True)
            elif message["op"] == "ended" and self.command is not None:
                end_group(*self.command)  # what the command left behind
                forget_process(self._folder, self.command[0])
                self.command = None
        self._on_messages(self, messages)


class Family:
    """The device processes of an agent. Processes that one of them leaves behind become children of the agent, and are
    ended."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lock = asyncio.Lock()  # while a process is started, it is not known to be one of these
        self.members: set[Device] = set()
        self._others = frozenset(descendants(os.getpid()))

    async def end_orphans(self, dead: Device) -> None:
        """End the processes that an ended device has left behind."""
        async with self.lock:
            self.members.discard(dead)
            spare = self._others | {device.pid for device in self.members}
            collect(await asyncio.to_thread(end_descendants, os.getpid(), spare))
