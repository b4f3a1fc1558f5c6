"""Which kernels stay calls. The others are inlined where they are called: short steps, and what most tasks go
through."""

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def called(function: Function) -> Function:
    """Mark a kernel that stays a call: it is long, or seldom needed, so that inlined it would only take time to
    compile."""
    function.is_called = True  # type: ignore[attr-defined]
    return function
