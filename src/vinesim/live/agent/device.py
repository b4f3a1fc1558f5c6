"""A device process, as its agent sees it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vinesim.live.agent.processes import end_group, started_at
from vinesim.live.agent.records import forget_process, write_process
from vinesim.live.clock import lease_clock_us
from vinesim.live.wire.frames import LENGTH
from vinesim.live.wire.messages import packed, unpacked

Message = dict[str, Any]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Device:
    """One process of a unit; it has one order at a time."""

    def __init__(self, unit: int, processor_type: str, folder: Path, on_message: Callable[["Device", Message], None]):
        self.unit, self._type, self._folder, self._on_message = unit, processor_type, folder, on_message
        self.attempt: int | None = None  # what it runs
        self.order: Message = {}
        self.why = ""  # it was killed for this reason
        self.is_ready = False  # it has imported the kernels, and answers
        self.alive_us = lease_clock_us()  # when it was last heard of
        self.command: tuple[int, float | None] | None = None  # the command that it runs: process group, start
        self.limit: asyncio.TimerHandle | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._started: float | None = None
        self.over = asyncio.get_running_loop().create_future()  # done when the process has ended
        self._reader: asyncio.Task[None] | None = None

    async def start(self, kernels: dict[str, str], limit_bytes: int) -> None:
        """Start the process. It begins to import the kernels."""
        environment = dict.fromkeys(THREADS, "1") | os.environ | {"VINESIM_UNIT": str(self.unit)}
        with open(self._folder / "devices.log", "ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "vinesim.live.agent.device_process",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env=environment,
            )
        self._started = started_at(self._process.pid)
        write_process(self._folder, self._process.pid, self._started)
        self._reader = asyncio.get_running_loop().create_task(self._read())
        place = {"type": self._type, "folder": str(self._folder)}
        self.say({"op": "begin", **place, "kernels": kernels, "limit": limit_bytes})

    @property
    def is_idle(self) -> bool:
        """Whether it can take an order."""
        return self.attempt is None and self._started is not None and not self.why and not self.over.done()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return 0 if self._process is None else self._process.pid

    def say(self, message: Message) -> None:
        """Send a message to the process."""
        if self._process is None or self._process.stdin is None or self.over.done():
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
        self.kill("it ended by itself")  # what is left of its group
        await self._process.wait()
        forget_process(self._folder, self._process.pid)
        if self.command is not None:
            forget_process(self._folder, self.command[0])
        self.over.set_result(None)
        self._on_message(self, {"op": "over"})

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
