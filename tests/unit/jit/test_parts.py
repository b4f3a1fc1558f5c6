"""Kernels that only other kernels call: whether they are inlined, how often they are compiled."""

import operator
from functools import partial, wraps
from sys import _getframe
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite.binding import ffi
from numba import literally, njit
from numba.core import analysis, base, postproc
from numba.core.compiler import Flags
from numba.core.cpu import CPUContext
from numba.core.dispatcher import _FunctionCompiler
from numba.core.errors import TypingError
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction
from numba.core.typing import context
from numba.core.typing.templates import AbstractTemplate

from vinesim.core.bits import at_or_after, at_or_before
from vinesim.core.features import ALL
from vinesim.core.special import Special
from vinesim.jit.kernels import OPTIONS, bound_copy, inlined, part, types_of
from vinesim.jit.parts import QuickCompiler, are_enough_for
from vinesim.jit.passes import QuickFlags, asking_once
from vinesim.jit.reference import Arrays, Reference


def kernel(function):
    """A kernel that stays a call."""
    return part(function, is_inlined=False)


def double(array, i):
    return 2 * array[i]


def once(array, i):
    return middle(array, i)


def with_a_constant_too(array, i):
    return middle(array, i) + middle(array, 7)


def applied(function, array, i):
    raise NotImplementedError("not bound")


def doubled(array, i):
    raise NotImplementedError("not bound")


def middle(array, i):
    raise NotImplementedError("not bound")


def compiled(source, names):
    """Compile a function with some names bound; nothing is kept on the disk."""
    copy = FunctionType(source.__code__, {**source.__globals__, **names})
    return njit(**OPTIONS, pipeline_class=QuickCompiler)(copy)


def test_a_call_stays_a_call_in_a_kernel_that_is_inlined():
    called = kernel(double)
    caller = inlined(lambda array, i: called(array, i) + 1)
    assert compiled(once, {"middle": caller})(np.arange(5), 3) == 7
    assert [made.fndesc.inline for made in caller.overloads.values()] == [True]
    assert [made.fndesc.inline for made in called.overloads.values()] == [False]


def test_a_part_is_compiled_once_for_constants_and_numbers():
    called = kernel(double)
    assert compiled(with_a_constant_too, {"middle": called})(np.arange(9), 3) == 20
    assert len(called.overloads) == 1


def with_other_whole_numbers(array, i):
    return middle(array, i) + middle(array, np.int32(i)) + middle(array, np.uint8(i)) + middle(array, i > 0)


def test_a_part_is_compiled_once_for_whole_numbers_of_all_sizes_but_not_for_truth():
    called = kernel(lambda array, i: 2 * i)
    assert compiled(with_other_whole_numbers, {"middle": called})(np.arange(9), 3) == 3 * 6 + 2
    assert [str(args[1]) for args in called.overloads] == ["int64", "bool"]


def test_options_that_begin_with_the_same_fields_are_distinguished():
    """Numba takes the longer record for a kind of the shorter one, and warns of that, which is an error in tests."""
    called = kernel(lambda options, i: options.first + i)
    made = compiled(once, {"middle": called})
    for fields in (["first"], ["first", "second"], ["first"]):
        options = np.ones(1, [(name, "i8") for name in fields]).view(np.recarray)[0]
        assert made(options, 2) == 3
    assert len(called.overloads) == 2


def test_a_number_that_int64_does_not_hold_stays_as_it_is():
    called = kernel(lambda array, i: i >> 1)
    assert compiled(once, {"middle": called})(np.arange(9), np.uint64(1 << 63)) == 1 << 62


def test_code_of_a_part_is_in_no_other_part():
    lowest = kernel(double)
    lower = kernel(lambda array, i: lowest(array, i) + 1)
    upper = inlined(lambda array, i: lower(array, i) + lowest(array, i))
    made = compiled(once, {"middle": upper})
    assert made(np.arange(5), 3) == 13
    for one in (lowest, lower, upper):
        (of_it,) = one.overloads.values()
        assert len(list(of_it.library.get_defined_functions())) == 1


def test_a_kernel_that_numba_compiles_has_the_code_of_parts_and_of_what_they_call():
    lowest = kernel(double)
    lower = kernel(lambda array, i: lowest(array, i) + min(i, 1))
    copy = FunctionType(once.__code__, {"middle": lower})
    assert njit(copy)(np.arange(5), 3) == 7


