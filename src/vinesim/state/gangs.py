"""Where the tasks of a gang start together: compiled. The meaning, for the reader, is in engine/reference_gangs.py.

A place is found by trial: the members are held, one after another, and then released. Its units stay in the state, so
that the check and the start of an action that a query led to need not look again.
"""

import numpy as np

from vinesim.model.workload import NO_GANG, NODE, RACK
from vinesim.state import node_index, places, queries
from vinesim.state.compiled_form import compiled_form_of, with_partitions
from vinesim.state.gang_members import (
    all_alike,
    are_alike,
    at_step,
    forget_earlier_places,
    forget_places,
    next_member,
    next_step,
    unit_of_member,
)
from vinesim.state.holding import hold_rest, index_room, note_change, renew_node, set_load
from vinesim.state.indexed_room import forget_found
from vinesim.state.kernel import has_gangs, inlined, kernel
from vinesim.state.layout import ATTACHED, FULL, MOST_DEAD_ENDS, OF_REQUEST, OVERFULL, PENDING
from vinesim.state.request_gangs import find_units, request_fits


def _is_alone(model, state, task, unit):
    return True


@compiled_form_of(queries.gang_fits, inline=False, without=_is_alone, where=has_gangs)
def gang_fits(model, state, task, unit):
    if model.job_gang[model.task_job[task]] == NO_GANG or state.task_unit[task] != PENDING:
        return True
    run, p = state.run[0], np.int64(model.unit_type[unit])
    if model.affinity[p, queries.task_type(model, state, task)] <= 0.0:
        return False
    if model.job_gang[model.task_job[task]] == OF_REQUEST:
        return queries.is_allowed(model, state, task, unit) and request_fits(model, state, task, unit)
    forget_earlier_places(state)
    if run.gang_task == task and run.gang_anchor == unit:
        return True
    place = _place(model, task, unit)
    if run.gang_refused == task and run.gang_refused_type == p and run.gang_refused_place == place:
        return False
    run.gang_task = -1
    if not all_alike(model, state, task) and _lacks_a_place(model, state, task, unit, p):
        run.gang_refused, run.gang_refused_type, run.gang_refused_place = task, p, place
        return False
    is_found = _try(model, state, task, unit, p)
    _release_all(model, state, task)
    if is_found:
        run.gang_task, run.gang_anchor = task, unit
    elif _is_refused_everywhere(model, state, task, p):
        run.gang_refused, run.gang_refused_type, run.gang_refused_place = task, p, place
    return is_found


def _itself(model, task):
    return np.int64(task), np.int64(task) + 1


compiled_form_of(places.gang_of, without=_itself, where=has_gangs)(places.gang_of)
for _of_places, _inline in (
    (places.first_row, True),
    (places.note_rows, False),
    (places.end_of_members, True),
    (places.is_member, True),
):
    compiled_form_of(_of_places, _inline)(_of_places)


@compiled_form_of(places.set_offer, inline=False)
def set_offer(model, state, unit, capacity):
    had_room = queries.has_room(model, state, unit)
    state.unit_open[unit] = capacity
    index_room(model, state, unit, had_room)
    note_change(model, state, unit)
    renew_node(model, state, unit)
    forget_found(model, state)
    forget_places(model, state)


def _note_alone(model, state, rows, task, unit):
    places.note_rows(model, state, rows, task, unit)


@compiled_form_of(places.note_place, inline=False, without=_note_alone, where=has_gangs)
def note_place(model, state, rows, task, unit):
    if model.job_gang[model.task_job[task]] == NO_GANG:
        places.note_rows(model, state, rows, task, unit)
    elif queries.gang_fits(model, state, task, unit):
        settle(model, state, task, unit)
        member, step = np.int64(task), np.int64(-1)
        while member >= 0:
            own = unit_of_member(model, state, member)
            places.note_rows(model, state, rows, member, own)
            _hold(model, state, member, own)
            step = next_step(model, state, task, step)
            member = at_step(model, task, step) if step >= 0 else np.int64(-1)
        _release_all(model, state, task)


@kernel
def settle(model, state, task, unit):
    """Note the units of all members if the first of them runs on a unit where the gang fits."""
    if model.job_gang[model.task_job[task]] == OF_REQUEST:
        find_units(model, state, task, unit)


