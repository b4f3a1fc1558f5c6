"""Check a plan before any run: its scenario, its policies, and whether the scenario has the numbers that it needs."""

import math
from dataclasses import replace

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.formats.plan.numbers import is_own
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.study.file import scenario_source
from vinesim.metrics.numbers import Numbers, numbers
from vinesim.metrics.warm_up import check_leaves_jobs
from vinesim.model.errors import InputError, Problem
from vinesim.model.plan import Plan
from vinesim.model.python_file import split_file
from vinesim.model.scenario import Scenario
from vinesim.plans.hardware import SECTION, Hardwares
from vinesim.plans.space import NOT_MADE, Space
from vinesim.policies.documents import PolicyCheck, scenario_from
from vinesim.studies.own_numbers import OwnNumbers, functions
from vinesim.studies.run import at_point

PROBED = ("energy", "cost")  # numbers that exist but have no value if something is not given


def check_plan(plan: Plan, space: Space, check: PolicyCheck | None = None) -> None:
    """Raise :class:`InputError` with everything that is wrong with the plan's scenario and numbers."""
    check = check or PolicyCheck()
    first = _with_most(space)
    problems: dict[Problem, None] = {}
    for point in _corners(space, first):
        source = scenario_source(plan.space).changed({**space.settings(point), "seed": plan.space.seed})
        try:
            scenario = scenario_from(source, plan.space.folder, check_policy=check)
            check_leaves_jobs(plan.space.warm_up, scenario.workload.n_jobs, plan.space.warm_up_at)
        except InputError as error:
            shown = error if point == first else at_point(error, space.points.labels(point))
            problems |= dict.fromkeys(shown.problems)
    if problems:
        raise InputError(list(problems))
    tries = check.allows(functions(plan.space.record), "function")
    wrong = _wrong_numbers(plan, space, first, tries)
    if wrong:
        raise InputError(wrong)


def _with_most(space: Space) -> int:
    """Return the point with the greatest value of each ordered choice, and the first of others."""
    wanted = tuple(int(np.argmax(np.array(c.labels))) if c.is_ordered else 0 for c in space.choices)
    return space.number(wanted) or 0


def _corners(space: Space, first: int) -> list[int]:
    """Return points that have each label of each choice, or the ends of a choice of numbers; few of what is counted."""
    found, row = [first], space.positions[first].tolist()
    for c, choice in enumerate(space.choices):
        if choice.is_ordered and all(key.startswith(SECTION) for setting in choice.settings for key in setting):
            continue  # a count may be too small to run anything
        ends = (0, len(choice) - 1) if choice.is_ordered else range(len(choice))
        for position in ends:
            at = list(row)
            at[c] = position
            for other, labels in choice.when.items():
                o = [each.name for each in space.choices].index(other)
                at[o] = space.choices[o].labels.index(labels[0])
            number = space.number(tuple(at))
            if number is not None and space.positions[number][c] != NOT_MADE and number not in found:
                found.append(number)
    return found


def _wrong_numbers(plan: Plan, space: Space, point: int, tries: bool) -> list[Problem]:
    """Return problems with numbers that the scenario does not have. With ``tries``, numbers of functions are checked by
    calling them."""
    others = () if tries else {split_file(name)[1].removeprefix(":") for name in functions(plan.space.record)}
    names = [name for name in plan.names if not is_own(name) and name.partition(".")[0] not in others]
    scenario, known = _probe(plan, space, point, tries)
    unpriced = _unpriced(plan, space, point, scenario)
    problems = _wrong_costs(plan, scenario, known)
    for name in names:
        if name not in known and not name.startswith(("periods.", "bound.")):
            near = did_you_mean(name, known)
            expected = "a number of this scenario"
            problems.append(Problem(name, expected, "none of that name", near or _needs(name)))
        elif name.startswith(PROBED) and math.isnan(_float(known, name)):
            problems.append(Problem(name, "a number of this scenario", "no value", _needs(name)))
    types = {kind for kind in known if kind.startswith("tasks.by_type.")}
    for name in plan.names:
        if is_own(name):
            problems += _wrong_own(name, known, types, unpriced)
    return problems


