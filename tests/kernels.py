"""Kernels of the core, called by a function of a test."""

from typing import Any

from numba import njit

from vinesim.core.features import ALL, Features
from vinesim.core.special import Special
from vinesim.jit.kernels import OPTIONS, bound_copy
from vinesim.jit.parts import QuickCompiler


def with_kernels(function: Any, features: Features = ALL) -> Any:
    """A test's function, compiled with the kernels that it calls, for runs with these features."""
    bound = bound_copy(function, Special(features, {}).bound_names(function))
    return njit(**OPTIONS, pipeline_class=QuickCompiler)(bound)
