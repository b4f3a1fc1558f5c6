"""The machine code for a kind of run: what names it, and whether it is there. No compiler is imported here.

A name is a hash of the policy and what it calls, of the package's kernels, of the features that they are compiled for,
and of the versions of Numba and NumPy.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import EnumMeta
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from vinesim.core.features import Features, rounded
from vinesim.jit.machine_code import is_kept


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


PACKAGE = Path(__file__).parent.parent
# files of state that kernels are made from, and what these import
OF_STATE = ("arrays", "demand", "expected", "layout", "model", "places", "power", "queries", "shortcuts", "skew_heap")


def files() -> Iterator[Path]:
    """The files whose functions are compiled into loops, and those that say how."""
    for room in ("core", "jit"):
        yield from sorted((PACKAGE / room).rglob("*.py"))
    yield from (PACKAGE / "state" / f"{name}.py" for name in OF_STATE)
    yield PACKAGE / "model" / "power_caps.py"  # constants
    yield PACKAGE / "model" / "step_times.py"


@cache
def kernels() -> bytes:
    """Hash of everything that the package itself compiles, and of the compiler's version."""
    digest = hashlib.sha256(f"{version('numba')} {version('numpy')}".encode())
    for file in files():
        digest.update(file.name.encode() + file.read_bytes())
    return digest.digest()


@lru_cache(1000)  # each run asks for the same few
def digest_of(features: frozenset[str], *parts: bytes | str) -> str:
    """What names the code of a loop with these features, and of what else it is made from: the fingerprints of
    functions, and words."""
    digest = hashlib.sha256(kernels() + " ".join(sorted(features)).encode())
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()


LOOP = "run_events"  # with a policy inlined
SHARED_LOOP = "run_events_of_all"  # for any policy, through a slot
ANSWER = "answer"  # a policy's own code for that loop
BLOCK = "run_block"  # what does many runs with a loop that it is given
INLINED_FROM = 400_000  # tasks of a run for which a policy is inlined: it takes seconds, and saves up to 7 ns each


class Own(NamedTuple):
    """What is a policy's own in a run."""

    options: np.ndarray  # [1], a record: the options as fields
    scratch: Any  # its arrays, by name

    def types(self) -> str:
        """The types of both, in words."""
        return _words(self.options.dtype, self.scratch._fields, tuple(array.dtype.str for array in self.scratch))


@lru_cache(1000)  # NumPy takes long for the description of a record
def _words(options: np.dtype, names: tuple[str, ...], dtypes: tuple[str, ...]) -> str:
    return f"{options.descr} {list(zip(names, dtypes, strict=True))}"


class Code:
    """The code for runs of a policy's function with some features."""

    def __init__(self, decide: Any, own: Own, features: Callable[[], Features]):
        """``features`` is called once, if the code is looked for."""
        self.decide, self.own, self._find = decide, own, features
        self._names: dict[str, str] = {}

    @cached_property
    def features(self) -> Features:
        return self._find()

    @cached_property
    def rounded(self) -> Features:
        """The features of the loop that it shares with others."""
        return rounded(self.features)

    @cached_property
    def _of_policy(self) -> tuple[bytes, str]:
        """The policy's part of a name."""
        return fingerprint(self.decide), self.own.types()

    def name(self, what: str) -> str:
        """What names the code: LOOP, SHARED_LOOP or ANSWER."""
        if what not in self._names:
            features = self.features if what == LOOP else self.rounded
            self._names[what] = digest_of(features) if what == SHARED_LOOP else digest_of(features, *self._of_policy)
        return self._names[what]

    def is_inlined(self, n_tasks: int) -> bool:
        """Whether runs of ``n_tasks`` tasks are done with the policy inlined: if that is worth it, or there."""
        if n_tasks >= INLINED_FROM or self._is_loaded(LOOP):
            return True
        # the disk is looked at last: it takes as long as a run
        return not self._is_loaded(ANSWER) and self._is_kept(LOOP)

    @property
    def is_loaded(self) -> bool:
        """Whether this process has it."""
        return self._is_loaded(LOOP) or self._is_loaded(ANSWER)

    @property
    def is_on_disk(self) -> bool:
        """Whether it was compiled before."""
        return self._is_kept(LOOP) or (self._is_kept(ANSWER) and self._is_kept(SHARED_LOOP))

    @property
    def is_loop_on_disk(self) -> bool:
        """Whether the loop was compiled before, so that only the policy's own code is missing."""
        return self._is_kept(SHARED_LOOP)

    def _is_loaded(self, what: str) -> bool:
        loops = sys.modules.get("vinesim.core.loops")
        return loops is not None and loops.is_loaded(self.name(what))

    def _is_kept(self, what: str) -> bool:
        return is_kept(what, self.name(what))
