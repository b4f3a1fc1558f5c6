"""Batching: a unit is a serving engine, which runs one step after another.

The rules are those of ``engine/reference_batching.py``. What a step computes is in ``laws/steps.py``; most steps cost
nothing but the sum of their times.
"""

import numpy as np

from vinesim.core.calendar import DONE, OTHERS, first_engine_to_end, next_engine_end_us, set_engine_end
from vinesim.core.features import BATCHING, DISAGGREGATED, called
from vinesim.core.laws import blocks
from vinesim.core.laws.steps import (
    admit,
    advance,
    allocate_begun,
    cut,
    end_stretch,
    keep,
    limit,
    make_ready,
    release,
    run_stretch,
    slot_at,
)
from vinesim.core.tasks import is_prefilled
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import BLOCK_TOKENS, CACHES, DECODE, MAX_SEQUENCES, PREFILL, ROLE


def is_engine(model, unit):
    return model.unit_engine[unit] >= 0


@called
def join(model, state, slot, unit):
    """Put a request on an engine and into its queue, unless its cache is on its way from the engine that prefilled
    it."""
    e = not_negative(np.int64(model.unit_engine[unit]))
    engine, one = state.engine[e], state.slot[slot]
    one.prompt = one.total = model.task_input[one.task]
    one.left = model.task_output[one.task]
    one.computed = one.new = one.blocks = one.shared = one.found = 0
    one.after = one.last = -1
    if DISAGGREGATED:
        one.sent = 0
        if is_prefilled(state, one.task):
            one.sent = one.prompt
            one.total += 1
            one.left -= 1
        elif limit(model, e, ROLE) == PREFILL:
            one.left = 1
    engine.to_prefill += one.total
    if not DISAGGREGATED or one.sent == 0:
        wait(model, state, e, slot)


@called
def receive(model, state, slot):
    """Put a request into the queue now that its cache has arrived."""
    wait(model, state, not_negative(np.int64(model.unit_engine[state.slot[slot].unit])), slot)


def only_prefills(model, task, unit):
    """Whether a request that leaves an engine continues on another one."""
    role = model.type_batching[model.unit_type[unit], ROLE]
    return is_engine(model, unit) and role == PREFILL and model.task_output[task] > 1


@called
def wait(model, state, e, slot):
    """Put a request into the queue of an engine."""
    engine = state.engine[e]
    if engine.n_waiting > 0:
        state.slot[not_negative(np.int64(engine.tail))].after = slot
    else:
        engine.head = slot
    engine.tail = slot
    engine.n_waiting += 1
    if engine.n_running == 0:
        if engine.is_ready == 0:
            make_ready(state, e, state.run[0].now_us)
    elif engine.n_waiting == 1 and engine.n_steps > 1 and engine.n_running < limit(model, e, MAX_SEQUENCES):
        cut(model, state, e)


@called
def run_until(model, state, event_us, horizon_us):
    """Run steps up to the next event: what comes at ``event_us``, or a request that is done. Returns when that is;
    below 0 after an error."""
    run = state.run[0]
    while True:
        next_us = min(event_us, next_engine_end_us(state, DONE))
        if run.n_ready > 0 and next_us > state.engine[not_negative(np.int64(state.ready_engine[0]))].at_us:
            for i in range(run.n_ready):
                e = not_negative(np.int64(state.ready_engine[i]))
                state.engine[e].is_ready = 0
                if not begin(model, state, e):
                    return -1.0
            run.n_ready = 0
            continue
        end_us = next_engine_end_us(state, OTHERS)
        if end_us == np.inf or end_us > min(next_us, horizon_us):
            return min(next_us, end_us)
        e = first_engine_to_end(state, OTHERS)
        end_stretch(model, state, e)
        set_engine_end(state, OTHERS, e, np.inf)
        if end_us == next_us:
            make_ready(state, e, end_us)
        elif not begin(model, state, e):
            return -1.0


@called
def begin(model, state, e):
    """Form the next step of an engine, and begin it if there is anything to compute. Returns whether the clock can
    represent its time."""
    budget = keep(model, state, e)
    has_put_back = budget < 0
    if not has_put_back:
        admit(model, state, e, budget)
    if state.engine[e].n_running == 0:
        return True
    return run_stretch(model, state, e, has_put_back)


@called
def pop_done(model, state):
    """Remove the request that is done first. Returns its slot."""
    e = first_engine_to_end(state, DONE)
    engine, i = state.engine[e], np.int64(0)
    if engine.n_steps > 0:
        end_stretch(model, state, e)
    while state.slot[slot_at(model, state, e, i)].left > 0:
        i += 1
    slot = slot_at(model, state, e, i)
    for j in range(i + 1, engine.n_running):
        state.batch[not_negative(model.engine_first[e] + j - 1)] = slot_at(model, state, e, j)
    one = state.slot[slot]
    engine.n_running -= 1
    if limit(model, e, CACHES) != 0:
        blocks.share(model, state, e, one, one.computed)
    release(model, state, e, slot, np.int64(0))
    engine.memory -= one.computed
    engine.n_done -= 1
    if engine.n_done == 0:
        set_engine_end(state, DONE, e, np.inf)
        make_ready(state, e, engine.at_us)
    state.task_finish_us[one.task] = engine.at_us
    return slot


# What a policy may ask


def has_role(model, state, task, unit):
    return is_of_role(model, state, task, unit) if DISAGGREGATED else True


@called
def is_of_role(model, state, task, unit):
    role = model.type_batching[model.unit_type[unit], ROLE]
    if is_prefilled(state, task):
        return model.unit_engine[unit] >= 0 and role != PREFILL
    return role != DECODE


def advanced(model, state, unit):
    """The engine of a unit, once the steps that have ended by now are counted."""
    e = not_negative(np.int64(model.unit_engine[unit]))
    advance(model, state, e, state.run[0].now_us)
    return e


def unit_waiting(model, state, unit):
    if not BATCHING or not is_engine(model, unit):
        return np.int64(0)
    return np.int64(state.engine[model.unit_engine[unit]].n_waiting)


def unit_tokens(model, state, unit):
    if not BATCHING or not is_engine(model, unit):
        return np.int64(0)
    engine = state.engine[advanced(model, state, unit)]
    return np.int64(engine.memory + engine.grows * engine.n_ended - engine.twice)


def unit_tokens_waiting(model, state, unit):
    if not BATCHING or not is_engine(model, unit):
        return np.int64(0)
    engine = state.engine[advanced(model, state, unit)]
    return np.int64(engine.to_prefill - (engine.prefill if engine.n_ended > 0 else 0))


def tokens_found(model, state, task, unit):
    if not BATCHING or not is_engine(model, unit) or not blocks.has_prefix(model, task):
        return np.int64(0)
    return found_on(model, state, task, unit)


@called
def found_on(model, state, task, unit):
    e = not_negative(np.int64(model.unit_engine[unit]))
    if limit(model, e, CACHES) == 0 or blocks.n_of_prefix(model, state, e, task, model.task_input[task]) == 0:
        return np.int64(0)
    if state.engine[e].n_steps > 1:
        allocate_begun(model, state, advanced(model, state, unit))
    n = blocks.n_of_prefix(model, state, e, task, model.task_input[task])
    return n * limit(model, e, BLOCK_TOKENS)
