"""Find a policy: by name, in an installed package's entry points, in a file, or as the object itself."""

import re
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.python_file import load_file, split_file
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import Policy
from vinesim.policies.declarations import check_declarations
from vinesim.policies.names import wrong_names

BUILT_IN = {  # by name, in the order of the documentation: a run imports only its own policy
    "flat": "online.flat:Flat",
    "high": "online.high:High",
    "pref": "online.pref:Pref",
    "closer_to_data": "online.closer_to_data:CloserToData",
    "delay": "online.delay:Delay",
    "priority": "preemptive.priority:Priority",
    "srtf": "preemptive.srtf:Srtf",
    "las": "preemptive.las:Las",
    "drf": "online.drf:Drf",
    "kueue": "kueue.policy:Kueue",
    "earliest_finish": "online.earliest_finish:EarliestFinish",
    "earliest_completion": "online.earliest_completion:EarliestCompletion",
    "optimal": "optimal.policy:Optimal",
    "rr": "placement.round_robin:RoundRobin",
    "llf": "placement.least_loaded:LeastLoadedFirst",
    "ff": "placement.first_fit:FirstFit",
    "ffd": "placement.first_fit:FirstFitDecreasing",
    "bf": "placement.best_fit:BestFit",
    "bfd": "placement.best_fit:BestFitDecreasing",
    "dcbf": "placement.blocked_best_fit:DivideAndConquerBestFit",
    "abf": "placement.blocked_best_fit:AcceleratedBestFit",
    "random_fit": "scoring.random_fit:RandomFit",
    "dot_product": "scoring.dot_product:DotProduct",
    "gpu_clustering": "scoring.gpu_clustering:GpuClustering",
    "gpu_packing": "scoring.gpu_packing:GpuPacking",
    "gpu_best_fit": "scoring.gpu_best_fit:GpuBestFit",
    "fgd": "scoring.fgd:Fgd",
    "symphony": "symphony.policy:Symphony",
    "symphony_recommended": "symphony.recommended:SymphonyRecommended",
    "fcfs": "requests.fcfs:Fcfs",
    "edf": "requests.edf:Edf",
    "edf_drop": "requests.edf:EdfDrop",
    "least_laxity": "requests.edf:LeastLaxity",
    "deadline_consolidation": "requests.deadline_consolidation:DeadlineConsolidation",
    "rb_fifo": "resource_based.fifo:RbFifo",
    "rb_sjf": "resource_based.sjf:RbSjf",
    "rb_ljf": "resource_based.ljf:RbLjf",
    "rb_ljf_ba": "resource_based.ljf_ba:RbLjfBa",
    "rb_ljf_ocl": "resource_based.ljf_ocl:RbLjfOcl",
    "easy_backfill": "backfill.easy:EasyBackfill",
    "conservative_backfill": "backfill.conservative:ConservativeBackfill",
    "least_requests": "serving.least_requests:LeastRequests",
    "least_tokens": "serving.least_tokens:LeastTokens",
    "power_of_two": "serving.power_of_two:PowerOfTwo",
    "prefix_aware": "serving.prefix_aware:PrefixAware",
    "slurm": "slurm.policy:Slurm",
}
ENTRY_POINTS = "vinesim.policies"


@cache
def policies() -> Mapping[str, type[Policy]]:
    """Return every registered policy by name: the built-in ones, then those of installed packages."""
    found = {name: _built_in(name) for name in BUILT_IN}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            found.setdefault(entry.name, entry.load())
        except Exception as wrong:  # one broken package must not affect the others
            warnings.warn(f"policy {entry.name} of an installed package: {wrong}", InputWarning, stacklevel=2)
    return found


def resolve(policy: Any, options: Mapping[str, Any] | None = None) -> Policy:
    """Return the policy object for a name, ``file.py:Class``, class or object, with its options.

    Raises :class:`InputError` for an unknown policy, a file that cannot be loaded, or wrong options.
    """
    options = options or {}
    if isinstance(policy, Policy):
        if options:
            raise InputError([Problem(("policy", "options"), "no options with a policy object", ", ".join(options))])
        return _checked(policy)
    return _checked(find(policy).from_options(options))


def depends_on_seed(scenario: Scenario) -> bool:
    """Return whether runs of a scenario, whose jobs are given, differ with the seed: by its failures or its policy."""
    return (
        any(one.is_random for one in scenario.failures) or not resolve(scenario.policy, scenario.options).deterministic
    )


def _checked(policy: Policy) -> Policy:
    """Return the policy. Raises :class:`InputError` if its declaration is wrong or it uses wrong names. VineSim's own
    ones are right: tests check them."""
    if type(policy).__module__.startswith("vinesim."):
        return policy
    check_declarations(policy)
    if problems := wrong_names(policy):
        raise InputError(problems)
    return policy


def find(policy: Any) -> type[Policy]:
    """Return the policy class of a name, ``file.py:Class``, or the class itself. Raises :class:`InputError`."""
    if isinstance(policy, type) and issubclass(policy, Policy):
        return policy
    name = str(policy)
    if name in BUILT_IN:
        return _built_in(name)
    if split_file(name)[0]:
        return _from_file(name)
    if name not in policies():
        expected = "one of " + ", ".join(policies()) + ", or file.py:Class"
        remedy = did_you_mean(name, policies()) or "`vinesim policies` explains them."
        raise InputError([Problem(("policy",), expected, repr(name), remedy)])
    return policies()[name]


@cache
def _built_in(name: str) -> type[Policy]:
    module, _, kind = BUILT_IN[name].partition(":")
    return vars(import_module(f"vinesim.policies.{module}"))[kind]


def _from_file(spec: str) -> type[Policy]:
    """Load ``file.py:Class``; the class can be omitted if the file has one policy."""
    file, rest = split_file(spec)
    name = rest.removeprefix(":")
    module = load_file(Path(file), "policy", _remedy)
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == module.__name__
    }
    if name not in found and not (not name and len(found) == 1):
        there = " or ".join(f"{file}:{key}" for key in found)
        expected = there or "a file with a policy class"
        raise InputError(
            [Problem(("policy",), expected, repr(spec), "Derive a class from OnlinePolicy." if not there else "")]
        )
    return found[name] if name else next(iter(found.values()))


def _remedy(wrong: BaseException) -> str:
    """Suggest the intended name for one that VineSim does not have, or say what a class lacks, if that is known."""
    if "cannot inherit non-frozen dataclass" in str(wrong):
        return "Write @dataclass(frozen=True) above the class."
    found = re.match(r"cannot import name '(\w+)' from '(vinesim[\w.]*)'", str(wrong))
    return did_you_mean(found[1], dir(sys.modules[found[2]])) if found else ""