@kernel
def _place(model, task, unit):
    """Return the number of the node or rack within which the gang must be, -1 for anywhere."""
    within, node = model.job_gang[model.task_job[task]], np.int64(model.unit_node[unit])
    if within == NODE:
        return node
    return np.int64(model.node_rack[node]) if within == RACK else np.int64(-1)


@kernel
def _nodes_within(model, task, unit):
    """Return the nodes, from the first to before the end, on which the gang may be."""
    within, node = model.job_gang[model.task_job[task]], np.int64(model.unit_node[unit])
    if within == NODE:
        return node, node + 1
    if within == RACK:
        rack = model.node_rack[node]
        return np.int64(model.rack_node[rack]), np.int64(model.rack_node[rack + 1])
    return np.int64(0), np.int64(model.node_rack.shape[0])


@kernel
def _n_leads(model, state, task):
    """Return how many units the task runs on."""
    if model.kind_units.shape[0] == 0:
        return np.int64(1)
    return np.int64(model.kind_units[queries.task_type(model, state, task)])


@kernel
def _is_simple(model, state, task, p):
    """Whether it does not matter for how many such tasks there is room which units of a type they take at a node: each
    runs on one of them, or none of these has room for two."""
    if _n_leads(model, state, task) == 1:
        return True
    for unit in range(model.unit_type.shape[0]):
        capacity = model.unit_capacity[unit]
        if model.unit_type[unit] == p and 2.0 * queries.demand(model, state, task, unit) <= capacity * OVERFULL:
            return False
    return True


@kernel
def _is_refused_everywhere(model, state, task, p):
    """Whether the gang, which had no place, would have none either if its first task ran on another unit of the type
    in the same node, rack or datacenter: all its nodes or tasks are alike, and it was not the first one's node that had
    too little room."""
    if not _is_simple(model, state, task, p) or not all_alike(model, state, task):
        return False
    job = model.task_job[task]
    if model.job_nodes[job] == 0:
        return True
    for member in range(model.job_first[job], model.job_first[job + 1]):
        if member != task and state.task_unit[member] != ATTACHED:
            return False
        if _item(model, member) == _item(model, task) and unit_of_member(model, state, member) < 0:
            return False
    return True


@kernel
def _unit_at(model, state, member, p, node):
    """Return the first unit at a node where the member has room: of type p, or if it cannot run there, of the fastest
    type that has one; -1 if there is none."""
    kind, n_types = queries.task_type(model, state, member), model.affinity.shape[0]
    for i in range(model.ranking.shape[1]):
        q = p if model.affinity[p, kind] > 0.0 else np.int64(model.ranking[kind, i])
        if q < 0:
            break
        place = node * n_types + q
        for j in range(model.node_begin[place], model.node_begin[place + 1]):
            if queries.fits_itself(model, state, member, np.int64(model.node_unit[j])):
                return np.int64(model.node_unit[j])
        if q == p:
            break
    return np.int64(-1)


@kernel
def _lacks_a_place(model, state, task, unit, p):
    """Whether some member has no room anywhere even by itself, so that their places need not be searched for."""
    low, high = _nodes_within(model, task, unit)
    step = next_step(model, state, task, -1)
    while step >= 0:
        member = at_step(model, task, step)
        node = _next_open(model, state, member, p, low, high)
        while node >= 0 and _unit_at(model, state, member, p, node) < 0:
            node = _next_open(model, state, member, p, node + 1, high)
        if node < 0:
            return True
        step = next_step(model, state, task, step)
    return False


@kernel
def _hold(model, state, member, unit):
    """Let a member hold what it would hold on the unit, for as long as a place is looked for."""
    i = member - model.job_first[model.task_job[member]]
    state.gang_unit[i], state.gang_before[i] = unit, state.unit_load[unit]
    set_load(model, state, unit, state.unit_load[unit] + queries.demand(model, state, member, unit))
    hold_rest(model, state, member, queries.task_type(model, state, member), unit)


@kernel
def _release(model, state, member):
    """Undo this, with the very loads of before; the member that was held last comes first."""
    unit = unit_of_member(model, state, member)
    if model.kind_units.shape[0] > 0:
        for j in range(model.task_held[member + 1] - 1, model.task_held[member] - 1, -1):
            other = np.int64(state.held_unit[j])
            set_load(model, state, other, state.held_before[j])
            state.unit_held[other] -= 1
            state.held_unit[j] = -1
    set_load(model, state, unit, state.gang_before[member - model.job_first[model.task_job[member]]])
    renew_node(model, state, unit)


