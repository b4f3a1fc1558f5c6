"""What a step of a serving engine computes: blocks of memory for the running sequences, which may be put back, and the
admission of others. The rules are those of ``engine/reference_batching.py``."""

import numpy as np

from vinesim.core.called import called
from vinesim.core.features import DISAGGREGATED
from vinesim.core.laws import blocks
from vinesim.core.laws.blocks import limit
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import BLOCK_TOKENS, BLOCKS, CACHES, MAX_SEQUENCES, MAX_TOKENS, RESUMES


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
    """Share what the step computes of a prompt: what comes after it in the same step finds it."""
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
