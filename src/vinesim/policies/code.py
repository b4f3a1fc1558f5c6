"""The code that a policy's outcome depends on: the policy's file, and the modules next to it.

Included are the file itself, and the modules and packages in its folder that it imports, directly or indirectly. Not
included are packages installed elsewhere, modules imported by a name computed at run time, and data files that the
policy reads by itself.
"""

import ast
import hashlib
import inspect
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from vinesim.formats.source.files import opened, read_bytes

_BYTES_A_READ = 1 << 20


def file_content(path: Path) -> str:
    """Return the hash of a file's bytes. Raises :class:`InputError` if it cannot be read."""
    digest = hashlib.sha256()
    with opened(path) as stream:
        while piece := stream.read(_BYTES_A_READ):
            digest.update(piece)
    return digest.hexdigest()


def code_of_file(path: Path) -> list[Any]:
    """Return the hash of a Python file, and of each module next to it that it uses, by name."""
    found = {file.relative_to(path.parent).as_posix(): file_content(file) for file in with_modules(path)}
    own = found.pop(path.name)
    return [own, found]


def with_modules(path: Path) -> list[Path]:
    """Return the file and what it imports from its folder."""
    found: dict[Path, None] = {}
    ahead = [path]
    while ahead:
        file = ahead.pop()
        if file in found:
            continue
        found[file] = None
        for name in imported(read_bytes(file)):
            module, package = path.parent / f"{name}.py", path.parent / name
            if module.is_file():
                ahead.append(module)
            elif package.is_dir():
                ahead += package.rglob("*.py")
    return list(found)


@lru_cache(100)  # for each run, parsing takes ten times as long as the rest
def imported(text: bytes) -> list[str]:
    """Return the first words of the modules that a file imports; nothing if the file is not Python."""
    tree, found = _parsed(text), []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found += [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module.split(".")[0])
    return found


def _parsed(text: bytes) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # reported when the policy is loaded


def code_of_class(kind: type) -> Any:
    """Return the code behind a policy class; None for VineSim's own, which are identified by the version."""
    if kind.__module__.startswith("vinesim."):
        return None
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if kind.__module__ != "__main__" and file and Path(file).is_file():
        return code_of_file(Path(file))
    return _source(kind)


def defaults_in_file(path: Path, name: str) -> dict[str, Any]:
    """Return the defaults of a class's options that the file gives as literals. The code is read, not run. Without a
    ``name``, the file's only class is used."""
    tree = _parsed(read_bytes(path))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)} if tree is not None else {}
    if not name and len(classes) == 1:
        name = next(iter(classes))
    found: dict[str, Any] = {}
    ahead = [name]
    while ahead and (node := classes.pop(ahead.pop(), None)) is not None:
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
                with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    found.setdefault(line.target.id, ast.literal_eval(line.value))
        ahead += [base.id for base in node.bases if isinstance(base, ast.Name)]
    return found


def _source(kind: type) -> list[str]:
    """Return the text of a class made in a script or notebook, and of the functions that it uses."""
    from vinesim.policies.declarations import functions_of

    rule = getattr(kind, "decide", None) or getattr(kind, "place", None)
    texts = {_text(function) for function in functions_of(rule) if not function.__module__.startswith("vinesim.")}
    return [_text(kind), *sorted(texts)]


def _text(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        return repr(thing) if code is None else code.co_code.hex() + repr(code.co_consts)
