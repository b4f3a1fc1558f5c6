"""Energy of a run: power x time, unit by unit.

While a task executes its unit draws Fp[processor type, task type] for the task's share (demand / capacity) of the
unit; at all other times, transfers included, its idle power. Tasks started together draw it once.
Source: VineSim report, section 4.4 (the power mapping Fp).
"""

import numpy as np

from vinesim.metrics.utilization import merge
from vinesim.model.result import Outcome
from vinesim.model.scenario import Scenario

JOULE_PER_W_US = 1e-6


def energy_by_unit(
    scenario: Scenario, outcome: Outcome, unit_type: np.ndarray, task_type: np.ndarray, end_us: float
) -> np.ndarray:
    """[U] J, or NaN without a power table. A task that did not finish counts until the run's end."""
    if scenario.power_w is None:
        return np.full(len(unit_type), np.nan)
    ran = np.isfinite(outcome.task_start_us)
    ran[outcome.followers] = False
    unit = outcome.task_unit[ran]
    end = np.where(np.isnan(outcome.task_finish_us[ran]), outcome.end_us, outcome.task_finish_us[ran])
    executing = np.maximum(0.0, end - outcome.task_start_us[ran])
    power = scenario.power_w[unit_type[unit], task_type[ran]]
    if scenario.workload.demand is not None:
        capacity = np.array([p.capacity for p in scenario.datacenter.processor_types])[unit_type[unit]]
        demand = scenario.workload.demand[ran]
        power = power * np.where(demand > 0, demand / capacity, 1.0)
    active = np.bincount(unit, executing * power, minlength=len(unit_type))
    idle_w = np.array([p.idle_power_w for p in scenario.datacenter.processor_types])[unit_type]
    if outcome.shares_units:  # a unit idles while none of its tasks executes
        unit, begin, last = merge(unit, outcome.task_start_us[ran], outcome.task_start_us[ran] + executing)
        executing = last - begin
    idle = np.maximum(0.0, end_us - np.bincount(unit, executing, minlength=len(unit_type)))
    return (active + idle * idle_w) * JOULE_PER_W_US
