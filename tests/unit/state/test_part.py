"""Kernels that only other kernels call: whether they are inlined, how often they are compiled."""

from types import FunctionType

import numpy as np
import pytest
from numba import njit
from numba.core.compiler import Flags
from numba.core.targetconfig import TargetConfig

from vinesim.state.kernel import OPTIONS, inlined, kernel
from vinesim.state.part import QuickCompiler, QuickFlags


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


def test_the_compiler_does_not_hash_all_its_flags_again_and_again(monkeypatch):
    made = compiled(once, {"middle": kernel(double)})
    hashed = []
    monkeypatch.setattr(TargetConfig, "__hash__", lambda flags: hashed.append(flags) or 0)
    assert made(np.arange(5), 3) == 6
    assert hashed == []