def _wrong_costs(plan: Plan, scenario: Scenario, known: Numbers) -> list[Problem]:
    """Return problems with costs that would count nothing, or have no value."""
    if plan.costs is None:
        return []
    names = [kind.name for kind in scenario.datacenter.processor_types]
    expected = "a processor type of the scenario: " + ", ".join(names)
    problems = [
        Problem(f"cost.rent_per_hour.{name}", expected, repr(name), did_you_mean(name, names))
        for name in plan.costs.rent_per_hour
        if name not in names
    ]
    if plan.costs.carbon_per_tonne > 0 and math.isnan(_float(known, "energy.carbon_g")):
        problems.append(
            Problem("cost.carbon_per_tonne", "emissions to be paid", "none known", _needs("energy.carbon_g"))
        )
    return problems


def _unpriced(plan: Plan, space: Space, point: int, scenario: Scenario) -> list[str]:
    """Return the types that a point has and that have neither a price nor a rent."""
    hardware = Hardwares(plan).of(space.settings(point), scenario)
    rented = {} if plan.costs is None else plan.costs.rent_per_hour
    if isinstance(hardware, str):
        return []
    types = scenario.datacenter.processor_types
    has_none = (hardware.count > 0) & np.isnan(scenario.prices)
    return [kind.name for kind, is_so in zip(types, has_none, strict=True) if is_so and kind.name not in rented]


def _wrong_own(name: str, known: Numbers, types: set[str], unpriced: list[str]) -> list[Problem]:
    expected = "a number of this scenario"
    if name == "cost.per_million_tokens" and "serving.output_tokens_per_s" not in known:
        return [Problem(name, expected, "no value", _needs("serving"))]
    if name in ("cost.purchase", "cost.total", "cost.per_million_tokens") and unpriced:
        remedy = f"Give the scenario prices: of {' and '.join(unpriced)}."
        return [Problem(name, expected, "no value", remedy)]
    if name == "cost.electricity" and math.isnan(_float(known, "energy.cost")):
        return [Problem(name, expected, "no value", _needs("energy.cost"))]
    if name == "cost.carbon" and math.isnan(_float(known, "energy.carbon_g")):
        return [Problem(name, expected, "no value", _needs("energy.carbon_g"))]
    kinds = {each.removeprefix("tasks.by_type.") for each in types}
    if name.startswith("units.by_type.") and (kind := name.removeprefix("units.by_type.")) not in kinds:
        return [Problem(name, "a type of this scenario: " + ", ".join(sorted(kinds)), kind, did_you_mean(kind, kinds))]
    if name in ("units", "units.by_type", "racks", "racks.power_w", "cost"):
        return [Problem(name, "one number", "the start of several names", "Add a type, or the number of a rack.")]
    return []


def _needs(name: str) -> str:
    if name.startswith("energy.cost"):
        return "Give the plan cost.electricity.price_per_kwh, and the scenario powers."
    if name.startswith("energy.carbon"):
        return "Give the plan cost.electricity.carbon_g_per_kwh, and the scenario powers."
    if name.startswith("energy"):
        return "Give the scenario powers: power:, or a power_curve or dynamic_power of its types."
    if name.startswith("cost"):
        return "Give the scenario prices:."
    if name.startswith(("deadlines", "applications")):
        return "Give the scenario deadlines or applications:."
    if name.startswith("serving.electricity"):
        return "Give the scenario energy.price_per_kwh, and the datacenter types with batching: and a power_curve."
    if name.startswith(("serving.goodput", "serving.missed")):
        return "Give the requests first_token_within and token_within, and the datacenter types with batching:."
    if name.startswith("serving"):
        return "Give the datacenter types with batching:, and the requests input_tokens and output_tokens."
    return ""


def _probe(plan: Plan, space: Space, point: int, tries: bool) -> tuple[Scenario, Numbers]:
    """Return the scenario of a point, and the numbers of a run of it that ends almost at once."""
    given = space.settings(point)
    source = scenario_source(plan.space).changed({**given, "policy": "high", "options": {}, "seed": plan.space.seed})
    scenario = scenario_from(source, plan.space.folder)
    soon = float(scenario.workload.arrival_us[0]) + 1.0
    result = simulate(replace(scenario, horizon_us=soon, sampling_us=None), engine="reference")
    return scenario, numbers(result.summary) | (OwnNumbers.of_study(plan.space).tried(scenario) if tries else {})


def _float(known: Numbers, name: str) -> float:
    value = known.get(name, math.nan)
    return value if isinstance(value, float | int) else math.nan