def test_a_function_of_numba_is_compiled_once_for_parts_that_are_inlined_checked_or_neither(monkeypatch):
    def least(array, i):
        return min(array[i], array[0] + 7)

    one, other = part(least, is_inlined=False, checks_bounds=True), part(least, is_inlined=True)
    upper = kernel(lambda array, i: one(array, i) + other(array, i))
    compiles, names = _FunctionCompiler.compile, []
    monkeypatch.setattr(
        _FunctionCompiler,
        "compile",
        lambda made, *args: names.append(made.py_func.__qualname__) or compiles(made, *args),
    )
    assert compiled(once, {"middle": upper})(np.arange(5, dtype=np.float32), 3) == 6
    assert sum("min" in name for name in names) == 1


def test_a_part_that_needs_a_value_to_be_compiled_is_refused():
    with pytest.raises(TypingError, match="needs the value of an argument when it is compiled"):
        compiled(once, {"middle": kernel(lambda array, i: literally(i))})(np.arange(5), 3)


def with_a_function_within(array, i):
    def larger(j):
        return j + i

    return array[larger(0)]


def test_the_packages_own_kernels_go_through_fewer_passes():
    assert are_enough_for(at_or_after)
    assert not are_enough_for(double)  # of another module
    copy = FunctionType(with_a_function_within.__code__, {"__name__": "vinesim.core.bits"})
    assert not are_enough_for(copy)
    assert compiled(once, {"middle": kernel(copy)})(np.arange(5), 3) == 3


def in_three_levels(words, words_1, words_2, row, i):
    return middle(words, words_1, words_2, row, i)


@pytest.mark.parametrize("source", [at_or_after, at_or_before])
def test_fewer_passes_make_the_same_code(source, monkeypatch):
    def operations():
        bound = Special(ALL, {}).part(source).py_func
        made = inlined(bound)
        kept = compiled(in_three_levels, {"middle": made})
        words = np.zeros((1, 2), np.uint64)
        assert kept(words, words, words, 0, 70) == -1
        (one,) = kept.overloads.values()
        return [line.opcode for body in one.library._final_module.functions for block in body.blocks
                for line in block.instructions]  # fmt: skip

    with_fewer = operations()
    monkeypatch.setattr("vinesim.jit.parts.are_enough_for", lambda function: False)
    assert len(with_fewer) > 100
    assert operations() == with_fewer


def test_where_variables_die_is_found_out_only_in_code_of_others(monkeypatch):
    whole, find, asked = postproc.PostProcessor, analysis.compute_dead_maps, []
    monkeypatch.setattr(analysis, "compute_dead_maps", lambda *given: asked.append(given) or find(*given))
    words = np.zeros((1, 2), np.uint64)
    inlined(Special(ALL, {}).part(at_or_after).py_func).compile(types_of(words, words, words, 0, 70))
    assert not asked
    assert postproc.PostProcessor is whole
    kernel(double).compile(types_of(np.arange(5), 3))
    assert asked


def test_a_part_is_not_called_from_python():
    with pytest.raises(TypeError, match="double is part of other kernels"):
        kernel(double)(np.arange(5), 3)


def with_an_argument(array, i):
    return applied(doubled, array, i)


def test_a_part_as_an_argument_leaves_no_address_in_code_that_is_kept():
    names = {"applied": kernel(lambda function, array, i: function(array, i)), "doubled": inlined(double)}
    made = compiled(with_an_argument, names)
    assert made(np.arange(5), 3) == 6
    assert not any(one.library.has_dynamic_globals for one in made.overloads.values())


def test_quick_flags_are_equal_where_those_of_the_compiler_are():
    def flags(**options):
        made = Flags()
        for name, value in options.items():
            setattr(made, name, value)
        return made

    cases = [flags(), flags(nrt=True), flags(nrt=False), flags(forceinline=True), flags(nrt=True, forceinline=True)]
    for one in cases:
        assert hash(QuickFlags(one)) == hash(one)
        for other in cases:
            alike = one == other
            assert (QuickFlags(one) == QuickFlags(other)) == (QuickFlags(one) == other) == alike
            assert (QuickFlags(one) != QuickFlags(other)) == (not alike)


