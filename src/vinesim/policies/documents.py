"""Read scenario files with the policies that they name, and fix what older files wrote differently."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from vinesim.formats.scenario import file as scenario_file
from vinesim.formats.scenario.keys import PERIOD_AMONG_OPTIONS
from vinesim.formats.source.files import is_table
from vinesim.formats.source.quantities import format_time_us, time_us
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.errors import InputError, InputWarning, dotted
from vinesim.model.python_file import split_file
from vinesim.model.scenario import PERIOD_US, Scenario
from vinesim.model.scenario_rules import PREEMPTION
from vinesim.policies import replacing
from vinesim.policies.columns import ignored_columns
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy
from vinesim.policies.demands import check_demands
from vinesim.policies.demands import check_policy as check_between
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model
from vinesim.state.clock import stuck_period, surely_out_of_time
from vinesim.workloads.registry import known_generator

CheckPolicy = Callable[[Any, Mapping[str, Any]], object]


class PolicyCheck:
    """Checks a policy with its options, by name once; one in a file only with ``runs_files``, as that runs its code.

    Attributes:
        unchecked: the policies and functions that were not checked for that reason.
    """

    def __init__(self, *, runs_files: bool = True):
        self.runs_files = runs_files
        self.unchecked: list[str] = []
        self._right: set[tuple[str, str]] = set()  # names and options that are right

    def __call__(self, policy: Any, options: Mapping[str, Any]) -> None:
        """Raises :class:`InputError`."""
        if self.runs_files or not replacing.is_file(policy):
            name = str(policy), repr(options)
            if name not in self._right:
                resolve(policy, options)
            if isinstance(policy, str):
                self._right.add(name)
        else:
            self.allows([policy], "policy")

    def allows(self, names: Iterable[str], kind: str) -> bool:
        """Whether the code of files may be run; if not, ``names``, which are in files, are unchecked."""
        if not self.runs_files:
            self.unchecked += [words for name in names if (words := f"{kind} {name}") not in self.unchecked]
        return self.runs_files


def read_scenario(
    path: str | os.PathLike[str],
    overrides: Iterable[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    check_policy: CheckPolicy | None = None,
) -> Scenario:
    """Read the scenario of a YAML file; file names in it are relative to its folder.

    ``overrides`` are changes ``key=value`` with the value in YAML, such as ``arrivals.iat=5`` or
    ``datacenter.racks[0].units.GPU=30``. ``settings`` maps such keys to values, and is applied after them. If the
    policy is replaced, options in the file that the new policy does not know are left out, with a warning. If
    ``check_policy(policy, options)`` is given, its :class:`InputError` is reported together with the other problems;
    without it, no policy's file is loaded, except one that a change names.
    Raises :class:`InputError` with file, line and column of every problem.
    """
    source = scenario_file.read_source(path, overrides).changed(settings or {})
    notes: list[str] = []
    scenario = scenario_from(source, Path(path).parent, check_policy=check_policy, tell=notes.append)
    for text in notes:
        warnings.warn(text, InputWarning, stacklevel=2)
    return scenario


def scenario_from(
    source: YamlSource,
    folder: Path,
    *,
    check_policy: CheckPolicy | None = None,
    tell: Callable[[str], object] | None = None,
) -> Scenario:
    """Build the scenario of a document; ``tell`` is called with warnings about it. Raises :class:`InputError`.

    The code of a policy's file is run only to check it or, without a check, if a change names the file.
    """
    if isinstance(check_policy, PolicyCheck):
        loads_files = check_policy.runs_files
        if not loads_files and _has_generator_file(source):
            remedy = "--run-policy-file runs it, to check the scenario."
            source.add(("workload", "generator"), "a workload without running code", "a generator in a file", remedy)
            source.raise_if_any()
    else:
        loads_files = check_policy is not None or source.layer(("policy",)) > 0
    source, notes = prepared(source, folder, loads_files=loads_files)
    if isinstance(source.data, dict):
        _check_names(source, ("options",), source.own_data.get("options"), source.data.get("options"))
    check = _check_demands if check_policy is None else partial(_check_run, loads_files)
    scenario = scenario_file.scenario_from(source, folder, check_policy=check_policy, check_demands=check)
    if tell is not None:
        off_beat = _off_beat(source, scenario, folder, loads_files)
        ignored = _ignored_columns(source, scenario, loads_files)
        for text in notes + off_beat + _without_preemption(scenario, loads_files) + ignored:
            tell(text)
    return scenario


def checked_scenario(source: YamlSource, folder: Path) -> Scenario:
    """Build the scenario of a document, and check its policy. Raises :class:`InputError`."""
    return scenario_from(source, folder, check_policy=PolicyCheck())


def _check_names(source: YamlSource, path: tuple[str, ...], own: Any, given: Any) -> None:
    """Add a problem for each name that a change of one key added to a mapping of things with names, such as the
    accounts of a site: it would limit nobody. Things are added as a whole."""
    if not isinstance(own, Mapping) or not isinstance(given, Mapping):
        return
    is_by_name = bool(own) and all(isinstance(value, Mapping) for value in own.values())
    for name, value in given.items():
        inner = (*path, name)
        if name in own:
            _check_names(source, inner, own[name], value)
        elif is_by_name and isinstance(value, Mapping) and source.layer(inner) == 0:
            remedy = f"{did_you_mean(name, own)} To add one, set all of it: {dotted(inner)}={{...}}.".strip()
            source.add(inner, f"one of {', '.join(own)}", repr(name), remedy)


def _check_demands(scenario: Scenario) -> None:
    """Raise :class:`InputError` for tasks that hold several units, or companions, that no node ever has together,
    or more than their quotas allow, and for gangs that are larger than the datacenter."""
    if scenario.workload.has_vectors or scenario.workload.gang_within is not None:
        build_model(scenario)


def _check_run(loads_files: bool, scenario: Scenario) -> None:
    """Raise :class:`InputError` for the same, for times with which no run can end, and for what the policy refuses."""
    _check_demands(scenario)
    problems, kind = surely_out_of_time(scenario), replacing.kind_of(scenario.policy, loads_files=loads_files)
    if kind is not None:
        policy = resolve(scenario.policy if isinstance(scenario.policy, Policy) else kind, scenario.options)
        check_demands(scenario, policy)
        check_between(scenario, policy)
        if isinstance(policy, OnlinePolicy):
            policy.suited_to(scenario)
    if kind is not None and issubclass(kind, BatchPolicy):
        last_us = min(float(scenario.workload.arrival_us[-1]), scenario.horizon_us)
        problems = problems + stuck_period(scenario.period_us, last_us)
    if problems:
        raise InputError(problems)


def _has_generator_file(source: YamlSource) -> bool:
    part = source.data.get("workload") if isinstance(source.data, dict) else None
    name = part.get("generator") if isinstance(part, dict) else None
    return isinstance(name, str) and bool(split_file(name)[0])


def prepared(source: YamlSource, folder: Path, *, loads_files: bool = True) -> tuple[YamlSource, list[str]]:
    """Return the document with its period in place and without the options that only a replaced policy knows, and the
    warnings about both."""
    if not isinstance(source.data, dict) or not isinstance(source.data.get("options"), dict):
        return source, []
    source, notes = _period_moved(source)
    if source.layer(("policy",)) == 0:
        return source, notes
    options = source.data["options"]
    old, new = (replacing.in_folder(data.get("policy") or "high", folder) for data in (source.own_data, source.data))
    own = {name: value for name, value in options.items() if source.layer(("options", name)) == 0}
    if own and (loads_files or not replacing.is_file(new)):
        _, left_out = replacing.fitting(own, old, new)
        for name in left_out:
            source = source.without(("options", name))
        if left_out:
            notes.append(replacing.words(left_out, source.own_data.get("policy") or "high", source.data["policy"]))
    return source, notes


def _period_moved(source: YamlSource) -> tuple[YamlSource, list[str]]:
    """Move the period of batch policies to its place, for files that have it among the options."""
    old, new = PERIOD_AMONG_OPTIONS, ("period",)
    if old[1] not in source.data["options"]:
        return source, []
    value = source.data["options"][old[1]]
    if source.data.get("period") is None or source.layer(old) > source.layer(new):
        source = source.renamed(dotted(old), dotted(new))
    elif source.layer(old) < source.layer(new):
        source = source.without(old)
    else:
        source.add(old, "the period once", f"it here and as period: {source.data['period']}", "Keep period:.")
        source = source.without(old)
    return source, [f"{dotted(old)} is now a key of the scenario: write period: {value}"]


def _off_beat(source: YamlSource, scenario: Scenario, folder: Path, loads_files: bool) -> list[str]:
    """Return a warning if batches of tasks arrive at another interval than that at which a batch policy places them."""
    iat = (source.data.get("arrivals") or {}).get("iat")
    if iat is None or (iat_us := time_us(iat, "")) == scenario.period_us:
        return []
    if not _in_batches(source.data["workload"], folder):
        return []
    kind = replacing.kind_of(scenario.policy, loads_files=loads_files)
    if kind is None or not issubclass(kind, BatchPolicy):
        return []
    default = ", by default" if scenario.period_us == PERIOD_US and source.data.get("period") is None else ""
    every, period = format_time_us(iat_us), format_time_us(scenario.period_us)
    return [
        f"a batch of tasks arrives every {every} (arrivals.iat), but is placed every {period} (period{default}): "
        f"did you mean period: {iat}?"
    ]


def _without_preemption(scenario: Scenario, loads_files: bool) -> list[str]:
    """Return a warning if the scenario says what a preempted task keeps, and its policy preempts none."""
    if scenario.preemption == PREEMPTION[0]:
        return []
    kind = replacing.kind_of(scenario.policy, loads_files=loads_files)
    if kind is None or getattr(kind, "preempts", False):
        return []
    return [
        f"preemption: {scenario.preemption} has no effect: the policy {kind.name} never preempts or moves a task. "
        "Leave it out, or choose a policy that preempts, such as priority"
    ]


def _ignored_columns(source: YamlSource, scenario: Scenario, loads_files: bool) -> list[str]:
    """Return a warning for each column of the workload's table that the policy does not look at."""
    part = source.data["workload"]
    kind = replacing.kind_of(scenario.policy, loads_files=loads_files) if part.get("file") else None
    return [] if kind is None else [*ignored_columns(scenario, kind, part)]


def _in_batches(workload: Mapping[str, Any], folder: Path) -> bool:
    """Whether the inter-arrival time is the time between batches, because of the generator or a table that counts
    periods."""
    if workload.get("generator") is not None:
        spec = known_generator(workload["generator"], folder)
        return spec is not None and spec.in_batches
    if not is_table(workload["file"]):
        return False
    from vinesim.formats.scenario.workload_table import has_periods  # importing DuckDB takes 0.1 s

    try:
        return has_periods(folder / workload["file"], workload.get("columns"))
    except InputError:
        return False
