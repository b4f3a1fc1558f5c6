"""The result's tables, derived from what the engine filled in and from the scenario."""

import numpy as np

from vinesim.metrics.energy import energy_by_unit
from vinesim.metrics.utilization import active_time, time_series
from vinesim.model.result import Outcome, Table
from vinesim.model.scenario import Scenario


class Tables:
    """Builds each table when it is asked for. Units are in (rack, shelf) order here, whatever the engine did."""

    def __init__(self, scenario: Scenario, outcome: Outcome):
        center = scenario.datacenter
        order = np.lexsort((center.shelf, center.rack))
        self.scenario = scenario
        self.outcome = _renumber(outcome, order)
        self.unit_type = center.unit_type[order].astype(np.int16)
        self.rack, self.shelf = center.rack[order], center.shelf[order]
        self.counts = np.diff(scenario.workload.job_first)

    @property
    def makespan_us(self) -> float:
        """Time of the last finish; of the end, for a run that was cut off."""
        finish = self.outcome.task_finish_us
        if np.isnan(finish).any():
            return self.outcome.end_us
        return float(finish.max())

    def tasks(self) -> Table:
        """One row a task."""
        work, outcome = self.scenario.workload, self.outcome
        job = np.repeat(np.arange(work.n_jobs, dtype=np.int32), self.counts)
        started = outcome.task_unit >= 0
        where = np.where(started, outcome.task_unit, 0)
        return Table(
            {
                "task": np.arange(work.n_tasks),
                "job": job,
                "task_type": work.job_task_type[job],
                "unit": outcome.task_unit,
                "unit_type": np.where(started, self.unit_type[where], np.int16(-1)),
                "rack": np.where(started, self.rack[where], np.int32(-1)),
                "shelf": np.where(started, self.shelf[where], np.int32(-1)),
                "arrival_us": work.arrival_us[job],
                "generation_us": self._job_start()[job],
                "init_us": outcome.task_init_us,
                "start_us": outcome.task_start_us,
                "finish_us": outcome.task_finish_us,
            }
        )

    def _job_start(self) -> np.ndarray:
        first = self.scenario.workload.job_first[:-1]
        return np.fmin.reduceat(self.outcome.task_init_us, first)

    def jobs(self) -> Table:
        """One row a job."""
        work = self.scenario.workload
        finish = np.maximum.reduceat(self.outcome.task_finish_us, work.job_first[:-1])
        columns = {
            "job": np.arange(work.n_jobs, dtype=np.int32),
            "task_type": work.job_task_type,
            "tasks": self.counts,
            "arrival_us": work.arrival_us,
            "start_us": self._job_start(),
            "finish_us": finish,
            "latency_us": finish - work.arrival_us,
        }
        if work.deadline_us is not None:
            columns["deadline_us"] = work.deadline_us
        if work.application is not None:
            columns["application"] = work.application
        return Table(columns)

    def units(self) -> Table:
        """One row a unit."""
        types = self.scenario.datacenter.processor_types
        active = active_time(self.outcome, len(self.unit_type))
        task_type = np.repeat(self.scenario.workload.job_task_type, self.counts)
        prices = np.array([np.nan if p.price is None else p.price for p in types])
        return Table(
            {
                "unit": np.arange(len(self.unit_type), dtype=np.int32),
                "unit_type": self.unit_type,
                "rack": self.rack,
                "shelf": self.shelf,
                "active_us": active,
                "utilization": active / self.makespan_us if self.makespan_us > 0 else np.zeros_like(active),
                "energy_j": energy_by_unit(self.scenario, self.outcome, self.unit_type, task_type, self.makespan_us),
                "price": prices[self.unit_type],
            }
        )

    def utilization(self) -> Table | None:
        """One row an interval and group; None without sampling."""
        interval = self.scenario.sampling_us
        if interval is None or self.makespan_us <= 0:
            return None
        names = [p.name for p in self.scenario.datacenter.processor_types]
        return Table(time_series(self.outcome, self.unit_type, names, interval, self.makespan_us))


def _renumber(outcome: Outcome, order: np.ndarray) -> Outcome:
    """The outcome with units in (rack, shelf) order; the same object if they already are."""
    if np.array_equal(outcome.unit_order, order):
        return outcome
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    number = place[outcome.unit_order]
    unit = np.where(outcome.task_unit >= 0, number[outcome.task_unit], np.int32(-1))
    return Outcome(**{**vars(outcome), "task_unit": unit, "unit_order": order})
