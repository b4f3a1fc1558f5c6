"""Gangs: tasks of a job that start together, or not at all. The meaning is in engine/reference_trial.py; the tasks of
requests are balanced over the nodes (core/requests.py).

A place is found by trial: the members take their claims in the ledger one after another, and everything is rolled back.
The units found stay in ``gang_unit`` for the start that follows. Tasks that are alike are packed. For other tasks, the
place is found by backtracking: each item goes to a node, and items that come first go to their first possible node; if
an item has none, the item before it goes to its next node. An item is what goes to one node together: all tasks for one
of the job's nodes if they are numbered, otherwise each task. Items are held and released in turn, the last first: a
release restores the ledger as it was before the item.
"""

import numpy as np

from vinesim.core import ledger
from vinesim.core.features import SEVERAL, called
from vinesim.core.gang_members import are_alike, are_all_alike, hold, next_open, set_unit, unit_at, unit_of
from vinesim.core.tasks import at_step, is_node_in_partition, next_attached, next_step, task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.model.workload import NODE, RACK
from vinesim.state.layout import ATTACHED, FULL, MOST_DEAD_ENDS, OVERFULL
from vinesim.state.shortcuts import is_room_local


@called
def fits(model, state, task, unit):
    """Whether a pending gang has a place if its first task, which has room there itself, runs on a unit."""
    run, p = state.run[0], np.int64(model.unit_type[unit])
    low, high = nodes_within(model, task, unit)
    if run.refused_task == task and run.refused_type == p and run.refused_place == low:
        return False
    run.found_task = -1  # the place that was found for it is lost
    is_found, is_lacking = False, not are_all_alike(model, state, task)
    is_lacking = is_lacking and lacks_a_place(model, state, task, p, low, high)
    if not is_lacking:
        marked = ledger.mark(state)
        is_found = find_place(model, state, task, unit, p, low, high)
        forget_members(model, state, task)
        ledger.rollback(model, state, marked)
    if not is_found and (is_lacking or is_refused_everywhere(model, state, task, p)):
        run.refused_task, run.refused_type, run.refused_place = task, p, low
    return is_found


@called
def nodes_within(model, task, unit):
    """The nodes, from the first to before the end, on which a gang may be."""
    within, node = model.job_gang[model.task_job[task]], np.int64(model.unit_node[unit])
    if within == NODE:
        return node, node + 1
    if within == RACK:
        rack = model.node_rack[node]
        return np.int64(model.rack_node[rack]), np.int64(model.rack_node[rack + 1])
    return np.int64(0), np.int64(model.node_rack.shape[0])


def n_leads(model, state, task):
    """How many units a task runs on."""
    if SEVERAL and ledger.has_classes(model):
        return np.int64(model.class_units[task_type(model, state, task)])
    return np.int64(1)


@called
def is_simple(model, state, task, p):
    """Whether the number of such tasks for which there is room does not depend on the units of a type that they take at
    a node: each task runs on one unit, or no unit has room for two."""
    return n_leads(model, state, task) == 1 or model.class_fills[task_type(model, state, task), p]


@called
def is_refused_everywhere(model, state, task, p):
    """Whether a gang, which had no place, would have none either if its first task ran on another unit of the type in
    the same node, rack or datacenter: all its nodes or tasks are alike, and it was not the first one's node that had
    too little room."""
    is_local = is_room_local(model) and is_simple(model, state, task, p)
    if not is_local or not are_all_alike(model, state, task):
        return False
    job = model.task_job[task]
    if model.job_nodes[job] == 0:
        return True
    for member in range(model.job_first[job], model.job_first[job + 1]):
        if member != task and state.task_unit[member] != ATTACHED:
            return False
        is_of_item = item_of(model, member) == item_of(model, task)
        if is_of_item and unit_of(model, state, np.int64(member)) < 0:
            return False
    return True


@called
def forget_members(model, state, task):
    """Forget how many members were supposed to be at each node, and what they were supposed to hold; their units are
    kept."""
    member = np.int64(task)
    while member >= 0:
        unit = unit_of(model, state, member)
        if unit >= 0:
            state.node_members[model.unit_node[unit]] = 0
            ledger.forget(model, state, member)
        member = next_attached(model, state, member)


@called
def find_place(model, state, task, unit, p, low, high):
    """Hold the claims of all members, as far as they have room. Returns whether all have."""
    job, member = model.task_job[task], np.int64(task)
    while member >= 0:
        set_unit(model, state, member, -1)
        member = next_attached(model, state, member)
    limit = np.int64(model.job_per_node[job])
    if limit == 0:
        limit = np.int64(model.job_first[job + 1] - model.job_first[job])
    hold(model, state, task, unit)
    home = np.int64(model.unit_node[unit])
    state.node_members[home] = 1
    if model.job_nodes[job] > 0:
        return hold_own_item(model, state, task, p, home) and search(model, state, task, p, np.int64(1), low, high)
    if not model.job_spread[job] and are_all_alike(model, state, task):
        return pack_alike(model, state, task, p, limit, low, high)
    return search(model, state, task, p, limit, low, high)


