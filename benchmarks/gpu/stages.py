"""Where the time of a request goes: the programs of a cluster note when a request enters each stage of its path.

Notes are lines of a file: a time of the lease clock, which all processes of a machine
share, and the stage that begins. With one request under way at a time, a stage lasts until the next note.
"""

import functools
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.live.clock import lease_clock_us
from vinesim.live.journal import Journal
from vinesim.live.manager.channel import Channel
from vinesim.live.manager.core import Core
from vinesim.live.remembering import RememberingDecisions
from vinesim.live.wire.memory import Visit

NOTES = "VINESIM_STAGES"  # the file's name
STAGES = {  # in the order of the table
    "client": "client: packs and sends",
    "to manager": "on the way to the manager",
    "manager": "manager's turn, without what follows",
    "policy": "policy",
    "journal": "journal",
    "to device": "on the way to the device",
    "device": "device, without its kernel",
    "kernel": "kernel",
    "to client": "on the way back to the client, until it continues",
}


class Notes:
    """The notes of a process; they are written now and then."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.stage = ""

    def note(self, stage: str) -> None:
        """A stage begins."""
        self.stage = stage
        self._lines.append(f"{lease_clock_us():.2f} {stage}\n")
        if len(self._lines) == 200:
            with open(os.environ[NOTES], "a") as file:
                file.write("".join(self._lines))
            self._lines.clear()


NOTED = Notes()


def around(of: Any, name: str, before: Callable[..., str], after: Callable[..., str] = lambda *_: "") -> None:
    """Let a method note a stage before and after it; no text is no stage."""
    method = getattr(of, name)

    @functools.wraps(method)
    def noted(*arguments: Any, **named: Any) -> Any:
        if stage := before(*arguments, **named):
            NOTED.note(stage)
        found = method(*arguments, **named)
        if stage := after(*arguments, **named):
            NOTED.note(stage)
        return found

    setattr(of, name, noted)


def inside(of: Any, name: str, stage: str) -> None:
    """Let a method be a stage within the manager's."""
    method = getattr(of, name)

    @functools.wraps(method)
    def noted(*arguments: Any, **named: Any) -> Any:
        outer = NOTED.stage
        if outer not in ("manager", "policy"):
            return method(*arguments, **named)
        NOTED.note(stage)
        found = method(*arguments, **named)
        NOTED.note(outer)
        return found

    setattr(of, name, noted)


def manager_noted() -> None:
    """Note the stages of the manager."""
    around(Core, "turn", lambda _, inbox: "manager" if any(m["op"] == "client.request" for _, m in inbox) else "")
    inside(RememberingDecisions, "turn", "policy")
    inside(Journal, "commit", "journal")
    inside(Journal, "write", "journal")
    around(Channel, "send", lambda *_: "", lambda *_: "to device")


def device_noted() -> None:
    """Note the stages of the device process in which this is called, and its kernels'."""
    main = sys.modules["__main__"]
    around(main.Device, "carry_out", lambda _, order: "device" if order["op"] == "run" else "")  # type: ignore[attr-defined]
    around(Visit, "ring", lambda *_: "", lambda *_: "to client")


def table(path: Path, windows: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The mean time of each stage of the requests between these times, us, without the slowest tenth of them: medians
    would not add up."""
    lines = [line.split(" ", 1) for line in path.read_text().splitlines()]
    notes = sorted((float(at), stage) for at, stage in lines)
    times = np.array([at for at, _ in notes])
    found = []
    for begin, end in windows:
        of = notes[np.searchsorted(times, begin) : np.searchsorted(times, end)]
        if {"kernel", "to client"} <= {stage for _, stage in of}:  # else some notes were not written yet
            sums: dict[str, float] = defaultdict(float)
            for (at, stage), (until, _) in zip(of, [*of[1:], (end, "")], strict=True):
                sums[stage] += until - at
            found.append((end - begin, sums))
    found.sort(key=lambda one: one[0])
    kept = [sums for _, sums in found[: max(1, len(found) * 9 // 10)]]
    return {stage: float(np.mean([sums[stage] for sums in kept])) for stage in STAGES}
