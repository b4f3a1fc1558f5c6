"""What steps of a serving engine compute: blocks of memory for the running sequences, which may be put back, and the
admission of others. The rules are those of ``engine/reference_batching.py``.

Steps that are alike are a stretch, computed at once when it begins. While all sequences of an engine decode, none is
done and none can be admitted or must be put back, one step is like another: only the memory grows. So a stretch costs
the sum of its times, and only its end is queued. If a request comes that may be admitted before, the stretch is
computed again, up to the step that runs then, and ends with it. A step that computes tokens of prompts is its own
stretch.
"""

import numpy as np

from vinesim.core.calendar import DONE, OTHERS, set_engine_end
from vinesim.core.features import DISAGGREGATED, called
from vinesim.core.laws import blocks
from vinesim.core.laws.blocks import limit
from vinesim.jit.intrinsics import not_negative
from vinesim.model.step_times import step_us
from vinesim.state.layout import BLOCK_TOKENS, BLOCKS, CACHES, MAX_SEQUENCES, MAX_TOKENS, OUT_OF_TIME, RESUMES, STEP


def blocks_for(n_tokens, block_tokens):
    return (n_tokens + block_tokens - 1) // block_tokens


def slot_at(model, state, e, i):
    """The slot of a running sequence, by its place in the order of admission."""
    return not_negative(np.int64(state.batch[not_negative(model.engine_first[e] + i)]))


def decodes(one):
    """Whether all that a sequence computes is the one token that it made last."""
    return one.computed >= one.prompt and one.total - one.computed == 1


@called
def keep(model, state, e):
    """Allocate memory for the next tokens of the sequences that run. Returns how many tokens the step has left for
    others; -1 if a sequence was put back."""
    engine, budget, has_put_back, i = state.engine[e], limit(model, e, MAX_TOKENS), False, np.int64(0)
    n_blocks, block_tokens = limit(model, e, BLOCKS), limit(model, e, BLOCK_TOKENS)
    while i < engine.n_running:
        one = state.slot[slot_at(model, state, e, i)]
        new = min(np.int64(one.total) - one.computed, budget)
        n_tokens = np.int64(one.computed) + new
        if n_tokens > one.blocks * block_tokens:
            n_more = blocks_for(n_tokens, block_tokens) - one.blocks
            while i < engine.n_running and n_more > n_blocks - engine.n_used:
                put_back(model, state, e)
                has_put_back = True
            if i == engine.n_running:
                break
            allocate(model, state, e, one, n_more)
        one.new = new
        share_prompt(model, state, e, one)
        budget -= new
        i += 1
    return np.int64(-1) if has_put_back else budget


def allocate(model, state, e, one, n_blocks):
    if limit(model, e, CACHES) != 0:
        blocks.allocate(model, state, e, one, n_blocks)
    else:
        one.blocks += n_blocks
        state.engine[e].n_used += n_blocks


def release(model, state, e, slot, full):
    """Free the blocks of a sequence; with prefix caching it finds those again that are full."""
    if limit(model, e, CACHES) != 0:
        blocks.release(model, state, e, slot, full)
    else:
        state.engine[e].n_used -= state.slot[slot].blocks
        state.slot[slot].blocks = 0


def share_prompt(model, state, e, one):
    """Share what the step computes of a prompt, so that later sequences of the same step find it."""
    if limit(model, e, CACHES) != 0 and not decodes(one):
        blocks.share(model, state, e, one, min(one.computed + one.new, one.prompt))


