"""How a kernel is compiled that only other kernels call: as a part of their machine code, not as code of its own.

Numba optimises every function with all that it calls, and makes machine code of it; a function deep down went through
that at each level, and once more in the loop. A part waits for the loop. Parts know arguments by their type, not by
their value, and are compiled once for both.
"""

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher
from numba.extending import models, register_model


class _Library(JITCodeLibrary):
    """The LLVM code of a part, for linking."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify what is going to be inlined, perhaps in several places; the rest is optimised once, in the loop."""
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration and b"alwaysinline" in b" ".join(function.attributes):
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: what would be set is in machine code."""


class QuickFlags(Flags):
    """Numba's flags, told apart sooner: it looks at all 45 for every hash and comparison, 40,000 times a loop."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Flags) and self._values == other._values) or super().__eq__(other)

    def __hash__(self) -> int:
        return _HASH


_HASH = hash(Flags())  # it is that of the names, and so always the same


class QuickCompiler(Compiler):
    """Numba's compiler, with such flags: the same code a sixth sooner."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ):
        super().__init__(typingctx, targetctx, library, args, return_type, QuickFlags(flags), locals)


class _Compiler(QuickCompiler):
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any):
        super().__init__(typingctx, targetctx, library or _Library(targetctx.codegen(), "part"), *others)


class PartType(types.Dispatcher):
    """The type of a part. Its value says nothing more, so that a part can be an argument of a part."""


register_model(PartType)(models.OpaqueModel)


@lower_constant(PartType)
def _no_value(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Numba puts the object's address there, which differs between processes: such code cannot be kept on the disk."""
    return context.get_dummy_value()


class Part(CPUDispatcher):
    """A kernel for other kernels only."""

    def __init__(self, function: Any, options: dict[str, Any]):
        super().__init__(function, targetoptions={**options, "nopython": True}, pipeline_class=_Compiler)

    @property
    def _numba_type_(self) -> PartType:
        return PartType(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
        )

    def __call__(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__qualname__} is part of other kernels; call its py_func")


class Choice:
    """Two parts in the place of one: which of them compiled code calls depends on the types of the arguments."""

    is_compiling = False  # neither calls itself

    def __init__(self, takes_first: Callable[[Any], bool], first: Part, second: Part):
        self._takes_first, self._first, self._second = takes_first, first, second

    def _of(self, args: Any) -> Part:
        return self._first if self._takes_first(*args) else self._second

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._of(args).get_call_template(args, kws)

    def get_overload(self, args: Any) -> Any:
        return self._of(args).get_overload(args)
