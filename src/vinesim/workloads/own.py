"""Custom generators: a function in a Python file, or in an installed package."""

import inspect
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError, Problem
from vinesim.model.python_file import line_in, load_file, split_file
from vinesim.model.workload import Workload
from vinesim.workloads.options import is_known
from vinesim.workloads.spec import GeneratorSpec

FIRST = "setting"  # the name of a generator's first parameter


def generator_in_file(name: str, folder: Path = Path()) -> GeneratorSpec:
    """Return the generator of ``file.py:function``; the function can be omitted if the file has one.

    The file is run, and again only after a Python file in its folder has changed. Raises :class:`InputError`.
    """
    file, rest = split_file(name)
    path = folder / file
    try:
        state = tuple((e.name, e.stat().st_mtime_ns, e.stat().st_size) for e in os.scandir(path.parent) if _is_code(e))
    except OSError:
        state = ()
    return _loaded(name, path, rest.removeprefix(":"), state)


def _is_code(entry: "os.DirEntry[str]") -> bool:
    return entry.name.endswith(".py")


@lru_cache(maxsize=64)
def _loaded(spec: str, path: Path, name: str, _state: tuple[Any, ...]) -> GeneratorSpec:
    module = load_file(path, "generator")
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, GeneratorSpec) or (inspect.isfunction(value) and value.__module__ == module.__name__)
    }
    if not name:
        found = {
            key: value for key, value in found.items() if isinstance(value, GeneratorSpec) or _takes_setting(value)
        }
    if name not in found and not (not name and len(found) == 1):
        there = " or ".join(f"{path}:{key}" for key in found)
        remedy = "" if there else f"Define a function whose first parameter is {FIRST}."
        raise InputError([Problem(("generator",), there or "a file with a generator", repr(spec), remedy)])
    return own_generator(spec, found[name] if name else next(iter(found.values())), path)


def own_generator(name: str, made: Any, path: Path | None = None) -> GeneratorSpec:
    """Return a user's function or :class:`GeneratorSpec` as a generator with this name.

    Raises :class:`InputError` if its parameters are not those of a generator.
    """
    spec = made if isinstance(made, GeneratorSpec) else GeneratorSpec(name, made)
    where = ("generator", getattr(spec.make, "__name__", name))
    try:
        parameters = list(inspect.signature(spec.make, eval_str=True).parameters.values())
    except (NameError, TypeError, ValueError) as wrong:
        raise InputError([Problem(where, "a function with annotated parameters", str(wrong)[:80])]) from None
    problems = []
    if not parameters or parameters[0].kind not in (parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD):
        problems.append(Problem(where, f"a first parameter, {FIRST}", "none"))
    for parameter in parameters[1:]:
        if parameter.kind is not parameter.KEYWORD_ONLY:
            remedy = f"Put * before it: def {getattr(spec.make, '__name__', 'f')}({FIRST}, *, ...)."
            problems.append(Problem((*where, parameter.name), "options by keyword only", "another", remedy))
        elif not is_known(parameter.annotation):
            expected = "a type: int, float, str, bool, one of them or None, list[float], dict[str, float], Distribution"
            found = "none" if parameter.annotation is parameter.empty else str(parameter.annotation)
            problems.append(Problem((*where, parameter.name), expected, found))
    if problems:
        raise InputError(problems)
    return GeneratorSpec(**{**vars(spec), "name": name, "make": _guarded(spec.make, name, path)})


def _guarded(make: Callable[..., Any], name: str, path: Path | None) -> Callable[..., Workload]:
    """Wrap a function so that its errors, and results of a wrong type, become :class:`InputError`."""

    def made(setting: Any, **options: Any) -> Workload:
        try:
            work = make(setting, **options)
        except InputError:
            raise
        except (Exception, SystemExit, GeneratorExit) as wrong:
            where = name if path is None else f"{path}:{line_in(wrong, path)}"
            words = f"{type(wrong).__name__}: {wrong}"[:200]
            raise InputError([Problem(where, "a generator that makes a workload", words)]) from wrong
        if not isinstance(work, Workload):
            raise InputError([Problem(name, "a generator that returns a Workload", type(work).__name__)])
        return work

    made.__doc__, made.__signature__ = make.__doc__, inspect.signature(make, eval_str=True)  # type: ignore[attr-defined]
    made.__module__ = make.__module__
    return made


def _takes_setting(function: Any) -> bool:
    return next(iter(inspect.signature(function).parameters), "") == FIRST
