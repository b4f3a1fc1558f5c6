"""A device process, as its agent sees it."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vinesim.live.agent.content import words_of
from vinesim.live.agent.processes import collect, descendants, end_descendants, end_group, started_at
from vinesim.live.agent.records import forget_process, write_process
from vinesim.live.clock import lease_clock_us
from vinesim.live.wire.frames import LENGTH
from vinesim.live.wire.messages import packed, unpacked

log = logging.getLogger(__name__)
Message = dict[str, Any]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Device:
    """One process of a unit; it has one order at a time."""

    def __init__(
        self, unit: int, processor_type: str, family: "Family", on_message: Callable[["Device", Message], None]
    ):
        self.unit, self._type, self._family, self._on_message = unit, processor_type, family, on_message
        self._folder = family.folder
        self.attempt: int | None = None  # what it runs
        self.order: Message = {}
        self.order_us = 0.0  # when it got its order, by the lease clock
        self.why = ""  # it was killed for this reason
        self.is_ready = False  # it has imported the kernels, and answers
        self.alive_us = lease_clock_us()  # when it was last heard of
        self.command: tuple[int, str | None] | None = None  # the command that it runs: process group, start
        self.limit: asyncio.TimerHandle | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._started: str | None = None
        self._early: list[Message] = []  # what is to be sent once there is a process
        self.over = asyncio.get_running_loop().create_future()  # done when the process has ended

    async def run(self, kernels: dict[str, str], limit_bytes: int) -> None:
        """Start the process, which begins to import the kernels, and pass on what it says until it ends."""
        try:
            await self._start(kernels, limit_bytes)
            await self._read()
        except Exception as wrong:  # it cannot be started, or what it says cannot be handled
            log.error("device failed", exc_info=True, extra={"unit": self.unit})
            self.why = self.why or f"its process failed: {words_of(wrong)}"
        self.kill("it ended by itself")  # what is left of its group
        if self._process is not None:
            await self._process.wait()
        await self._family.end_orphans(self)
        for pid in (self.pid, 0 if self.command is None else self.command[0]):
            forget_process(self._folder, pid)
        self.over.set_result(None)
        self._on_message(self, {"op": "over"})

    async def _start(self, kernels: dict[str, str], limit_bytes: int) -> None:
        environment = dict.fromkeys(THREADS, "1") | os.environ | {"VINESIM_UNIT": str(self.unit)}
        with open(self._folder / "devices.log", "ab") as errors:
            async with self._family.lock:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "vinesim.live.agent.device_process",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                    env=environment,
                )
                self._family.members.add(self)
        self._started = started_at(self._process.pid)
        write_process(self._folder, self._process.pid, self._started)
        if self.why:  # it was killed before there was a process
            self.kill(self.why)
        place = {"type": self._type, "folder": str(self._folder)}
        early, self._early = self._early, []
        for message in ({"op": "begin", **place, "kernels": kernels, "limit": limit_bytes}, *early):
            self.say(message)

    @property
    def is_idle(self) -> bool:
        """Whether it can take an order."""
        return self.attempt is None and not self.why and not self.over.done()

    @property
    def pid(self) -> int:
        """The number of the process; 0 before there is one."""
        return 0 if self._process is None else self._process.pid

    def give(self, order: Message) -> None:
        """Let it carry out an order: now, or once it has started."""
        self.attempt, self.order, self.order_us = order["attempt"], order, lease_clock_us()
        self.say(order)

    def free(self) -> None:
        """Note that its order has ended."""
        self.attempt, self.order = None, {}
        if self.limit is not None:
            self.limit.cancel()
            self.limit = None

    def say(self, message: Message) -> None:
        """Send a message to the process."""
        if self._process is None:
            self._early.append(message)
            return
        if self._process.stdin is None or self.over.done():
            return
        data = packed(message)
        with contextlib.suppress(OSError, RuntimeError):
            self._process.stdin.write(LENGTH.pack(len(data)) + data)

    def kill(self, why: str) -> None:
        """End the process, its group, and the command that it runs. ``over`` is done once it has ended.

        The process is first: it would report a command that is killed as one that has ended."""
        self.why = self.why or why
        if self._process is not None:
            end_group(self._process.pid, self._started)
        if self.command is not None:
            end_group(*self.command)

    async def _read(self) -> None:
        """Pass on what the process says, until it ends."""
        assert self._process is not None
        assert self._process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = await self._process.stdout.readexactly(LENGTH.size)
                message = unpacked(await self._process.stdout.readexactly(*LENGTH.unpack(head)))
                self.alive_us = lease_clock_us()
                self._hear(message)

    def _hear(self, message: Message) -> None:
        if message["op"] == "ready":
            self.is_ready = True
        elif message["op"] == "started":
            self.command = (message["group"], message["started"])
            write_process(self._folder, *self.command, is_command=True)
        elif message["op"] == "ended" and self.command is not None:
            end_group(*self.command)  # what the command left behind
            forget_process(self._folder, self.command[0])
            self.command = None
        self._on_message(self, message)


class Family:
    """The device processes of an agent. What one of them leaves behind becomes the agent's child, and is ended."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lock = asyncio.Lock()  # while a process is started, it is not known to be one of these
        self.members: set[Device] = set()
        self._others = frozenset(descendants(os.getpid()))

    async def end_orphans(self, dead: Device) -> None:
        """End what a device that has ended has left behind."""
        async with self.lock:
            self.members.discard(dead)
            spare = self._others | {device.pid for device in self.members}
            collect(await asyncio.to_thread(end_descendants, os.getpid(), spare))
