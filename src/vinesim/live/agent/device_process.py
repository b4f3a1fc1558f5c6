"""The program of a device process: it runs its orders one after another, and ends itself when its lease ends.

``python -m vinesim.live.agent.device_process`` reads frames from standard input and writes frames to standard output.
It leads its own process group. Three things end it: the lease clock (this module's second thread), an alarm of the
operating system for kernels that never let another thread run, and the end of its agent (the input closes).
"""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO

from vinesim.live.agent import command
from vinesim.live.agent.content import payload_of, result_of_job, result_of_request, words_of
from vinesim.live.agent.processes import adopt_orphans, end_descendants
from vinesim.live.clock import lease_clock_us
from vinesim.live.kernels import kernel_for, load, prepare_all
from vinesim.live.wire.board import GIVEN, Board, bell_at, emptied, rung
from vinesim.live.wire.memory import Visit, Visits
from vinesim.live.wire.messages import WrongMessage
from vinesim.live.wire.piping import piped, taken

STARTING_US = 60e6  # the time to start: until the first renewal of the lease
ALARM_LATE_S = 0.25  # the alarm comes this long after the lease clock should have ended the process


def main() -> None:
    """Run until the input closes or the lease ends."""
    adopt_orphans()
    inbox, outbox = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what kernels print goes to the log
    device = Device(outbox)
    orders = Inbox(inbox, device)
    threading.Thread(target=orders.watch, daemon=True).start()
    while True:
        device.carry_out(orders.next())


class Device:
    """One device, as its own process sees it."""

    def __init__(self, outbox: BinaryIO):
        self._outbox, self._lock = outbox, threading.Lock()
        self._ending = threading.Lock()  # of who records the end of a command, and of who ends it
        self.command_group = 0  # process group of the command that runs
        self._type, self._folder, self._limit_bytes = "", Path(), 0
        self._visits = Visits()
        self._visiting = threading.Lock()  # of who uses homes, and of who closes them
        self.lease_until_us = lease_clock_us() + STARTING_US
        self._waiting: set[int] = set()  # attempts of orders that it has not begun
        self._taking = threading.Lock()  # of who begins an order, and of who withdraws it
        self._wrong = ""  # why the kernels could not be imported
        self.board: DeviceBoard | None = None  # the board on which the manager leaves orders

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to the agent."""
        data = piped(message)
        with self._lock:
            _write(self._outbox, data)

    def carry_out(self, order: dict[str, Any]) -> None:
        """Run an order from the agent, and report its end."""
        if order["op"] == "begin":
            self._begin(order)
            return
        if order["op"] == "lease":
            with self._visiting:
                self._visits.forget_gone()
            return
        with self._taking:
            if order["attempt"] not in self._waiting:
                return  # it was withdrawn
            self._waiting.remove(order["attempt"])
        started_us = lease_clock_us()
        if "board" in order:
            order["board"].begin(order, started_us)
        try:
            end = self._command(order) if "commands" in order else self._kernel(order)
        except BaseException as raised:  # also what ends a program, such as SystemExit
            end = {"outcome": "raised", "why": words_of(raised)}
        end = {"execution_us": lease_clock_us() - started_us} | end
        if "board" not in order or not order["board"].finish(order, end):
            self.say({"op": "ended", "attempt": order["attempt"], **end})

    def has_come(self, order: dict[str, Any]) -> None:
        """Note an order that is to be carried out after those before it, and take its payloads out of the memory of
        their clients while the main thread computes."""
        with self._taking:
            self._waiting.add(order["attempt"])
        if "payloads" in order:
            try:
                order["visits"], order["payloads"] = self._inputs(order)
            except Exception as wrong:  # such as no memory: the order fails, and this thread goes on
                order["wrong"] = wrong

    def withdraw(self, attempt: int) -> None:
        """Do not carry out an order, unless it has begun."""
        with self._taking:
            is_waiting = attempt in self._waiting
            self._waiting.discard(attempt)
        self.say({"op": "withdrawn" if is_waiting else "begun", "attempt": attempt})

    def _begin(self, order: dict[str, Any]) -> None:
        self._type, self._folder, self._limit_bytes = order["type"], Path(order["folder"]), order["limit"]
        try:
            load(order["kernels"], self._folder)
            prepare_all()
        except BaseException as wrong:
            self._wrong = f"the kernels could not be loaded: {words_of(wrong)}"
        self.say({"op": "ready", "pid": os.getpid(), "takes_boards": hasattr(select, "EPOLLEXCLUSIVE")})

    def _kernel(self, order: dict[str, Any]) -> dict[str, Any]:
        if self._wrong:
            raise ImportError(self._wrong)
        if "wrong" in order:
            raise order["wrong"]
        function = kernel_for(order["kernel"], self._type)
        visits, results = order["visits"], order["payloads"]
        if results is None:
            return {"outcome": "killed", "is_far": True, "why": "its client's memory cannot be opened"}
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
            given = zip(results, visits, order["items"], strict=True)
            ended = [self._answered(one, visit, item[-1], order["is_direct"]) for one, visit, item in given]
        return {"outcome": "done", "results": ended, "execution_us": execution_us}

    def _inputs(self, order: dict[str, Any]) -> tuple[list[Visit | None], list[Any] | None]:
        """Return the homes of an order's clients, and its payloads; None if one of them cannot be reached."""
        given = order["payloads"]
        with self._visiting:
            visits = [self._visit(home) for home in order.get("homes") or [None] * len(given)]
            if any(visit is None and isinstance(data, list) for data, visit in zip(given, visits, strict=True)):
                return visits, None
            return visits, [payload_of(*one) for one in zip(given, visits, strict=True)]

    def _visit(self, home: dict[str, Any] | None) -> Visit | None:
        """Return a client's home; None if no device here can open it, or its client has gone."""
        try:
            return None if home is None else self._visits.at(home)
        except OSError:
            return None

    def _answered(self, one: Any, visit: Visit | None, key: str, is_direct: bool) -> dict[str, Any]:
        """Return what the agent is to say of a request: its result, or that its client has it already."""
        result = result_of_request(one, self._limit_bytes, visit)
        may_answer = is_direct and "result" in result and self.lease_until_us > lease_clock_us()
        if visit is not None and may_answer and visit.ring({"op": "answer", "key": key, **result}):
            return {"is_sent": True}
        return result

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


