"""Find a policy: by name, in an installed package's entry points, in a file, or as the object itself."""

import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from vinesim.formats.scenario.keys import split_policy
from vinesim.formats.source.yaml_source import did_you_mean
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.policies.backfill.conservative import ConservativeBackfill
from vinesim.policies.backfill.easy import EasyBackfill
from vinesim.policies.contract import Policy
from vinesim.policies.declarations import check_declarations
from vinesim.policies.names import unknown_names
from vinesim.policies.online.closer_to_data import CloserToData
from vinesim.policies.online.delay import Delay
from vinesim.policies.online.earliest_completion import EarliestCompletion
from vinesim.policies.online.earliest_finish import EarliestFinish
from vinesim.policies.online.flat import Flat
from vinesim.policies.online.high import High
from vinesim.policies.online.pref import Pref
from vinesim.policies.optimal.policy import Optimal
from vinesim.policies.placement.best_fit import BestFit, BestFitDecreasing
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.placement.first_fit import FirstFit, FirstFitDecreasing
from vinesim.policies.placement.least_loaded import LeastLoadedFirst
from vinesim.policies.placement.round_robin import RoundRobin
from vinesim.policies.requests.deadline_consolidation import DeadlineConsolidation
from vinesim.policies.requests.edf import Edf, EdfDrop, LeastLaxity
from vinesim.policies.requests.fcfs import Fcfs
from vinesim.policies.resource_based.fifo import RbFifo
from vinesim.policies.resource_based.ljf import RbLjf
from vinesim.policies.resource_based.ljf_ba import RbLjfBa
from vinesim.policies.resource_based.ljf_ocl import RbLjfOcl
from vinesim.policies.resource_based.sjf import RbSjf
from vinesim.policies.symphony.policy import Symphony
from vinesim.policies.symphony.recommended import SymphonyRecommended

BUILT_IN: tuple[type[Policy], ...] = (
    *(Flat, High, Pref, CloserToData, Delay, EarliestFinish, EarliestCompletion, Optimal),
    *(RoundRobin, LeastLoadedFirst, FirstFit, FirstFitDecreasing),
    *(BestFit, BestFitDecreasing, DivideAndConquerBestFit, AcceleratedBestFit),
    *(Symphony, SymphonyRecommended, Fcfs, Edf, EdfDrop, LeastLaxity, DeadlineConsolidation),
    *(RbFifo, RbSjf, RbLjf, RbLjfBa, RbLjfOcl),
    *(EasyBackfill, ConservativeBackfill),
)
ENTRY_POINTS = "vinesim.policies"
_LOG = logging.getLogger(__name__)
_folders: set[str] = set()  # of the policy files that have been loaded


@cache
def policies() -> Mapping[str, type[Policy]]:
    """Return every registered policy by name: the built-in ones, then those of installed packages."""
    found = {policy.name: policy for policy in BUILT_IN}
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
            raise InputError([Problem("policy.options", "no options with a policy object", ", ".join(options))])
        return _checked(policy)
    return _checked(find(policy).from_options(options))


def _checked(policy: Policy) -> Policy:
    """Return the policy. Raises :class:`InputError` if its declaration is wrong or it uses undefined names."""
    check_declarations(policy)
    if problems := unknown_names(policy):
        raise InputError(problems)
    return policy


def find(policy: Any) -> type[Policy]:
    """Return the policy class of a name, ``file.py:Class``, or the class itself. Raises :class:`InputError`."""
    if isinstance(policy, type) and issubclass(policy, Policy):
        return policy
    name = str(policy)
    if split_policy(name)[0]:
        return _from_file(name)
    if name not in policies():
        expected = "one of " + ", ".join(policies()) + ", or file.py:Class"
        remedy = did_you_mean(name, policies()) or "`vinesim policies` explains them."
        raise InputError([Problem("policy", expected, repr(name), remedy)])
    return policies()[name]


def _from_file(spec: str) -> type[Policy]:
    """Load ``file.py:Class``; the class can be omitted if the file has one policy."""
    file, rest = split_policy(spec)
    path, name = Path(file), rest.removeprefix(":")
    if not path.is_file():
        raise InputError([Problem("policy", "a Python file", f"no file {file}", "Check the path.")])
    _LOG.info("running the code in %s", file)
    module_name = f"vinesim_policy_{path.stem}"
    module = ModuleType(module_name)
    module.__file__ = str(path)
    beside = str(path.absolute().parent)
    _folders.add(beside)
    for other in [m for m in sys.modules.values() if _is_in(m, _folders)]:
        del sys.modules[other.__name__]  # helpers beside it may have been edited too
    sys.modules[module_name] = module
    sys.path.insert(0, beside)
    try:  # not by Python's importer: its cache considers a file unchanged if its time in whole seconds is
        exec(compile(path.read_bytes(), path, "exec"), vars(module))  # noqa: S102
    except (Exception, SystemExit) as wrong:
        line = getattr(wrong, "lineno", None) or _line_in(wrong, path)
        words = f"{type(wrong).__name__}: {wrong}"
        problem = Problem(f"{file}:{line}", "a Python file that loads", words, _import_remedy(wrong))
        raise InputError([problem]) from wrong
    finally:
        sys.path.remove(beside)
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == module_name
    }
    if name not in found and not (not name and len(found) == 1):
        there = " or ".join(f"{file}:{key}" for key in found)
        expected = there or "a file with a policy class"
        raise InputError(
            [Problem("policy", expected, repr(spec), "Derive a class from OnlinePolicy." if not there else "")]
        )
    return found[name] if name else next(iter(found.values()))


def _import_remedy(wrong: BaseException) -> str:
    """Suggest the intended name for one that VineSim does not have, or return an empty text."""
    found = re.match(r"cannot import name '(\w+)' from '(vinesim[\w.]*)'", str(wrong))
    return did_you_mean(found[1], dir(sys.modules[found[2]])) if found else ""


def _is_in(module: Any, folders: set[str]) -> bool:
    """Whether a module's file lies directly in one of the folders."""
    file = getattr(module, "__file__", None)
    return (
        isinstance(file, str)
        and os.path.dirname(os.path.abspath(file)) in folders
        and module is not sys.modules.get("__main__")
    )


def _line_in(error: BaseException, path: Path) -> int:
    """Return the last line of a file that an error passed through."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
