"""What must hold of a scenario: one rule a function, each of which returns the problems that it finds."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vinesim.model.application import wrong_applications
from vinesim.model.arrays import distinct
from vinesim.model.batching_rules import wrong_use_of_batching
from vinesim.model.consolidation import wrong_table
from vinesim.model.errors import Problem, Steps
from vinesim.model.failure import wrong_failures
from vinesim.model.outage import wrong_outages
from vinesim.model.partition import wrong_partitions
from vinesim.model.power_caps import wrong_power_caps
from vinesim.model.reservation import wrong_reservations
from vinesim.model.scalars import as_found, is_above_0, is_number, is_whole
from vinesim.model.speed_curves import unknown_task_types
from vinesim.model.workload import NOT_PLACED

if TYPE_CHECKING:
    from vinesim.model.scenario import Scenario

MAX_SAMPLES = 10_000_000  # of the utilisation over time
MAX_NAMED = 10  # wrong cells of a column
PREEMPTION = ("resume", "checkpoint", "restart")  # what a task keeps of its work when a policy preempts or moves it


def _data_is_in_the_datacenter(scenario: "Scenario") -> Iterator[Problem]:
    work, center = scenario.workload, scenario.datacenter
    for axis, end in (("rack", center.n_racks), ("shelf", center.n_shelves)):
        values = getattr(work, f"data_{axis}")
        expected = f"a {axis} of the datacenter, 0 to {end - 1}"
        for t in np.flatnonzero((values < 0) | (values >= end))[:MAX_NAMED]:
            yield Problem(("workload", f"data_{axis}", t), expected, f"{values[t]}")


def _preferred_types_exist(scenario: "Scenario") -> Iterator[Problem]:
    preferred, n_types = scenario.workload.preferred_type, len(scenario.datacenter.processor_types)
    for t in np.flatnonzero((preferred < -1) | (preferred >= n_types))[:MAX_NAMED]:
        expected = f"a processor type, 0 to {n_types - 1}"
        yield Problem(("workload", "preferred_type", t), expected, f"{preferred[t]}")


def _each_task_type_can_run(scenario: "Scenario") -> Iterator[Problem]:
    work, center = scenario.workload, scenario.datacenter
    runs = scenario.affinity[distinct(center.unit_type)].max(axis=0) > 0
    for code in distinct(work.job_task_type):
        if not runs[code]:
            job = int(np.flatnonzero(work.job_task_type == code)[0])
            expected = f"a unit that can run {work.task_types[code].name} tasks"
            found = "affinity 0 on every unit of " + ", ".join(center.count_by_type())
            remedy = "Add such a unit, or an affinity above 0."
            yield Problem(("workload", "job_task_type", job), expected, found, remedy)


def _demands_fit_a_unit(scenario: "Scenario") -> Iterator[Problem]:
    work, center = scenario.workload, scenario.datacenter
    if work.demand is None:
        return
    capacity = np.zeros(len(center.processor_types))
    np.maximum.at(capacity, center.unit_type, center.unit_capacity)
    largest = np.where(scenario.affinity > 0, capacity[:, np.newaxis], 0.0).max(axis=0)  # by task type
    limit = largest[np.repeat(work.job_task_type, np.diff(work.job_first))]
    is_too_large = np.isfinite(work.demand) & (work.demand > limit * (1 + 1e-9))
    for t in np.flatnonzero(is_too_large)[:MAX_NAMED]:
        expected = f"at most the capacity of the largest unit that can run it ({limit[t]:g})"
        remedy = "Give the unit more capacity, or split the task."
        yield Problem(("workload", "demand", t), expected, f"{work.demand[t]:g}", remedy)


def _named_types_exist(scenario: "Scenario") -> list[Problem]:
    work, known = scenario.workload, [p.name for p in scenario.datacenter.processor_types]
    named: list[tuple[Steps, str]] = [(("workload", "companions", name), name) for name in work.companions or ()]
    named += [(("workload", "lead_sets", i), name) for i, names in enumerate(work.lead_sets) for name in names]
    expected = "a processor type, one of " + ", ".join(known)
    problems = [Problem(where, expected, repr(name)) for where, name in named if name not in known]
    task_types = [one.name for one in work.task_types]
    for one in scenario.datacenter.processor_types:
        problems += unknown_task_types(one.name, one.rates, task_types)
    return problems[:MAX_NAMED]


def _times_are_given_where_tasks_can_run(scenario: "Scenario") -> Iterator[Problem]:
    work, types = scenario.workload, scenario.datacenter.processor_types
    times_us = work.times_us
    if times_us is None:
        return
    if times_us.shape[1] != len(types):
        expected = f"{len(types)} columns, one per processor type"
        yield Problem(("workload", "times_us"), expected, f"{times_us.shape[1]}")
        return
    able = scenario.affinity.T[np.repeat(work.job_task_type, np.diff(work.job_first))] > 0
    for t, p in np.argwhere(able & ~(np.isfinite(times_us) & (times_us >= 0)))[:MAX_NAMED]:
        expected = f"a time, because {types[p].name} can run the task (affinity above 0)"
        remedy = "Give a time, or set the affinity to 0."
        yield Problem(("workload", "times_us", t, p), expected, f"{times_us[t, p]:g}", remedy)


def _consolidated_times_are_a_table(scenario: "Scenario") -> list[Problem]:
    table = scenario.consolidated_us
    return [] if table is None else wrong_table(table, scenario.workload, scenario.affinity)


def _applications_fit(scenario: "Scenario") -> list[Problem]:
    if not scenario.applications:
        return []
    return wrong_applications(scenario.workload, scenario.applications, scenario.datacenter, scenario.affinity)


def _powers_are_known_where_they_are_needed(scenario: "Scenario") -> Iterator[Problem]:
    deployed = [scenario.datacenter.processor_types[p] for p in scenario.running_types]
    linear = [p.name for p in deployed if p.dynamic_power_w is not None]
    unknown = [p.name for p in deployed if not p.has_own_power]
    if scenario.electricity.rates and unknown and scenario.power_w is None:
        remedy = "Give a power table, or these types a power_curve or a dynamic_power."
        yield Problem(("electricity",), "powers of all types in use", "none of " + ", ".join(unknown), remedy)
    if linear and (unknown or scenario.power_w is not None):
        found = ", ".join(linear) + (" with a power table" if scenario.power_w is not None else " only")
        yield Problem(("processor_types",), "a dynamic_power of all types in use, or of none", found)


def _outages_fit(scenario: "Scenario") -> Iterable[Problem]:
    return wrong_outages(scenario.outages, scenario.datacenter) if scenario.outages else ()


def _failures_fit(scenario: "Scenario") -> Iterable[Problem]:
    return wrong_failures(scenario.failures, scenario.datacenter) if scenario.failures else ()


def _partitions_fit(scenario: "Scenario") -> Iterable[Problem]:
    if not scenario.partitions and scenario.workload.partition is None:
        return ()
    return wrong_partitions(scenario.partitions, scenario.datacenter, scenario.workload)


def _reservations_fit(scenario: "Scenario") -> Iterable[Problem]:
    given = scenario.reservations
    return wrong_reservations(given, scenario.datacenter, scenario.workload) if given else ()


def _power_caps_fit(scenario: "Scenario") -> Iterable[Problem]:
    return wrong_power_caps(scenario) if scenario.datacenter.has_power_caps else ()


def _engines_fit(scenario: "Scenario") -> Iterable[Problem]:
    return wrong_use_of_batching(scenario) if len(scenario.engine_types) else ()


def _preemption_is_a_word(scenario: "Scenario") -> Iterator[Problem]:
    if scenario.preemption not in PREEMPTION:
        yield Problem(("preemption",), "one of " + ", ".join(PREEMPTION), repr(scenario.preemption))


def _placed_tasks_can_run_where_they_are(scenario: "Scenario") -> Iterator[Problem]:
    work, center = scenario.workload, scenario.datacenter
    if work.placed is None:
        return
    type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
    is_unit = (work.placed >= 0) & (work.placed < center.n_units)
    unit_type = center.unit_type[np.where(is_unit, work.placed, 0)]
    able = np.where(is_unit, scenario.affinity[unit_type, type_of_task] > 0, False)
    if work.lead_types is not None:
        names = [p.name for p in center.processor_types]
        may_lead = np.array([[name in some for name in names] for some in (*work.lead_sets, names)])
        able &= may_lead[work.lead_types, unit_type]
    expected = f"-1, or a unit that can run it, 0 to {center.n_units - 1}"
    for t in np.flatnonzero((work.placed != NOT_PLACED) & ~able)[:MAX_NAMED]:
        yield Problem(("workload", "placed", t), expected, str(work.placed[t]))


def _samples_are_not_too_many(scenario: "Scenario") -> Iterator[Problem]:
    sampling_us = scenario.sampling_us
    if sampling_us is None:
        return
    if not is_above_0(sampling_us):
        yield Problem(("sampling_us",), "a time above 0, or none for off", as_found(sampling_us))
    elif _has_horizon(scenario):
        least_us = min(float(scenario.workload.arrival_us[-1]), scenario.horizon_us)  # the run takes at least this long
        if least_us / sampling_us > MAX_SAMPLES:
            expected = f"an interval that gives at most {MAX_SAMPLES:,} samples"
            found = f"{sampling_us:g} us in a run of {least_us:g} us or more"
            yield Problem(("sampling_us",), expected, found, "Sample less often.")


def _times_are_above_0(scenario: "Scenario") -> Iterator[Problem]:
    if not _has_horizon(scenario):
        yield Problem(("horizon_us",), "a time above 0", as_found(scenario.horizon_us))
    if not is_above_0(scenario.period_us):
        yield Problem(("period_us",), "a time above 0", as_found(scenario.period_us))


def _the_start_is_a_date(scenario: "Scenario") -> Iterator[Problem]:
    if not isinstance(scenario.start_date, datetime | None):
        yield Problem(("start_date",), "a datetime", as_found(scenario.start_date))


def _the_seed_is_whole(scenario: "Scenario") -> Iterator[Problem]:
    if not (is_whole(scenario.seed) and 0 <= scenario.seed < 2**63):
        found = as_found(scenario.seed) if is_whole(scenario.seed) else repr(scenario.seed)[:60]
        yield Problem(("seed",), "an integer from 0 to 2^63 - 1", found)


def _has_horizon(scenario: "Scenario") -> bool:
    return is_number(scenario.horizon_us) and scenario.horizon_us > 0


RULES: tuple[Callable[["Scenario"], Iterable[Problem]], ...] = (
    _data_is_in_the_datacenter,
    _preferred_types_exist,
    _each_task_type_can_run,
    _demands_fit_a_unit,
    _named_types_exist,
    _times_are_given_where_tasks_can_run,
    _consolidated_times_are_a_table,
    _applications_fit,
    _powers_are_known_where_they_are_needed,
    _outages_fit,
    _failures_fit,
    _partitions_fit,
    _reservations_fit,
    _power_caps_fit,
    _engines_fit,
    _preemption_is_a_word,
    _placed_tasks_can_run_where_they_are,
    _samples_are_not_too_many,
    _times_are_above_0,
    _the_start_is_a_date,
    _the_seed_is_whole,
)
