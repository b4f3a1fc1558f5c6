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
    forget_earlier_places,
    forget_places,
    next_member,
    unit_of_member,
)
from vinesim.state.holding import hold_rest, index_room, note_change, renew_node, set_load
from vinesim.state.indexed_room import forget_found
from vinesim.state.kernel import has_gangs, kernel
from vinesim.state.layout import ATTACHED, FULL, OF_REQUEST, OVERFULL, PENDING
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
    is_found = _try(model, state, task, unit, p)
    _release_all(model, state, task)
    if is_found:
        run.gang_task, run.gang_anchor = task, unit
    elif _is_simple(model, state, task, p) and all_alike(model, state, task):
        # then it does not matter on which unit of the type the first member runs
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
        member = np.int64(task)
        while member >= 0:
            own = unit_of_member(model, state, member)
            places.note_rows(model, state, rows, member, own)
            _hold(model, state, member, own)
            member = next_member(model, state, member)
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
def _hold(model, state, member, unit):
    """Let a member hold what it would hold on the unit, for as long as a place is looked for."""
    i = member - model.job_first[model.task_job[member]]
    state.gang_unit[i], state.gang_before[i] = unit, state.unit_load[unit]
    state.node_members[model.unit_node[unit]] += 1
    set_load(model, state, unit, state.unit_load[unit] + queries.demand(model, state, member, unit))
    hold_rest(model, state, member, queries.task_type(model, state, member), unit)


@kernel
def _release(model, state, member):
    """Undo this, with the very loads of before; the member that was held last comes first."""
    i = member - model.job_first[model.task_job[member]]
    unit = np.int64(state.gang_unit[i])
    if model.kind_units.shape[0] > 0:
        for j in range(model.task_held[member + 1] - 1, model.task_held[member] - 1, -1):
            other = np.int64(state.held_unit[j])
            set_load(model, state, other, state.held_before[j])
            state.unit_held[other] -= 1
            state.held_unit[j] = -1
    set_load(model, state, unit, state.gang_before[i])
    state.node_members[model.unit_node[unit]] -= 1
    renew_node(model, state, unit)


@kernel
def _release_all(model, state, task):
    """Release all members; their units stay noted."""
    first = model.job_first[model.task_job[task]]
    member = model.job_first[model.task_job[task] + 1] - 1
    while member >= task:
        is_member = member == task or state.task_unit[member] == ATTACHED
        if is_member and state.gang_unit[member - first] >= 0:
            _release(model, state, member)
        member -= 1


@kernel
def _try(model, state, task, unit, p):
    """Hold all members, as far as they have room. Returns whether all have."""
    job, member = model.task_job[task], np.int64(task)
    first = model.job_first[job]
    while member >= 0:
        state.gang_unit[member - first] = -1
        member = next_member(model, state, member)
    limit = np.int64(model.job_per_node[job])
    if limit == 0:
        limit = np.int64(model.job_first[job + 1] - first)
    low, high = _nodes_within(model, task, unit)
    _hold(model, state, task, unit)
    if model.job_spread[job]:
        return _spread(model, state, task, p, limit, low, high)
    if all_alike(model, state, task):
        return _pack_alike(model, state, task, p, limit, low, high)
    return _pack(model, state, task, p, limit, low, high)


@kernel
def _any_holds(state, low, high, n):
    """Whether any node holds n members or more."""
    node = low
    while node < high and state.node_members[node] < n:
        node += 1
    return node < high


@kernel
def _spread(model, state, task, p, limit, low, high):
    """One member a node, round by round, each at the first node with room for it."""
    level, begin, before = np.int64(1), low, np.int64(task)
    member = next_member(model, state, task)
    while member >= 0:
        if not are_alike(model, state, before, member):  # else no node before has room for it in this round
            level, begin = np.int64(1), low
        unit = np.int64(-1)
        while level <= limit:
            node = begin
            while unit < 0 and node < high:
                if state.node_members[node] < level:
                    unit = _unit_at(model, state, member, p, node)
                node += 1
            if unit >= 0 or not _any_holds(state, low, high, level):
                break
            level, begin = level + 1, low
        if unit < 0:
            return False
        _hold(model, state, member, unit)
        begin, before = np.int64(model.unit_node[unit]) + 1, member
        member = next_member(model, state, member)
    return True


@kernel
def _pack(model, state, task, p, limit, low, high):
    """Each member at the node of the first one, or else at the first node with room for it."""
    home = np.int64(model.unit_node[state.gang_unit[task - model.job_first[model.task_job[task]]]])
    member = next_member(model, state, task)
    while member >= 0:
        unit = _unit_at(model, state, member, p, home) if state.node_members[home] < limit else np.int64(-1)
        node = low
        while unit < 0 and node < high:
            if state.node_members[node] < limit:
                unit = _unit_at(model, state, member, p, node)
            node += 1
        if unit < 0:
            return False
        _hold(model, state, member, unit)
        member = next_member(model, state, member)
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
