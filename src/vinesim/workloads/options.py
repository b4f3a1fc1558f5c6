"""The options of generators: their types and the check of their values."""

import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import Constant, Distribution
from vinesim.workloads.job_mix import JobKind

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Option:
    """One option of a generator; ``default`` is ``REQUIRED`` if it has none."""

    name: str
    type: Any
    default: Any

    @property
    def expected(self) -> str:
        """The expected value, in words for messages."""
        names = {int: "a whole number", float: "a number", str: "a name", bool: "true or false"}
        if self.type in names:
            return names[self.type]
        if self.type is Arrivals:
            return "constant, poisson or list, or a process such as {gamma: {mean: 10 ms, cv: 2}}"
        if self.type is Distribution:
            return "a number, or a distribution such as {lognormal: {mean: 5 ms, cv: 3}}"
        if self.name == "series":
            return "a mapping of applications to files of counts"
        if self.name == "tokens":
            return "a mapping of applications to logs of requests with tokens: {chat: {file: requests.csv}}"
        if self.is_by_name:
            return "a mapping of applications to numbers or distributions such as {lognormal: {mean: 500, cv: 2}}"
        if self.type == list[JobKind]:
            return "a list of kinds of jobs, each with a name, arrivals and sizes"
        arguments = typing.get_args(self.type)
        if isinstance(self.type, types.UnionType):
            return Option("", arguments[0], None).expected + ", or null"
        if arguments == (str, str):
            return "a mapping of names to names"
        return "a mapping of names to numbers" if typing.get_origin(self.type) is dict else "a list of numbers"

    @property
    def is_distribution(self) -> bool:
        """Whether the value is a distribution."""
        return self.type in (Distribution, Distribution | None)

    @property
    def is_by_name(self) -> bool:
        """Whether the value is a mapping of names to distributions."""
        return self.type in (dict[str, Distribution], dict[str, Distribution] | None)

    def accept(self, value: Any) -> Any:
        """Convert the value to the option's type. Raises TypeError if that is impossible."""
        return _accept(self.type, value)


def is_known(kind: Any) -> bool:
    """Whether an option can have this type."""
    if isinstance(kind, types.UnionType):
        inner = typing.get_args(kind)
        return len(inner) == 2 and inner[1] is types.NoneType and is_known(inner[0])
    return kind in (int, float, str, bool, Distribution, Arrivals, list[float], dict[str, float])


def _accept(kind: Any, value: Any) -> Any:
    if isinstance(kind, types.UnionType):
        return None if value is None else _accept(typing.get_args(kind)[0], value)
    if typing.get_origin(kind) is dict and typing.get_origin(typing.get_args(kind)[1]) is tuple:
        if isinstance(value, Mapping) and all(isinstance(item, tuple) and len(item) == 2 for item in value.values()):
            return dict(value)
        raise TypeError
    if typing.get_origin(kind) is dict and isinstance(value, Mapping):
        return {_accept(str, key): _accept(typing.get_args(kind)[1], item) for key, item in value.items()}
    if kind is Arrivals and isinstance(value, Arrivals | str):
        return value
    if kind is Distribution and isinstance(value, Distribution):
        return value
    if kind is Distribution and isinstance(value, int | float) and not isinstance(value, bool):
        return Constant(_accept(float, value))
    if kind == list[JobKind]:
        if isinstance(value, list | tuple) and value and all(isinstance(item, JobKind) for item in value):
            return list(value)
        raise TypeError
    if typing.get_origin(kind) is list and isinstance(value, list | tuple | np.ndarray):
        return [_accept(float, item) for item in value]
    if isinstance(value, bool) and kind is not bool:
        raise TypeError
    if kind is float and isinstance(value, int | float) and abs(value) < 1e300:
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in (int, str, bool) and isinstance(value, kind):
        return value
    raise TypeError
