"""The memory of an engine with prefix caching, block by block: who has a block, who may find it again, and the queue of
free blocks. The rules are those of ``engine/reference_batching.py``.

Each block knows the one with the tokens before its own, so the blocks of a sequence are a chain from its last one. The
free blocks of a prefix are its last ones, and leave the queue before the blocks that precede them. So the blocks that
are left of a prefix are always a chain from its first block on (``chain``), and so are those of a sequence that was put
back.
"""

import numpy as np

from vinesim.core.features import called
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import BLOCK_TOKENS, BLOCKS

NOBODY = -1  # as an owner; the prefix g is NOBODY - 1 - g


def limit(model, e, which):
    """A limit of an engine, as they are listed in state/layout.py."""
    return np.int64(model.type_batching[model.unit_type[model.engine_unit[e]], which])


def at(model, e, block):
    return not_negative(np.int64(model.engine_block[e]) + block)


def chain_at(model, e, prefix):
    return not_negative(np.int64(prefix) * model.engine_unit.shape[0] + e)


def has_prefix(model, task):
    return model.task_prefix.shape[0] > 0 and model.task_prefix[task] >= 0


@called
def allocate(model, state, e, one, n_blocks):
    """Give a sequence free blocks."""
    for _ in range(n_blocks):
        block = next_free(model, state, e)
        new = state.block[at(model, e, block)]
        new.holders, new.owner, new.before = 1, NOBODY, one.last
        one.last = block
    one.blocks += n_blocks
    state.engine[e].n_used += n_blocks


def next_free(model, state, e):
    """Take the next free block; nobody finds it again."""
    engine = state.engine[e]
    if engine.n_touched < limit(model, e, BLOCKS):
        engine.n_touched += 1
        return np.int64(engine.n_touched - 1)
    block = np.int64(engine.oldest)
    unlink(model, state, e, block)
    one = state.block[at(model, e, block)]
    if one.owner > NOBODY:
        state.slot[not_negative(np.int64(one.owner))].found -= 1
        state.slot[not_negative(np.int64(one.owner))].last = one.before
    elif one.owner < NOBODY:
        chain = state.chain[chain_at(model, e, NOBODY - 1 - np.int64(one.owner))]
        chain.n -= 1
        chain.last = one.before
    return block


def unlink(model, state, e, block):
    """Take a block out of the queue."""
    engine, one = state.engine[e], state.block[at(model, e, block)]
    if one.older >= 0:
        state.block[at(model, e, one.older)].newer = one.newer
    else:
        engine.oldest = one.newer
    if one.newer >= 0:
        state.block[at(model, e, one.newer)].older = one.older
    else:
        engine.newest = one.older


def append(model, state, e, block):
    """Let a block wait at the end of the queue."""
    engine, one = state.engine[e], state.block[at(model, e, block)]
    is_empty = engine.n_touched == engine.n_used
    one.older, one.newer = -1 if is_empty else engine.newest, -1
    if is_empty:
        engine.oldest = block
    else:
        state.block[at(model, e, engine.newest)].newer = block
    engine.newest = block


@called
def hold(model, state, e, block):
    """Give one more sequence a block."""
    one = state.block[at(model, e, block)]
    if one.holders == 0:
        unlink(model, state, e, block)
        state.engine[e].n_used += 1
    else:
        state.engine[e].twice += limit(model, e, BLOCK_TOKENS)
    one.holders += 1


@called
def release(model, state, e, slot, full):
    """Free the blocks of a sequence that no other sequence has, the last one first. The sequence may find those of its
    own again that are among its first ``full`` ones."""
    engine, one = state.engine[e], state.slot[slot]
    block, last, place = np.int64(one.last), np.int64(-1), np.int64(one.blocks) - 1
    while block >= 0:
        freed = state.block[at(model, e, block)]
        freed.holders -= 1
        if freed.holders == 0:
            append(model, state, e, block)
            engine.n_used -= 1
        else:
            engine.twice -= limit(model, e, BLOCK_TOKENS)
        if one.shared <= place and place < full:
            freed.owner = slot
            last = block if last < 0 else last
        block, place = np.int64(freed.before), place - 1
    one.blocks, one.last, one.found = 0, last, max(np.int64(0), full - one.shared)


@called
def share(model, state, e, one, n_tokens):
    """Let others with the same prefix find the blocks of a sequence with its first tokens."""
    if not has_prefix(model, one.task):
        return
    chain = state.chain[chain_at(model, e, model.task_prefix[one.task])]
    n = min(np.int64(n_tokens), model.task_prefix_tokens[one.task]) // limit(model, e, BLOCK_TOKENS)
    if n <= one.shared or chain.n != one.shared:
        return
    block = before(model, state, e, one.last, one.blocks - n)
    chain.n, chain.last = n, block
    for _ in range(n - one.shared):
        new = state.block[at(model, e, block)]
        new.owner = NOBODY - 1 - model.task_prefix[one.task]
        block = np.int64(new.before)
    one.shared = n


def before(model, state, e, block, n):
    """The block that is n before another one of a chain."""
    block = np.int64(block)
    for _ in range(n):
        block = np.int64(state.block[at(model, e, block)].before)
    return block


@called
def n_of_prefix(model, state, e, task, n_tokens):
    """How many blocks with the first n_tokens - 1 tokens of a task the engine has of its prefix."""
    if not has_prefix(model, task):
        return np.int64(0)
    most = min(np.int64(model.task_prefix_tokens[task]), np.int64(n_tokens) - 1) // limit(model, e, BLOCK_TOKENS)
    return min(np.int64(state.chain[chain_at(model, e, model.task_prefix[task])].n), most)


def n_found(model, e, one, n_shared):
    """How many blocks a waiting sequence finds, given those of its prefix."""
    if one.found == 0 or n_shared < one.shared:
        return n_shared
    most = (np.int64(one.total) - 1) // limit(model, e, BLOCK_TOKENS)
    return max(n_shared, min(np.int64(one.shared) + one.found, most))


@called
def n_free_of(model, state, e, one, n_shared):
    """How many of the blocks of its prefix that a sequence finds are free: the last ones."""
    if n_shared == 0:
        return np.int64(0)
    chain, n = state.chain[chain_at(model, e, model.task_prefix[one.task])], np.int64(0)
    block = before(model, state, e, chain.last, chain.n - n_shared)
    while block >= 0 and state.block[at(model, e, block)].holders == 0:
        n += 1
        block = np.int64(state.block[at(model, e, block)].before)
    return n


@called
def take(model, state, e, one, n_blocks, n_shared):
    """Give a sequence the first blocks that it finds; n_shared of them are of its prefix. Nobody looks for its others
    any more."""
    first, own, last = np.int64(-1), np.int64(one.last), np.int64(-1)  # of its own blocks: the first and last it takes
    for i in range(one.found):
        place = one.shared + one.found - 1 - i
        block = state.block[at(model, e, own)]
        block.owner = NOBODY
        if n_shared <= place and place < n_blocks:
            hold(model, state, e, own)
            last = own if last < 0 else last
            first = own
        own = np.int64(block.before)
    shared = np.int64(-1)
    if n_shared > 0:
        chain = state.chain[chain_at(model, e, model.task_prefix[one.task])]
        shared = before(model, state, e, chain.last, chain.n - n_shared)
        block = shared
        for _ in range(n_shared):
            hold(model, state, e, block)
            block = np.int64(state.block[at(model, e, block)].before)
    if first >= 0:
        state.block[at(model, e, first)].before = shared
    one.last = last if last >= 0 else shared
    one.blocks, one.shared, one.found = n_blocks, n_shared, 0