@inlined
def _is_held(model, state, task, step):
    """Whether the member of a step, other than the first task, is held."""
    member = at_step(model, task, step)
    return state.task_unit[member] == ATTACHED and unit_of_member(model, state, member) >= 0


@kernel
def _release_all(model, state, task):
    """Release all members; their units stay noted."""
    job = model.task_job[task]
    step = np.int64(model.job_first[job + 1] - model.job_first[job]) - 1
    while step >= 0:
        if _is_held(model, state, task, step):
            member = at_step(model, task, step)
            state.node_members[model.unit_node[unit_of_member(model, state, member)]] = 0
            _release(model, state, member)
        step -= 1
    state.node_members[model.unit_node[unit_of_member(model, state, task)]] = 0
    _release(model, state, task)


@kernel
def _try(model, state, task, unit, p):
    """Hold all members, as far as they have room. Returns whether all have."""
    job = model.task_job[task]
    n_tasks = np.int64(model.job_first[job + 1] - model.job_first[job])
    for i in range(n_tasks):
        state.gang_unit[i] = -1
    limit = np.int64(model.job_per_node[job])
    if limit == 0:
        limit = n_tasks
    low, high = _nodes_within(model, task, unit)
    home = np.int64(model.unit_node[unit])
    _hold(model, state, task, unit)
    state.node_members[home] = 1
    if model.job_nodes[job] > 0:
        return _hold_own_item(model, state, task, p, home) and _search(model, state, task, p, np.int64(1), low, high)
    if not model.job_spread[job] and all_alike(model, state, task):
        return _pack_alike(model, state, task, p, limit, low, high)
    return _search(model, state, task, p, limit, low, high)


@inlined
def _item(model, member):
    """Return the number of what goes to one node with a member: all tasks for one of the job's nodes if they are
    numbered, else only itself."""
    job = model.task_job[member]
    place = member - model.job_first[job]
    return place // model.job_per_node[job] if model.job_nodes[job] > 0 else place


@kernel
def _next_of_item(model, state, task, step):
    """Return the next step of the item that has that step; -1 if there is none."""
    following = next_step(model, state, task, step)
    if following >= 0 and _item(model, at_step(model, task, following)) == _item(model, at_step(model, task, step)):
        return following
    return np.int64(-1)


@kernel
def _next_item(model, state, task, step):
    """Return the first step, after ``step``, of an item that is not held; -1 if there is none."""
    step = next_step(model, state, task, step)
    while step >= 0 and _is_held(model, state, task, step):
        step = next_step(model, state, task, step)
    return step


@kernel
def _item_before(model, state, task, step):
    """Return the first step of the last item before that of ``step``; -1 if only that of the first task is."""
    found, own = np.int64(-1), _item(model, task)
    step -= 1
    while step >= 0:
        member = at_step(model, task, step)
        if state.task_unit[member] == ATTACHED and _item(model, member) != own:
            if found >= 0 and _item(model, member) != _item(model, at_step(model, task, found)):
                break
            found = step
        step -= 1
    return found


@kernel
def _are_items_alike(model, state, task, one, other):
    """Whether the items that begin with two steps demand the same, one by one."""
    while one >= 0 and other >= 0:
        if not are_alike(model, state, at_step(model, task, one), at_step(model, task, other)):
            return False
        one, other = _next_of_item(model, state, task, one), _next_of_item(model, state, task, other)
    return one < 0 and other < 0


@kernel
def _release_item(model, state, task, step):
    """Release the members of the item that begins with a step, or those of them that are held. Returns their node; -1
    if there are none."""
    node, last = np.int64(-1), np.int64(step)
    following = _next_of_item(model, state, task, last)
    while following >= 0:
        last = following
        following = _next_of_item(model, state, task, last)
    while last >= step:
        if _is_held(model, state, task, last):
            member = at_step(model, task, last)
            node = np.int64(model.unit_node[unit_of_member(model, state, member)])
            _release(model, state, member)
            state.gang_unit[member - model.job_first[model.task_job[task]]] = -1
        last -= 1
    return node


