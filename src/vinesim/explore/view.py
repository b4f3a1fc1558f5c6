"""What the page shows of one run, from its columns in memory: numbers, and the series of its charts."""

from typing import Any

import numpy as np

from vinesim.formats.results.place_names import PlaceNames
from vinesim.metrics.activity import activity_of
from vinesim.metrics.numbers import flat
from vinesim.metrics.queue import mean_queues
from vinesim.metrics.record import Record
from vinesim.metrics.summary import measure, plain
from vinesim.metrics.tables import Tables
from vinesim.model.arrays import distinct
from vinesim.model.result import Outcome
from vinesim.model.scenario import Scenario
from vinesim.model.titles import number_title
from vinesim.report.distributions import distributions_of
from vinesim.report.racks import racks_of
from vinesim.report.rounding import rounded
from vinesim.report.usage import usage_of
from vinesim.report.waiting import MAX_TYPES, N_INTERVALS
from vinesim.studies.compare import direction_of

COMPARED = (  # in the order of the page
    "jobs.latency_us.mean",
    "jobs.latency_us.p50",
    "jobs.latency_us.p99",
    "tasks.wait_us.mean",
    "utilization.overall",
    "makespan_us",
    "cost.purchase",
    "energy_j",
    "deadlines.missed_pct",
    "serving.first_token_us.p99",
    "serving.token_us.p99",
    "serving.goodput_pct",
    "serving.output_tokens_per_s",
)
_MEASURED = Record((*COMPARED, "jobs.count", "jobs.finished", "tasks.count", "tasks.finished", "energy"))


def titles() -> list[dict[str, str]]:
    """Return the numbers that variants are compared in, with their titles, units and better directions."""
    return [
        {"name": name, "title": number_title(name).words, "unit": number_title(name).unit, "better": direction_of(name)}
        for name in COMPARED
    ]


def numbers_of(scenario: Scenario, outcome: Outcome) -> dict[str, Any]:
    """Return the numbers that variants are compared in, by name; None for what is unknown."""
    found = dict(flat(plain(measure(Tables(scenario, outcome), record=Record(COMPARED)))))
    return {name: found.get(name) for name in COMPARED}


def view_of(scenario: Scenario, outcome: Outcome) -> dict[str, Any]:
    """Return the data of the page."""
    tables = Tables(scenario, outcome)
    found = plain(measure(tables, record=_MEASURED))
    activity = activity_of(tables)
    codes = distinct(tables.unit_type).tolist()
    order = {code: place for place, code in enumerate(codes)}
    types = [scenario.datacenter.processor_types[code].name for code in codes]
    place = np.zeros(max(codes) + 1, np.int64)
    place[codes] = np.arange(len(codes))
    view: dict[str, Any] = {
        "numbers": {name: value for name, value in flat(found) if name in COMPARED},
        "counts": {
            "jobs": found["jobs"]["count"],
            "jobsDone": found["jobs"]["finished"],
            "tasks": found["tasks"]["count"],
            "tasksDone": found["tasks"]["finished"],
            "units": len(tables.unit_type),
        },
        "energy": {part: found.get("energy", {}).get(part, {}) for part in ("by_type", "by_state")},
        "reason": {"name": str(outcome.exit_reason), "words": outcome.reason},
        "types": types,
        "latency": distributions_of(tables),
    }
    if activity.end_us > 0:
        view["usage"] = usage_of(activity, types, place[tables.unit_type], N_INTERVALS)
        view["racks"] = racks_of(activity, order, PlaceNames.of(tables.rack, tables.shelf, tables.names))
        view["waiting"] = _waiting(tables, activity.end_us)
    return view


def _waiting(tables: Tables, end_us: float) -> dict[str, Any]:
    work = tables.scenario.workload
    codes = distinct(work.job_task_type).tolist()
    wanted = [None, *(codes if 1 < len(codes) <= MAX_TYPES else ())]
    names = ["all" if code is None else work.task_types[code].name for code in wanted]
    queues = mean_queues(tables, wanted, N_INTERVALS)
    return {
        "edges_us": rounded(np.linspace(0.0, end_us, N_INTERVALS + 1), 7),
        "queue": [{"name": name, "values": rounded(queue, 4)} for name, queue in zip(names, queues, strict=True)],
        "marks": [],
        "causes": [],
    }
