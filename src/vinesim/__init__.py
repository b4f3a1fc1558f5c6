"""VineSim: simulate and compare heterogeneous datacenters and their schedulers.

``vs.simulate(vs.Scenario(datacenter, workload, policy="high"))`` is the one verb; see the documentation's tutorial.
Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vinesim.engine.many import Runs, simulate_many
    from vinesim.engine.run import Progress
    from vinesim.engine.simulate import simulate
    from vinesim.formats.plan.file import read_plan
    from vinesim.formats.results.table import Table
    from vinesim.formats.study.file import read_study, study
    from vinesim.live.scheduler import Scheduler
    from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES, ProcessorType, TaskType
    from vinesim.model.datacenter import Datacenter
    from vinesim.model.errors import InputError, InputWarning, PolicyError, Problem, VineSimError
    from vinesim.model.failure import Failures, Times
    from vinesim.model.network import Network
    from vinesim.model.outage import Outage
    from vinesim.model.partition import Partition
    from vinesim.model.plan import Plan
    from vinesim.model.reservation import Reservation
    from vinesim.model.result import ExitReason
    from vinesim.model.scenario import Scenario
    from vinesim.model.study import Study
    from vinesim.model.version import VERSION as __version__  # noqa: N811
    from vinesim.model.workload import ONE_SLOT, WHOLE_UNIT, Workload
    from vinesim.plans.answer import Answer
    from vinesim.plans.solve import plan
    from vinesim.plots.plot import plot
    from vinesim.policies.documents import read_scenario
    from vinesim.policies.replacing import changed
    from vinesim.result import Result
    from vinesim.studies.again import read_result
    from vinesim.studies.backtest import backtest
    from vinesim.studies.compare import compare
    from vinesim.studies.expand import expand
    from vinesim.studies.start_times import start_times
    from vinesim.studies.statistics import mean_interval, quantile_interval, summarize_points
    from vinesim.studies.sweep import Sweep, read_sweep, sweep
    from vinesim.workloads.registry import generator

_HOMES = {
    "engine.many": ("Runs", "simulate_many"),
    "engine.run": ("Progress",),
    "engine.simulate": ("simulate",),
    "formats.plan.file": ("read_plan",),
    "formats.results.table": ("Table",),
    "formats.study.file": ("read_study", "study"),
    "live.scheduler": ("Scheduler",),
    "model.catalog": ("PROCESSOR_TYPES", "TASK_TYPES", "ProcessorType", "TaskType"),
    "model.datacenter": ("Datacenter",),
    "model.errors": ("InputError", "InputWarning", "PolicyError", "Problem", "VineSimError"),
    "model.network": ("Network",),
    "model.failure": ("Failures", "Times"),
    "model.outage": ("Outage",),
    "model.partition": ("Partition",),
    "model.reservation": ("Reservation",),
    "model.result": ("ExitReason",),
    "model.scenario": ("Scenario",),
    "model.study": ("Study",),
    "model.version": ("__version__",),
    "model.workload": ("ONE_SLOT", "WHOLE_UNIT", "Workload"),
    "model.plan": ("Plan",),
    "plans.answer": ("Answer",),
    "plans.solve": ("plan",),
    "plots.plot": ("plot",),
    "policies.documents": ("read_scenario",),
    "policies.replacing": ("changed",),
    "result": ("Result",),
    "studies.again": ("read_result",),
    "studies.backtest": ("backtest",),
    "studies.compare": ("compare",),
    "studies.expand": ("expand",),
    "studies.start_times": ("start_times",),
    "studies.statistics": ("mean_interval", "quantile_interval", "summarize_points"),
    "studies.sweep": ("Sweep", "read_sweep", "sweep"),
    "workloads.registry": ("generator",),
}
_MODULES = {name: f"vinesim.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "ONE_SLOT",
    "PROCESSOR_TYPES",
    "TASK_TYPES",
    "WHOLE_UNIT",
    "Answer",
    "Datacenter",
    "ExitReason",
    "Failures",
    "InputError",
    "InputWarning",
    "Network",
    "Outage",
    "Partition",
    "Plan",
    "PolicyError",
    "Problem",
    "ProcessorType",
    "Progress",
    "Reservation",
    "Result",
    "Runs",
    "Scenario",
    "Scheduler",
    "Study",
    "Sweep",
    "Table",
    "TaskType",
    "Times",
    "VineSimError",
    "Workload",
    "__version__",
    "backtest",
    "changed",
    "compare",
    "expand",
    "generator",
    "mean_interval",
    "plan",
    "plot",
    "quantile_interval",
    "read_plan",
    "read_result",
    "read_scenario",
    "read_study",
    "read_sweep",
    "simulate",
    "simulate_many",
    "start_times",
    "study",
    "summarize_points",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'vinesim' has no attribute {name!r}")
    attribute = "VERSION" if name == "__version__" else name
    value = getattr(import_module(_MODULES[name]), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
