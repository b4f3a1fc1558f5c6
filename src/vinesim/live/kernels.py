"""Kernels: named functions that process requests, with an implementation per processor type.

``@kernel("search", on="GPU")`` before a function of a list of payloads (the consolidated requests) that returns a list
of results, in the same order. ``on="*"`` serves every type without an implementation of its own. A result that is an
exception fails its request alone; an exception that the function raises fails all of them.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Function = Callable[[list[Any]], Sequence[Any]]
ANY_TYPE = "*"
MODULE = "vinesim_live_kernels"

_KERNELS: dict[tuple[str, str], Function] = {}
_PREPARE: list[Callable[[], None]] = []
_PAYLOADS: dict[str, Callable[[float, Any], Any]] = {}


def kernel(name: str, on: str = ANY_TYPE) -> Callable[[Function], Function]:
    """Return the decorator that makes a function the implementation of a kernel on a processor type."""

    def register(function: Function) -> Function:
        _KERNELS[(name, on)] = function
        return function

    return register


def prepare(function: Callable[[], None]) -> Callable[[], None]:
    """Register a function that each device process calls once before it gets work: to load data, or to compile."""
    _PREPARE.append(function)
    return function


def payload(name: str) -> Callable[[Callable[[float, Any], Any]], Callable[[float, Any], Any]]:
    """Return the decorator that makes a function of (size, NumPy generator) the source of a kernel's payloads, for
    load that is played."""

    def register(function: Callable[[float, Any], Any]) -> Callable[[float, Any], Any]:
        _PAYLOADS[name] = function
        return function

    return register


def payload_for(name: str, size: float, random: Any) -> Any:
    """Return a payload for a kernel; the size itself if its file has no source of payloads."""
    return _PAYLOADS[name](size, random) if name in _PAYLOADS else size


def prepare_all() -> None:
    """Call the functions that the kernels' file has registered with ``prepare``."""
    for function in _PREPARE:
        function()


def kernel_for(name: str, processor_type: str) -> Function:
    """Return the implementation for a processor type. Raises :class:`LookupError`."""
    for on in (processor_type, ANY_TYPE):
        if (name, on) in _KERNELS:
            return _KERNELS[(name, on)]
    known = ", ".join(f"{n} on {on}" for n, on in sorted(_KERNELS)) or "none"
    raise LookupError(f"no kernel {name!r} for {processor_type}; there are: {known}")


def source_of(kernels: str) -> dict[str, str]:
    """Return the kernels of a cluster file in a form that agents can be sent: a file's text, or a module's name."""
    if kernels.endswith(".py"):
        return {"text": Path(kernels).read_text(), "name": Path(kernels).name}
    return {"module": kernels} if kernels else {}


def load(source: dict[str, str], folder: Path) -> None:
    """Import the kernels that ``source_of`` returned; the text goes into a file in the folder."""
    if "text" in source:
        path = folder / source["name"]
        if not path.exists() or path.read_text() != source["text"]:
            partial = path.with_suffix(f".{id(source)}.partial")
            partial.write_text(source["text"])
            partial.replace(path)
        spec = importlib.util.spec_from_file_location(MODULE, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE] = module
        spec.loader.exec_module(module)
    elif source:
        importlib.import_module(source["module"])
