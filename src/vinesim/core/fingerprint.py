"""A hash of everything that a compiled policy consists of: its code, that of its helpers, and the values they use."""

import hashlib
import inspect
from collections.abc import Mapping
from enum import EnumMeta
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

import numpy as np


def is_own(function: Any) -> bool:
    """Whether a function is the package's own, whose code stays as it is unless :func:`forget_own` is called."""
    return inspect.isfunction(function) and function.__module__.startswith("vinesim.") and not function.__closure__


def fingerprint(function: Any) -> bytes:
    """Return the digest of a function as it is loaded now; equal in every process until something in it is edited."""
    return _of_own(function) if is_own(function) else _found(function)


@lru_cache(1000)
def _of_own(function: Any) -> bytes:
    return _found(function)


def forget_own() -> None:
    """Look at the package's own code again: some of it was replaced in this process."""
    _of_own.cache_clear()


def _found(function: Any) -> bytes:
    digest = hashlib.sha256()
    _feed(digest, function, set())
    return digest.digest()


def _feed(digest: Any, value: Any, seen: set[int]) -> None:
    value = getattr(value, "py_func", value)
    if inspect.isfunction(value):
        _feed_function(digest, value, seen)
    elif isinstance(value, CodeType):
        digest.update(value.co_code + repr((value.co_names, value.co_varnames)).encode())
        _feed(digest, value.co_consts, seen)
    elif isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype.str} {value.shape}".encode() + value.tobytes())
    elif isinstance(value, EnumMeta):
        members: dict[str, Any] = dict(value.__members__)
        _feed(digest, [(name, member.value) for name, member in members.items()], seen)
    elif isinstance(value, Mapping):
        _feed(digest, list(value.items()), seen)
    elif isinstance(value, tuple | list | set | frozenset):
        items: Any = value if isinstance(value, tuple | list) else sorted(value, key=repr)
        digest.update(f"{type(value).__name__} {len(value)}".encode())
        for item in items:
            _feed(digest, item, seen)
    else:
        text = repr(value) if isinstance(value, str | bytes | int | float | complex | None) else _name(value)
        digest.update(f"{len(text)} {text}".encode())


def _name(value: Any) -> str:
    """Return the name of a class, a built-in function or an object, without its address."""
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__} {getattr(value, '__name__', '')}"


def _feed_function(digest: Any, function: Any, seen: set[int]) -> None:
    module = function.__module__ or ""
    digest.update(f"{module}.{function.__qualname__}".encode())  # a cached loop imports it by name
    if id(function) in seen or module.startswith(("vinesim.state", "vinesim.core", "vinesim.jit", "numpy", "numba")):
        return
    seen.add(id(function))
    _feed(digest, (function.__code__, function.__defaults__), seen)
    code, around = function.__code__, function.__globals__
    used = {name: around[name] for name in code.co_names if name in around}
    used |= {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)}
    for name, value in sorted(used.items()):
        digest.update(name.encode())
        if isinstance(value, ModuleType):
            _feed_module(digest, value, function.__code__.co_names, seen)
        else:
            _feed(digest, value, seen)


def _feed_module(digest: Any, module: ModuleType, names: tuple[str, ...], seen: set[int]) -> None:
    """Feed the attributes of a module that a function may use, as they are loaded."""
    if module.__name__.split(".")[0] in ("numpy", "numba", "math", "vinesim"):
        return
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, ModuleType):
            _feed_module(digest, value, names, seen)
        elif value is not None:
            digest.update(name.encode())
            _feed(digest, value, seen)
