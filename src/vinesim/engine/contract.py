"""The rules that a policy's actions must follow, and the error that names the broken one, with its place in the policy.

The place is the line, its text, and the wrong index. Division by zero, and powers that are no numbers, are errors too
in policies that may compile.
"""

import ast
import dis
import inspect
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from vinesim.core.code import PACKAGE
from vinesim.model.errors import InputError, PolicyError
from vinesim.model.scalars import is_whole
from vinesim.model.scenario import Scenario
from vinesim.state import queries
from vinesim.state.clock import out_of_time
from vinesim.state.layout import NO_ROOM, OUT_OF_TIME, RULES, Action, View

DIVISIONS = ("/", "//", "%", "/=", "//=", "%=")  # an error where there is no number; NumPy only warns
POWERS = ("**", "**=")


class ErrorWithoutLine(PolicyError):
    """An error in a policy's compiled code, which does not know its lines."""

    n_events = 0  # before it


def call_policy(function: Callable[..., Any], call: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``call(*arguments)``, which runs a policy's ``function``; errors in that become a :class:`PolicyError`."""
    try:
        return call(*arguments)
    except (InputError, PolicyError):
        raise
    except (Exception, SystemExit, GeneratorExit) as wrong:
        if type(wrong).__module__.startswith("numba"):
            raise  # it does not compile
        file = function.__code__.co_filename
        file, line, words = locate(wrong, file)
        kind = ErrorWithoutLine if line is None else PolicyError
        raise kind(f"policy {function.__qualname__}, {file}:{'?' if line is None else line}: {words}") from wrong


def decision(decide: Callable[..., Any], model: Any, state: Any, view: View) -> Action:
    """Return the action of a policy in plain Python. Raises :class:`PolicyError` if it is none, or not of numbers."""
    action = call_policy(decide, decide, model, state, view)
    if not isinstance(action, Action):
        wanted = f"return start(...), wait_until(...) or nothing(), returned {action!r}"
    elif wrong := [number for number in (action.task, action.n_tasks, action.unit) if not is_whole(number)]:
        wanted = f"name tasks and units by whole numbers, found {wrong[0]!r}"
    elif not isinstance(action.until_us, Real):
        wanted = f"wait until a time in us, a number, found {action.until_us!r}"
    else:
        return action
    where, text = place_of(decide, model, state, view, action)
    raise PolicyError(f"policy {decide.__qualname__}{where}: must {wanted}{text}")


def strict_numbers(is_compiled: bool) -> AbstractContextManager[object]:
    """Return the context in which a policy's ``decide`` is called. If the policy may be compiled, divisions and powers
    of NumPy's numbers raise the errors of Python if the result is no number. Plain Python may use arrays, and keeps
    NumPy's rules."""
    return np.errstate(divide="call", invalid="call", over="call", call=_no_number) if is_compiled else nullcontext()


def _no_number(kind: str, _: int) -> None:
    """Raise an error in the frame where NumPy divided by zero, or found no number or one that is too large."""
    frame = sys._getframe(1)
    if str(frame.f_globals.get("__name__")).startswith("vinesim."):
        if kind == "overflow":  # infinite, as in compiled code
            return
        warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)
        return
    step = next((one for one in dis.get_instructions(frame.f_code) if one.offset == frame.f_lasti), None)
    if step is None or step.opname != "BINARY_OP" or step.argrepr not in (*DIVISIONS, *POWERS):
        return
    if kind == "divide by zero":
        raise ZeroDivisionError("division by zero" if step.argrepr in DIVISIONS else "0.0 to a negative power")
    if step.argrepr in POWERS:
        raise OverflowError("numerical result out of range") if kind == "overflow" else ValueError("no real number")
    if kind == "invalid value":
        raise ZeroDivisionError("0 / 0 or infinity / infinity, which is no number")


def place_of(decide: Callable[..., Any], model: Any, state: Any, view: View, action: Any) -> tuple[str, str]:
    """Return the place of the line that returned an action, and its text; empty for VineSim's own policies."""
    if decide.__module__.startswith("vinesim."):
        return "", ""
    return at_line(decide.__code__.co_filename, line_of_answer(decide, (model, state, view), action))


RULES_OF_BATCHES = {  # in the words of those that have no queries
    NO_ROOM: "the unit has no room for it: add up what place puts on each unit, servers.load plus "
    "amounts(demand, capacity) of each task, or declare may_overcommit",
}


