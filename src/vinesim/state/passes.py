"""Which of Numba's passes the package's own kernels need. Half of them look for what these have none of, such as
closures, ``with`` and array expressions; and after each pass Numba finds the lifetimes of all variables anew."""

from types import CodeType
from typing import Any

from numba.core import cgutils, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower


class _Lower(Lower):
    """Numba's lowering without the sizes of variables, which only a debugger asks for."""

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


PASSES = (
    *(untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing),
    *(untyped_passes.RewriteSemanticConstants, untyped_passes.DeadBranchPrune, untyped_passes.GenericRewrites),
    *(untyped_passes.IRProcessing, untyped_passes.ReconstructSSA, untyped_passes.IRProcessing),
    *(typed_passes.NopythonTypeInference, typed_passes.PreLowerStripPhis, typed_passes.IRLegalization),
    *(_Lowering, typed_passes.NoPythonBackend),
)


class QuickPasses(PassManager):
    """These passes; IRProcessing is done where others need it."""

    def __init__(self) -> None:
        super().__init__("nopython")
        for one in PASSES:
            self.add_pass(one, "nopython frontend" if one is typed_passes.NopythonTypeInference else one._name)
        self.finalize()

    def _runPass(self, index: int, one: Any, state: Any) -> None:  # noqa: N802  as Numba calls it
        one.analysis = self._analysis
        one.run_pass(state)


def are_enough_for(function: Any) -> bool:
    """Whether a function is one of the package's, and has no function within it."""
    is_own = (function.__module__ or "").startswith("vinesim.")
    return is_own and not any(isinstance(one, CodeType) for one in function.__code__.co_consts)
