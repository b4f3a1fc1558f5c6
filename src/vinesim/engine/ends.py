"""Which runs have segments that end early, and the log of those that did."""

from collections.abc import Mapping

import numpy as np

from vinesim.model.result import KILLED, EarlyEnds
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy


def may_end_early(scenario: Scenario, policy: OnlinePolicy) -> bool:
    """Whether a task may leave its unit before it is done, or never."""
    return scenario.interrupts or policy.preempts or scenario.workload.may_end_early or scenario.is_disaggregated


def with_killed(
    ends: EarlyEnds, killed: np.ndarray, columns: Mapping[str, np.ndarray], left: np.ndarray, followers: np.ndarray
) -> EarlyEnds:
    """Return the log with the last segments of the tasks that their limits ended; their finish in ``columns`` is when.

    ``killed`` includes running tasks that will be killed, which have no row yet: their finish is after the last event.
    """
    rows = [
        killed,
        columns["task_unit"][killed],
        columns["task_init_us"][killed],
        columns["task_start_us"][killed],
        columns["task_finish_us"][killed],
        np.asarray(left)[killed],
        np.full(len(killed), KILLED),
        np.isin(killed, followers),
    ]
    both = [np.append(one, other).astype(one.dtype) for one, other in zip(ends, rows, strict=True)]
    order = np.argsort(both[4], kind="stable")
    return EarlyEnds(*(column[order] for column in both))


def joined(one: EarlyEnds | None, other: EarlyEnds | None) -> EarlyEnds | None:
    """Return two logs as one, in the order of time; None if there is neither."""
    if one is None or other is None:
        return other if one is None else one
    both = [np.append(first, second) for first, second in zip(one, other, strict=True)]
    order = np.argsort(both[4], kind="stable")
    return EarlyEnds(*(column[order] for column in both))
