"""The machine code that a run needs, and the choice between the two engines if it is left to VineSim.

Both give the same bits, so this is a matter of time only. The reference engine begins at once. The compiled one does a
task some hundred times faster, but its code for a policy must be loaded first, or compiled. How long the reference
engine takes for a task differs a hundredfold between policies, so it is tried: a run begins on it, and begins again on
the compiled one as soon as the reference engine has taken, or will take at its pace, longer than the code needs. Its
time counts for all runs of a policy in a process, so that many small runs get the compiled engine too. They take little
more than twice as long as on the better engine.
"""

import math
import time
from functools import lru_cache
from typing import Any, Literal

from vinesim.core.code import Code, Own
from vinesim.core.features import features_of
from vinesim.engine.outcome import may_end_early
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy, title_of
from vinesim.policies.declarations import functions_of
from vinesim.state.scratch import build_options, build_scratch


def code_of(scenario: Scenario, model: Any, policy: Policy, online: OnlinePolicy) -> Code:
    """The code for a run of a scenario: ``online`` decides, or a batch policy from outside the loop; with the arrays
    that are the policy's own."""
    own = Own(build_options(online.values_of_options()), build_scratch(online.scratch, model))

    def features() -> frozenset[str]:
        return features_of(
            scenario,
            model,
            queries_of(online.decide),
            is_batch=isinstance(policy, BatchPolicy),
            ends_early=may_end_early(scenario, online),
            overcommits=policy.may_overcommit,
            sees_all=online.sees_every_event,
        )

    return Code(online.decide, own, features)


def queries_of(decide: Any) -> frozenset[str]:
    """The names of the queries and answers that a policy's function calls; not of its own functions."""
    return _queries_among(frozenset(functions_of(decide)))


@lru_cache(1000)
def bytes_of(decide: Any) -> int:
    """Return how much bytecode there is of a policy's function and of what it calls, without the queries."""
    own = [one for one in functions_of(decide) if not one.__module__.startswith("vinesim.state.")]
    return sum(len(one.__code__.co_code) for one in own)


@lru_cache(1000)
def _queries_among(functions: frozenset[Any]) -> frozenset[str]:
    found = set()
    for one in functions:
        if one.__module__.startswith("vinesim.state."):
            found.add(one.__name__)
        elif "Action" in one.__code__.co_names:  # it makes its answers itself
            found.add("Action")
    return frozenset(found)


Engine = Literal["auto", "compiled", "reference"]
ENGINES = ("auto", "compiled", "reference")

COMPILE_S = 8.0  # what compiling a policy and the loop takes, about
FURTHER_S = 2.0  # what compiling a policy takes where the loop is on the disk; a longer one, in proportion
FURTHER_BYTES = 8_000  # of its bytecode at most for that: 400 bytes were measured to take 1.6 s, 73,000 20 s
LOAD_S = 0.7  # what it takes to load the compiler and the code that it made before
PACE_S = 0.3  # after this the pace of a run is known
MANY_TASKS = 20_000  # more than the reference engine does in LOAD_S under any policy
TOO_MANY_TASKS = 400_000  # more than it does in COMPILE_S

_took_s: dict[str, float] = {}  # on the reference engine in this process, by policy


class EngineChoice:
    """The choice for one run."""

    def __init__(self, engine: str, policy: Policy, code: Code, n_tasks: int, n_events: int):
        """``code`` is what the compiled engine needs; ``n_events`` is how many the run will have, about.

        Raises :class:`InputError` for the compiled engine with a policy in plain Python.
        """
        self.may_switch = False  # whether the other engine may still take over
        self._code, self._n_events = code, n_events
        self._policy = f"{code.decide.__code__.co_filename}:{code.decide.__qualname__}"
        self._begun = time.perf_counter()
        is_plain = isinstance(policy, OnlinePolicy) and not policy.compiled
        if engine == "compiled" and is_plain:
            where = f"reference or auto, as the policy {title_of(policy)} is plain Python"
            raise InputError([Problem(("engine",), where, "compiled", "Run it with --engine reference.")])
        if engine != "auto":
            self.first, self.why = engine, "as asked for"
        elif is_plain:
            self.first, self.why = "reference", "the policy is plain Python"
        elif code.is_loaded:
            self.first, self.why = "compiled", "its code is loaded"
        elif are_many(code, n_tasks):
            self.first, self.why = "compiled", "many tasks"
        elif self._policy in _took_s and self._is_worth_it(_took_s[self._policy]):
            self.first, self.why = "compiled", "many runs"
        else:
            self.first, self.why, self.may_switch = "reference", "quick enough", True

    def is_too_slow(self, n_events: int) -> bool:
        """Whether the compiled engine must take over, after ``n_events`` events on the reference engine."""
        if not self.seems_too_slow(n_events):
            return False
        took_s, left_s = self._pace_s(n_events)
        self.may_switch, self.why = False, f"the reference engine would have taken some {took_s + left_s:,.0f} s"
        return True

    def seems_too_slow(self, n_events: int) -> bool:
        """The same as ``is_too_slow``, from any thread, before the reference engine has stopped."""
        took_s, left_s = self._pace_s(n_events)
        if not self.may_switch or took_s < PACE_S:
            return False
        so_far_s = took_s + _took_s.get(self._policy, 0.0)
        return self._is_worth_it(max(so_far_s, left_s))

    def _pace_s(self, n_events: int) -> tuple[float, float]:
        """Return how long the run has taken on the reference engine, and will at that pace."""
        took_s = time.perf_counter() - self._begun
        return took_s, took_s * max(0, self._n_events - n_events) / max(1, n_events)

    def _is_worth_it(self, seconds: float) -> bool:
        """Whether ``seconds`` on the reference engine are longer than the code takes to be loaded, or compiled."""
        if seconds < LOAD_S or self._code.is_on_disk:
            return seconds >= LOAD_S
        further_s = FURTHER_S * max(1.0, bytes_of(self._code.decide) / FURTHER_BYTES)
        return seconds >= further_s and (seconds >= COMPILE_S or self._code.is_loop_on_disk)

    def cannot_compile(self) -> None:
        """Note that the policy cannot be compiled, so that its next small runs do not try."""
        self.why, _took_s[self._policy] = "the policy cannot be compiled", -math.inf

    def record_time(self) -> None:
        """Note how long the reference engine took, for the next runs of this policy in this process."""
        if self.may_switch:
            _took_s[self._policy] = _took_s.get(self._policy, 0.0) + time.perf_counter() - self._begun


def check_engine(engine: str) -> None:
    """Raise :class:`InputError` for an unknown engine."""
    if engine not in ENGINES:
        raise InputError([Problem(("engine",), " or ".join(ENGINES), repr(engine))])


def is_worth_loading(code: Code, n_tasks: int) -> bool:
    """Whether ``n_tasks`` tasks are done sooner on the compiled engine, however quick the policy is."""
    return code.is_loaded or are_many(code, n_tasks)


def are_many(code: Code, n_tasks: int) -> bool:
    """Whether ``n_tasks`` tasks pay for loading the code, or for compiling it if it is not on the disk."""
    return n_tasks > TOO_MANY_TASKS or (n_tasks > MANY_TASKS and code.is_on_disk)
