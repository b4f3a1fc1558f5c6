"""Search for the place of a gang whose tasks go where there is room: each item to a node, those that come first to
their first possible place; where one has none, the one before it goes to its next place. The meaning, for the reader,
is in engine/reference_trial.py.

An item is what goes to one node together: all tasks for one of the job's nodes if they are numbered, else each task.
Items are held and released in turn, the last first: a release undoes the ledger to where it was before the item.
"""

import numpy as np

from vinesim.core import claims, ledger
from vinesim.core.called import called
from vinesim.core.gang_members import are_alike, hold, next_open, set_unit, unit_at, unit_of
from vinesim.core.tasks import at_step, next_step
from vinesim.state.layout import ATTACHED, MOST_DEAD_ENDS


def item_of(model, member):
    """The number of what goes to one node with a member."""
    job = model.task_job[member]
    place = member - model.job_first[job]
    return place // model.job_per_node[job] if model.job_nodes[job] > 0 else place


def is_spread(model, task):
    job = model.task_job[task]
    return model.job_spread[job] or model.job_nodes[job] > 0


@called
def lacks_a_place(model, state, task, p, low, high):
    """Whether some member has no room anywhere even by itself, so that their places need not be searched for."""
    step = next_step(model, state, task, -1)
    while step >= 0:
        member = at_step(model, task, step)
        node = next_open(model, state, member, p, low, high)
        while node >= 0 and unit_at(model, state, member, p, node) < 0:
            node = next_open(model, state, member, p, node + 1, high)
        if node < 0:
            return True
        step = next_step(model, state, task, step)
    return False


# Items, each named by the first of its steps


def is_held(model, state, task, step):
    """Whether the member of a step, other than the first task, is held."""
    member = at_step(model, task, step)
    return state.task_unit[member] == ATTACHED and unit_of(model, state, member) >= 0


@called
def next_of_item(model, state, task, step):
    """The next step of the item that has that step; -1 if there is none."""
    after = next_step(model, state, task, step)
    if after >= 0 and item_of(model, at_step(model, task, after)) == item_of(model, at_step(model, task, step)):
        return after
    return np.int64(-1)


@called
def next_item(model, state, task, step):
    """The first step, after ``step``, of an item that is not held; -1 if there is none."""
    step = next_step(model, state, task, step)
    while step >= 0 and is_held(model, state, task, step):
        step = next_step(model, state, task, step)
    return step


@called
def item_before(model, state, task, step):
    """The first step of the last item before that of ``step``; -1 if only that of the first task is."""
    found, own = np.int64(-1), item_of(model, task)
    step -= 1
    while step >= 0:
        member = at_step(model, task, step)
        if state.task_unit[member] == ATTACHED and item_of(model, member) != own:
            if found >= 0 and item_of(model, member) != item_of(model, at_step(model, task, found)):
                break
            found = step
        step -= 1
    return found


@called
def are_items_alike(model, state, task, one, other):
    """Whether two items demand the same, one task after another."""
    while one >= 0 and other >= 0:
        if not are_alike(model, state, at_step(model, task, one), at_step(model, task, other)):
            return False
        one, other = next_of_item(model, state, task, one), next_of_item(model, state, task, other)
    return one < 0 and other < 0


@called
def release_item(model, state, task, step):
    """Release the members of an item, as far as they are held. Returns their node; -1 if none is."""
    node = np.int64(-1)
    ledger.undo(model, state, np.int64(state.gang_mark[step]))
    while step >= 0 and is_held(model, state, task, step):
        member = at_step(model, task, step)
        node = np.int64(model.unit_node[unit_of(model, state, member)])
        claims.forget(model, state, member)
        set_unit(model, state, member, -1)
        step = next_of_item(model, state, task, step)
    return node


@called
def hold_at(model, state, task, step, p, node):
    """Hold the members of an item at a node, from a step on, as far as they have room. Returns whether all have."""
    while step >= 0:
        member = at_step(model, task, step)
        unit = unit_at(model, state, member, p, node)
        if unit < 0:
            return False
        hold(model, state, member, unit)
        step = next_of_item(model, state, task, step)
    return True


@called
def hold_own_item(model, state, task, p, home):
    """Hold the other members of the first task's item at its node, as far as they have room. Returns whether all
    have."""
    step, own = next_step(model, state, task, -1), item_of(model, task)
    while step >= 0 and item_of(model, at_step(model, task, step)) != own:
        step = next_step(model, state, task, step)
    return hold_at(model, state, task, step, p, home)


@called
def hold_item(model, state, task, step, p, node):
    """Hold all members of an item at a node, or none. Returns whether they have room."""
    state.gang_mark[step] = ledger.here(state)
    if hold_at(model, state, task, step, p, node):
        state.node_members[node] += 1
        return True
    release_item(model, state, task, step)
    return False


# Places: packed, the nodes, that of the first task first; spread, those without items, then those with one, and so on


@called
def any_holds(state, low, high, n):
    """Whether any node holds n items or more."""
    node = low
    while node < high and state.node_members[node] < n:
        node += 1
    return node < high


@called
def hold_from(model, state, task, step, p, begin, limit, low, high):
    """Hold an item at its first place with room from number ``begin`` on. Returns its number, -1 if there is none."""
    member, width = at_step(model, task, step), high - low
    if not is_spread(model, task):
        home = np.int64(model.unit_node[unit_of(model, state, task)])
        if begin == 0 and state.node_members[home] < limit and hold_item(model, state, task, step, p, home):
            return np.int64(0)
        node = next_open(model, state, member, p, low + max(begin, 1) - 1, high)
        while node >= 0:
            is_open = node != home and state.node_members[node] < limit
            if is_open and hold_item(model, state, task, step, p, node):
                return node - low + 1
            node = next_open(model, state, member, p, node + 1, high)
        return np.int64(-1)
    n_items, node = begin // width, low + begin % width
    while n_items < limit and (n_items == 0 or any_holds(state, low, high, n_items)):
        node = next_open(model, state, member, p, node, high)
        while node >= 0:
            if state.node_members[node] == n_items and hold_item(model, state, task, step, p, node):
                return n_items * width + node - low
            node = next_open(model, state, member, p, node + 1, high)
        n_items, node = n_items + 1, low
    return np.int64(-1)


@called
def number_of_place(model, state, task, node, low, high):
    """The number of the place of an item at a node that holds others without it."""
    if is_spread(model, task):
        return state.node_members[node] * (high - low) + node - low
    return np.int64(0) if node == model.unit_node[unit_of(model, state, task)] else node - low + 1


@called
def search(model, state, task, p, limit, low, high):
    """Hold each item at a node, those that come first at their first possible place. Returns whether all are held."""
    item, begin, is_new, n_dead_ends = next_item(model, state, task, -1), np.int64(0), True, 0
    while item >= 0:
        place = hold_from(model, state, task, item, p, begin, limit, low, high)
        if place >= 0:
            after = next_item(model, state, task, item)
            begin, is_new = np.int64(0), True
            if after >= 0 and are_items_alike(model, state, task, item, after):
                begin = place + 1 if is_spread(model, task) else place
            item = after
            continue
        n_dead_ends += 1
        if n_dead_ends > MOST_DEAD_ENDS:
            return False
        before = item_before(model, state, task, item)
        while is_new and before >= 0 and are_items_alike(model, state, task, before, item):
            state.node_members[release_item(model, state, task, before)] -= 1
            before = item_before(model, state, task, before)
        if before < 0:
            return False
        node = release_item(model, state, task, before)
        state.node_members[node] -= 1
        begin = number_of_place(model, state, task, node, low, high) + 1
        item, is_new = before, False
    return True