@kernel
def _hold_rest_of_item(model, state, task, step, p, node):
    """Hold the members of an item at a node, from a step on, as far as they have room. Returns whether all have."""
    while step >= 0:
        member = at_step(model, task, step)
        unit = _unit_at(model, state, member, p, node)
        if unit < 0:
            return False
        _hold(model, state, member, unit)
        step = _next_of_item(model, state, task, step)
    return True


@kernel
def _hold_own_item(model, state, task, p, home):
    """Do this for the other members of the first task's item."""
    step, own = next_step(model, state, task, -1), _item(model, task)
    while step >= 0 and _item(model, at_step(model, task, step)) != own:
        step = next_step(model, state, task, step)
    return _hold_rest_of_item(model, state, task, step, p, home)


@kernel
def _hold_item(model, state, task, step, p, node):
    """Hold all members of an item at a node, or none. Returns whether they have room."""
    if _hold_rest_of_item(model, state, task, step, p, node):
        state.node_members[node] += 1
        return True
    _release_item(model, state, task, step)
    return False


@kernel
def _any_holds(state, low, high, n):
    """Whether any node holds n items or more."""
    node = low
    while node < high and state.node_members[node] < n:
        node += 1
    return node < high


@kernel
def _hold_from(model, state, task, step, p, begin, limit, low, high):
    """Hold an item at its first place with room from number ``begin`` on. Returns its number, -1 if there is none.

    Packed, the places are the nodes, that of the first task first; spread, those without items, then those with one,
    and so on.
    """
    member, width = at_step(model, task, step), high - low
    if not _is_spread(model, task):
        home = np.int64(model.unit_node[unit_of_member(model, state, task)])
        if begin == 0 and state.node_members[home] < limit and _hold_item(model, state, task, step, p, home):
            return np.int64(0)
        node = _next_open(model, state, member, p, low + max(begin, 1) - 1, high)
        while node >= 0:
            is_open = node != home and state.node_members[node] < limit
            if is_open and _hold_item(model, state, task, step, p, node):
                return node - low + 1
            node = _next_open(model, state, member, p, node + 1, high)
        return np.int64(-1)
    n_items, node = begin // width, low + begin % width
    while n_items < limit and (n_items == 0 or _any_holds(state, low, high, n_items)):
        node = _next_open(model, state, member, p, node, high)
        while node >= 0:
            if state.node_members[node] == n_items and _hold_item(model, state, task, step, p, node):
                return n_items * width + node - low
            node = _next_open(model, state, member, p, node + 1, high)
        n_items, node = n_items + 1, low
    return np.int64(-1)


@inlined
def _is_spread(model, task):
    job = model.task_job[task]
    return model.job_spread[job] or model.job_nodes[job] > 0


@kernel
def _number_of_place(model, state, task, node, n_items, low, high):
    """Return the number of the place of an item at a node that has so many items without it."""
    if _is_spread(model, task):
        return n_items * (high - low) + node - low
    return np.int64(0) if node == model.unit_node[unit_of_member(model, state, task)] else node - low + 1


@kernel
def _search(model, state, task, p, limit, low, high):
    """Hold each item at a node, those that come first at their first possible place. Returns whether all are held."""
    item, begin, is_new, n_dead_ends = _next_item(model, state, task, -1), np.int64(0), True, 0
    while item >= 0:
        place = _hold_from(model, state, task, item, p, begin, limit, low, high)
        if place >= 0:
            following = _next_item(model, state, task, item)
            begin, is_new = np.int64(0), True
            if following >= 0 and _are_items_alike(model, state, task, item, following):
                begin = place + 1 if _is_spread(model, task) else place
            item = following
            continue
        n_dead_ends += 1
        if n_dead_ends > MOST_DEAD_ENDS:
            return False
        before = _item_before(model, state, task, item)
        while is_new and before >= 0 and _are_items_alike(model, state, task, before, item):
            state.node_members[_release_item(model, state, task, before)] -= 1
            before = _item_before(model, state, task, before)
        if before < 0:
            return False
        node = _release_item(model, state, task, before)
        state.node_members[node] -= 1
        begin = _number_of_place(model, state, task, node, np.int64(state.node_members[node]), low, high) + 1
        item, is_new = before, False
    return True


@kernel
def _fill(model, state, member, p, node, n):
    """Hold up to n members, from ``member`` on, at a node. Returns the next member, -1 if there is none left."""
    while n > 0 and member >= 0:
        unit = _unit_at(model, state, member, p, node)
        if unit < 0:
            break
        _hold(model, state, member, unit)
        n -= 1
        member = next_member(model, state, member)
    return member


