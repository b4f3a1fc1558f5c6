"""The agent of a node: it starts device processes, gives them the manager's orders, and renews their leases."""

import asyncio
import logging
import math
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vinesim.live.agent.content import words_of
from vinesim.live.agent.device import Device, Family
from vinesim.live.agent.facts import node_facts
from vinesim.live.agent.far import FarClients
from vinesim.live.agent.processes import adopt_orphans, end_group, is_alive, started_at
from vinesim.live.agent.records import ends, forget_end, forget_outputs, forget_process, processes, write_process
from vinesim.live.alarm import Alarm
from vinesim.live.clock import lease_clock_us
from vinesim.live.wire.board import Address, is_possible
from vinesim.live.wire.connection import Connection, connected
from vinesim.live.wire.handshake import Refused

log = logging.getLogger(__name__)
Message = dict[str, Any]
AGAIN_S = 0.2  # between attempts to reach the manager
RENEWALS = 4  # per lease
ANY_BYTES = 2**31  # a message of the manager, which has checked what it accepted
READ_BYTES = 256 * 2**10  # of a job's output at a time


class Agent:
    """One node."""

    def __init__(self, name: str, host: str, port: int, token: bytes, folder: Path):
        self.name, self._host, self._port, self._token, self._folder = name, host, port, token, folder
        self.epoch = 0
        self._id = uuid.uuid4().hex
        self._manager: Connection | None = None
        self._devices: dict[int, list[Device]] = {}  # by unit
        self._units: dict[int, Message] = {}
        self._kernels: dict[str, str] = {}
        self._lease_us = self._lease_until_us = 0.0
        self._ready: set[int] = set()  # units all of whose first processes have loaded their kernels
        self._limit_bytes = 0
        self._parked: dict[int, Message] = {}  # orders whose payloads have not all come, by attempt
        self._newest = 0  # attempt of which there was an order
        self._early: dict[int, list[tuple[str, Message]]] = {}  # payloads that came before their order, by attempt
        self._far = FarClients(token, self._brought)
        self._ends: dict[int, Message] = {}  # by attempt: not acknowledged by the manager
        self._unreported: list[Message] = []  # ends
        self._tasks: set[asyncio.Task[Any]] = set()
        self._gone = asyncio.Event()  # the connection has ended
        self._ending: asyncio.Task[Any] | None = None  # ends what belongs to an epoch that is over
        self._is_stopping = False
        self._bell: Address | None = None  # of a manager that can leave orders on boards
        self._limit_us = math.inf  # of an order on a board
        self._look = Alarm(self._look_at_boards)

    async def run(self) -> None:
        """Serve until the manager stops the cluster."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._end_what_was()
        adopt_orphans()
        self._family = Family(self._folder)
        self._ends = {end["attempt"]: end for end in ends(self._folder)}
        renewal, why = asyncio.get_running_loop().create_task(self._renew()), ""
        try:
            while not self._is_stopping:
                self._gone.clear()
                if self._ending is not None:  # nothing of the old epoch may be left when a new one begins
                    await self._ending
                    self._ending = None
                    continue
                try:
                    self._manager = await connected(
                        self._host, self._port, self._token, ANY_BYTES, self._received, self._closed
                    )
                except (OSError, Refused) as wrong:
                    if why != (why := str(wrong)):  # once, however often it tries
                        log.warning("no manager", extra={"why": why})
                    await asyncio.sleep(AGAIN_S)
                    continue
                why = ""
                await self._far.listen(self._manager.local_host or self._host)
                self._hello()
                await self._gone.wait()
        finally:
            renewal.cancel()
            self._look.cancel()
            self._far.close()
            await self._end_devices("the agent ends")

    async def _end_what_was(self) -> None:
        """End the processes that an earlier agent of this node left behind, so that none of them runs any more."""
        own = os.getpid()
        found = [(pid, started) for pid, started in processes(self._folder) if pid != own]
        for pid, started in found:
            end_group(pid, started)
        while any(is_alive(*one) for one in found):
            await asyncio.sleep(0.01)
        for pid, _ in found:
            forget_process(self._folder, pid)
        if os.getpgid(0) == own:  # a leader of its own group can be ended with it by the next agent
            write_process(self._folder, own, started_at(own))

    # --- the manager ---

    def _hello(self) -> None:
        now_us = lease_clock_us()
        running = [
            {
                "attempt": order["attempt"],
                "unit": device.unit,
                "age_us": now_us - order["given_us"],
                "items": order.get("items", ()),
            }
            for device in self._all()
            if not device.over.done()
            for order in device.orders
        ]
        self._say(
            {
                "op": "agent.hello",
                "node": self.name,
                "epoch": self.epoch,
                "facts": node_facts() | {"data": self._far.address},
                "running": running,
                "ready": sorted(self._ready),
                "ended": list(self._ends.values()),
            }
        )
        self._ask_for_lease()

    def _say(self, message: Message) -> None:
        if self._manager is not None:
            self._manager.send(message)

    def _closed(self, connection: Connection, why: str) -> None:
        if connection is self._manager:
            log.warning("connection closed", extra={"why": why})
            self._manager = None
            for device in self._all():
                self._close_board(device)
            self._parked.clear()  # the manager begins again
            self._early.clear()
            self._gone.set()

    def _received(self, connection: Connection, message: Message) -> None:
        if self._manager is not None and connection is not self._manager:
            return  # of a connection that this agent has given up
        for attempt in message.pop("known_ends", ()):
            self._is_known(attempt)
        handler = getattr(self, f"_on_{message['op']}", None)
        if handler is not None:
            handler(message)

    def _on_welcome(self, message: Message) -> None:
        self.epoch, self._lease_us = message["epoch"], message["lease_us"]
        self._units = {one["unit"]: one for one in message["units"]}
        self._kernels, self._limit_bytes = message["kernels"], message["limit"]
        self._bell = message.get("bell") if is_possible(message.get("bell")) else None
        self._limit_us = message.get("kernel_us", math.inf)
        for unit, one in self._units.items():
            for _ in range(len(self._devices.get(unit, ())), one["n_processes"]):
                self._start(unit)
            self._open_board(unit)

    def _on_lease(self, message: Message) -> None:
        """The manager has renewed the lease that was asked for at a time of this clock."""
        self._lease_until_us = max(self._lease_until_us, message["at_us"] + self._lease_us)
        for device in self._all():
            device.say({"op": "lease", "until_us": self._lease_until_us})

    def _on_run(self, order: Message) -> None:
        """Carry out an order once all its payloads are there."""
        attempt = self._newest = order["attempt"]  # the manager counts them up
        if any(one is None for one in order.get("payloads", ())):
            self._parked[attempt] = order
            for client, message in self._early.pop(attempt, ()):
                self._brought(client, message)
        else:
            self._give(order)

    def _give(self, order: Message) -> None:
        """Give an order to a process of its unit that is idle, or takes orders ahead; or to a new one."""
        unit = order["unit"]
        for device in self._devices.get(unit, ()):
            self._close_board(device)  # so that it is clear what comes first
        takes_ahead = self._units[unit].get("ahead", 0) > 0
        able = [one for one in self._devices.get(unit, ()) if one.is_idle or (one.is_open and takes_ahead)]
        device = min(able, key=lambda one: len(one.orders)) if able else self._start(unit)
        device.give(order)
        if device.is_ready and device.order is order:
            device.watch()

    def _brought(self, client: str, message: Message) -> None:
        """A client has brought a payload that an order of its own request waits for."""
        order = self._parked.get(message["attempt"])
        if message["attempt"] > self._newest:
            self._early.setdefault(message["attempt"], []).append((client, message))
        elif order is not None and order["items"][message["place"]][3] == client:
            self._on_payload(message)

    def _sent_far(self, order: Message, results: list[Message]) -> list[Message]:
        """Send results to the clients on other machines that are connected. Returns what is left for the manager."""
        if not order.get("is_direct") or self._lease_until_us <= lease_clock_us():
            return results
        sent = [
            isinstance(one.get("result"), bytes) and self._far.answer(client, key, one)
            for one, (*_, client, key) in zip(results, order["items"], strict=True)
        ]
        return [{"is_sent": True} if is_sent else one for is_sent, one in zip(sent, results, strict=True)]

    def _on_payload(self, message: Message) -> None:
        """A payload has come that an order waits for."""
        order = self._parked.get(message["attempt"])
        if order is not None:
            order["payloads"][message["place"]] = message["payload"]
            if all(one is not None for one in order["payloads"]):
                self._give(self._parked.pop(message["attempt"]))

    def _on_kill(self, message: Message) -> None:
        self._parked.pop(message["attempt"], None)
        for device in self._all():
            if device.holds(message["attempt"]):
                self._close_board(device)
            if device.attempt == message["attempt"]:
                device.kill(message["why"])
                return
            if device.withdraw(message["attempt"], message["why"]):
                return
        if message["attempt"] not in self._ends:
            self._ended(message["attempt"], {"outcome": "killed", "why": "it did not run here"})
            self._report()

    def _is_known(self, attempt: int) -> None:
        """The manager knows how an attempt ended."""
        end = self._ends.pop(attempt, None)
        if end is not None and not end.get("results"):  # of a command, which has a record
            forget_end(self._folder, attempt)

    def _on_fenced(self, message: Message) -> None:
        """This agent's epoch is over: all its processes end before a new one begins."""
        log.error("fenced", extra={"why": message["why"]})
        self._is_stopping = bool(message.get("is_final"))
        self._ending = self._later(self._begin_again())
        if self._manager is not None:
            self._manager.close("fenced")

    def _on_stop(self, _: Message) -> None:
        self._is_stopping = True
        self._later(self._stop())

    async def _stop(self) -> None:
        """End the devices and leave. Until then the manager still learns what they did."""
        await self._kill_devices("the cluster is stopped")
        if self._manager is not None:
            self._manager.close("stopped")

    def _on_read(self, message: Message) -> None:
        """Send a part of a job's output."""
        path, found = self._folder / "jobs" / str(message["job"]), Message(data=b"")
        try:
            with open(path / f"{message['attempt']}.{message['stream']}", "rb") as file:
                file.seek(message["offset"])
                found["data"] = file.read(READ_BYTES)
        except FileNotFoundError:
            pass  # it has not started, or was pruned
        except OSError as wrong:
            found["why"] = f"node {self.name}: {words_of(wrong)}"
        self._say({"op": "agent.text", "ticket": message["ticket"], **found})

    def _on_prune(self, message: Message) -> None:
        """Remove the output of jobs that the manager has forgotten."""
        self._later(asyncio.to_thread(forget_outputs, self._folder, set(message["kept"])))

    async def _begin_again(self) -> None:
        await self._end_devices("its epoch is over")
        self.epoch = 0
        self._ready.clear()
        self._parked.clear()
        self._ends = {end["attempt"]: end for end in ends(self._folder)}

    # --- boards ---

    def _open_board(self, unit: int) -> None:
        """Let the manager leave orders for the device of a unit, if it has one process, which is idle."""
        devices, one = self._devices.get(unit, ()), self._units.get(unit, {})
        if self._bell is None or self._manager is None or len(devices) != 1 or one.get("n_processes") != 1:
            return
        said = devices[0].open_board(2 * (1 + one.get("ahead", 0)), self._bell)  # those that run, and those that ended
        if said is not None:
            self._say(said)
            self._look.set(min(self._look.due_s, asyncio.get_running_loop().time() + self._limit_us / 1e6))

    def _close_board(self, device: Device) -> None:
        """Take over what the manager has left for a device."""
        if not device.is_board_open:
            return
        ends, taken = device.close_board()
        for end in ends:
            self._ended(end["attempt"], end)
        self._report()
        assert device.agent_board is not None
        self._say({"op": "agent.board", "unit": device.unit, "generation": device.agent_board.last, "taken": taken})

    def _look_at_boards(self) -> None:
        """Close the boards of devices whose order has taken its longest time; look again when the next one may have."""
        now_us = lease_clock_us()
        next_us = now_us + self._limit_us
        for device in self._all():
            until_us = device.longest_since_us() + self._limit_us
            if until_us <= now_us:
                self._close_board(device)
            next_us = min(next_us, until_us) if until_us > now_us else next_us
        if any(device.is_board_open for device in self._all()):
            self._look.set(asyncio.get_running_loop().time() + (next_us - now_us) / 1e6)

    # --- leases ---

    async def _renew(self) -> None:
        """Ask for the lease again and again; end devices that do not answer."""
        while True:
            await asyncio.sleep((self._lease_us or 1e6) / RENEWALS / 1e6)
            self._ask_for_lease()
            for device in self._all():
                until_us = device.alive_us + self._lease_us
                if device.is_ready and until_us < min(lease_clock_us(), self._lease_until_us):
                    device.kill("its device did not answer for the time of a lease")
            for unit in self._units:
                self._open_board(unit)

    def _ask_for_lease(self) -> None:
        if self.epoch or self._manager is not None:
            self._say({"op": "agent.lease", "at_us": lease_clock_us()})

    # --- devices ---

    def _all(self) -> list[Device]:
        return [device for devices in self._devices.values() for device in devices]

    def _start(self, unit: int) -> Device:
        """Start one more process for a unit."""
        known = self._units[unit]
        device = Device(unit, known["type"], self._family, self._from_device, known.get("gpu", ""))
        self._devices.setdefault(unit, []).append(device)
        if self._lease_until_us > lease_clock_us():
            device.say({"op": "lease", "until_us": self._lease_until_us})
        self._later(device.run(self._kernels, self._limit_bytes))
        return device

    async def _replace(self, device: Device) -> None:
        """Start another process for one that has ended; not at once if it could not even start."""
        if not device.is_ready:
            await asyncio.sleep(AGAIN_S)
        n_left, n_wanted = len(self._devices[device.unit]), self._units[device.unit]["n_processes"]
        if not self._is_stopping and self._manager is not None and n_left < n_wanted:
            self._start(device.unit)

    def _from_device(self, device: Device, messages: Sequence[Message]) -> None:
        """Handle what a device says, or that its process has ended; report all ends at once."""
        for message in messages:
            self._handle(device, message)
        self._report()

    def _handle(self, device: Device, message: Message) -> None:
        if message["op"] == "ready":
            device.watch()
            self._open_board(device.unit)
            if device.unit not in self._ready and all(one.is_ready for one in self._devices[device.unit]):
                self._ready.add(device.unit)
                self._say({"op": "agent.ready", "units": [device.unit]})
            return
        if message["op"] == "ended" and device.holds(message["attempt"]):  # too long for the board, or nobody hears
            self._close_board(device)
        if message["op"] == "ended" and message["attempt"] == device.attempt:
            if message["outcome"] == "done":
                message["results"] = self._sent_far(device.order, message.get("results", []))
            device.free()
            device.watch()
            end = {name: value for name, value in message.items() if name not in ("op", "attempt")}
            self._ended(message["attempt"], end)
            self._open_board(device.unit)
        elif message["op"] == "withdrawn" and (order := device.forget(message["attempt"])) is not None:
            self._ended(message["attempt"], {"outcome": "killed", "why": order["withdrawn"]})
        elif message["op"] == "begun" and message["attempt"] == device.attempt:
            device.kill(device.order["withdrawn"])
        elif message["op"] == "no board":
            log.warning("no board", extra={"unit": device.unit, "why": message["why"]})
            device.takes_boards = False
            self._close_board(device)
        elif message["op"] == "over":
            self._close_board(device)
            device.forget_board()
            attempt, order = device.attempt, device.order
            device.free()
            ahead = list(device.orders)
            device.orders.clear()
            self._devices[device.unit].remove(device)
            if self._is_stopping:
                return  # what it ran continues with the next start
            if attempt is not None:
                outcome = "limit" if order.get("is_over_limit") else "killed"
                self._ended(attempt, {"outcome": outcome, "why": device.why})
            for order in ahead:  # which it has not begun
                if "withdrawn" in order:
                    self._ended(order["attempt"], {"outcome": "killed", "why": order["withdrawn"]})
                else:
                    self._give(order)
            self._later(self._replace(device))  # so that the next order finds one

    def _ended(self, attempt: int, end: Message) -> None:
        """Note an end; it is kept until the manager acknowledges it."""
        self._ends[attempt] = {"attempt": attempt, "epoch": self.epoch, **end}
        self._unreported.append(self._ends[attempt])

    def _report(self) -> None:
        """Report the ends that were noted."""
        if self._unreported:
            self._say({"op": "agent.ended", "ends": self._unreported})
            self._unreported = []

    async def _end_devices(self, why: str) -> None:
        """End the devices, and forget what they ran."""
        for device in self._all():
            self._close_board(device)
            device.orders.clear()
        await self._kill_devices(why)

    async def _kill_devices(self, why: str) -> None:
        devices = self._all()
        for device in devices:
            device.kill(why)
        if devices:
            await asyncio.wait([device.over for device in devices])

    def _later(self, work: Any) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
