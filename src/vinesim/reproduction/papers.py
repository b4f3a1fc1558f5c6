"""The packages of papers: those that register under the entry point group ``vinesim.papers``, and folders."""

import importlib
import sys
import warnings
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from vinesim.model.errors import InputError, InputWarning, Problem

ENTRY_POINTS = "vinesim.papers"


@cache
def papers() -> dict[str, ModuleType]:
    """Return the package of each installed paper by the name of its entry point, in the order of the names."""
    found = {}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            found[entry.name] = entry.load()
        except Exception as wrong:  # one broken package must not affect the others
            warnings.warn(f"paper {entry.name} of an installed package: {wrong}", InputWarning, stacklevel=2)
    return found


def load_folder(folder: Path) -> ModuleType:
    """Import the package of a paper from its folder. Raises :class:`InputError`."""
    where, name = f"vinesim reproduce {folder}", folder.resolve().name
    if not (folder / "__init__.py").is_file():
        raise InputError([Problem(where, "a Python package", "a folder without __init__.py", "Add an empty one.")])
    sys.path.insert(0, str(folder.resolve().parent))
    try:
        package = importlib.import_module(name)
    except Exception as wrong:
        words = f"{type(wrong).__name__}: {wrong}"
        raise InputError([Problem(where, "a package that can be imported", words)]) from wrong
    finally:
        del sys.path[0]
    if Path(package.__path__[0]).resolve() != folder.resolve():
        found, remedy = f"{name}, an installed package", "Give the folder another name."
        raise InputError([Problem(where, "a name that no other package has", found, remedy)])
    return package
