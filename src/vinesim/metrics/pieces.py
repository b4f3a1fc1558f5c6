"""Tasks that were on several units, one after the other, as one task for each of these times."""

from dataclasses import replace

import numpy as np

from vinesim.model.result import Lost, Outcome, Stays


def with_lost(outcome: Outcome, lost: Lost) -> Outcome:
    """The outcome with each run of a task that an outage interrupted as one more task, after the others."""
    followers = len(outcome.task_unit) + np.flatnonzero(lost.is_follower)
    return replace(
        outcome,
        task_unit=np.concatenate([outcome.task_unit, lost.unit]),
        task_init_us=np.concatenate([outcome.task_init_us, lost.init_us]),
        task_start_us=np.concatenate([outcome.task_start_us, lost.start_us]),
        task_finish_us=np.concatenate([outcome.task_finish_us, lost.end_us]),
        followers=np.concatenate([outcome.followers, followers]).astype(np.int64),
    )


def with_stays(outcome: Outcome, stays: Stays) -> Outcome:
    """The outcome with each stay on a unit that a task left as one more task, after the others; the task itself begins
    with its last move."""
    came_us = np.full(len(outcome.task_unit), -np.inf)
    np.maximum.at(came_us, stays.task, stays.end_us)
    started_us = outcome.task_start_us[stays.task]
    return replace(
        outcome,
        task_unit=np.concatenate([outcome.task_unit, stays.unit]),
        task_init_us=np.concatenate([np.maximum(outcome.task_init_us, came_us), stays.begin_us]),
        task_start_us=np.concatenate(
            [np.maximum(outcome.task_start_us, came_us), np.maximum(started_us, stays.begin_us)]
        ),
        task_finish_us=np.concatenate([outcome.task_finish_us, stays.end_us]),
    )
