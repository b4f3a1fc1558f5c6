"""How a policy gets into the compiled loop: bound by name and inlined, or called through a typed slot.

A bare experiment: one decision a turn, each depending on the one before; the decision is inlined, or behind a slot
(a first-class function) that is given one array, references to the model and the state, or all their arrays by value.
Then the two loops of VineSim: the policy inlined, or asked through a slot.
"""

import numba
import numpy as np
from numba import types

from benchmarks.cases import B_CONST, Case
from benchmarks.engine import loop_of
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, figure
from vinesim.engine.binding import bound_in_slot
from vinesim.policies.online.high import High
from vinesim.state.build import build_model
from vinesim.state.by_reference import Reference, by_reference
from vinesim.state.initial import build_state
from vinesim.state.kernel import OPTIONS


def choose(counts, now):
    return counts[0] & 1


def choose_of_all(model, state, now):
    return state.group_pending[0] & 1


def turns(decide, n, counts):
    total = np.int64(0)
    for i in range(n):
        kind = decide(counts, float(i))
        counts[0] = counts[0] * 6364136223846793005 + 1442695040888963407 + kind
        total += kind
    return total


def turns_by_value(decide, n, model, state):
    total = np.int64(0)
    for i in range(n):
        kind = decide(model, state, float(i))
        state.group_pending[0] = state.group_pending[0] * 6364136223846793005 + 1442695040888963407 + kind
        total += kind
    return total


def turns_by_reference(decide, n, model_arrays, state_arrays):
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    total = np.int64(0)
    for i in range(n):
        kind = decide(model, state, float(i))
        state.group_pending[0] = state.group_pending[0] * 6364136223846793005 + 1442695040888963407 + kind
        total += kind
    return total


def run(quick: bool) -> Report:
    n = 1_000_000 if quick else 5_000_000
    counts = np.array([5, 5])
    model = build_model(B_CONST.first(1000).scenario(), High.groups)
    state = build_state(model, 1)
    models, states = numba.typeof(model), numba.typeof(state)
    one = types.int64(numba.typeof(counts), types.float64)
    by_value = types.int64(models, states, types.float64)
    by_pointer = types.int64(Reference(models), Reference(states), types.float64)
    rows = []
    for what, loop, decide, slot, arguments in (
        ("one array", turns, choose, one, (counts,)),
        ("model and state, by reference", turns_by_reference, choose_of_all, by_pointer, (model, state)),
        ("model and state, by value", turns_by_value, choose_of_all, by_value, (model, state)),
    ):
        signature = (types.FunctionType(slot), types.int64, *(numba.typeof(a) for a in arguments))
        through = numba.njit(signature, **OPTIONS)(loop), numba.njit(slot, **OPTIONS)(decide)
        inlined = numba.njit(**OPTIONS)(loop), numba.njit(forceinline=True, **OPTIONS)(decide)
        times = []
        for kernel, function in (inlined, through):
            kernel(function, 10, *arguments)
            best_s, _ = best_of(5, lambda k=kernel, f=function, a=arguments: lambda: k(f, n, *a))
            times.append(best_s / n * 1e9)
        rows.append([what, *map(figure, times), figure(times[1] - times[0])])
    columns = ["The policy is given", "inlined, ns", "through a slot, ns", "the slot costs, ns"]
    tables = [Table("One call of a policy", columns, rows, "Bare decisions, best of 5.")]
    return Report([*tables, loops(B_CONST.first(100_000) if quick else B_CONST)])


def loops(case: Case) -> Table:
    """The event loop, in ns for a task."""
    rows = []
    for policy in ("high", "flat", "pref", "closer_to_data"):
        scenario = case.scenario(policy)
        inlined_s, inlined = best_of(5, lambda of=scenario: loop_of(of))
        slot_s, in_slot = best_of(5, lambda of=scenario: loop_of(of, bound_in_slot))
        if not np.array_equal(inlined, in_slot):
            raise RuntimeError(f"{policy}: the two loops differ")
        rows.append(
            [policy, *(figure(s / case.n_tasks * 1e9) for s in (inlined_s, slot_s)), figure(slot_s / inlined_s)]
        )
    columns = ["", "inlined, ns a task", "through the slot, ns a task", "x"]
    return Table("The event loop on B", columns, rows, "CPU time, best of 5.")