class DeviceBoard:
    """The board on which the manager leaves orders, with the bells of this device and of the manager."""

    def __init__(self, message: dict[str, Any]):
        """Raises :class:`OSError` if it cannot be opened."""
        self._board = Board.at(message["board"])
        self.bell = bell_at(message["board"], os.O_RDONLY)
        self._managers_bell = -1
        self._unit, self._seen = message["unit"].to_bytes(4, "little"), set[int]()
        self._generation = 0

    def open_to(self, message: dict[str, Any]) -> None:
        """Begin another generation, perhaps of another manager."""
        self._seen.clear()
        if self._managers_bell >= 0:
            os.close(self._managers_bell)
            self._managers_bell = -1
        with contextlib.suppress(OSError):  # it has gone already: the agent finds what happens here
            self._managers_bell = bell_at(message["bell"], os.O_WRONLY)
        self._generation = message["generation"]

    @property
    def is_behind(self) -> bool:
        """Whether the agent has opened the board again, and its message has not been read."""
        return self._board.generation not in (0, self._generation)

    def orders(self) -> list[dict[str, Any]]:
        """Return the orders that have come."""
        emptied(self.bell)
        if self._board.generation != self._generation:
            return []
        there = self._board.found(self._generation)
        new = [one for one in there if one.state == GIVEN and one.attempt not in self._seen]
        self._seen = {one.attempt for one in there}
        own = {"board": self, "generation": self._generation}
        return [self._board.order(one) | own | {"slot": one.slot} for one in new]

    def has_seen(self, attempt: int) -> bool:
        """Whether an order was taken from the board."""
        return attempt in self._seen

    def begin(self, order: dict[str, Any], now_us: float) -> None:
        """Note that an order has begun."""
        if self._is_current(order):
            self._board.begin(order["slot"], now_us)

    def finish(self, order: dict[str, Any], end: dict[str, Any]) -> bool:
        """Leave an end for the manager. Returns whether it is sure to be read."""
        is_left = self._is_current(order) and self._board.finish(order["slot"], end)
        return is_left and rung(self._managers_bell, self._unit) and self._is_current(order)

    def _is_current(self, order: dict[str, Any]) -> bool:
        return self._board.generation == self._generation == order["generation"]


