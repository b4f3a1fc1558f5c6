"""How well a linear model of recent completions predicts the time of each leader when it starts.

The model is that of the policy ``symphony``: for each application and processor type, a least-squares fit of time over
size to the last observations, with a slope of at least 0. Runs do not store predictions; they are recomputed from the
result.
"""

import numpy as np

from vinesim.metrics.tables import Tables
from vinesim.model.arrays import distinct

WINDOW = 256  # observations


def prediction_errors(tables: Tables) -> dict[str, np.ndarray]:
    """Return start_us, application, unit_type, predicted_us (0 without history) and actual_us of each leader, by start.

    Gang members count one by one. Completions at the very time of a leader's start are already known to it.
    """
    work, outcome = tables.scenario.workload, tables.outcome
    assert work.application is not None
    done = np.isfinite(outcome.task_finish_us) & (outcome.task_unit >= 0)
    leads = done.copy()
    leads[outcome.followers] = False
    code = np.repeat(work.application, tables.counts)
    size = _consolidated_sizes(tables, done, leads)
    lead = np.flatnonzero(leads)
    key = code[lead].astype(np.int64) * (int(tables.unit_type.max()) + 1) + tables.unit_type[outcome.task_unit[lead]]
    begin, end = outcome.task_init_us[lead], outcome.task_finish_us[lead]
    predicted = np.zeros(len(lead))
    for one in distinct(key):
        mine = np.flatnonzero(key == one)
        mine = mine[np.argsort(end[mine], kind="stable")]
        known = np.searchsorted(end[mine], begin[mine], side="right")
        predicted[mine] = _predicted(size[mine], (end - begin)[mine], known)
    order = np.argsort(begin, kind="stable")
    columns = {
        "start_us": begin,
        "application": code[lead],
        "unit_type": tables.unit_type[outcome.task_unit[lead]],
        "predicted_us": predicted,
        "actual_us": end - begin,
    }
    return {name: column[order] for name, column in columns.items()}


def _consolidated_sizes(tables: Tables, done: np.ndarray, leads: np.ndarray) -> np.ndarray:
    """Return the total operations of each leader and its followers, in the order of the leaders."""
    outcome, operations = tables.outcome, tables.scenario.workload.operations
    tasks = np.flatnonzero(done)
    code = np.repeat(tables.scenario.workload.application, tables.counts)  # type: ignore[arg-type]
    order = np.lexsort((tasks, code[tasks], outcome.task_init_us[tasks], outcome.task_unit[tasks]))
    ordered = tasks[order]
    number = np.cumsum(leads[ordered]) - 1
    total = np.bincount(number, operations[ordered])
    result = np.empty(len(total))
    result[np.argsort(np.argsort(ordered[leads[ordered]]))] = total
    return result


def _predicted(size: np.ndarray, time: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Predict the time for each ``size`` [M] from the last WINDOW of the first ``known`` [M] observations."""
    base, unit = size.mean(), time.mean()  # centred, so that sums stay small
    x, y = size - base, time - unit
    sums = [np.concatenate(([0.0], np.cumsum(v))) for v in (x, y, x * x, x * y)]
    first = np.maximum(0, known - WINDOW)
    n = known - first
    sx, sy, sxx, sxy = (s[known] - s[first] for s in sums)
    spread = n * sxx - sx * sx
    flat = spread <= 1e-9 * np.maximum(n * (sxx + base * base), 1e-300)
    slope = np.maximum(0.0, np.where(flat, 0.0, (n * sxy - sx * sy) / np.where(flat, 1.0, spread)))
    level = np.where(n > 0, (sy - slope * sx) / np.maximum(n, 1) + unit, 0.0)
    return np.where(n > 0, np.maximum(0.0, level + slope * x), 0.0)