class BrokenContract(Exception):
    """An action broke a rule of state/layout.py."""

    def __init__(self, rule: int, task: int, unit: int):
        self.rule, self.task, self.unit = rule, task, unit
        self.place = "", ""  # of the line that returned it, if known, and its text
        super().__init__(RULES[rule])

    def as_policy_error(
        self, name: str, now_us: float, kind: type[PolicyError] = PolicyError, is_batch: bool = False
    ) -> PolicyError:
        """Return the error for the user."""
        rule = RULES_OF_BATCHES.get(self.rule, RULES[self.rule]) if is_batch else RULES[self.rule]
        where, text = self.place
        what = f"task {self.task} on unit {self.unit}" if self.task != -1 else "a time that is not later than now"
        return kind(f"policy {name}{where} at {now_us:g} us asked for {what}: {rule}{text}")


class OutOfTime(Exception):
    """A task takes so little time that the clock does not advance, or ends beyond the range of numbers."""

    def __init__(self, task: int, unit: int, service_us: float):
        self.task, self.unit, self.service_us = task, unit, float(service_us)
        super().__init__(f"task {task}: {service_us:g} us")

    def as_input_error(self, scenario: Scenario, model: Any, now_us: float) -> InputError:
        """Return the error for the user."""
        kind = int(model.unit_type[self.unit])
        return InputError([out_of_time(scenario, self.task, kind, float(now_us), self.service_us)])


def broken(run: Any) -> BrokenContract | OutOfTime:
    """Return the error that a compiled engine recorded."""
    task, unit = int(run["error_task"]), int(run["error_unit"])
    if run["error"] == OUT_OF_TIME:
        return OutOfTime(task, unit, float(run["error_us"]))
    return BrokenContract(int(run["error"]), task, unit)


def locate(error: BaseException, file: str) -> tuple[str, int | None, str]:
    """Return the file, the last line of it that an error passed through (None if there is none), and the error in
    words. In a file of VineSim's own, the line is that of the function that it called."""
    passed = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in passed if frame.filename == file]
    if Path(file).is_relative_to(PACKAGE):  # the rule of score policies, which calls the user's functions
        frames = [frame for frame in passed if not Path(frame.filename).is_relative_to(PACKAGE)] or frames
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, IndexError) and not any(letter.isdigit() for letter in str(error)):
        words += _index(error.__traceback__)  # NumPy names the index, a list does not
    if isinstance(error, AttributeError):
        words += _arguments(error.__traceback__, file)
    if not frames:
        return file, None, words
    return frames[-1].filename, frames[-1].lineno, words + (f"\n    {frames[-1].line}" if frames[-1].line else "")


def line_of_answer(decide: Callable[..., Any], arguments: tuple[Any, ...], answer: Any) -> int | None:
    """Return the line at which ``decide`` returns this answer, by asking it again; None if it now answers differently,
    because it keeps something in its scratch or draws random numbers."""
    code, line = decide.__code__, None

    def within(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal line
        if event == "line":
            line = frame.f_lineno
        return within

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: within if frame.f_code is code else None)
    try:
        return line if repr(decide(*arguments)) == repr(answer) else None
    except Exception:
        return None
    finally:
        sys.settrace(before)


def at_line(file: str, line: int | None) -> tuple[str, str]:
    """Return a place in a file, and the text of its line, to be put at the end of a message; "" for no line."""
    if line is None:
        return "", ""
    text = linecache.getline(file, line).strip()
    return f", {file}:{line}", f"\n    {text}" if text else ""


def _arguments(trace: TracebackType | None, file: str) -> str:
    """Return the arguments that a query takes, if the error is in a query that the policy's file called: its arguments
    may be swapped."""
    frames = [] if trace is None else [found for found, _ in traceback.walk_tb(trace)]
    own = [i for i, frame in enumerate(frames) if frame.f_code.co_filename == file]
    if not own or own[-1] + 1 >= len(frames):
        return ""
    query = vars(queries).get(frames[own[-1] + 1].f_code.co_name)
    if not inspect.isfunction(query):
        return ""
    takes = ", ".join(inspect.signature(query).parameters)
    return f": the arguments of {query.__name__} are ({takes}), in this order"


def _index(trace: TracebackType | None) -> str:
    """Return the index that a list does not have, in words; empty if unknown."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    text = traceback.extract_tb(trace)[-1]
    if text.lineno is None or text.lineno != text.end_lineno:
        return ""
    line = linecache.getline(text.filename, text.lineno).encode()  # columns count bytes
    source = line[text.colno : text.end_colno].decode()
    try:
        found = ast.parse(source.strip(), mode="eval").body
        if not isinstance(found, ast.Subscript):
            return ""
        index = compile(ast.Expression(found.slice), text.filename, "eval")
        return f": index {eval(index, trace.tb_frame.f_globals, trace.tb_frame.f_locals)}"  # noqa: S307 - of the policy
    except Exception:
        return ""