def test_the_compiler_does_not_compare_all_its_flags_again_and_again(monkeypatch):
    made = compiled(once, {"middle": inlined(double)})
    values, read = TargetConfig.values, []
    monkeypatch.setattr(TargetConfig, "values", lambda flags: read.append(_getframe(1).f_code.co_name) or values(flags))
    assert made(np.arange(5), 3) == 6
    assert "__eq__" not in read


def test_the_compiler_does_not_hash_all_its_flags_again_and_again(monkeypatch):
    made = compiled(once, {"middle": kernel(double)})
    hashed = []
    monkeypatch.setattr(TargetConfig, "__hash__", lambda flags: hashed.append(flags) or 0)
    assert made(np.arange(5), 3) == 6
    assert hashed == []


def in_several_ways(array, i):
    return array[i] + array[i + 1] + array[i + 2]


def test_the_signature_of_an_operator_is_found_once_for_arguments_of_the_same_types(monkeypatch):
    asked, find = [], AbstractTemplate.apply
    monkeypatch.setattr(AbstractTemplate, "apply", lambda self, *given: asked.append(self.key) or find(self, *given))
    copies = [bound_copy(in_several_ways, {}) for _ in range(2)]
    for copy in copies:
        copy.__module__ = "vinesim.core.bits"
    kinds = types_of(np.arange(5, dtype=np.uint16), 3)
    with asking_once():
        inlined(copies[0]).compile(kinds)
        found = asked.count(operator.getitem)
        inlined(copies[1]).compile(kinds)
        assert 0 < found == asked.count(operator.getitem)
    inlined(bound_copy(copies[0], {})).compile(kinds)
    assert asked.count(operator.getitem) > found


def test_code_that_others_compile_does_not_learn_from_kernels(monkeypatch):
    """It may be compiled with other flags, and so may what it calls."""
    asked, find = [], AbstractTemplate.apply
    monkeypatch.setattr(AbstractTemplate, "apply", lambda self, *given: asked.append(self.key) or find(self, *given))
    kinds = types_of(np.arange(5, dtype=np.int16), 3)
    with asking_once():
        inlined(bound_copy(in_several_ways, {})).compile(kinds)
        known = asked.count(operator.getitem)
        njit(bound_copy(in_several_ways, {})).compile(kinds)
    assert asked.count(operator.getitem) > known


def test_what_is_remembered_while_kernels_are_compiled_is_forgotten_also_after_an_error():
    def replaced():
        refreshes = base.BaseContext.refresh, context.BaseContext.refresh
        return BaseFunction.get_call_type, *refreshes, base._has_loc, ffi.lib._lock._cblist

    changed = replaced()

    def fail():
        with asking_once():
            assert not any(one is other for one, other in zip(replaced(), changed, strict=True))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert replaced() == changed


def test_whether_an_implementation_takes_its_place_is_found_out_as_numba_does():
    def wrapped(context, builder, signature, args): ...

    cases = [lambda context, *, loc=None: None, lambda context, loc: None, lambda context: context.loc]
    cases += [wraps(wrapped)(cases[0]), partial(cases[0])]
    expected = [base._has_loc(one) for one in cases]
    assert set(expected) == {True, False}
    with asking_once():
        assert [base._has_loc(one) for one in cases] == expected


def test_modules_are_asked_once_for_what_they_have_registered(monkeypatch):
    asked, load = [], CPUContext.load_additional_registries
    monkeypatch.setattr(CPUContext, "load_additional_registries", lambda self: asked.append(self) or load(self))
    with asking_once():
        compiled(once, {"middle": inlined(double)}).compile(types_of(np.arange(5), 3))
    assert len(asked) == 1


class Many(NamedTuple):
    first: np.ndarray
    second: np.ndarray


def test_the_text_of_code_does_not_spell_out_all_that_a_reference_leads_to():
    of_arrays = types_of(Arrays(Many(np.zeros((2, 2)), np.arange(5))))[0]
    reads = kernel(lambda many, i: many.second[i])
    reads.compile((Reference(of_arrays.target), *types_of(3)))
    (one,) = reads.overloads.values()
    text = str(one.library._final_module)
    assert "[1 x i64]" in text  # the shape of the array that is read
    assert "[2 x i64]" not in text  # that of the other one
