"""What would have room if some running tasks left, and what a task would hold: tried in the ledger, and rolled back.
The meaning, for the reader, is in engine/reference_trial.py and state/places.py."""

import numpy as np

from vinesim.core import gang_members, gangs, ledger, pools, requests, rooms
from vinesim.core.features import GANGS, QUOTAS, REQUESTS, called
from vinesim.core.rooms import forget_found
from vinesim.core.tasks import is_of_gang, next_member
from vinesim.jit.intrinsics import not_negative
from vinesim.state import places, queries
from vinesim.state.places import gang_of
from vinesim.state.shortcuts import is_room_local

ANY = -1  # node


@called
def begin_trial(model, state):
    return ledger.mark(state)


@called
def suppose_away(model, state, others, begin, end):
    for i in range(begin, min(end, others.shape[0])):
        if runs(state, np.int64(others[i])):
            release(model, state, np.int64(others[i]), ANY)
    forget_found(state)
    return ledger.here(state)


@called
def undo(model, state, position):
    ledger.undo_to(model, state, position)
    forget_found(state)


@called
def end_trial(model, state, begun):
    ledger.rollback(model, state, begun)
    forget_found(state)


def release(model, state, other, node):
    """Suppose that a running task, with its gang, holds nothing: at a node, or at ANY."""
    first, end = gang_of(model, other)
    for task in range(first, end):
        unit = np.int64(state.task_unit[task])
        if state.task_slot[task] >= 0 and (node == ANY or model.unit_node[unit] == node):
            ledger.release(model, state, np.int64(task), not_negative(unit))


def runs(state, task):
    return task >= 0 and task < state.run[0].n_arrived and state.task_slot[task] >= 0


@called
def put_back(model, state, other):
    """Give a task and its gang again what they held, if there is room for all. Returns whether there is."""
    first, end = gang_of(model, other)
    marked = ledger.mark(state)
    for task in range(first, end):
        if state.task_slot[task] >= 0:
            unit = not_negative(np.int64(state.task_unit[task]))
            ledger.take_again(model, state, np.int64(task), unit)
            if not ledger.has_room_for_all(model, state, np.int64(task), unit):
                ledger.rollback(model, state, marked)
                return False
    ledger.keep(state)
    return True


@called
def suppose_there(model, state, task, unit):
    """Suppose that a pending task, with those that are attached to it, holds what it would hold; its place was
    found."""
    if not GANGS or not is_of_gang(model, task):
        hold(model, state, task, unit)
        return
    if REQUESTS and requests.is_request(model, task):
        requests.find_units(model, state, task, unit)
    member, step = np.int64(task), np.int64(-1)
    while member >= 0:
        hold(model, state, member, gang_members.unit_of(model, state, member))
        member, step = next_member(model, state, task, step)


@called
def hold(model, state, task, unit):
    ledger.take(model, state, task, not_negative(unit))
    ledger.forget(model, state, task)


@called
def fastest_free_without(model, state, task, others, n):
    begun = begin_trial(model, state)
    suppose_away(model, state, others, np.int64(0), n)
    unit = rooms.fastest_free(model, state, task)
    end_trial(model, state, begun)
    return unit


@called
def fastest_free_after(model, state, task, others, n):
    if QUOTAS:
        pools.note_held(state)
        leave_quotas(model, state, others, n)
    unit = fastest_free_without(model, state, task, others, n)
    if QUOTAS:
        pools.as_noted(state)
    return unit


@called
def leave_quotas(model, state, others, n):
    """Suppose that the first n of ``others`` that run, with their gangs, count against no quota."""
    for i in range(min(n, others.shape[0])):
        if runs(state, np.int64(others[i])):
            first, end = gang_of(model, np.int64(others[i]))
            for task in range(first, end):
                if state.task_slot[task] >= 0:
                    pools.count(model, state, np.int64(task), np.int64(state.task_unit[task]), -1)


@called
def victims_for(model, state, task, unit, others, n, found):
    begun, n_found = begin_trial(model, state), np.int64(0)
    suppose_away(model, state, others, np.int64(0), n)
    if queries.fits(model, state, task, not_negative(unit)):
        suppose_there(model, state, np.int64(task), np.int64(unit))
        for i in range(min(n, others.shape[0]) - 1, -1, -1):
            other = np.int64(others[i])
            if runs(state, other) and not put_back(model, state, other):
                found[n_found] = other
                n_found += 1
    end_trial(model, state, begun)
    return n_found


@called
def has_place_without(model, state, task, node, others, n):
    begun, is_found = begin_trial(model, state), False
    for i in range(min(n, others.shape[0])):
        other = not_negative(np.int64(others[i]))
        unit = np.int64(state.task_unit[other])
        if unit >= 0 and (model.unit_node[not_negative(unit)] == node or (GANGS and is_of_gang(model, other))):
            release(model, state, other, np.int64(node))
    forget_found(state)
    for member in range(task, places.end_of_members(model, state, task)):
        if places.is_member(model, state, task, member):
            for unit in range(model.node_first[node], model.node_first[node + 1]):
                is_found = is_found or queries.fits_itself(model, state, np.int64(member), not_negative(unit))
    end_trial(model, state, begun)
    return is_found


# Reservations: what tasks find of a unit for a while (state/places.py)


@called
def set_hypothetical_capacity(model, state, unit, capacity):
    ledger.set_open(model, state, not_negative(unit), capacity)
    forget_found(state)


@called
def set_hypothetical_begin(model, state, begin_us):
    state.run[0].begin_us = begin_us
    forget_found(state)


def hypothetical_begin_us(model, state):
    return max(state.run[0].now_us, state.run[0].begin_us)


@called
def note_place(model, state, rows, task, unit):
    if not GANGS or not is_of_gang(model, task):
        places.note_rows(model, state, rows, task, unit)
    elif queries.fits(model, state, task, not_negative(unit)):
        if REQUESTS and requests.is_request(model, task):
            requests.find_units(model, state, task, unit)
        marked, member, step = ledger.mark(state), np.int64(task), np.int64(-1)
        while member >= 0:
            own = gang_members.unit_of(model, state, member)
            places.note_rows(model, state, rows, member, own)
            hold(model, state, member, own)
            member, step = next_member(model, state, task, step)
        ledger.rollback(model, state, marked)
        forget_found(state)


@called
def room_at(model, state, task, processor_type, node, most):
    p, node, most = np.int64(processor_type), np.int64(node), np.int64(most)
    if gangs.n_leads(model, state, task) == 1 and is_room_local(model):
        return gangs.count_simple(model, state, task, p, node, most)
    marked, n, unit = ledger.mark(state), np.int64(0), np.int64(0)
    while n < most and unit >= 0:
        unit = gang_members.unit_at(model, state, task, p, node)
        if unit >= 0:
            hold(model, state, task, unit)
            n += 1
    ledger.rollback(model, state, marked)
    return n
