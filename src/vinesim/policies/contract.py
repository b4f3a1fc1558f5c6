"""The policy contract: what a scheduler is. docs/explanation/design/policy_contract.md explains it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import lru_cache
from types import FunctionType
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from vinesim.formats.source.quantities import time_us
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.alone import alone_us
from vinesim.model.errors import InputError, Problem
from vinesim.model.scalars import MAX_FLOAT, as_found
from vinesim.model.scenario import PERIOD_US, Scenario
from vinesim.model.time import FOREVER_US
from vinesim.state.scratch import FACTOR, OptionValue

# spellings of an option that is true or false, in any case of letters
YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@lru_cache(maxsize=256)
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of a policy's options; cached, because looking them up took a sixth of a small run."""
    return get_type_hints(kind)


@dataclass(frozen=True)
class Policy:
    """What every scheduler declares: its options are the dataclass's fields, its promises the class's attributes.

    An option that changes a promise sets it on the object in ``__post_init__``.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # paper and section
    work_conserving: ClassVar[bool] = False  # leaves no unit idle while a pending task could start on it
    starts_in_order: ClassVar[bool] = False  # starts the tasks in the order of arrival
    deterministic: ClassVar[bool] = True  # draws nothing from the policy's random stream
    needs_estimates: ClassVar[bool] = False  # looks at execution or transfer times
    may_overcommit: ClassVar[bool] = False  # may load a unit beyond its capacity
    may_drop: ClassVar[bool] = False  # may drop a task, which then never runs
    reads: ClassVar[tuple[str, ...]] = ()  # "priority", "user" or "deadline", where its functions do not show it
    supports_multi_unit_tasks: ClassVar[bool] = (
        True  # is right where tasks hold several units: it asks the queries what fits
    )
    unsupported_because: ClassVar[str] = ""  # why it is not, or does not take gangs: "it ...", for the message

    def wrong_scenario(self, scenario: Scenario) -> list[Problem]:
        """Return what the policy cannot take of a scenario, besides what follows from its promises; checked before a
        run."""
        return []

    def values_of_options(self) -> dict[str, OptionValue]:
        """Return the options as a kernel sees them: numbers; None is infinite; a choice maps each word to whether it is
        chosen, so that ``view.options.mode.only`` is true or false."""
        values: dict[str, OptionValue] = {}
        kind: Any = type(self)
        hints = _hints(kind)
        for item in fields(self):
            value, hint = getattr(self, item.name), hints[item.name]
            if get_origin(hint) is Literal:
                if value not in get_args(hint):
                    expected = "one of " + ", ".join(map(str, get_args(hint)))
                    raise InputError([Problem(("policy", "options", item.name), expected, repr(value))])
                is_number = all(isinstance(word, int | float) for word in get_args(hint))
                values[item.name] = value if is_number else {word: word == value for word in get_args(hint)}
            elif isinstance(value, bool):
                values[item.name] = int(value)
            else:
                values[item.name] = math.inf if value is None else value
        return values

    @classmethod
    def choices(cls) -> dict[str, tuple[Any, ...]]:
        """Return the words, or numbers, of each option that is a choice."""
        kind: Any = cls
        hints = _hints(kind)
        return {i.name: get_args(hints[i.name]) for i in fields(cls) if get_origin(hints[i.name]) is Literal}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "Policy":
        """Build from options by name, text allowed (``in_order=yes``); all wrong options are reported."""
        known = {item.name: item for item in fields(cls)}
        kind: Any = cls
        hints = _hints(kind)
        problems, values = [], {}
        for name, value in options.items():
            if name not in known:
                what = "one of " + ", ".join(known) if known else "no options"
                expected = f"{what}, for the policy {cls.name or cls.__name__}"
                problems.append(Problem(("policy", "options", name), expected, repr(name), did_you_mean(name, known)))
                continue
            try:
                in_us = name.endswith("_us") and isinstance(value, str)
                values[name] = _convert(time_us(value, name) if in_us else value, hints[name])
                if name.endswith("_us") and values[name] < 0:
                    raise ValueError("a time, 0 or more")
            except InputError as wrong:
                problems += [replace(problem, at=("policy", "options", name)) for problem in wrong.problems]
            except ValueError as wrong:
                remedy = did_you_mean(as_found(value).strip("'"), map(str, cls.choices().get(name, ())))
                problems.append(Problem(("policy", "options", name), str(wrong), as_found(value), remedy))
        for name, item in known.items():
            if name not in options and item.default is MISSING and item.default_factory is MISSING:
                problems.append(Problem(("policy", "options", name), "a value", "none", "Add it: it has no default."))
        if problems:
            raise InputError(problems)
        return cls(**values)


def bound(source: Any, kind: type[Policy], **names: Any) -> Callable[..., Any]:
    """Return a copy of a function that belongs to the class's module, with names bound."""
    made = FunctionType(source.__code__, {**source.__globals__, **names}, source.__name__, source.__defaults__)
    made.__qualname__, made.__module__ = f"{kind.__qualname__}.{source.__name__}", kind.__module__
    return made


