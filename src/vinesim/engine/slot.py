"""One loop for all policies: machine code that is compiled once, and asks the policy through a slot.

The slot has the address of the policy's function, of its options and of its scratch. A further policy then costs its
own code only. As all that is called, it is given another copy of the model and the state than the loop reads
(``by_reference.outside``): if it knew that one, the loop would read the address of every array again after each answer,
and a task would take a third longer under HIGH.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from vinesim.state.by_reference import Arrays, ArraysType, Reference, by_reference, outside
from vinesim.state.layout import Action, View


class Slot(NamedTuple):
    """Addresses: of the function that asks the policy, and of what only this policy has."""

    function: int
    options: int
    scratch: int


SLOT = Reference(types.NamedUniTuple(types.int64, len(Slot._fields), Slot))
ACTION = types.NamedTuple((types.int64, types.int64, types.int64, types.int64, types.float64), Action)
NUMBERS = (types.float64, types.int64, types.int64, types.int64, types.int64)  # of a View
LIMITS = (types.boolean, types.boolean, types.float64, types.float64, types.int64)  # of a run


def types_of_loop(model, state):
    """The types of the arguments of the loop for all policies, of a model and a state of these types."""
    return model, state, SLOT, SLOT, *LIMITS


class Seen(Arrays):
    """A state's arrays for the code of a policy, of one type whether segments may end early or not: it is then compiled
    once for both. Policies do not ask which it is (``state/kernel.py``: ``ends_early``), as ``left`` is for those that
    preempt; the loop asks."""

    @property
    def _numba_type_(self):
        return _seen(super()._numba_type_)


@cache
def _seen(kind):
    arrays = dict(zip(kind.target.fields, kind.target.types, strict=True))
    arrays["task_left"] = types.Array(types.float64, 1, "C", readonly=True)
    return ArraysType(types.NamedTuple(arrays.values(), kind.target.instance_class))


def _called(context, builder, address, returns, kinds, arguments):
    """Call the compiled function at an address; what it raises is raised here."""
    kind = context.call_conv.get_function_type(returns, kinds)
    function = builder.inttoptr(address, kind.as_pointer())
    status, result = context.call_conv.call_function(builder, function, returns, kinds, arguments)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return result


@intrinsic
def ask(typing_context, model, state, view):
    """Ask the policy in the slot, which is in the place of the view's options. The loop calls this for ``decide``."""
    kinds = (model, state, *NUMBERS, types.voidptr, types.voidptr)

    def codegen(context, builder, signature, args):
        given = [builder.extract_value(args[2], i) for i in range(len(view))]
        numbers = [context.cast(builder, given[i], view[i], number) for i, number in enumerate(NUMBERS)]
        slot = given[View._fields.index("options")]
        function, *others = (builder.load(cgutils.gep_inbounds(builder, slot, 0, i)) for i in range(len(Slot._fields)))
        arrays = [outside(builder, kind, one) for kind, one in zip((model, state), args, strict=False)]
        own = [builder.inttoptr(one, cgutils.voidptr_t) for one in others]
        return _called(context, builder, function, ACTION, kinds, [*arrays, *numbers, *own])

    return ACTION(model, state, view), codegen


@intrinsic
def addresses(typing_context, function, model, state, options, scratch):
    """What a slot holds, for a model and a state of these types. The arrays stay there until the kernel returns."""
    read = (Reference(model.target), Reference(state.target), *NUMBERS, options, Reference(scratch.target))
    signature = function.get_call_type(typing_context, read, {})

    def codegen(context, builder, _, args):
        made = function.dispatcher.overloads[signature.args]
        context.active_code_library.add_linking_library(made.library)
        pointers = (context.declare_function(builder.module, made.fndesc), *args[3:])
        word = ir.IntType(64)
        return cgutils.pack_array(builder, [builder.ptrtoint(one, word) for one in pointers])

    return types.UniTuple(types.int64, len(Slot._fields))(function, model, state, options, scratch), codegen


@intrinsic
def call_loop(
    typing_context, loop, model, state, options, scratch, may_overcommit, sees_every_event, horizon_us, pause_us, most
):
    """Call the loop at the first address of ``loop``. What else there is in that tuple, it is given at the end."""
    kinds = model, state, options, scratch, *LIMITS

    def codegen(context, builder, signature, args):
        address, *others = cgutils.unpack_tuple(builder, args[0])
        return _called(context, builder, address, types.int64, (*kinds, *loop.types[1:]), [*args[1:], *others])

    return types.int64(loop, *kinds), codegen


def decide(model, state, view):
    raise NotImplementedError("the slot is not bound to a policy")


def answer(model, state, now_us, event, unit, job, task, options, scratch):
    """What is at the address in the slot: the policy, for which ``decide`` stands."""
    action = decide(model, state, View(now_us, event, unit, job, task, options, scratch))
    task, n_tasks, unit = np.int64(action.task), np.int64(action.n_tasks), np.int64(action.unit)
    return Action(np.int64(action.kind), task, n_tasks, unit, np.float64(action.until_us))


def run_in_slot(
    model_arrays,
    state_arrays,
    options,
    scratch_arrays,
    may_overcommit,
    sees_every_event,
    horizon_us,
    pause_us,
    max_events,
    loop,
):
    """Do what ``run_events`` does for the policy that ``answer`` is bound to, with the loop for all at an address."""
    function, given, scratch = addresses(answer, model_arrays, state_arrays, options, scratch_arrays)
    slot = by_reference(Slot(function, given, scratch))
    limits = may_overcommit, sees_every_event, horizon_us, pause_us, max_events
    return call_loop((loop,), model_arrays, state_arrays, slot, slot, *limits)
