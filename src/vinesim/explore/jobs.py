"""What a page asks for: the charts of a variant, differences between variants, a curve along one control."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vinesim.engine.engine_choice import Engine
from vinesim.engine.run import Progress
from vinesim.engine.simulate import code_for, online_policy_for, simulate
from vinesim.explore.state import Changes, Explored
from vinesim.explore.view import COMPARED, numbers_of, view_of
from vinesim.formats.results.table import Table
from vinesim.model.errors import InputError, Problem
from vinesim.model.result import ExitReason, Outcome
from vinesim.model.scalars import as_found
from vinesim.model.scenario import Scenario
from vinesim.policies.registry import resolve
from vinesim.policies.replacing import changed
from vinesim.studies.compare import compare
from vinesim.studies.same_workload import is_fixed
from vinesim.studies.statistics import mean_interval

MAX_REPLICATIONS = 200
MAX_VALUES = 100
Tell = Callable[[Mapping[str, Any]], object]


class Stopped(Exception):
    """The page wants no more of a job."""


class Watch:
    """How a job tells what it has done, and learns that it is to end."""

    def __init__(self, tell: Tell, is_to_stop: Callable[[], bool], is_dropped: Callable[[], bool] = lambda: False):
        self.tell, self.is_to_stop, self.is_dropped = tell, is_to_stop, is_dropped

    def raise_if_stopped(self) -> None:
        """Raises :class:`Stopped`."""
        if self.is_to_stop():
            raise Stopped

    def on_message(self, text: str) -> None:
        """Tell what takes long."""
        self.tell({"message": text})

    def on_progress(self, progress: Progress) -> bool:
        """Tell how far a run is. Returns whether it is to end."""
        self.tell({"done": progress.n_done, "of": progress.n_tasks, "what": "tasks"})
        return self.is_to_stop()


def _run(scenario: Scenario, watch: Watch, engine: Engine) -> Outcome:
    return simulate(scenario, engine=engine, on_progress=watch.on_progress, on_message=watch.on_message).outcome


def _scenario(explored: Explored, changes: Changes, seed: int | None = None) -> Scenario:
    """Return a variant with its policy as an object: a file of one is loaded once."""
    scenario = explored.scenario(changes, seed)
    return changed(scenario, policy=resolve(scenario.policy, scenario.options), options={})


def _is_code_ready(explored: Explored, scenario: Scenario) -> bool | None:
    """Whether the compiled loop of the policy is in this process; None if it is not wanted, or the policy is plain
    Python."""
    online = online_policy_for(scenario.policy, scenario)
    is_wanted = online.compiled and explored.engine != "reference"
    return code_for(scenario, scenario.policy).is_loaded if is_wanted else None


def show(explored: Explored, question: Mapping[str, Any], watch: Watch) -> dict[str, Any]:
    """Run a variant; return what the page shows of it. One that was stopped is shown as far as it came."""
    changes = question["changes"]
    scenario = _scenario(explored, changes)
    outcome = _run(scenario, watch, explored.engine)
    if watch.is_dropped():
        raise Stopped
    view = view_of(scenario, outcome)
    controls = [vars(control) for control in explored.controls(changes)]
    return {**view, "controls": controls, "isCodeReady": _is_code_ready(explored, scenario)}


def prepare(explored: Explored, question: Mapping[str, Any], watch: Watch) -> dict[str, Any]:
    """Compile the loop for a variant's policy, or load it from the disk."""
    scenario = _scenario(explored, question["changes"])
    _run(scenario, watch, "compiled")
    return {"isCodeReady": _is_code_ready(explored, scenario)}


def differences(explored: Explored, question: Mapping[str, Any], watch: Watch) -> dict[str, Any]:
    """Run variants with the same seeds; return how each of the others differs from the first, with intervals."""
    variants, n = question["variants"], _whole("replications", question["replications"], 2, MAX_REPLICATIONS)
    first = explored.seed(variants[0])
    found: list[dict[str, Any]] = []
    for i in range(n):
        for number, changes in enumerate(variants):
            watch.raise_if_stopped()
            scenario = _scenario(explored, changes, first + i)
            outcome = _run(scenario, Watch(lambda _: None, watch.is_to_stop), explored.engine)
            watch.raise_if_stopped()
            about = {"variant": number, "seed": first + i, "exit_reason": str(outcome.exit_reason)}
            found.append({**about, **numbers_of(scenario, outcome)})
            watch.tell({"done": len(found), "of": n * len(variants), "what": "runs"})
    columns = {name: np.array([_float(row[name]) for row in found]) for name in COMPARED}
    given = {name: np.array([row[name] for row in found]) for name in ("variant", "seed", "exit_reason")}
    rows = {name: _compared(given, name, values) for name, values in columns.items()}
    same = [is_fixed(explored.source(changes).data) for changes in variants]
    return {"rows": {name: row for name, row in rows.items() if row}, "n": n, "hasSameJobs": any(same)}


def _compared(given: Mapping[str, np.ndarray], name: str, values: np.ndarray) -> list[dict[str, Any]]:
    """Return the paired differences of a number; nothing if no run has it."""
    if not np.isfinite(values).any():
        return []
    compared = compare(Table({**given, name: values}), "variant", name, baseline=0, axes=["variant"])
    return [
        {
            "variant": int(pair.second),
            "low": _or_none(pair.difference.low),
            "estimate": _or_none(pair.difference.estimate),
            "high": _or_none(pair.difference.high),
            "first": _or_none(pair.first_mean),
            "second": _or_none(pair.second_mean),
            "isSignificant": bool(pair.significant),
            "isStalled": bool(pair.stalled),
        }
        for pair in compared.pairs
    ]


def curve(explored: Explored, question: Mapping[str, Any], watch: Watch) -> dict[str, Any]:
    """Run a variant at each value of one control; tell each point as it is found, with intervals."""
    changes, key, values = question["changes"], question["key"], question["values"]
    n = _whole("replications", question["replications"], 1, MAX_REPLICATIONS)
    if not isinstance(values, list) or not 1 <= len(values) <= MAX_VALUES:
        raise InputError([Problem("values", f"1 to {MAX_VALUES} values", as_found(values))])
    for number, value in enumerate(values):
        variant = {**changes, key: value}
        rows, n_stalled = [], 0
        for seed in range(first := explored.seed(variant), first + n):
            watch.raise_if_stopped()
            scenario = _scenario(explored, variant, seed)
            outcome = _run(scenario, Watch(lambda _: None, watch.is_to_stop), explored.engine)
            watch.raise_if_stopped()
            rows.append(numbers_of(scenario, outcome))
            n_stalled += outcome.exit_reason == ExitReason.STALLED
        point = {name: _interval([row[name] for row in rows]) for name in COMPARED}
        about = {"done": number + 1, "of": len(values), "what": "points", "value": value}
        watch.tell({**about, "point": point, "stalled": n_stalled})
    return {"n": n}


def _interval(values: list[Any]) -> list[float | None]:
    found = mean_interval([_float(value) for value in values])
    return [_or_none(value) for value in (found.low, found.estimate, found.high)]


def _whole(where: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError([Problem(where, f"a whole number, {low} to {high}", repr(value)[:40])])
    return value


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


JOBS = {"show": show, "prepare": prepare, "differences": differences, "curve": curve}
