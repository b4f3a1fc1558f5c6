"""What is done to the state between two events, at the request of a batch policy or of an outage."""

from vinesim.engine import actions, preemption
from vinesim.state.by_reference import by_reference


def place_all(model_arrays, state_arrays, tasks, units, moves, may_overcommit):
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    return actions.place(model, state, tasks, units, moves, may_overcommit)


def set_open_all(model_arrays, state_arrays, units, is_open):
    actions.set_open(by_reference(model_arrays), by_reference(state_arrays), units, is_open)


def interrupt_all(model_arrays, state_arrays, tasks, why):
    return preemption.interrupt(by_reference(model_arrays), by_reference(state_arrays), tasks, why)


def begin_all(model_arrays, state_arrays, tasks, units, n_jobs, may_overcommit):
    return preemption.begin_placed(
        by_reference(model_arrays), by_reference(state_arrays), tasks, units, n_jobs, may_overcommit
    )


def withdraw_all(model_arrays, state_arrays, jobs):
    return preemption.withdraw(by_reference(model_arrays), by_reference(state_arrays), jobs)