@called
def put_back(model, state, e):
    """Put the newest running sequence back at the head of the queue."""
    engine = state.engine[e]
    slot = slot_at(model, state, e, engine.n_running - 1)
    one = state.slot[slot]
    if not decodes(one):
        engine.to_prefill -= one.total - one.computed
    release(model, state, e, slot, np.int64(one.computed) // limit(model, e, BLOCK_TOKENS))
    engine.memory -= one.computed
    if limit(model, e, RESUMES) == 0:
        one.computed = 0
    one.after = engine.head if engine.n_waiting > 0 else -1
    if engine.n_waiting == 0:
        engine.tail = slot
    engine.head = slot
    engine.n_waiting += 1
    engine.n_running -= 1
    engine.to_prefill += one.total - one.computed
    state.task_preempted[one.task] += 1


@called
def admit(model, state, e, budget):
    """Admit waiting sequences, which compute up to ``budget`` tokens together."""
    engine, block_tokens = state.engine[e], limit(model, e, BLOCK_TOKENS)
    while engine.n_waiting > 0 and budget > 0 and engine.n_running < limit(model, e, MAX_SEQUENCES):
        slot = not_negative(np.int64(engine.head))
        one = state.slot[slot]
        n_found, n_shared, n_free = np.int64(0), np.int64(0), limit(model, e, BLOCKS) - engine.n_used
        n_sent = np.int64(one.sent) if DISAGGREGATED else np.int64(0)
        if limit(model, e, CACHES) != 0 and n_sent == 0:
            n_shared = blocks.n_of_prefix(model, state, e, one.task, one.total)
            n_found = blocks.n_found(model, e, one, n_shared)
            n_free -= n_found - n_shared + blocks.n_free_of(model, state, e, one, n_shared)
        computed = one.computed + n_found * block_tokens + n_sent
        new = min(one.total - computed, budget)
        n_more = blocks_for(computed + new, block_tokens) - n_found
        if n_more > n_free:
            return
        engine.head = one.after
        engine.n_waiting -= 1
        engine.to_prefill -= one.total - one.computed
        if limit(model, e, CACHES) != 0:
            blocks.take(model, state, e, one, n_found, n_shared)
        one.computed, one.new = computed, new
        if DISAGGREGATED:
            one.sent = 0
        allocate(model, state, e, one, n_more)
        share_prompt(model, state, e, one)
        state.batch[not_negative(model.engine_first[e] + engine.n_running)] = slot
        engine.n_running += 1
        engine.memory += computed
        if not decodes(one):
            engine.to_prefill += one.total - computed
        if np.isnan(state.task_scheduled_us[one.task]):
            state.task_scheduled_us[one.task], state.task_found[one.task] = engine.at_us, computed
        budget -= new


LONGEST = 64  # steps of a stretch: when a request comes, those after the step that runs were computed in vain


@called
def time_of_step(model, e, prefill_tokens, n_prefill, prefill_memory, n_decode, decode_memory):
    kind = limit(model, e, STEP)
    return step_us(model, kind, prefill_tokens, n_prefill, prefill_memory, n_decode, decode_memory)


@called
def run_stretch(model, state, e, has_put_back):
    """Begin a stretch. Returns whether the clock can represent the time of its first step."""
    engine = state.engine[e]
    prefill_tokens, n_prefill, prefill_memory, n_decode, decode_memory = 0, 0, 0, 0, 0
    least_left, n_least = np.int64(1) << 62, np.int64(0)
    for i in range(engine.n_running):
        one = state.slot[slot_at(model, state, e, i)]
        if decodes(one):
            n_decode += 1
            decode_memory += one.computed + 1
        else:
            n_prefill += 1
            prefill_tokens += one.new
            prefill_memory += one.computed
        if one.computed + one.new == one.total:
            if one.left < least_left:
                least_left, n_least = np.int64(one.left), np.int64(0)
            if one.left == least_left:
                n_least += 1
    took_us = time_of_step(model, e, prefill_tokens, n_prefill, prefill_memory, n_decode, decode_memory)
    n_tokens = engine.memory + prefill_tokens + n_decode
    if not (engine.at_us < engine.at_us + took_us and engine.at_us + took_us < np.inf):
        note_out_of_time(model, state, e, took_us)
        return False
    engine.grows, engine.prefill = prefill_tokens + n_decode, prefill_tokens
    engine.end_us, engine.end_memory_us = engine.at_us + took_us, engine.memory_us + (n_tokens - engine.twice) * took_us
    engine.n_steps, engine.n_ended = 1, 0
    if n_prefill == 0 and not has_put_back:
        lengthen(model, state, e, min(least_left, LONGEST))
    engine.n_done = n_least if engine.n_steps == least_left else 0
    if engine.n_done > 0:
        queue(state, e, np.inf, engine.end_us)
    else:
        queue(state, e, engine.end_us, np.inf)
    return True


@called
def note_out_of_time(model, state, e, took_us):
    run = state.run[0]
    run.error, run.error_unit, run.error_us = OUT_OF_TIME, model.engine_unit[e], took_us
    run.error_task = state.slot[slot_at(model, state, e, 0)].task


@called
def lengthen(model, state, e, most):
    """Lengthen a stretch of one step, in which all sequences decode, to at most ``most`` steps, as far as memory
    goes."""
    engine, block_tokens = state.engine[e], limit(model, e, BLOCK_TOKENS)
    n_free, n = limit(model, e, BLOCKS) - engine.n_used, np.int64(engine.n_running)
    has_enough = n * (most // block_tokens + 1) <= n_free
    if not has_enough:
        count_last_blocks(model, state, e, block_tokens)
    n_steps, n_tokens, end_us, memory_us = np.int64(1), engine.memory + n, engine.end_us, engine.end_memory_us
    filled = block_tokens - 1  # sequences whose last block had that many tokens when the stretch began need one
    while n_steps < most:
        if not has_enough:
            n_free -= state.block_need[filled]
            filled = filled - 1 if filled > 0 else block_tokens - 1
            if n_free < 0:
                break
        n_tokens += n
        took_us = time_of_step(model, e, 0, 0, 0, n, n_tokens)
        end_us += took_us
        memory_us += (n_tokens - engine.twice) * took_us
        n_steps += 1
    engine.n_steps, engine.end_us, engine.end_memory_us = n_steps, end_us, memory_us


@called
def count_last_blocks(model, state, e, block_tokens):
    """Count the running sequences by their tokens in their last block, a full one counting as 0."""
    for i in range(block_tokens):
        state.block_need[i] = 0
    for i in range(state.engine[e].n_running):
        state.block_need[state.slot[slot_at(model, state, e, i)].computed % block_tokens] += 1


def queue(state, e, end_us, done_us):
    set_engine_end(state, OTHERS, e, end_us)
    set_engine_end(state, DONE, e, done_us)


def end_of_next(model, state, e):
    """When the next step of a stretch ends, in which all sequences decode, and the integral of the memory up to
    then."""
    engine = state.engine[e]
    n_tokens = engine.memory + engine.grows * (engine.n_ended + 1)
    took_us = time_of_step(model, e, 0, 0, 0, engine.n_running, n_tokens)
    return engine.at_us + took_us, engine.memory_us + (n_tokens - engine.twice) * took_us


@called
def advance(model, state, e, now_us):
    """Find out how many steps of the stretch have ended by now."""
    engine = state.engine[e]
    while engine.n_ended < engine.n_steps:
        end_us, memory_us = engine.end_us, engine.end_memory_us
        if engine.n_ended + 1 < engine.n_steps:
            end_us, memory_us = end_of_next(model, state, e)
        if end_us > now_us:
            return
        engine.at_us, engine.memory_us = end_us, memory_us
        engine.n_ended += 1


@called
def cut(model, state, e):
    """End the stretch with the step that runs now."""
    engine, now_us = state.engine[e], state.run[0].now_us
    advance(model, state, e, now_us)
    if engine.n_ended == engine.n_steps:
        return
    if engine.at_us == now_us:  # no step runs now
        engine.n_steps, engine.n_done = engine.n_ended, 0
        queue(state, e, np.inf, np.inf)
        settle(model, state, e)
        make_ready(state, e, now_us)
    elif engine.n_ended + 1 < engine.n_steps:
        engine.end_us, engine.end_memory_us = end_of_next(model, state, e)
        engine.n_steps, engine.n_done = engine.n_ended + 1, 0
        queue(state, e, engine.end_us, np.inf)


def end_stretch(model, state, e):
    engine = state.engine[e]
    engine.at_us, engine.memory_us, engine.n_ended = engine.end_us, engine.end_memory_us, engine.n_steps
    settle(model, state, e)


@called
def settle(model, state, e):
    """Write to the sequences what the steps that ended have made of them. Then no step runs."""
    engine, block_tokens = state.engine[e], limit(model, e, BLOCK_TOKENS)
    n = engine.n_ended
    for i in range(engine.n_running):
        one = state.slot[slot_at(model, state, e, i)]
        if one.computed + one.new == one.total:
            if one.total == one.prompt:
                state.task_first_us[one.task] = engine.at_us
            one.total += n
            one.left -= n
        one.computed += one.new + n - 1  # if there are several steps, it decodes
        if one.computed > one.blocks * block_tokens:
            allocate(model, state, e, one, blocks_for(np.int64(one.computed), block_tokens) - one.blocks)
    engine.memory += engine.grows * n
    engine.to_prefill -= engine.prefill
    engine.peak = max(engine.peak, engine.memory - engine.twice)
    engine.n_steps = engine.n_ended = engine.prefill = 0


@called
def allocate_begun(model, state, e):
    """Allocate the blocks of the steps that have begun, as far as a stretch has not; ``advance`` was called."""
    engine, block_tokens = state.engine[e], limit(model, e, BLOCK_TOKENS)
    n_begun = engine.n_ended if engine.at_us == state.run[0].now_us else min(engine.n_ended + 1, engine.n_steps)
    if n_begun < 2:
        return
    for i in range(engine.n_running):
        one = state.slot[slot_at(model, state, e, i)]
        n_tokens = np.int64(one.computed) + n_begun
        if n_tokens > one.blocks * block_tokens:
            allocate(model, state, e, one, blocks_for(n_tokens, block_tokens) - one.blocks)


def make_ready(state, e, now_us):
    """Note that the next step of an engine begins when all events of this instant are over."""
    run, engine = state.run[0], state.engine[e]
    engine.at_us = now_us
    engine.is_ready = 1
    state.ready_engine[run.n_ready] = e
    run.n_ready += 1
