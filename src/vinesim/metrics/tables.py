"""The result's tables, derived from the engine's output and from the scenario."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.metrics.energy import energy_by_unit
from vinesim.metrics.gaps import gaps_us, given_up_us, waits_us
from vinesim.metrics.segments import Segments, numbered, segments_of
from vinesim.metrics.utilization import active_time, allocated_time, time_series
from vinesim.model.columns import JOBS, TASKS, UNITS, UTILIZATION
from vinesim.model.electricity import Series
from vinesim.model.energy_parts import EnergyParts
from vinesim.model.result import FAILED, INTERRUPTED, KILLED, PREFILLED, Outcome
from vinesim.model.scenario import Scenario
from vinesim.model.tokens import TOKENS
from vinesim.model.workload import ONE_SLOT

SLOWDOWN_FLOOR_US = 10e6  # for the bounded slowdown
MANY_TASKS = 32  # per job; from here on, one call for all jobs is faster than one call per position in a job


class Tables:
    """The result of one run, or of K runs; each column and table is computed when it is first used.

    Units are in (rack, shelf) order, whatever order the engine used. An outcome of K runs that all finished has columns
    [K, N] and ends [K], and ``arrival_us`` may differ from run to run, [K, J]. The properties then have a leading
    dimension K, and there are no tables.
    """

    def __init__(self, scenario: Scenario, outcome: Outcome, arrival_us: np.ndarray | None = None):
        center = scenario.datacenter
        order = np.lexsort((center.shelf, center.rack))
        self.scenario = scenario
        self.arrival_us = scenario.workload.arrival_us if arrival_us is None else arrival_us
        self.outcome = _renumber(outcome, order)
        self.unit_type = center.unit_type[order].astype(np.int16)
        self.rack, self.shelf = center.rack[order], center.shelf[order]
        batching = [p.batching for p in center.processor_types]
        places = np.array([1.0 if one is None else one.max_sequences for one in batching])[self.unit_type]
        self.capacity = center.unit_capacity[order] * places  # the requests on a serving engine share its batch
        tokens = np.array([np.nan if one is None else one.n_blocks * one.block_tokens for one in batching])
        self.memory_tokens = tokens[self.unit_type]  # [U] of serving engines, NaN: not an engine
        self.names: dict[str, np.ndarray] = {}  # [U] texts
        if center.node_names is not None:
            self.names["node"] = center.node_names[order]
        if center.rack_names:
            self.names["rack_name"] = np.array(center.rack_names)[self.rack]
        self.runs_tasks = ~np.isin(self.unit_type, scenario.resources)  # [U]; only these count in overall figures
        self.counts = np.diff(scenario.workload.job_first)

    @cached_property
    def makespan_us(self) -> Any:
        """[...] us: time of the last finish, or of the end if the run was cut off."""
        last = self.outcome.task_finish_us.max(axis=-1)
        return np.where(np.isnan(last), self.outcome.end_us, last)[()]

    @cached_property
    def task_arrival_us(self) -> np.ndarray:
        """[..., N] us: when the job of each task arrived."""
        return np.repeat(self.arrival_us, self.counts, axis=-1)

    @property
    def eligible_us(self) -> np.ndarray:
        """[..., J] us: when each job begins to wait for units: on arrival, or once all jobs that it depends on are
        over; NaN if they never are."""
        return self.arrival_us if self.outcome.eligible_us is None else self.outcome.eligible_us

    @cached_property
    def task_eligible_us(self) -> np.ndarray:
        """[..., N] us: when the job of each task begins to wait for units."""
        return np.repeat(self.eligible_us, self.counts, axis=-1)

    @cached_property
    def job_finish_us(self) -> np.ndarray:
        """[..., J] us: when the last task of each job finished; NaN if one did not."""
        return _over_jobs(np.maximum, self.outcome.task_finish_us, self.scenario.workload.job_first)

    @cached_property
    def job_latency_us(self) -> np.ndarray:
        """[..., J] us."""
        return self.job_finish_us - self.arrival_us

    @cached_property
    def job_is_killed(self) -> np.ndarray:
        """[J] whether a task of the job was killed by its limit."""
        early, found = self.outcome.early, np.zeros(self.scenario.workload.n_jobs, bool)
        if early is not None:
            killed = early.task[early.why == KILLED]
            found[np.searchsorted(self.scenario.workload.job_first, killed, side="right") - 1] = True
        return found

    @cached_property
    def job_is_withdrawn(self) -> np.ndarray:
        """[J] whether the job was withdrawn before all of its tasks were over, and none of them was killed."""
        withdraw_us = self.scenario.workload.withdraw_us
        if withdraw_us is None:
            return np.zeros(self.scenario.workload.n_jobs, bool)
        is_late = withdraw_us <= self.outcome.end_us
        return np.asarray(np.isnan(self.job_finish_us) & ~self.job_is_killed & is_late)

    @cached_property
    def job_is_refused(self) -> np.ndarray:
        """[..., J] whether the policy refused the job: it dropped it before any of its tasks started. A job whose
        withdrawal was due before the end counts as withdrawn."""
        return np.asarray(self._job_is_dropped & np.isnan(self.job_start_us) & ~self.job_is_withdrawn)

    @cached_property
    def job_is_ended(self) -> np.ndarray:
        """[..., J] whether the policy ended the job: it dropped it after a task had started. The policy ``slurm`` does
        so with jobs over their time limit."""
        is_over = self.job_is_withdrawn | self.job_is_killed
        return np.asarray(self._job_is_dropped & np.isfinite(self.job_start_us) & ~is_over)

    @cached_property
    def _job_is_dropped(self) -> np.ndarray:
        assert self.outcome.dropped_us is not None
        return _over_jobs(np.logical_or, np.isfinite(self.outcome.dropped_us), self.scenario.workload.job_first)

    @cached_property
    def _earlier(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The [L] earlier runs of tasks, before their last start or while they are pending: task, start and end, us."""
        early = self.outcome.early
        if early is None:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
        found = ~(early.init_us >= self.outcome.task_init_us[early.task])  # NaN: the task is pending
        return early.task[found], early.init_us[found], early.end_us[found]

    @cached_property
    def job_start_us(self) -> np.ndarray:
        """[..., J] us: when the first task of each job first started; NaN if none did."""
        first_us, (task, begin_us, _) = self.outcome.task_init_us, self._earlier
        if len(task):
            first_us = first_us.copy()
            np.fmin.at(first_us, task, begin_us)
        return _over_jobs(np.fmin, first_us, self.scenario.workload.job_first)

    @cached_property
    def task_wait_us(self) -> np.ndarray:
        """[..., N] us: how long each task waited until its last start, without the time of earlier runs."""
        return waits_us(self.outcome.task_init_us, self.task_eligible_us, *self._earlier)

    @cached_property
    def job_wait_us(self) -> np.ndarray:
        """[..., J] us: for how long no task of each job held a unit, from when it was eligible to its last start."""
        return self.job_start_us - self.eligible_us + self._job_gaps_us

    @cached_property
    def job_slowdown(self) -> np.ndarray:
        """[..., J] bounded slowdown: latency / the time that tasks of the job held units. That time is at least 10 s,
        the result at least 1. Source: Feitelson and Rudolph, JSSPP 1998."""
        running = self.job_finish_us - self.job_start_us - self._job_gaps_us
        return np.maximum(1.0, self.job_latency_us / np.maximum(running, SLOWDOWN_FLOOR_US))

    @cached_property
    def _job_gaps_us(self) -> np.ndarray:
        """[..., J] us: for how long no task of each job held a unit, between the job's first start and its last."""
        n_jobs = self.scenario.workload.n_jobs
        if self.outcome.early is None and (self.counts <= 1).all():
            return np.zeros((*self.outcome.task_init_us.shape[:-1], n_jobs))
        task, begin_us, end_us = self._holds
        return gaps_us(np.repeat(np.arange(n_jobs), self.counts)[task], begin_us, end_us, n_jobs)

    @cached_property
    def _holds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The task [S], start and end [..., S] of each segment, us; one row each, however many units it held."""
        if self.outcome.early is None:
            begin_us, finish_us = self.outcome.task_init_us, self.outcome.task_finish_us
            end_us = np.where(np.isnan(finish_us), np.expand_dims(self.makespan_us, -1), finish_us)
            return np.arange(begin_us.shape[-1]), begin_us, end_us
        segments = self.segments
        is_first_unit = segments.row == np.arange(len(segments.row))
        return segments.task[is_first_unit], segments.begin_us[is_first_unit], segments.end_us[is_first_unit]

    @cached_property
    def given_up(self) -> tuple[np.ndarray, np.ndarray]:
        """[W] the tasks that the policy dropped, or that were withdrawn, before they started, and when, us.

        Only for a single run, and only up to its makespan.
        """
        outcome, withdraw_us = self.outcome, self.scenario.workload.withdraw_us
        if outcome.dropped_us is None and withdraw_us is None:
            return np.zeros(0, np.int64), np.zeros(0)
        never_us = np.full(self.scenario.workload.n_tasks, np.nan)
        gone_us = given_up_us(
            outcome.task_init_us,
            self.task_eligible_us,
            never_us if outcome.dropped_us is None else outcome.dropped_us,
            never_us if withdraw_us is None else np.repeat(withdraw_us, self.counts),
            float(self.makespan_us),
        )
        found = np.flatnonzero(np.isfinite(gone_us))
        return found, gone_us[found]

    @cached_property
    def segments(self) -> Segments:
        """What the tasks held, and when."""
        demand = self.scenario.workload.demand
        return segments_of(self.outcome, ONE_SLOT if demand is None else demand, self.capacity)

    @cached_property
    def active_us(self) -> np.ndarray:
        """[..., U] us: how long each unit was active."""
        return active_time(self.segments)

    @cached_property
    def allocated_us(self) -> np.ndarray:
        """[..., U] us: the integral over time of the share of each unit's capacity that tasks held. It equals the
        active time if tasks take whole units."""
        return allocated_time(self.segments) if self.outcome.shares_units else self.active_us

    @cached_property
    def unit_active(self) -> np.ndarray:
        """[..., U]: the share of the makespan during which each unit was active."""
        return self._of_makespan(self.active_us)

    @cached_property
    def unit_utilization(self) -> np.ndarray:
        """[..., U]: the share of each unit's capacity allocated over the makespan; above 1 if over-committed."""
        return self._of_makespan(self.allocated_us) if self.outcome.shares_units else self.unit_active

    def _of_makespan(self, time_us: np.ndarray) -> np.ndarray:
        makespan = np.expand_dims(self.makespan_us, -1)
        return np.divide(time_us, makespan, out=np.zeros_like(time_us), where=makespan > 0)

    @cached_property
    def unit_energy(self) -> EnergyParts:
        """[..., U] the energy of each unit by state, J; NaN if unknown."""
        counted = self.outcome.unit_energy
        return self._energy_by_unit() if counted is None else counted

    @cached_property
    def unit_energy_j(self) -> np.ndarray:
        """[..., U] the energy of each unit, J; NaN if unknown."""
        return self.unit_energy.total

    def _energy_by_unit(self, rate: Series | None = None) -> EnergyParts:
        task_type = np.repeat(self.scenario.workload.job_task_type, self.counts)
        return energy_by_unit(self.scenario, self.segments, self.unit_type, task_type, self.makespan_us, rate)

    def energy_at(self, rate: float | Series) -> Any:
        """Return [...] the energy of all units, each joule times the rate at its time, J x rate.

        Periods of batch policies use the mean rate over the period.
        """
        if not isinstance(rate, Series):
            return self.unit_energy_j.sum(axis=-1) * rate
        periods = self.outcome.periods
        if self.outcome.unit_energy is None or periods is None:
            return self._energy_by_unit(rate).total.sum(axis=-1)
        length_us = self.scenario.period_us
        begin, end = (k * length_us for k in (periods["period"], periods["period"] + periods["n_periods"]))
        mean = (rate.integral(end) - rate.integral(begin)) / (length_us * periods["n_periods"])
        return (periods["energy_j"] * mean).sum()

    @cached_property
    def unit_price(self) -> np.ndarray:
        """[U] the price of each unit, NaN if unknown. A type that runs nothing and has no price costs nothing extra:
        the other types of its node include it."""
        return np.asarray(self.scenario.prices[self.unit_type])

    @cached_property
    def unit_tasks(self) -> np.ndarray:
        """[..., U] how many tasks started on each unit."""
        unit, n_units = self.outcome.task_unit, len(self.unit_type)
        started = numbered(unit, n_units)[unit >= 0]
        if self.outcome.early is not None:  # a request starts on an engine that prefills it, then on one that decodes
            started = np.append(started, self.outcome.early.unit[self.outcome.early.why == PREFILLED])
        runs = unit.shape[:-1]
        return np.bincount(started, minlength=int(np.prod(runs)) * n_units).reshape(*runs, n_units)

    def tasks(self) -> Table:
        """Return one row per task."""
        work, outcome = self.scenario.workload, self.outcome
        job = np.repeat(np.arange(work.n_jobs, dtype=np.int32), self.counts)
        started = outcome.task_unit >= 0
        where = np.where(started, outcome.task_unit, 0)
        shares = outcome.shares_units
        return Table(
            TASKS.of(
                {
                    "task": np.arange(work.n_tasks),
                    "job": job,
                    "task_type": work.job_task_type[job],
                    "unit": outcome.task_unit,
                    "unit_type": np.where(started, self.unit_type[where], np.int16(-1)),
                    "rack": np.where(started, self.rack[where], np.int32(-1)),
                    "shelf": np.where(started, self.shelf[where], np.int32(-1)),
                    "arrival_us": work.arrival_us[job],
                    "generation_us": self.job_start_us[job],
                    "init_us": outcome.task_init_us,
                    "start_us": outcome.task_start_us,
                    "finish_us": outcome.task_finish_us,
                    "amount": np.where(started, self.segments.amount[: work.n_tasks], np.nan) if shares else None,
                    "granted_us": outcome.granted_us,
                    "dropped_us": outcome.dropped_us,
                    **self._early_end_columns(),
                    **self._token_columns(),
                }
            )
        )

    @cached_property
    def interruptions(self) -> tuple[np.ndarray, np.ndarray] | None:
        """[L] the tasks that outages interrupted, and how long they had held their units, us; None without outages."""
        early = self.outcome.early
        if early is None or not self.scenario.interrupts:
            return None
        found = np.isin(early.why, (INTERRUPTED, FAILED))
        return early.task[found], (early.end_us - early.init_us)[found]

    @property
    def counts_early_ends(self) -> bool:
        """Whether segments can end early for other reasons than listed outages and the moves of a batch policy."""
        return self.outcome.preempts or bool(self.scenario.failures) or self.scenario.workload.may_end_early

    def _early_end_columns(self) -> dict[str, np.ndarray]:
        """Return how often outages interrupted each task, and how long it had held units in these runs."""
        if self.interruptions is None:
            return {}
        (rows, spent), n_tasks = self.interruptions, self.scenario.workload.n_tasks
        return {
            "restarts": np.bincount(rows, minlength=n_tasks),
            "lost_us": np.bincount(rows, spent, minlength=n_tasks).astype(np.float64),
        }

    def _token_columns(self) -> dict[str, np.ndarray | None]:
        """Return the tokens of each task and what serving engines did with them; empty without engines."""
        work, serving = self.scenario.workload, self.outcome.serving
        if serving is None:
            return {}
        done = ("scheduled_us", "first_token_us", "n_preemptions", "found_tokens")
        return {name: getattr(work, name) for name in TOKENS} | {name: getattr(serving, name) for name in done}

    def jobs(self) -> Table:
        """Return one row per job."""
        work = self.scenario.workload
        job, withdraw_us = np.arange(work.n_jobs), work.withdraw_us
        has_ids = work.job_id is not None and not np.array_equal(work.job_id, job)
        return Table(
            JOBS.of(
                {
                    "job": job,
                    "task_type": work.job_task_type,
                    "tasks": self.counts,
                    "arrival_us": work.arrival_us,
                    "start_us": self.job_start_us,
                    "finish_us": self.job_finish_us,
                    "latency_us": self.job_latency_us,
                    "job_id": work.job_id if has_ids else None,
                    "eligible_us": self.outcome.eligible_us,
                    "deadline_us": work.deadline_us,
                    "withdraw_us": None
                    if withdraw_us is None
                    else np.where(np.isfinite(withdraw_us), withdraw_us, np.nan),
                    "refused": None if self.outcome.dropped_us is None else self.job_is_refused,
                    "application": work.application,
                }
            )
        )

    def units(self) -> Table:
        """Return one row per unit."""
        return Table(
            UNITS.of(
                {
                    "unit": np.arange(len(self.unit_type)),
                    "unit_type": self.unit_type,
                    "rack": self.rack,
                    "shelf": self.shelf,
                    "capacity": self.capacity,
                    "active_us": self.active_us,
                    "allocated_us": self.allocated_us,
                    "utilization": self.unit_utilization,
                    "active": self.unit_active,
                    "energy_j": self.unit_energy_j,
                    "price": self.unit_price,
                    **self.names,
                    **self._unit_energy_columns(),
                    **self._unit_memory_columns(),
                }
            )
        )

    def segments_table(self) -> Table | None:
        """Return one row per segment and unit; None if the table of tasks says it all, because no segment ended early
        and each task held one unit."""
        early = self.outcome.early
        has_more = len(self.segments.task) > self.scenario.workload.n_tasks
        return self.segments.table() if has_more or (early is not None and len(early.task)) else None

    def _unit_energy_columns(self) -> dict[str, np.ndarray]:
        """Return the energy of each unit by state; empty if it is unknown."""
        if np.isnan(self.unit_energy_j).all():
            return {}
        return {f"{state}_j": joule for state, joule in self.unit_energy._asdict().items()}

    def _unit_memory_columns(self) -> dict[str, np.ndarray]:
        """Return what each serving engine had in its memory; empty without engines."""
        serving = self.outcome.serving
        if serving is None:
            return {}
        done = {name: getattr(serving, name) for name in ("memory_peak", "memory_us")}
        return {"memory_tokens": self.memory_tokens, **done}

    def utilization(self) -> Table | None:
        """Return one row per interval and group; None without sampling."""
        interval = self.scenario.sampling_us
        if interval is None or self.makespan_us <= 0:
            return None
        names = [p.name for p in self.scenario.datacenter.processor_types]
        end_us = self.makespan_us
        return Table(
            UTILIZATION.of(time_series(self.segments, self.unit_type, names, interval, end_us, self.runs_tasks))
        )