def title_of(policy: Policy) -> str:
    """Return what messages call a policy: its name, or the name of its class if it has none."""
    return policy.name or type(policy).__name__


def _convert(value: Any, hint: Any) -> Any:
    """Convert the option's value to its type; ValueError says what was expected."""
    if get_origin(hint) is Literal:
        if value in get_args(hint):
            return value
        if isinstance(value, bool) and {"yes", "no"} <= set(get_args(hint)):
            return "yes" if value else "no"
        raise ValueError("one of " + ", ".join(map(str, get_args(hint))))
    if hint is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in YES_NO:
            return YES_NO[str(value).lower()]
        raise ValueError("yes or no")
    if hint is int:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError("a whole number") from None
        if isinstance(value, bool) or not abs(number) < 2**53 or number != int(number):
            raise ValueError("a whole number")
        return int(number)
    if hint is float:
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"a number up to {MAX_FLOAT:.2g}") from None
        except (TypeError, ValueError):
            raise ValueError("a number") from None
        if math.isnan(number):
            raise ValueError("a number")
        return number
    return value


class Plan(NamedTuple):
    """What a policy that ``plans`` decided before the run."""

    scratch: Mapping[str, np.ndarray]  # contents of its scratch arrays
    proven: Mapping[str, Any] | None = None  # objective, lower bound bound_us, and the solver's status
    took_s: float = 0.0


