"""A policy's options and its own arrays, in forms that compiled code can read by name."""

import math
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from vinesim.state.model import Model

_PREFIX = "Scratch__"
FACTOR = "*"  # separates the factors of a size, as in groups*types*256
TASK_ID, TASK_ID_PLUS_1, TASK_COUNT = "task", "task + 1", "tasks below"  # how scratch holds a task's number
EVENT_OF_TASK = "2 task + 1, 2 task + 2"  # numbers of two things of each task, 0 = none
SIZES: dict[str, Callable[[Model], int]] = {
    "units": lambda model: len(model.unit_type),
    "nodes": lambda model: len(model.node_rack),
    "types": lambda model: len(model.affinity),
    "task_types": lambda model: len(model.ranking),
    "groups": lambda model: len(model.group_task_type),
    "jobs": lambda model: len(model.job_arrival_us),
    "users": lambda model: int(model.job_user.max(initial=-1)) + 2,  # and one for jobs without a user
    "tasks": lambda model: len(model.task_operations),
    "queue": lambda model: len(model.task_operations),  # room for every task, indexed by position rather than by task
    "held": lambda model: (  # state/places.py
        len(model.task_operations) + int(model.task_held[-1] if len(model.task_held) else 0)
    ),
    "partitions": lambda model: max(1, len(model.partition_node)),  # with one for jobs without a partition
    "quotas": lambda model: len(model.quota_limit),
    "one": lambda model: 1,
}


@lru_cache(maxsize=256)
def _scratch_class(names: tuple[str, ...]) -> Any:
    made = namedtuple(_PREFIX + "__".join(names), names)  # type: ignore[misc]  # noqa: PYI024
    made.__module__ = __name__
    return made


def __getattr__(name: str) -> Any:
    """Scratch classes are attributes of this module, so that the compile cache of one process is valid in the next."""
    if name.startswith(_PREFIX):
        return _scratch_class(tuple(name.removeprefix(_PREFIX).split("__")))
    raise AttributeError(name)


OptionValue = float | int | str | dict[str, bool]  # of a choice, for each word whether it is chosen


def build_options(values: Mapping[str, OptionValue]) -> Any:
    """Return an array of one record with the options as fields; a choice is a record of its words."""
    record = np.zeros(1, np.dtype([(name, _dtype_of(value)) for name, value in values.items()] or [("none", "i8")]))
    for name, value in values.items():
        record[name] = tuple(value.values()) if isinstance(value, dict) else value
    return record


def _dtype_of(value: OptionValue) -> Any:
    if isinstance(value, dict):
        return [(word, "?") for word in value]
    if isinstance(value, str):
        return f"U{max(1, len(value))}"
    return "i8" if isinstance(value, int) else "f8"


def plain_options(values: Mapping[str, OptionValue]) -> Any:
    """Return the same for plain Python, where a record would answer ``size`` or ``max`` itself."""
    plain = {k: SimpleNamespace(**value) if isinstance(value, dict) else value for k, value in values.items()}
    return SimpleNamespace(**plain)


def is_size(size: str) -> bool:
    """Whether a scratch array can be declared with that size: names of ``SIZES`` and whole numbers, multiplied."""
    return all(part in SIZES or part.isdecimal() for part in size.split(FACTOR))


def build_scratch(declared: Mapping[str, tuple[str, str]], model: Model) -> Any:
    """Allocate the policy's arrays, filled with zeros, one per name."""
    arrays = {
        name: np.zeros(
            math.prod(SIZES[part](model) if part in SIZES else int(part) for part in size.split(FACTOR)), dtype
        )
        for name, (dtype, size) in declared.items()
    }
    arrays = arrays or {"none": np.zeros(1)}
    return _scratch_class(tuple(arrays))(**arrays)
