"""What a policy may not read because it differs from run to run: clocks, and random numbers without the seed.

A policy may use a generator that is made from a fixed seed where it is used: ``np.random.default_rng(7)``.
"""

import datetime
import os
import random
import time
import uuid
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from vinesim.model.errors import Problem

NO_ARGUMENT = "()"  # the last part of a path: what is before it is called with no argument
_RANDOM = "the policy's random stream, which repeats with the seed"
_CLOCK = "the simulated time"
_REMEDIES = {
    _RANDOM: "Use random_below(state, n) from vinesim.policies, or in plain Python a generator with a seed, made where "
    "it is used.",
    _CLOCK: "Use view.now_us.",
}
_MODULES = {"random": _RANDOM, "secrets": _RANDOM, "uuid": _RANDOM, "numpy.random": _RANDOM, "time": _CLOCK}
_SYSTEM = (os.urandom, random.SystemRandom)
_DATES = (datetime.datetime, datetime.date)
_NOW = ("now", "utcnow", "today")
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_SEEDED = (np.random.default_rng, np.random.SeedSequence, uuid.UUID, uuid.uuid3, uuid.uuid5)


def not_repeatable(where: str, names: Mapping[str, Any], path: tuple[str, ...]) -> Problem | None:
    """Return the problem if a path of names, such as ``np.random.randint``, leads to what differs from run to run."""
    value: Any = None
    for i, name in enumerate(path, 1):
        value = names.get(name) if i == 1 else getattr(value, name, None)
        is_called_alone = path[i:] == (NO_ARGUMENT,)
        if expected := _expected(value, is_called_alone):
            return Problem(where, expected, ".".join(path[:i]) + NO_ARGUMENT * is_called_alone, _REMEDIES[expected])
        if not isinstance(value, ModuleType | type):
            break
    return None


def imported(where: str, module: str) -> Problem | None:
    """Return the problem if a function of the policy imports such a module."""
    if expected := _MODULES.get(module, ""):
        return Problem(where, expected, f"import {module}", _REMEDIES[expected])
    return None


def _expected(value: Any, is_called_alone: bool) -> str:
    """Return what is expected instead of a value; empty if the value is the same in each run."""
    bound_to = getattr(value, "__self__", None)
    if _is_one_of(value, _SYSTEM) or isinstance(value, _GENERATORS) or isinstance(bound_to, _GENERATORS):
        return _RANDOM  # of the machine, made before the run, or of the one that all of Python shares
    if _is_one_of(value, _SEEDED) or (isinstance(value, type) and issubclass(value, _GENERATORS)):
        return _RANDOM if is_called_alone else ""
    if _is_one_of(bound_to, _DATES):
        return _CLOCK if value.__name__ in _NOW else ""
    is_function = callable(value) and not isinstance(value, type) and value is not time.sleep
    return _MODULES.get(str(getattr(value, "__module__", "")), "") if is_function else ""


def _is_one_of(value: Any, known: tuple[Any, ...]) -> bool:
    """Whether a value is one of these; it may be an array, which ``in`` would compare."""
    return any(value is each for each in known)
