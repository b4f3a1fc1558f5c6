"""Numba's cache of machine code, in the folder and under the names of ``state/machine_code.py``."""

from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from vinesim.state import machine_code


class _Locator(_CacheLocator):
    """Numba's own stamp each file with the source that a function stands in; here the name says more than that."""

    def get_cache_path(self) -> str:
        return str(machine_code.folder())

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return None if machine_code.folder() is None else cls()


class _Files(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012  as Numba declares it


class DiskCache(FunctionCache):
    """The cache of one kernel. Raises RuntimeError where no folder can be written."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is not None:
            machine_code.touch(self._impl.filename_base)
        return found

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether code for arguments of these types is on the disk."""
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()

    def save_overload(self, sig: Any, data: Any) -> None:
        super().save_overload(sig, data)
        machine_code.tidy()
