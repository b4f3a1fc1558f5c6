"""One loop for many policies: machine code that is compiled once, and calls the policy through a slot.

The loop is given the address of the policy's function, of its options and of its arrays. A further policy then costs
its own code only. As all that is called, it is given other references to the model and the state than the loop reads
(``jit/reference.py``): if it knew those, the loop would read the address of every array again after each answer, and a
task would take a third longer under ``high``.
"""

import numpy as np
from numba.core import types

from vinesim.jit.calls import caller
from vinesim.state.layout import Action, View

ACTION = types.NamedTuple((types.int64, types.int64, types.int64, types.int64, types.float64), Action)
VIEW = (types.float64, types.int64, types.int64, types.int64, types.int64)  # the numbers of a View
ADDRESSES = (types.int64, types.int64)  # of options and scratch
call = caller(ACTION)


# The loop's side


def both_addresses(decide_at, options_at):
    """In place of the options."""
    return decide_at, options_at


def same_address(scratch_at):
    """In place of the policy's arrays."""
    return scratch_at


def ask(model, state, view):
    """Ask the policy in the slot. The loop calls this for ``decide``."""
    decide_at, options_at = view.options
    numbers = (
        np.float64(view.now_us),
        np.int64(view.event),
        np.int64(view.unit),
        np.int64(view.job),
        np.int64(view.task),
    )
    return call(decide_at, (model, state, *numbers, options_at, view.scratch))


# The policy's side


def decide(model, state, view):
    raise NotImplementedError("the slot is not bound to a policy")


record = arrays = decide  # what is at an address: the policy's options, its arrays


def answer(model, state, now_us, event, unit, job, task, options_at, scratch_at):
    """What is at the address in the slot: the policy, for which ``decide`` stands."""
    options, scratch = record(options_at), arrays(scratch_at)
    action = decide(model, state, View(now_us, event, unit, job, task, options, scratch))
    number, n_tasks, place = np.int64(action.task), np.int64(action.n_tasks), np.int64(action.unit)
    return Action(np.int64(action.kind), number, n_tasks, place, np.float64(action.until_us))
