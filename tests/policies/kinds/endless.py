"""Policies that start some tasks and then never answer: in a loop, and asleep."""

import sys
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start

N_STARTED = 7


@dataclass(frozen=True)
class Endless(OnlinePolicy):
    """Thinks for ever about the eighth task, or until ``enough`` is set from outside."""

    name: ClassVar[str] = "test_endless"
    scratch: ClassVar = {"enough": ("i8", "one"), "thoughts": ("i8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= N_STARTED and view.scratch.enough[0] == 0:
            view.scratch.thoughts[0] += 1
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class Asleep(OnlinePolicy):
    """Waits for ever in a call that is not Python's own; it says when it begins to."""

    name: ClassVar[str] = "test_asleep"
    compiled: ClassVar[bool] = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        if task >= N_STARTED:
            print("thinking", file=sys.stderr, flush=True)
        while task >= N_STARTED:
            time.sleep(3600.0)
        return start(task, first_free(model, state, task))
