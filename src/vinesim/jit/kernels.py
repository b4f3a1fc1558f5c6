"""How the package compiles and caches its kernels.

``_nrt=False``: kernels allocate nothing, so arrays need no reference counts, which made the loop 5 times slower.
``forceinline``: small steps become part of the loop instead of being called. Steps that are called get other references
to the model and the state than the loop's own (``jit/reference.py``). Otherwise the loop would reload the address of
every array after each call, and a task would take a fifth longer, or a third if it holds several units.
"""

import gc
import sys
import types as python
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba import prange as prange  # for kernels of other packages
from numba.core.typing.typeof import typeof
from numba.np import linalg

from vinesim.jit import machine_code
from vinesim.jit.disk import DiskCache
from vinesim.jit.machine_code import name_of
from vinesim.jit.parts import Part, QuickCompiler
from vinesim.jit.passes import asking_once

if "numba.np.arraymath" not in sys.modules:
    # Numba checks for SciPy's linear algebra by importing it, which takes longer than the rest of a small run. No
    # kernel here needs it; a user's kernel that does checks again when it is compiled.
    _ensure_blas, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        import numba.np.arraymath
    finally:
        linalg.ensure_blas = _ensure_blas

NUMBA, NUMBA_VERSION = Path(numba.__file__).parent, numba.__version__
OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "nogil": True}


def part(function: Any, is_inlined: bool, checks_bounds: bool = False, error_model: str = "numpy") -> Part:
    """Return a kernel that other kernels call. Every option is set, because Numba would inherit the caller's."""
    wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    own = {"forceinline": is_inlined, "boundscheck": checks_bounds, "error_model": error_model}
    return Part(function, {**OPTIONS, **wrappers, **own})


inlined = partial(part, is_inlined=True)


def bound_copy(function: Any, names: dict[str, Any], title: str = "", cells: list[Any] | None = None) -> Any:
    """Return a copy of a function with other values for some of its global names, and, with ``cells``, its closure."""
    closure = function.__closure__ if cells is None else tuple(map(python.CellType, cells)) or None
    known = {**function.__globals__, **names}
    copy = python.FunctionType(function.__code__, known, title or function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    copy.__qualname__ = title or function.__qualname__
    return copy


def cached_kernel(source: Any, digest: str, names: dict[str, Any], title: str = "", **options: Any) -> Any:
    """Return a kernel that Python calls, made from ``source`` with some of its names bound.

    Its code is kept on the disk under ``digest``, the hash of everything that it is made from, and under ``title`` or
    the name of ``source``.
    """
    bound = bound_copy(source, names, name_of(title or source.__name__, digest))
    made = njit(**{**OPTIONS, "no_cfunc_wrapper": True, **options}, pipeline_class=QuickCompiler)(bound)
    made.compile = _without_collections(made.compile)
    try:
        made._cache = DiskCache(bound)
    except RuntimeError:
        machine_code.tell_not_kept(machine_code.why_no_folder())
    return made


def types_of(*arguments: Any) -> tuple[Any, ...]:
    """Return Numba's types of Python arguments."""
    return tuple(map(typeof, arguments))


def address_for(made: Any, kinds: tuple[Any, ...]) -> int:
    """Return the address of a kernel's code for arguments of these types; compile or load it if needed."""
    made.compile(kinds)
    found = made.overloads[kinds]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def _without_collections(compiles: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compile function of a kernel, with garbage collection off and with cached lookups.

    Numba creates millions of objects; searching them for cycles took a quarter of the time.
    """

    @wraps(compiles)
    def compiles_at_once(*args: Any) -> Any:
        was_on = gc.isenabled()
        gc.disable()
        try:
            with asking_once():
                return compiles(*args)
        finally:
            if was_on:
                gc.enable()

    return compiles_at_once