@dataclass(frozen=True)
class OnlinePolicy(Policy):
    """A scheduler that is called after every event.

    ``decide(model, state, view)`` answers with :func:`~vinesim.state.queries.start`, ``start_consolidated``,
    ``wait_until`` or ``nothing``, and is called again until it starts nothing. It is compiled, so it may use only
    numbers, arrays and the queries; it may write only to ``view.scratch``.

    It is called while something is pending and some unit has room. A policy that ``sees_every_event``, to learn from
    completions, is called at least once after each event, and while something is pending even if no unit has room;
    ``view.task`` of a FINISH is then the task that ended. If it ``preempts`` too, it is called until it wants nothing
    more, and at its timer, even if nothing is pending. If nothing can start it must return ``nothing()``.
    """

    sees_every_event: ClassVar[bool] = False  # is called after every event, even if there is nothing to start
    plans: ClassVar[bool] = False  # decides before the run, from the whole workload: see plan
    groups: ClassVar[tuple[str, ...]] = ()  # what distinguishes tasks besides their type: see GROUP_KEYS
    scratch: ClassVar[
        Mapping[str, tuple[str, str]]
    ] = {}  # name -> (dtype, size: one of state.scratch.SIZES, or a product of them: groups*types*256)
    task_numbers: ClassVar[Mapping[str, str] | None] = None  # scratch arrays that hold numbers of tasks: TASK_ID,
    # TASK_ID_PLUS_1 (0 = none), TASK_COUNT or EVENT_OF_TASK of state.scratch; None: not said, then live it is not
    # compiled
    keeps_tasks: ClassVar[bool] = False  # keeps tasks in its scratch; by default, where that has room for each task
    takes_back: ClassVar[bool] = False  # keeps tasks in its own queues, and takes back those that outages interrupt
    takes_withdrawals: ClassVar[bool] = False  # keeps tasks, and forgets those whose jobs are withdrawn
    takes_dependencies: ClassVar[bool] = False  # keeps tasks, and asks arrived_task which have arrived
    reserves: ClassVar[str] = ""  # keeps units free for the "first" waiting job, or for "all": what explain then says;
    # "by rank": in another order than that of arrival, of which explain says nothing
    preempts: ClassVar[bool] = False  # may preempt or move running tasks; is called even if no unit has room
    takes_gangs: ClassVar[bool] = True  # is right where only a gang's first task is pending; if it keeps_tasks: False
    is_exclusive: ClassVar[bool] = False  # gives each task its own units, whatever it demands of them
    compiled: ClassVar[bool] = True  # False: plain Python, for the reference engine only

    def __init_subclass__(cls) -> None:
        if "scratch" in vars(cls) and "keeps_tasks" not in vars(cls):
            declared = cls.scratch.values() if isinstance(cls.scratch, Mapping) else ()  # else it is refused later
            sizes = [str(one[1]) for one in declared if isinstance(one, tuple | list) and len(one) == 2]
            parts = {part for size in sizes for part in size.split(FACTOR)}
            cls.keeps_tasks = cls.keeps_tasks or not parts.isdisjoint(("tasks", "queue"))
        says_so = any("takes_gangs" in vars(base) for base in cls.__mro__ if base is not OnlinePolicy)
        if cls.keeps_tasks and not says_so:
            cls.takes_gangs = False

    @property
    def can_requeue(self) -> bool:
        """Whether a task that an outage interrupts can be pending again: the policy forgets it, or takes it back."""
        return not self.keeps_tasks or self.takes_back

    @property
    def can_withdraw(self) -> bool:
        """Whether jobs may be withdrawn: the policy keeps no tasks, or forgets theirs."""
        return not self.keeps_tasks or self.takes_withdrawals

    @property
    def can_follow(self) -> bool:
        """Whether jobs may wait for others: the policy keeps no tasks, or knows that these arrive in another order."""
        return not self.keeps_tasks or self.takes_dependencies

    def unit_order(self, n_units: int, random: np.random.Generator) -> np.ndarray | None:
        """Return a permutation to replace the units' (rack, shelf) order, or None.

        A policy that replaces the order must not use tiers or the closest unit, because neighbours are then scattered.
        """
        return None

    def suited_to(self, scenario: Scenario) -> "OnlinePolicy":
        """Return the policy that decides in a scenario: this one, or one that means the same and knows more.

        Raises :class:`InputError` where the options do not fit the scenario.
        """
        return self

    def plan(self, model: Any, on_message: Callable[[str], None] | None) -> Plan:
        """Decide what to do with the whole workload, for ``decide`` to follow. Called once before the run, in Python,
        if the policy ``plans``; ``model`` is the one that ``decide`` gets, ``on_message`` prints a line if there is a
        reader for it.
        """
        raise NotImplementedError

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        """The rule, called at each decision point."""
        raise NotImplementedError

    @staticmethod
    def renumbered(model: Any, state: Any, view: Any) -> None:
        """Rebuild what ``task_numbers`` cannot describe. Called by a live scheduler that has numbered tasks again, in
        the same order; scratch with an entry per task has been moved. Compiled, like ``decide``."""


class BatchTasks(NamedTuple):
    """The tasks that a batch policy places, oldest first, or newest first with ``new_first``; M of them."""

    task: np.ndarray  # [M] int64: number of the task
    unit: np.ndarray  # [M] int32: where it runs, -1 = pending
    task_type: np.ndarray  # [M] int32
    operations: np.ndarray  # [M] float64
    demand: np.ndarray  # [M] float64: NaN = one slot, infinite = the whole unit; see `amounts`
    remaining_us: np.ndarray  # [M] float64: until it finishes if it runs (infinite: unknown), else NaN
    measured_us: np.ndarray  # [M, P] float64: measured times, or [0, 0] if operations / affinity applies
    request: np.ndarray  # [M, Q] float64: minimum of each of Q resources that the unit's type must provide, or [0, 0]

    def rows(self, chosen: slice | np.ndarray) -> "BatchTasks":
        """Return some of the tasks, or all in another order."""
        return BatchTasks(*(column[chosen] if len(column) else column for column in self))