OWN_DEMAND = -1.0  # as an amount: what a task takes of each unit that it runs on


@kernel
def _count_on(model, state, task, place, amount, most):
    """Return how many times the units of a type at a node, ``place``, have room for an amount, up to a number."""
    n = np.int64(0)
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = np.int64(model.node_unit[i])
        load, capacity = state.unit_load[unit], state.unit_open[unit]
        takes = amount if amount >= 0.0 else queries.demand(model, state, task, unit)
        while n < most and load < capacity * FULL and load + takes <= capacity * OVERFULL:
            load, n = load + takes, n + 1
        if n == most:
            break
    return n


def _is_anywhere(model, task, node):
    return True


@with_partitions(without=_is_anywhere)
def _is_at(model, task, node):
    """Whether a node is of the task's partition."""
    return model.partition_node[model.job_partition[model.task_job[task]], node]


@kernel
def _count_simple(model, state, task, p, node, most):
    """Return how many tasks that demand what ``task`` does, and for which ``_is_simple`` holds, a node has room for, up
    to a number. What they hold of a companion fills one of its units after another."""
    kind, n_types, n_leads = (
        queries.task_type(model, state, task),
        model.affinity.shape[0],
        _n_leads(model, state, task),
    )
    if model.affinity[p, kind] <= 0.0 or not _is_at(model, task, node):
        return np.int64(0)
    n = _count_on(model, state, task, node * n_types + p, OWN_DEMAND, most * n_leads) // n_leads
    for c in range(model.companion_type.shape[0]):
        q = np.int64(model.companion_type[c])
        if model.kind_companion[kind, q] > 0.0 and n > 0:
            n = _count_on(model, state, task, node * n_types + q, model.kind_companion[kind, q], n)
    return n


@kernel
def _offer(model, state, task, member, p, node, most, is_simple):
    """Return how many more members a node could take."""
    if is_simple:
        return _count_simple(model, state, task, p, node, most)
    n, last = np.int64(0), np.int64(-1)
    first = model.job_first[model.task_job[task]]
    while n < most and member >= 0:
        unit = _unit_at(model, state, member, p, node)
        if unit < 0:
            break
        _hold(model, state, member, unit)
        n, last = n + 1, member
        member = next_member(model, state, member)
    for _ in range(n):
        _release(model, state, last)
        state.gang_unit[last - first] = -1
        last -= 1
        while state.task_unit[last] != ATTACHED and last > task:
            last -= 1
    return n


@kernel
def _next_open(model, state, task, p, node, end):
    """Return the first of the nodes [node, end) that may have room for a task on type p; -1 if there is none."""
    kind = queries.task_type(model, state, task)
    if model.affinity[p, kind] > 0.0 and state.node_room.shape[0] > 0:
        lead = np.int64(model.kind_lead[kind, p])
        return node_index.next_node(model, state, kind, lead, node, end) if lead >= 0 else np.int64(-1)
    return node if node < end else np.int64(-1)


@kernel
def _pack_alike(model, state, task, p, limit, low, high):
    """Members that demand the same: the node of the first one is filled, then those that offer room for most."""
    first = model.job_first[model.task_job[task]]
    home = np.int64(model.unit_node[state.gang_unit[task - first]])
    member = _fill(model, state, next_member(model, state, task), p, home, limit - 1)
    if member < 0:
        return True
    left, total, most, other = np.int64(0), np.int64(0), np.int64(0), member
    while other >= 0:
        left += 1
        other = next_member(model, state, other)
    is_simple = _is_simple(model, state, task, p)
    state.node_offer[low:high] = 0
    node = _next_open(model, state, task, p, low, high)
    while node >= 0:
        if node != home:
            offer = _offer(model, state, task, member, p, node, min(limit, left), is_simple)
            state.node_offer[node] = offer
            total, most = total + offer, max(most, offer)
        node = _next_open(model, state, task, p, node + 1, high)
    if total < left:
        return False
    while member >= 0:
        following = np.int64(0)
        for node in range(low, high):
            if state.node_offer[node] == most and member >= 0:
                member = _fill(model, state, member, p, np.int64(node), most)
            elif state.node_offer[node] < most:
                following = max(following, np.int64(state.node_offer[node]))
        most = following
    return True