def _over_jobs(ufunc: np.ufunc, values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return [..., J] the values of each job's tasks, reduced by a ufunc such as the maximum."""
    n = int(first[1])
    if n > MANY_TASKS or not np.array_equal(first, np.arange(len(first)) * n):
        return ufunc.reduceat(values, first[:-1], axis=-1)
    joined = values[..., ::n].copy()
    for i in range(1, n):
        ufunc(joined, values[..., i::n], out=joined)
    return joined


def _renumber(outcome: Outcome, order: np.ndarray) -> Outcome:
    """Return the outcome with units in (rack, shelf) order; the same object if they already are."""
    if np.array_equal(outcome.unit_order, order):
        return outcome
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    number = place[outcome.unit_order]
    unit = np.where(outcome.task_unit >= 0, number[outcome.task_unit], np.int32(-1))
    changed: dict[str, Any] = {"task_unit": unit, "unit_order": order}
    for name in ("early", "held", "early_held"):
        some = getattr(outcome, name)
        changed[name] = None if some is None else some._replace(unit=number[some.unit])
    if outcome.serving is not None:
        row = np.argsort(number)  # the new number of each unit in the engine's order
        memory = {name: getattr(outcome.serving, name)[row] for name in ("memory_peak", "memory_us")}
        changed["serving"] = outcome.serving._replace(**memory)
    return replace(outcome, **changed)
