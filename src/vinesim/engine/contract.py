"""The rules that a policy's actions must follow, and the error that names the broken one."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from vinesim.engine.wrong_line import told
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.scalars import is_whole
from vinesim.model.scenario import Scenario
from vinesim.state.layout import Action, Model, View

# Why an engine stopped handling events; LEFT: it did not stop, but the waiting thread has left it.
# NEED_ROOM: the log of early ends may become too short in the next event.
GO_ON, NO_EVENTS, AT_HORIZON, AT_PAUSE, BROKEN, LEFT, NEED_ROOM = range(7)

# The rules that a policy may break; RULES has their words.
UNKNOWN_TASK, NOT_PENDING, UNKNOWN_UNIT, CANNOT_RUN, NO_ROOM, NOT_A_HEAD, WAIT_UNTIL_THE_PAST = range(1, 8)
SHARES_SPEED, IS_DOWN, NO_ROOM_BESIDE, NOT_RUNNING, JUST_STARTED, IS_CONSOLIDATED = range(8, 14)
IS_ATTACHED, IS_GANG, OUTSIDE_PARTITION, OVER_QUOTA = range(14, 18)
OUT_OF_TIME = -1  # in place of a rule: the clock cannot represent the time of a task, whatever the policy did

RULES = (
    "",
    "a policy may start only tasks that exist and have arrived",
    "a policy may start a task only once",
    "a policy may start a task only on a unit of the datacenter",
    "a policy may start a task only on a unit whose type can run it (affinity above 0)",
    "a policy may load a unit beyond its capacity only if it declares may_overcommit",
    "a policy may consolidate only the first pending tasks of one group, from its oldest on, and as many as joinable",
    "a policy may wait only until a time after now",
    "a batch policy may move a task only between units whose tasks do not share their speed",
    "a policy may start a task only on a unit whose node is up, not in an outage",
    "a policy may start a task only where its other units and its companions fit, even if it declares may_overcommit",
    "a policy may preempt or move only a task that runs, of consolidated ones the leader",
    "a policy may not preempt or move a task at the event at which it started it",
    "a policy may not move tasks that are consolidated",
    "a policy may start or drop a gang only by its first task, the only one that is pending",
    "a policy may not move the tasks of a gang",
    "a policy may start a task only on a node of its partition",
    "a policy may start a task only if its quotas leave room for what it holds",
    "a batch policy must return one unit for each task, -1 to leave it as it is",
)


class Unplaced(PolicyError):
    """An error in a policy's compiled code, which does not know its lines."""

    n_events = 0  # before it


def asked(function: Callable[..., Any], call: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``call(*arguments)``, which runs a policy's ``function``; errors in that become a :class:`PolicyError`."""
    try:
        return call(*arguments)
    except (InputError, PolicyError):
        raise
    except (Exception, SystemExit, GeneratorExit) as wrong:
        if type(wrong).__module__.startswith("numba"):
            raise  # it does not compile
        file = function.__code__.co_filename
        line, words = told(wrong, file)
        kind = Unplaced if line is None else PolicyError
        raise kind(f"policy {function.__qualname__}, {file}:{'?' if line is None else line}: {words}") from wrong


def decision(decide: Callable[..., Any], model: Any, state: Any, view: View) -> Action:
    """Return the action of a policy in plain Python. Raises :class:`PolicyError` if it is none, or not of numbers."""
    action = asked(decide, decide, model, state, view)
    if not isinstance(action, Action):
        wanted = f"return start(...), wait_until(...) or nothing(), returned {action!r}"
    elif wrong := [number for number in (action.task, action.n_tasks, action.unit) if not is_whole(number)]:
        wanted = f"name tasks and units by whole numbers, found {wrong[0]!r}"
    elif not isinstance(action.until_us, Real):
        wanted = f"wait until a time in us, a number, found {action.until_us!r}"
    else:
        return action
    raise PolicyError(f"policy {decide.__qualname__}: must {wanted}")


class BrokenContract(Exception):
    """An action broke a rule of engine/actions.py."""

    def __init__(self, rule: int, task: int, unit: int):
        self.rule, self.task, self.unit = rule, task, unit
        super().__init__(RULES[rule])

    def as_policy_error(self, name: str, now_us: float) -> PolicyError:
        """Return the error for the user."""
        what = f"task {self.task} on unit {self.unit}" if self.task != -1 else "a time that is not after now"
        return PolicyError(f"policy {name} at {now_us:g} us asked for {what}: {RULES[self.rule]}")


class OutOfTime(Exception):
    """A task takes so little time that the clock does not advance, or ends beyond the range of numbers."""

    def __init__(self, task: int, unit: int, service_us: float):
        self.task, self.unit, self.service_us = task, unit, float(service_us)
        super().__init__(f"task {task}: {service_us:g} us")

    def as_input_error(self, scenario: Scenario, model: Model, now_us: float) -> InputError:
        """Return the error for the user."""
        job = int(model.task_job[self.task])
        kind = scenario.workload.task_types[int(scenario.workload.job_task_type[job])].name
        on = scenario.datacenter.processor_types[int(model.unit_type[self.unit])].name
        if float(now_us) + self.service_us < math.inf:
            expected = f"a time that advances the clock: at {now_us:g} us its step is {np.spacing(now_us):g} us"
        else:
            expected = f"an end before {np.finfo(np.float64).max:.2g} us, the largest number; now is {now_us:g} us"
        remedy = "Check its size, and the unit of the arrivals."
        where = f"workload: task {self.task} ({kind}, job {job})"
        return InputError([Problem(where, expected, f"{self.service_us:g} us on {on}", remedy)])


def broken(run: Any) -> BrokenContract | OutOfTime:
    """Return the error that a compiled engine recorded."""
    task, unit = int(run["error_task"]), int(run["error_unit"])
    if run["error"] == OUT_OF_TIME:
        return OutOfTime(task, unit, float(run["error_us"]))
    return BrokenContract(int(run["error"]), task, unit)
