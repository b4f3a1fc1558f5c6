"""Convert a plan file (YAML), or the same mapping in Python, to a :class:`~vinesim.model.plan.Plan`.

Its keys are declared in ``document``, which ``plan_schema`` gives as JSON Schema for editors.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vinesim.formats.plan.choices import axes, choices
from vinesim.formats.plan.document import REQUIRED, CostPart, PlanDocument
from vinesim.formats.plan.goals import limits, objectives
from vinesim.formats.scenario.document import schema_around_scenario
from vinesim.formats.scenario.extends import KEY as EXTENDS
from vinesim.formats.scenario.extends import SUFFIXES, with_extended_scenario
from vinesim.formats.scenario.keys import moved_code
from vinesim.formats.source.document import checked, refuse_another
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.formats.study.file import Check, given_scenario, given_seed, given_warm_up, raise_with_scenario
from vinesim.model.plan import MAX_POINTS, Budget, Choice, Confirm, Costs, Plan
from vinesim.model.study import Study
from vinesim.model.time import US_PER_S


def read_plan(path: str | os.PathLike[str], overrides: Iterable[str] = (), check: Check | None = None) -> Plan:
    """Read the plan of a YAML file with ``key=value`` changes; file names in it are relative to its folder.

    Raises :class:`InputError` with file, line and column of every problem. ``check``, if given, builds a scenario; the
    problems of the plan's scenario are then reported too.
    """
    source = YamlSource(path, overrides, what="a plan", merge=with_extended_scenario)
    refuse_another(path, source.data, "a plan")
    return replace(_plan(source, Path(os.path.abspath(path)).parent, check), files=tuple(_files(Path(path))))


def _files(path: Path) -> Iterator[Path]:
    """Yield a plan's or a scenario's file, and the files with its scenario and what that extends."""
    yield path
    data = YamlSource(path).data
    scenario = data.get("scenario")
    home = path.parent / str(data.get("folder", "."))
    if isinstance(scenario, str):
        yield from _files(home / scenario)
    for part in (data, scenario):
        other = part.get(EXTENDS) if isinstance(part, dict) else None
        if isinstance(other, str) and other.endswith(SUFFIXES):
            yield from _files(path.parent / other)


def is_plan(path: str | os.PathLike[str]) -> bool:
    """Whether a YAML file is a plan, judging by its keys. Raises :class:`InputError`."""
    data = YamlSource(path, what="a scenario, a study or a plan").data
    return isinstance(data, dict) and "choose" in data


def plan(mapping: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Plan:
    """Build a plan from a mapping with a plan file's keys; file names in it are relative to ``folder``."""
    return _plan(YamlSource.of(mapping), Path(os.path.abspath(folder)))


def _plan(source: YamlSource, folder: Path, check: Check | None = None) -> Plan:
    document, bad = checked(source, PlanDocument, REQUIRED)
    folder = Path(os.path.abspath(folder / document.folder))
    scenario = None if "scenario" in bad else given_scenario(source, document.scenario, folder)
    is_file = isinstance(document.scenario, str)
    home = Path(os.path.abspath(folder / document.scenario)).parent if is_file else folder
    chosen = () if "choose" in bad else choices(source, document.choose, scenario, folder, home)
    n_points = math.prod(len(choice) for choice in chosen)
    if n_points > MAX_POINTS:
        source.add(("choose",), f"at most {MAX_POINTS:,} points", f"{n_points:,}", "Choose fewer or coarser values.")
    goals, bounds = objectives(source, document), limits(source, document)
    more = _more_is_better(source, document, chosen)
    warm_up = given_warm_up(source, document.warm_up)
    raise_with_scenario(source, scenario, home, [each.settings[0] for each in chosen], document.choose, check)
    assert scenario is not None
    if document.cost is not None and document.cost.electricity is not None:
        scenario = scenario.changed({"energy": _electricity(document.cost, scenario.data.get("energy"), folder, home)})
        is_file = False
    space = Study(
        scenario=home / Path(document.scenario).name if is_file else scenario.data,
        axes=axes(chosen),
        seed=given_seed(scenario, document.seed),
        warm_up=warm_up,
        record=tuple(moved_code(name, folder, home) for name in document.record),
        folder=home,
        origin=None if is_file else scenario,
        warm_up_at=source.where(("warm_up", "jobs")),
    )
    costs = document.cost
    return Plan(
        space=space,
        choices=chosen,
        objectives=goals,
        limits=bounds,
        costs=None if costs is None else Costs(costs.years, costs.carbon_per_tonne, costs.rent_per_hour),
        budget=Budget(document.budget.runs, (document.budget.time or math.inf) / US_PER_S, document.budget.gap),
        confirm=Confirm(document.confirm.replications, document.confirm.horizon, document.confirm.longer),
        looks=tuple(document.looks),
        screen=document.screen,
        more_is_better=more,
        loads=() if document.what_if is None else tuple(document.what_if.load),
        description=document.description or "",
    )


def _more_is_better(source: YamlSource, document: PlanDocument, chosen: tuple[Choice, ...]) -> tuple[str, ...]:
    ordered = [choice.name for choice in chosen if choice.is_ordered]
    for i, name in enumerate(document.more_is_better):
        if name not in ordered:
            expected = "a choice of numbers: " + (", ".join(ordered) or "there is none")
            source.add(("more_is_better", i), expected, repr(name), did_you_mean(name, ordered))
    return tuple(document.more_is_better)


def _electricity(cost: CostPart, own: Any, folder: Path, home: Path) -> dict[str, Any]:
    """Return the scenario's section energy with the plan's values; its files relative to the scenario's folder."""
    assert cost.electricity is not None
    given = cost.electricity.model_dump(exclude_unset=True)
    for name in ("price_file", "carbon_file"):
        if given.get(name) is not None:
            given[name] = Path(os.path.relpath(folder / given[name], home)).as_posix()
    return {**(own if isinstance(own, dict) else {}), **given}


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files, for editors and for the reference page."""
    return schema_around_scenario(PlanDocument)
