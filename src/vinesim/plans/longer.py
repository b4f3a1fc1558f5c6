"""The keys of a scenario that make its workload longer."""

from typing import Any

from vinesim.formats.study.file import scenario_source
from vinesim.model.plan import Plan
from vinesim.workloads.registry import GENERATORS

COUNTS = ("n_jobs", "n_tasks", "duration_us")  # options of generators that make a workload longer


def longer_settings(plan: Plan, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the keys and values that make a point's workload as long as the plan says; none if nothing does."""
    if plan.confirm.longer:
        return dict(plan.confirm.longer)
    workload = scenario_source(plan.space).changed(settings).data.get("workload") or {}
    spec = GENERATORS.get(str(workload.get("generator")))
    if spec is None:
        return {}
    given = workload.get("options") or {}
    change = {}
    for name in COUNTS:
        option = spec.options.get(name)
        value = given.get(name, None if option is None else option.default)
        if option is not None and isinstance(value, int | float):
            change[f"workload.options.{name}"] = type(value)(round(value * plan.confirm.horizon))
    return change
