"""Find the policy that a file names, and report problems of its options at their place in that file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.errors import InputError, Steps
from vinesim.model.python_file import split_file

Check = Callable[[Any, Mapping[str, Any]], object]


def policy_name(source: YamlSource, name: Any, options: Mapping[str, Any], folder: Path, check: Check | None) -> Any:
    """Return the policy's name, with files relative to ``folder``; report the problems of ``check(name, options)``."""
    file, rest = split_file(name) if isinstance(name, str) else ("", "")
    if file:
        path = folder / file
        name = f"{path}{rest}"
        if not path.is_file():
            source.add(("policy",), "a Python file", f"no file {path}", "Start at the folder of this file.")
            return name
    if check is not None:
        try:
            check(name, options)
        except InputError as error:
            _adopt(source, error, options)
    return name


def _adopt(source: YamlSource, error: InputError, options: Mapping[str, Any]) -> None:
    for problem in error.problems:
        if problem.path[:1] != ("policy",):  # a line of the policy's file
            source.adopt(InputError([problem]), ("policy",), problem.where.rpartition(":")[0])
            continue
        steps = _known_steps(problem.path[2:], options)
        path = ("options", *steps) if steps else ("policy",)
        source.add(path, problem.expected, problem.found, problem.remedy)


def _known_steps(path: Steps, options: Any) -> Steps:
    """Return the leading steps of a path into an option's value that exist in the file."""
    if not path or not isinstance(options, Mapping) or path[0] not in options:
        return ()
    return (path[0], *_known_steps(path[1:], options[path[0]]))