@called
def fill(model, state, member, p, node, n):
    """Hold the claims of up to n members, from ``member`` on, at a node. Returns the next member; -1 if none is
    left."""
    while n > 0 and member >= 0:
        unit = unit_at(model, state, member, p, node)
        if unit < 0:
            break
        hold(model, state, member, unit)
        n -= 1
        member = next_attached(model, state, member)
    return member


@called
def pack_alike(model, state, task, p, limit, low, high):
    """Place members that demand the same: the node of the first one is filled, then the nodes that offer room for
    most."""
    home = np.int64(model.unit_node[unit_of(model, state, task)])
    member = fill(model, state, next_attached(model, state, task), p, home, limit - 1)
    left, other = np.int64(0), member
    while other >= 0:
        left += 1
        other = next_attached(model, state, other)
    if left == 0:
        return True
    total, most = np.int64(0), np.int64(0)
    simple = is_room_local(model) and is_simple(model, state, task, p)
    state.node_offer[low:high] = 0
    node = next_open(model, state, task, p, low, high)
    while node >= 0:
        if node != home:
            n = offer_of(model, state, task, member, p, node, min(limit, left), simple)
            state.node_offer[node] = n
            total, most = total + n, max(most, n)
        node = next_open(model, state, task, p, node + 1, high)
    if total < left:
        return False
    while member >= 0:
        following = np.int64(0)
        for node in range(low, high):
            if state.node_offer[node] == most and member >= 0:
                member = fill(model, state, member, p, np.int64(node), most)
            elif state.node_offer[node] < most:
                following = max(following, np.int64(state.node_offer[node]))
        most = following
    return member < 0  # nodes of a rack with a power cap may take fewer together than each of them alone


OWN_DEMAND = -1.0  # as an amount: what a task takes of each unit that it runs on


@called
def count_on(model, state, task, place, amount, most):
    """How many times the units of a type at a node, ``place``, have room for an amount, up to a number."""
    n = np.int64(0)
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = not_negative(np.int64(model.node_unit[i]))
        load, capacity = state.unit[unit].load, state.unit[unit].open
        takes = amount if amount >= 0.0 else ledger.demand(model, state, task, unit)
        while n < most and load < capacity * FULL and load + takes <= capacity * OVERFULL:
            load, n = load + takes, n + 1
        if n == most:
            break
    return n


@called
def offer_of(model, state, task, member, p, node, most, simple):
    """How many more members, from ``member`` on, a node could take, up to a number."""
    if simple:
        return count_simple(model, state, task, p, node, most)
    marked, last, n = ledger.mark(state), member, np.int64(0)
    after = fill(model, state, member, p, node, most)
    while last >= 0 and last != after:
        ledger.forget(model, state, last)
        set_unit(model, state, last, -1)
        last, n = next_attached(model, state, last), n + 1
    ledger.rollback(model, state, marked)
    return n


@called
def count_simple(model, state, task, p, node, most):
    """Count in the same way for tasks for which ``is_simple`` holds. Their demands for a companion fill its units one
    after another."""
    task_class = task_type(model, state, task)
    if model.affinity[p, task_class] <= 0.0 or not is_node_in_partition(model, task, node):
        return np.int64(0)
    leads = n_leads(model, state, task)
    n = count_on(model, state, task, ledger.place_of(model, node, p), OWN_DEMAND, most * leads) // leads
    if SEVERAL:
        for c in range(model.companion_type.shape[0]):
            q = np.int64(model.companion_type[c])
            if model.class_companion[task_class, q] > 0.0 and n > 0:
                n = count_on(
                    model, state, task, ledger.place_of(model, node, q), model.class_companion[task_class, q], n
                )
    return n


def item_of(model, member):
    """The number of the item of a member, which goes to one node together."""
    job = model.task_job[member]
    place = member - model.job_first[job]
    return place // model.job_per_node[job] if model.job_nodes[job] > 0 else place


def is_spread(model, task):
    job = model.task_job[task]
    return model.job_spread[job] or model.job_nodes[job] > 0


@called
def lacks_a_place(model, state, task, p, low, high):
    """Whether some member has no room anywhere even by itself, which makes a search for places pointless."""
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
    """The first step of the last item before the item of ``step``; -1 if only the first task's item comes before it."""
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
    ledger.undo_to(model, state, np.int64(state.gang_mark[step]))
    while step >= 0 and is_held(model, state, task, step):
        member = at_step(model, task, step)
        node = np.int64(model.unit_node[unit_of(model, state, member)])
        ledger.forget(model, state, member)
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
    """Hold each item at a node; items that come first are at their first possible place. Returns whether all are
    held."""
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
