"""Numba's cache of machine code, in the folder and under the names of ``jit/machine_code.py``."""

import hashlib
import pickle
import secrets
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from vinesim.jit import machine_code

_N_DIGEST = hashlib.sha256().digest_size


class _Locator(_CacheLocator):
    """Gives files no stamp: Numba's is that of the source file, and the file names here hold a hash of everything."""

    def get_cache_path(self) -> str:
        return str(machine_code.folder())

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return None if machine_code.folder() is None else cls()


class _CheckedFiles(IndexDataCacheFile):
    """Numba's index and code files, each preceded by its checksum, because damaged code may do anything.

    A file that is damaged or cannot be read counts as absent, so its code is compiled again and replaces it.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save the code, then the index that names it. The name is random, so that no other process takes it."""
        names = self._load_index()
        name = names.get(key) or self._data_name(int(secrets.token_hex(4), 16))
        self._save_data(name, data)
        if key not in names:
            self._save_index({**names, key: name})

    def _load_index(self) -> dict[Any, str]:
        data = _intact(Path(self._index_path))
        return {} if data is None else pickle.loads(data)  # noqa: S301

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._save(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        data = _intact(Path(self._data_path(name)))
        return None if data is None else pickle.loads(data)  # noqa: S301

    def _save_data(self, name: str, data: Any) -> None:
        self._save(self._data_path(name), data)

    def _save(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest() + data)


def _intact(path: Path) -> bytes | None:
    """Return the contents of a file without its checksum; None if the file is damaged or cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, content = data[:_N_DIGEST], data[_N_DIGEST:]
    return content if hashlib.sha256(content).digest() == digest else None


class _Files(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012  as Numba declares it


class DiskCache(FunctionCache):
    """The cache of one kernel. Raises RuntimeError if no folder can be used."""

    _impl_class = _Files

    def __init__(self, py_func: Any):
        super().__init__(py_func)
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, "")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is not None:
            machine_code.touch(self._impl.filename_base)
        return found

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether the disk has code for arguments of these types."""
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as wrong:
            machine_code.tell_not_kept(f"{self._cache_path}: {wrong.strerror}")
        machine_code.tidy()
