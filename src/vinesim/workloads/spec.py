"""The definition of a generator: a function with keyword options, and its properties."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.model.application import Application
from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES, ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.options import REQUIRED, Option
from vinesim.workloads.placement import Nodes, Placement
from vinesim.workloads.setting import Setting

# options of every generator
COMMON = (
    Option("arrivals", Arrivals, "constant"),  # constant, poisson, list, or a process as in a scenario's arrivals
    Option("iat_us", float, 7.0),  # (mean) inter-arrival time, us
    Option("arrival_us", list[float], ()),  # the times of a list, us
    Option("data_bytes", float, 0.0),  # bytes of each task's data
    Option("data_rack", int | None, None),  # data only on nodes of this rack; null: on all nodes
)


@dataclass(frozen=True)
class GeneratorSpec:
    """A generator: its name, its function, and its own types and affinity, if any."""

    name: str
    make: Callable[..., Workload]
    processor_types: Sequence[ProcessorType] | None = None
    task_types: Sequence[TaskType] | None = None
    affinity: Callable[[], np.ndarray] | None = None  # operations per us [P, T]
    overhead: Callable[[], np.ndarray] | None = None  # us before a task computes [P, T]
    applications: Callable[[Mapping[str, Any]], tuple[Application, ...]] | None = None  # for the generator's options
    takes_task_types: bool = False  # uses the scenario's task types instead of its own
    own_arrivals: bool = False  # generates the arrival times itself
    is_random: bool = True  # draws from the seed, apart from arrivals and places of data
    in_batches: bool = False  # a job is the batch of one period, and the inter-arrival time is the period
    arrivals_apart: bool = False  # the arrivals affect only the column arrival_us

    @property
    def summary(self) -> str:
        """The generated workload in one sentence."""
        return (inspect.getdoc(self.make) or "").split("\n")[0]

    @property
    def options(self) -> dict[str, Option]:
        """The generator's own options and the common ones, by name."""
        parameters = list(inspect.signature(self.make).parameters.values())[1:]
        own = {p.name: Option(p.name, p.annotation, p.default) for p in parameters}
        return own | {option.name: option for option in (() if self.own_arrivals else COMMON)}

    def depends_on_seed(self, options: Mapping[str, Any], nodes: Nodes) -> bool:
        """Whether the seed affects more than the arrival times; ``nodes`` are those that may hold data."""
        has_data = options.get("data_bytes", 0.0) != 0.0
        return self.is_random or Placement(float(has_data), nodes, options.get("data_rack")).is_random

    def generate(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        nodes: Nodes = ((0, 0),),
        task_types: Sequence[TaskType] | None = None,
        processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
    ) -> Workload:
        """Generate the workload. Raises :class:`InputError`.

        ``nodes`` are the (rack, shelf) that may hold data. ``task_types`` are the scenario's, by default the built-in
        ones.
        """
        values = self._check(options or {})
        common = {o.name: values.pop(o.name, o.default) for o in COMMON}
        arrivals = common["arrivals"]
        if isinstance(arrivals, str):
            arrivals = Arrivals(arrivals, common["iat_us"], common["arrival_us"])
        placement = Placement(common["data_bytes"], nodes, common["data_rack"])
        types = self._task_types(task_types)
        setting = Setting(seed, arrivals, placement, types, self.processor_types or processor_types)
        return self.make(setting, **values)

    def _task_types(self, given: Sequence[TaskType] | None) -> Sequence[TaskType]:
        """Return the task types of the generated tasks."""
        if self.task_types is None or (given is not None and self.takes_task_types):
            return TASK_TYPES if given is None else given
        return self.task_types

    def _check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        options, problems, values = self.options, [], {}
        for name, value in given.items():
            if name not in options:
                expected = "one of " + ", ".join(options)
                problems.append(Problem((self.name, "option"), expected, repr(name)[:60]))
                continue
            try:
                values[name] = options[name].accept(value)
            except TypeError:
                problems.append(Problem((self.name, name), options[name].expected, repr(value)[:60]))
        for option in options.values():
            if option.default is REQUIRED and option.name not in given:
                problems.append(Problem((self.name, option.name), option.expected, "nothing", "Give the option."))
        if problems:
            raise InputError(problems)
        return values
