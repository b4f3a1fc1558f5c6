"""What the package overrides or calls inside Numba is there, and takes what it took. A release that changes it fails.

``numba`` in pyproject.toml has an upper bound for that reason. For a new release, run these tests and those next to
them, then raise the bound.
"""

import importlib
import inspect
import re
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).parents[3]
INSIDE = {
    "llvmlite.binding.ffi:lib._lock._cblist": None,
    "numba._dispatcher:compute_fingerprint": None,  # it has no signature
    "numba.core.base:BaseContext.install_registry": "self registry",
    "numba.core.base:BaseContext.refresh": "self",
    "numba.core.base:_has_loc": "fn",
    "numba.core.caching:CompileResultCacheImpl": "py_func",
    "numba.core.caching:FunctionCache._index_key": "self sig codegen",
    "numba.core.caching:FunctionCache.load_overload": "self sig target_context",
    "numba.core.caching:FunctionCache.save_overload": "self sig data",
    "numba.core.caching:IndexDataCacheFile": "cache_path filename_base source_stamp",
    "numba.core.caching:IndexDataCacheFile._data_name": "self number",
    "numba.core.caching:IndexDataCacheFile._data_path": "self name",
    "numba.core.caching:IndexDataCacheFile._dump": "self obj",
    "numba.core.caching:IndexDataCacheFile._load_data": "self name",
    "numba.core.caching:IndexDataCacheFile._load_index": "self",
    "numba.core.caching:IndexDataCacheFile._open_for_write": "self filepath",
    "numba.core.caching:IndexDataCacheFile._save_data": "self name data",
    "numba.core.caching:IndexDataCacheFile._save_index": "self overloads",
    "numba.core.caching:IndexDataCacheFile.save": "self key data",
    "numba.core.caching:_CacheLocator.from_function": "py_func py_file",
    "numba.core.caching:_CacheLocator.get_cache_path": "self",
    "numba.core.caching:_CacheLocator.get_disambiguator": "self",
    "numba.core.caching:_CacheLocator.get_source_stamp": "self",
    "numba.core.codegen:JITCPUCodegen._create_empty_module": "self name",
    "numba.core.codegen:JITCPUCodegen._function_pass_manager": "self kwargs",
    "numba.core.codegen:JITCPUCodegen._module_pass_manager": "self kwargs",
    "numba.core.codegen:JITCodeLibrary._ensure_finalized": "self",
    "numba.core.codegen:JITCodeLibrary._finalize_final_module": "self",
    "numba.core.codegen:JITCodeLibrary._get_module_for_linking": "self",
    "numba.core.codegen:JITCodeLibrary._optimize_functions": "self ll_module",
    "numba.core.codegen:JITCodeLibrary._raise_if_finalized": "self",
    "numba.core.codegen:JITCodeLibrary.get_pointer_to_function": "self name",
    "numba.core.compiler:Compiler": "typingctx targetctx library args return_type flags locals",
    "numba.core.compiler:Compiler.define_pipelines": "self",
    "numba.core.compiler_machinery:PassManager._runPass": "self index pss internal_state",
    "numba.core.event:install_listener": "kind listener",
    "numba.core.imputils:impl_ret_borrowed": "ctx builder retty ret",
    "numba.core.imputils:user_function": "fndesc libs",
    "numba.core.interpreter:Interpreter": "func_id",
    "numba.core.interpreter:Interpreter.post_process": "self peepholes func_ir",
    "numba.core.interpreter:peep_hole_delete_with_exit": "func_ir",
    "numba.core.interpreter:peep_hole_fuse_dict_add_updates": "func_ir",
    "numba.core.lowering:Lower.alloca_lltype": "self name lltype datamodel",
    "numba.core.lowering:Lower.storevar": "self value name argidx",
    "numba.core.registry:CPUDispatcher.get_call_template": "self args kws",
    "numba.core.sigutils:normalize_signature": "sig",
    "numba.core.targetconfig:ConfigStack.top_or_none": "",
    "numba.core.types.functions:BaseFunction.get_call_type": "self context args kws",
    "numba.core.typing.context:BaseContext.install_registry": "self registry",
    "numba.core.typing.context:BaseContext.refresh": "self",
    "numba.core.typing.templates:make_concrete_template": "name key signatures",
    "numba.core.typing.typeof:typeof": "val purpose",
    "numba.core.untyped_passes:TranslateByteCode.run_pass": "self state",
    "numba.np.linalg:ensure_blas": "",
}


def found(path):
    """The object at a path, ``module:attribute.attribute``."""
    module, _, attributes = path.partition(":")
    thing = importlib.import_module(module)
    for name in attributes.split("."):
        thing = getattr(thing, name)
    return thing


@pytest.mark.parametrize("path", INSIDE)
def test_what_is_used_of_the_inside_of_numba_is_as_it_was(path):
    try:
        thing = found(path)
    except (ImportError, AttributeError) as wrong:
        pytest.fail(f"Numba {numba.__version__} has no {path}: {wrong}")
    takes = INSIDE[path]
    if takes is not None:
        now = " ".join(inspect.signature(thing).parameters)
        assert now == takes, f"Numba {numba.__version__}: {path} takes ({now}), and took ({takes})"


def test_the_next_release_is_not_installed_unseen():
    (wanted,) = re.findall(r'^    "numba(.*)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    series = ".".join(numba.__version__.split(".")[:2])
    assert re.fullmatch(rf">={series},<\d+\.\d+", wanted)