class Inbox:
    """What the agent and the manager say. The main thread reads it while it waits for an order, so that an order wakes
    the thread that carries it out; while it computes, the second thread reads."""

    def __init__(self, stream: BinaryIO, device: Device):
        os.set_blocking(stream.fileno(), False)
        self._stream, self._device, self._buffer = stream, device, bytearray()
        self._orders: deque[dict[str, Any]] = deque()
        self._reading = threading.Lock()  # of who reads, and of the main thread while it waits
        self._wait, self._wait_second = Waiting(stream), Waiting(stream)  # the first is woken first

    def next(self) -> dict[str, Any]:
        """Wait for the next order, in the main thread."""
        while not self._orders:
            with self._reading:
                if not self._orders:
                    self._read(self._wait(None))
        return self._orders.popleft()

    def watch(self) -> None:
        """Read while the main thread computes, and end the process when its lease ends."""
        while (left_s := (self._device.lease_until_us - lease_clock_us()) / 1e6) > 0:
            heard = self._wait_second(left_s)
            if heard and self._reading.acquire(timeout=left_s):
                try:
                    self._read(heard)
                finally:
                    self._reading.release()
        self._device.end_all()

    def _read(self, heard: list[int]) -> None:
        """Read what has come; orders are kept for the main thread."""
        board = self._device.board
        if self._stream.fileno() in heard or (board is not None and board.is_behind):
            self._read_agent()
        if board is not None and board.bell in heard:
            for order in board.orders():
                self._device.has_come(order)
                self._orders.append(order)

    def _read_agent(self) -> None:
        device, chunk = self._device, self._stream.read(65536)
        if chunk is None:
            return  # the other thread has read it
        if not chunk:
            device.end_all()  # the agent has ended
        self._buffer += chunk
        for message in taken(self._buffer):
            if message["op"] == "lease":
                device.lease_until_us = message["until_us"]
                left_s = max(0.001, (device.lease_until_us - lease_clock_us()) / 1e6)
                signal.setitimer(signal.ITIMER_REAL, left_s + ALARM_LATE_S)
                device.say({"op": "alive"})
            elif message["op"] == "withdraw":
                device.withdraw(message["attempt"])
                continue
            elif message["op"] == "board":
                self._see_board(message)
                continue
            elif message["op"] == "run":
                if device.board is not None and device.board.has_seen(message["attempt"]):
                    continue
                device.has_come(message)
            self._orders.append(message)

    def _see_board(self, message: dict[str, Any]) -> None:
        """Look at a board from now on, or at a new generation of it. One that cannot be opened is not looked at: the
        agent takes over what is left there."""
        device = self._device
        if "board" not in message:
            return
        if device.board is None:
            try:
                device.board = DeviceBoard(message)
            except OSError as wrong:
                device.say({"op": "no board", "why": words_of(wrong)})
                return
            for wait in (self._wait, self._wait_second):
                wait.add(device.board.bell)
        device.board.open_to(message)


class Waiting:
    """Waits until something can be read. Of several threads that wait, Linux wakes the first alone; elsewhere all wake
    up, and one reads."""

    def __init__(self, stream: BinaryIO):
        self._files = [stream.fileno()]
        self._poll = None
        if hasattr(select, "EPOLLEXCLUSIVE"):
            self._poll = select.epoll()
            self.add(stream.fileno())

    def add(self, file: int) -> None:
        """Wait for this file too; there is an epoll."""
        assert self._poll is not None
        self._poll.register(file, select.EPOLLIN | select.EPOLLEXCLUSIVE)

    def __call__(self, most_s: float | None) -> list[int]:
        """Wait for at most so long. Returns the files that can be read."""
        if self._poll is None:
            return select.select(self._files, [], [], most_s)[0]
        return [file for file, _ in self._poll.poll(most_s)]


def _write(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


if __name__ == "__main__":
    sys.modules.setdefault("vinesim.live.agent.device_process", sys.modules["__main__"])
    main()
