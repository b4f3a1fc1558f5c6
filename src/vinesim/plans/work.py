"""The work of a workload: how much of each processor type its tasks hold on average while jobs arrive."""

from dataclasses import dataclass

import numpy as np

from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_PARTITION
from vinesim.plans.hardware import unit_sizes
from vinesim.state.demand_classes import DemandClasses, classes_anywhere

MOST_KINDS = 500  # beyond, what tasks hold besides units of several types is left out

Key = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Work:
    """The work of K kinds of tasks by the type of their lead, P.

    ``fits``: whether what is on average says something about the workload at all.
    """

    held: np.ndarray  # [K, P, P] capacity of each type that is held if this type runs all tasks; infinite: it cannot
    whole: np.ndarray  # [K, P] whole units of the lead's type that are held beyond that
    watts: np.ndarray  # [K, P] power of the leads that this takes beyond idling, W; infinite: it cannot
    largest: np.ndarray  # [P] the capacity of a unit with which the powers were found
    fits: bool


def work_of(scenarios: list[Scenario]) -> Work:
    """Return the work in a scenario, averaged over these replications of it."""
    found = [_work(scenario) for scenario in scenarios]
    keys = {key: None for keys, _ in found for key in keys}
    n_types, n = len(scenarios[0].datacenter.processor_types), len(found)
    held, whole = np.zeros((len(keys), n_types, n_types)), np.zeros((len(keys), n_types))
    watts = np.zeros((len(keys), n_types))
    number = {key: k for k, key in enumerate(keys)}
    for own, work in found:
        at = [number[key] for key in own]
        held[at] += work.held / n
        whole[at] += work.whole / n
        watts[at] += work.watts / n
    return Work(held, whole, watts, found[0][1].largest, all(work.fits for _, work in found))


def _work(scenario: Scenario) -> tuple[list[Key], Work]:
    """Return the work by kind, and what tells the kinds apart."""
    work, types = scenario.workload, scenario.datacenter.processor_types
    classes = classes_anywhere(work, types, scenario.affinity, np.full(work.n_jobs, NO_PARTITION))
    consolidates = any(application.max_consolidated > 1 for application in scenario.applications)
    at_once, is_known = _at_once(scenario, classes)
    smallest, largest = unit_sizes(scenario.datacenter, types)
    slots = np.where(smallest < 1, np.inf, 1.0)  # [P]
    share = np.where(np.isnan(classes.share)[:, None], slots, classes.share[:, None])  # [T, P] infinite: the whole unit
    is_whole = np.isinf(share)
    share = np.where(is_whole, 0.0, np.minimum(share, largest))
    kind, keys, classes = _kinds(classes, np.asarray(is_whole.any(axis=1)))
    extra_w = np.zeros(share.shape)  # [T, P] of a unit that runs such tasks, beyond idling
    for p, processor in enumerate(types):
        if scenario.power_w is not None and not processor.has_own_power:
            extra_w[:, p] = np.maximum(0.0, scenario.power_w[p] - processor.idle_power_w)[classes.task_type]
    leads, n_kinds = at_once * classes.units[:, None], len(keys)  # [T, P] units that are leads
    held, whole = np.zeros((n_kinds, len(types), len(types))), np.zeros((n_kinds, len(types)))
    watts = np.zeros((n_kinds, len(types)))
    for p, processor in enumerate(types):
        np.add.at(held[:, :, p], kind, at_once * classes.companion[:, p, None])
        most = np.array([processor.most_together(one.name) or np.inf for one in work.task_types])[classes.task_type]
        is_shared = np.isfinite(most)  # such tasks slow each other down, before the unit is full
        held[:, p, p] += np.bincount(kind, np.where(is_shared, 0.0, leads[:, p] * share[:, p]), n_kinds)
        units = np.where(is_whole[:, p], 1.0, np.where(is_shared, np.minimum(1.0, share[:, p] / most), 0.0))
        whole[:, p] = np.bincount(kind, leads[:, p] * units, n_kinds)
        used = np.where(is_whole[:, p], 1.0, share[:, p] / largest[p])
        watts[:, p] = np.bincount(kind, leads[:, p] * used * extra_w[:, p], n_kinds)
    cannot = np.zeros(whole.shape, bool)
    cannot[kind] = ~classes.named
    held[cannot], watts[cannot] = np.inf, np.inf
    is_alone = not consolidates and not len(scenario.engine_types)  # what a task takes does not depend on others
    fits = is_known and is_alone and work.requests is None and not scenario.outages and not scenario.reservations
    return keys, Work(held, whole, watts, largest, fits)


def _at_once(scenario: Scenario, classes: DemandClasses) -> tuple[np.ndarray, bool]:
    """[T, P] how many tasks of each class run at once on average, 0 where they cannot; and whether that is known.

    A limit ends a task at the latest. A job that may be withdrawn counts as if it never ran.
    """
    work = scenario.workload
    task_type, per_job = np.repeat(work.job_task_type, np.diff(work.job_first)), np.diff(work.job_first)
    span_us = float(work.arrival_us[-1] - work.arrival_us[0]) * work.n_jobs / max(1, work.n_jobs - 1)
    found = np.zeros((len(classes.first_task), len(scenario.datacenter.processor_types)))
    if span_us <= 0:
        return found, False
    factor = 1.0 if work.time_factor is None else work.time_factor
    times_us, is_known = scenario.single_times_us, True
    for p in range(found.shape[1]):
        speed = scenario.affinity[p][task_type]
        with np.errstate(divide="ignore", invalid="ignore"):
            time_us = work.operations / speed if times_us is None else times_us[:, p]
        if scenario.overhead_us is not None:
            time_us = time_us + scenario.overhead_us[p][task_type]
        time_us = np.where(classes.named[classes.of_task, p], time_us * factor, 0.0)
        if work.limit_us is not None:
            time_us = np.minimum(time_us, np.repeat(work.limit_us, per_job))
        if work.withdraw_us is not None:
            time_us = np.where(np.isfinite(np.repeat(work.withdraw_us, per_job)), 0.0, time_us)
        is_known &= bool(np.isfinite(time_us).all())
        found[:, p] = np.bincount(classes.of_task, time_us, len(found)) / span_us
    return found if is_known else np.zeros(found.shape), is_known


def _kinds(classes: DemandClasses, is_whole: np.ndarray) -> tuple[np.ndarray, list[Key], DemandClasses]:
    """Return the kind of each class, [T], and what tells the kinds apart; classes may lose their companions.

    Two classes are of one kind if splitting one between the types of its lead is as good as splitting the other: where
    there is one such type, or where they hold the same but for a factor.
    """
    named, has_companions = classes.named, np.asarray(classes.companion.any(axis=1))
    several = np.asarray(named.sum(axis=1) > 1)
    keys: list[Key] = []
    for t in range(len(named)):
        key: Key = (named[t].tobytes(),)
        if several[t]:
            key += (int(classes.task_type[t]), bool(is_whole[t]))
        if several[t] and has_companions[t]:
            key += (int(classes.units[t]), float(classes.share[t]), classes.companion[t].tobytes())
        keys.append(key)
    distinct = dict.fromkeys(keys)
    if len(distinct) > MOST_KINDS and (several & has_companions).any():
        fewer = np.where(several[:, None], 0.0, classes.companion)
        return _kinds(classes._replace(companion=fewer), is_whole)
    number = {key: k for k, key in enumerate(distinct)}
    return np.array([number[key] for key in keys], np.int64), list(distinct), classes