class BatchServers(NamedTuple):
    """The units as a batch policy sees them; loads do not include the tasks that it is given."""

    unit_type: np.ndarray  # [U] int32
    capacity: np.ndarray  # [U] float64
    load: np.ndarray  # [U] float64
    affinity: np.ndarray  # [P, T] float64: operations per us, 0 = cannot run
    idle_power_w: np.ndarray  # [P] float64: power of a unit that is awake, without that of its tasks
    dynamic_power_w: np.ndarray  # [P] float64: power of its tasks, W per unit of demand; NaN: unknown
    sleep_power_w: np.ndarray  # [P] float64: power of a unit without tasks; idle_power_w if it never sleeps
    overhead_us: np.ndarray  # [P, T] float64: us before a task computes
    resource: np.ndarray  # [P, Q] float64: what a unit of the type provides, -1 = this type does not have the resource
    period_us: float = PERIOD_US  # until the policy is called again

    def can_run(self, tasks: BatchTasks, types: slice | np.ndarray = slice(None)) -> np.ndarray:
        """[M, P] bool: whether a unit of each type has an affinity to the task and provides what it requests."""
        able = (self.affinity.T > 0)[:, types][tasks.task_type]
        for q in range(tasks.request.shape[1]):
            provided = self.resource[types, q]
            able &= (tasks.request[:, q, None] <= provided) | (provided < 0)
        return able

    def time_us(self, tasks: BatchTasks, types: slice | np.ndarray = slice(None)) -> np.ndarray:
        """[M, P] us: how long each task takes on a unit of each type from now on, including the overhead if it does not
        run yet, and ``FOREVER_US`` if its end is not known; infinite if it cannot run. A running task takes its
        remaining time wherever it is moved."""
        speed = np.ascontiguousarray(self.affinity.T[:, types])
        measured_us = tasks.measured_us[:, types] if len(tasks.measured_us) else None
        if len(speed) == 1 and measured_us is None:  # type by type, which NumPy divides six times faster
            alone = alone_us(tasks.operations, speed.T).T
        else:
            own_speed = speed if measured_us is not None else speed[tasks.task_type]
            alone = alone_us(tasks.operations[:, None], own_speed, measured_us)
        if self.overhead_us.any():
            alone = self.overhead_us.T[:, types][tasks.task_type] + alone
        is_pending = np.isnan(tasks.remaining_us)
        time = alone if is_pending.all() else np.where(is_pending[:, None], alone, tasks.remaining_us[:, None])
        time = np.minimum(time, FOREVER_US)
        can_run_all = len(tasks.request) == 0 and bool((speed > 0).all())
        return time if can_run_all else np.where(self.can_run(tasks, types), time, np.inf)


@dataclass(frozen=True)
class BatchPolicy(Policy):
    """A scheduler that is called from Python at every period, with all pending tasks.

    ``place(tasks, servers)`` returns the unit of each task, -1 to leave it pending. Periods begin at multiples of the
    scenario's ``period_us``; the first at 0, after the jobs that arrive then. The answer may depend only on the
    arguments and the options: a policy remembers nothing, and is not called if there is nothing to place.
    """

    supports_multi_unit_tasks: ClassVar[bool] = False
    unsupported_because: ClassVar[str] = "it gets one amount for each task, and answers with one unit"
    replaces_running: ClassVar[bool] = False  # running tasks come with the pending ones and may be moved, at no cost
    new_first: ClassVar[bool] = False  # with replaces_running: pending tasks first, then those of the latest period
    needs_power: ClassVar[bool] = False  # looks at the powers of the units
    steady: ClassVar[bool] = False  # if it leaves tasks in place at two times, it does so at all times in between

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        """The rule, called once per period."""
        raise NotImplementedError
