"""Kernels that only other kernels call: they are compiled as parts of their callers, without machine code of their own.

Numba optimises every function together with its callees and generates machine code for it. A deeply nested function
went through that at each level, and once more in the loop. A part stays LLVM code until the loop is optimised. Parts
are compiled for the types of arguments, not their values, and integers are int64, so that one version serves all
callers.
"""

from typing import Any

import llvmlite.binding as ll
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.errors import ForceLiteralArg, TypingError
from numba.core.imputils import lower_constant, user_function
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import make_concrete_template
from numba.core.untyped_passes import IRProcessing
from numba.extending import models, register_model

from vinesim.jit.passes import QuickFlags, QuickPasses, are_enough_for
from vinesim.jit.powers import Powers
from vinesim.jit.reference import outside


class _PartLibrary(JITCodeLibrary):
    """The LLVM code of a part, without its callees: the kernel that calls it links each part once."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Move variables of functions that will be inlined from the stack to registers, which shortens the code.

        All other optimisation happens once, in the kernel.
        """
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = ll.create_new_function_pass_manager(), self._codegen._pass_builder()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration and b"alwaysinline" in b" ".join(function.attributes):
                passes.run(function, builder)

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with its callees, for a kernel that Numba itself compiles."""
        module = ll.parse_assembly(str(self._codegen._create_empty_module("linked")))
        _link(module, [self], self._reload_init)
        return module

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: the environment is a variable in machine code, which a part lacks."""


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel that Python calls, with all its parts."""

    def finalize(self) -> None:
        """Link all parts and optimise once. Numba optimises twice, because of reference counts, which kernels lack.

        The parts then become private to the kernel. Numba distinguishes functions of the same name by a counter that
        starts again in each process, so two kernels on the disk, compiled by different processes, may contain different
        functions of one name. If these were not private, loading both kernels would make one call the other's.
        """
        self._raise_if_finalized()
        _link(self._final_module, self._linking_libraries, self._reload_init)
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        for function in self._final_module.functions:
            if function.linkage == ll.Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"
        self._final_module.verify()
        self._finalize_final_module()


def _link(module: Any, libraries: list[Any], reload_init: set[Any]) -> None:
    """Add libraries and all their callees to a module, each once. LLVM may remove functions that nothing calls."""
    own = {function.name for function in module.functions if not function.is_declaration}
    found = dict.fromkeys(libraries)
    to_look_at = list(found)
    while to_look_at:
        library = to_look_at.pop()
        is_part = isinstance(library, _PartLibrary)
        module.link_in(library._final_module if is_part else library._get_module_for_linking(), preserve=True)
        reload_init.update(library._reload_init)
        for called in library._linking_libraries if is_part else ():
            if called not in found:
                found[called] = None
                to_look_at.append(called)
    for function in module.functions:
        if not function.is_declaration and function.name not in own:
            function.linkage = "linkonce_odr"


class QuickCompiler(Compiler):
    """Numba's compiler with only the passes that kernels need: it makes the same code in two thirds of the time."""

    def define_pipelines(self) -> list[PassManager]:
        if are_enough_for(self.state.func_id.func):
            return [QuickPasses()]
        whole = super().define_pipelines()
        for one in whole:
            one.add_pass_after(Powers, IRProcessing)
            one.finalize()
        return whole

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ):
        super().__init__(
            typingctx, targetctx, library or self._library(targetctx), args, return_type, QuickFlags(flags), locals
        )

    def _library(self, targetctx: Any) -> Any:
        made = _KernelLibrary(targetctx.codegen(), "kernel")
        made.enable_object_caching()
        return made


class _Compiler(QuickCompiler):
    def _library(self, targetctx: Any) -> Any:
        return _PartLibrary(targetctx.codegen(), "part")


class PartType(types.Dispatcher):
    """The type of a part. It identifies the part, so that a part can be an argument of another part."""


register_model(PartType)(models.OpaqueModel)


@lower_constant(PartType)
def _no_value(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return a dummy. Numba would embed the object's address, which differs between processes, so that the code could
    not be kept on the disk."""
    return context.get_dummy_value()


SMALLER = frozenset((types.int8, types.int16, types.int32, types.uint8, types.uint16, types.uint32))


def _passed_as(kind: Any) -> Any:
    """Return the type for which a part is compiled: not that of a literal value, and int64 for all smaller integers."""
    kind = types.unliteral(kind)
    return types.int64 if kind in SMALLER else kind


class Part(CPUDispatcher):
    """A kernel that only other kernels call."""

    def __init__(self, function: Any, options: dict[str, Any]):
        super().__init__(function, targetoptions={**options, "nopython": True}, pipeline_class=_Compiler)
        self._templates: dict[Any, Any] = {}

    @property
    def _numba_type_(self) -> PartType:
        return PartType(self)

    def compile(self, sig: Any) -> Any:
        """Compile the part while a kernel is compiled. Unlike Numba's method, this one sends no event for each part."""
        args, return_type = normalize_signature(sig)
        if args not in self.overloads:
            try:
                with self._compiling_counter:
                    made = self._compiler.compile(args, return_type)  # type: ignore[attr-defined]
                    self.add_overload(made)
                    if not self.targetoptions["forceinline"]:
                        self._give_outsides(made)
            except ForceLiteralArg:
                name = self.py_func.__qualname__
                raise TypingError(f"{name} needs the value of an argument when it is compiled") from None
        return self.overloads[args].entry_point  # type: ignore[attr-defined]

    def _give_outsides(self, made: Any) -> None:
        """Make calls pass other references than those whose fields the caller reads (``jit/reference.py``)."""
        calls, kinds = user_function(made.fndesc, [made.library]), made.fndesc.argtypes

        def calls_with_outsides(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            given = [outside(builder, kind, value) for kind, value in zip(kinds, args, strict=True)]
            return calls(context, builder, signature, given)

        calls_with_outsides.signature, calls_with_outsides.libs = calls.signature, calls.libs  # type: ignore[attr-defined]
        self.targetctx.remove_user_function(made.entry_point)
        self.targetctx._defns[made.entry_point].append(calls_with_outsides, calls.signature)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Offer only the matching signature. Among several, Numba might choose that of another policy whose options
        begin with the same fields."""
        pysig, given = self._compiler.fold_argument_types(args, kws)  # type: ignore[attr-defined]
        kinds = tuple(map(_passed_as, given))
        if kinds not in self._templates:
            self.compile(kinds)
            name, signature = self.py_func.__name__, self.overloads[kinds].signature  # type: ignore[attr-defined]
            self._templates[kinds] = make_concrete_template(name, name, [signature])
        return self._templates[kinds], pysig, kinds, {}

    def __call__(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__qualname__} is part of other kernels; call its py_func")
