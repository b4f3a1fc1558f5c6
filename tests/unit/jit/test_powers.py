"""``**`` in compiled code: the same number as in Python, to the last bit."""

import numpy as np
import pytest

from vinesim.jit.kernels import bound_copy, part
from vinesim.jit.parts import QuickCompiler


def of_two(x, y, powers):
    powers[0] = 2.0**x
    powers[1] = 0.5**x
    powers[2] = x**y
    powers[3] = y**2
    powers[4] = y**3.0
    powers[5] = y**0.5
    powers[6] = y ** int(x)
    y **= 7
    powers[7] = y
    powers[8] = int(x) ** 2


@pytest.mark.parametrize("module", ["vinesim.core.mine", "mine"])  # one's own policies, and the package
def test_powers_are_those_of_python_to_the_last_bit(module):
    import numba

    inner = bound_copy(of_two, {})
    inner.__module__ = module
    kernel = part(inner, False, error_model="python")

    def all_of(xs, ys, found):
        for i in range(len(xs)):
            kernel(xs[i], ys[i], found[i])

    compiled = numba.njit(_nrt=False, pipeline_class=QuickCompiler)(all_of)
    random = np.random.default_rng(0)
    xs, ys = random.uniform(0.0, 40.0, 4000), random.uniform(0.01, 100.0, 4000)
    found, expected = np.zeros((2, 4000, 9))
    compiled(xs, ys, found)
    for x, y, row in zip(xs.tolist(), ys.tolist(), expected, strict=True):
        of_two(x, y, row)
    assert (found == expected).all()
