"""The compiler passes for kernels: half of Numba's, and faster.

The passes left out handle features that kernels do not use, such as closures, ``with`` and array expressions. Numba
also recomputes the lifetimes of all variables after each pass, which kernels do not need. The remaining passes cache
lookups: the signature of an operator for given types, and the functions registered with Numba.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from llvmlite.binding import ffi
from numba.core import (
    base,
    cgutils,
    interpreter,
    postproc,
    transforms,
    typed_passes,
    types,
    untyped_passes,
)
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.targetconfig import ConfigStack
from numba.core.types import functions
from numba.core.typing import context

from vinesim.jit.powers import Powers


class _Lower(Lower):
    """Numba's lowering without the sizes of variables, which only debuggers need."""

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        super().storevar(value, name)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.BaseNativeLowering):
    _name: Any = "quick_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _Lower


LEFT_OUT = (interpreter.peep_hole_delete_with_exit, interpreter.peep_hole_fuse_dict_add_updates)


class _Interpreter(interpreter.Interpreter):
    """Numba's interpreter, without two searches of all statements: for the remains of ``with`` blocks, and for
    dictionaries that are built in steps."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        return super().post_process([one for one in peepholes if one not in LEFT_OUT], func_ir)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Translation(untyped_passes.TranslateByteCode):
    _name: Any = "quick_translation"

    def run_pass(self, state: Any) -> bool:
        state["func_ir"] = _Interpreter(state["func_id"]).interpret(state["bc"])
        return True


PASSES = (
    *(_Translation, untyped_passes.FixupArgs, untyped_passes.IRProcessing, Powers),
    *(untyped_passes.RewriteSemanticConstants, untyped_passes.DeadBranchPrune, untyped_passes.GenericRewrites),
    *(untyped_passes.IRProcessing, untyped_passes.ReconstructSSA, untyped_passes.IRProcessing),
    *(typed_passes.NopythonTypeInference, typed_passes.PreLowerStripPhis, typed_passes.IRLegalization),
    *(_Lowering, typed_passes.NoPythonBackend),
)


NESTED = (typed_passes.NopythonTypeInference, _Lowering, typed_passes.NoPythonBackend)  # they compile other functions


class _PostProcessor(postproc.PostProcessor):
    """Numba's post-processor without the ends of variables' lifetimes: kernels count no references.

    Finding them took a tenth of the passes' time.
    """

    def run(self, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        code.blocks = transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)  # computed on demand
        code.generator_info = None


class QuickPasses(PassManager):
    """Numba's pass manager with PASSES. IRProcessing runs only where later passes need it."""

    def __init__(self) -> None:
        super().__init__("nopython")
        for one in PASSES:
            self.add_pass(one, "nopython frontend" if one is typed_passes.NopythonTypeInference else one._name)
        self.finalize()

    def _runPass(self, index: int, one: Any, state: Any) -> None:  # noqa: N802  as Numba calls it
        one.analysis = self._analysis
        if isinstance(one, NESTED):
            one.run_pass(state)
            return
        whole = postproc.PostProcessor
        postproc.PostProcessor = _PostProcessor  # type: ignore[misc]
        try:
            one.run_pass(state)
        finally:
            postproc.PostProcessor = whole  # type: ignore[misc]


def are_enough_for(function: Any) -> bool:
    """Whether these passes suffice for a function: it is VineSim's, and contains no other function."""
    is_own = (function.__module__ or "").startswith("vinesim.")
    return is_own and not any(isinstance(one, CodeType) for one in function.__code__.co_consts)


class QuickFlags(Flags):
    """Numba's flags with faster comparisons. Numba reads all 45 for each hash and comparison, 40,000 times per loop."""

    __slots__ = ("signatures",)
    signatures: dict[Any, Any]  # of the functions called with these flags, by the types of their arguments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._values.keys() | other._values.keys())

    def __hash__(self) -> int:
        return _HASH

    def copy(self) -> Any:
        """Return the flags that Numba's own functions, such as ``min``, inherit: not those about inlining and checks.

        They are therefore compiled once for all callers.
        """
        inherited = super().copy()
        for name in ("forceinline", "boundscheck", "no_cfunc_wrapper", "no_cpython_wrapper"):
            inherited.discard(name)
        known = next((one for one in _inherited if one == inherited), None)
        if known is None:
            _inherited.append(inherited)
        inherited.signatures = {} if known is None else known.signatures
        return inherited


_inherited: list[Any] = []  # each distinct set of inherited flags
_HASH = hash(Flags())  # Numba's hash covers only the names, so it is constant


@contextmanager
def asking_once() -> Iterator[None]:
    """Make Numba cache two lookups inside this context, and leave out what only its diagnostics need.

    The first lookup is the signature of an operator for given types, which Numba otherwise finds for each use and again
    when it lowers that use. The second is what other modules have registered with Numba, which it otherwise searches
    for each function and each array. Its own registrations are still found. Numba also neither inspects the source of
    each implementation that it calls, nor reports each call of LLVM to its timers.
    """
    refreshed = set[type]()

    def refresh(whole: Any, self: Any) -> None:
        if type(self) not in refreshed:
            refreshed.add(type(self))
            whole(self)
        else:
            for registry in tuple(self._registries):
                self.install_registry(registry)

    def get_call_type(whole: Any, self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = ConfigStack.top_or_none()
        if type(flags) is not QuickFlags or kws or any(isinstance(one, types.Dispatcher) for one in args):
            return whole(self, context, args, kws)
        key = self, tuple(args)
        if key not in flags.signatures:
            flags.signatures[key] = whole(self, context, args, kws)
        return flags.signatures[key]

    def has_loc(whole: Any, function: Any) -> bool:
        if type(function) is not FunctionType or vars(function).keys() & {"__wrapped__", "__signature__"}:
            return bool(whole(function))
        code = function.__code__
        return "loc" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    with global_compiler_lock:
        lock = ffi.lib._lock
        changed: Any = (
            (base, "_has_loc", has_loc),
            (base.BaseContext, "refresh", refresh),
            (context.BaseContext, "refresh", refresh),
            (functions.BaseFunction, "get_call_type", get_call_type),
        )
        wholes = [getattr(one, name) for one, name, _ in changed]
        for (one, name, quick), whole in zip(changed, wholes, strict=True):
            setattr(one, name, lambda *given, quick=quick, whole=whole: quick(whole, *given))
        listeners, lock._cblist = lock._cblist, []
        try:
            yield
        finally:
            lock._cblist = listeners
            for (one, name, _), whole in zip(changed, wholes, strict=True):
                setattr(one, name, whole)
