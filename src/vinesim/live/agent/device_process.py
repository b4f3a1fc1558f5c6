"""The program of a device process: it runs one order at a time, and ends itself when its lease ends.

``python -m vinesim.live.agent.device_process`` reads frames from standard input and writes frames to standard output.
It leads a process group of its own. Three things end it: the lease clock (this module's reader thread), an alarm of the
operating system for kernels that never let another thread run, and the end of its agent (the input closes).
"""

import contextlib
import os
import queue
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from vinesim.live.agent import command
from vinesim.live.agent.content import payload_of, result_of_job, result_of_request, words_of
from vinesim.live.agent.processes import adopt_orphans, end_descendants
from vinesim.live.clock import lease_clock_us
from vinesim.live.kernels import kernel_for, load, prepare_all
from vinesim.live.wire.frames import LENGTH
from vinesim.live.wire.messages import WrongMessage, packed, unpacked

ALARM_LATE_S = 0.25  # the alarm comes this long after the lease clock should have ended the process


def main() -> None:
    """Run until the input closes or the lease ends."""
    adopt_orphans()
    inbox, outbox = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what kernels print goes to the log
    orders: queue.Queue[dict[str, Any]] = queue.Queue()
    device = Device(outbox)
    threading.Thread(target=_read, args=(inbox, orders, device), daemon=True).start()
    while True:
        device.carry_out(orders.get())


class Device:
    """One device, as its own process sees it."""

    def __init__(self, outbox: BinaryIO):
        self._outbox, self._lock = outbox, threading.Lock()
        self._ending = threading.Lock()  # of who records the end of a command, and of who ends it
        self.command_group = 0  # process group of the command that runs
        self._type, self._folder, self._limit_bytes = "", Path(), 0
        self._wrong = ""  # why the kernels could not be imported

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to the agent."""
        data = packed(message)
        with self._lock:
            _write(self._outbox, LENGTH.pack(len(data)) + data)

    def carry_out(self, order: dict[str, Any]) -> None:
        """Run an order from the agent, and report its end."""
        if order["op"] == "begin":
            self._begin(order)
            return
        started_us = lease_clock_us()
        try:
            end = self._command(order) if "commands" in order else self._kernel(order)
        except BaseException as raised:  # also what ends a program, such as SystemExit
            end = {"outcome": "raised", "why": words_of(raised)}
        end = {"execution_us": lease_clock_us() - started_us} | end
        self.say({"op": "ended", "attempt": order["attempt"], **end})

    def _begin(self, order: dict[str, Any]) -> None:
        self._type, self._folder, self._limit_bytes = order["type"], Path(order["folder"]), order["limit"]
        try:
            load(order["kernels"], self._folder)
            prepare_all()
        except BaseException as wrong:
            self._wrong = f"the kernels could not be loaded: {words_of(wrong)}"
        self.say({"op": "ready", "pid": os.getpid()})

    def _kernel(self, order: dict[str, Any]) -> dict[str, Any]:
        if self._wrong:
            raise ImportError(self._wrong)
        function = kernel_for(order["kernel"], self._type)
        results: list[Any] = [payload_of(one) for one in order["payloads"]]
        readable = [place for place, one in enumerate(results) if not isinstance(one, WrongMessage)]
        before = time.perf_counter()
        found = list(function([results[place] for place in readable])) if readable else []
        execution_us = (time.perf_counter() - before) * 1e6
        if len(found) != len(readable):
            raise ValueError(f"kernel {order['kernel']} returned {len(found)} results for {len(readable)} requests")
        for place, one in zip(readable, found, strict=True):
            results[place] = one
        if "job" in order:
            ended = [result_of_job(one) for one in results]
        else:
            ended = [result_of_request(one, self._limit_bytes) for one in results]
        return {"outcome": "done", "results": ended, "execution_us": execution_us}

    def _command(self, order: dict[str, Any]) -> dict[str, Any]:
        words = order["commands"].get(self._type) or order["commands"].get("*")
        if not words:
            raise LookupError(f"the job has no command for {self._type}")
        end = command.run(words, order, self._folder, self._started, self._ending)
        self.command_group = 0
        return end

    def _started(self, group: int, attempt: int, started: str | None) -> None:
        self.command_group = group
        self.say({"op": "started", "attempt": attempt, "group": group, "started": started})

    def end_all(self) -> None:
        """End the command, all that it has started, and this process's group. The command does not count as ended by
        itself."""
        self._ending.acquire()  # for good
        if self.command_group:
            with contextlib.suppress(OSError):
                os.killpg(self.command_group, signal.SIGKILL)
        with contextlib.suppress(Exception):
            end_descendants(os.getpid())
        os.killpg(0, signal.SIGKILL)


def _read(inbox: BinaryIO, orders: "queue.Queue[dict[str, Any]]", device: Device) -> None:
    """Read messages of the agent until the lease ends; orders go to the main thread."""
    lease_until_us = lease_clock_us() + 60e6  # until the first renewal: the time to start
    buffer = bytearray()
    while True:
        left_s = (lease_until_us - lease_clock_us()) / 1e6
        ready = select.select([inbox], [], [], max(0.0, left_s))[0] if left_s > 0 else []
        if not ready:
            device.end_all()
        chunk = inbox.read(65536)
        if not chunk:
            device.end_all()  # the agent has ended
        buffer += chunk
        while len(buffer) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(buffer)
            if len(buffer) < LENGTH.size + length:
                break
            message = unpacked(bytes(buffer[LENGTH.size : LENGTH.size + length]))
            del buffer[: LENGTH.size + length]
            if message["op"] == "lease":
                lease_until_us = message["until_us"]
                signal.setitimer(
                    signal.ITIMER_REAL, max(0.001, (lease_until_us - lease_clock_us()) / 1e6) + ALARM_LATE_S
                )
                device.say({"op": "alive"})
            else:
                orders.put(message)


def _write(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


if __name__ == "__main__":
    sys.modules.setdefault("vinesim.live.agent.device_process", sys.modules["__main__"])
    main()
