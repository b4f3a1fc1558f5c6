"""Code of the user's own: what ``file.py:Name`` names, and how such a file is loaded."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from vinesim.model.errors import InputError, Problem

_LOG = logging.getLogger(__name__)
_folders: set[str] = set()  # of the files that have been loaded
_folder: dict[str, str] = {}  # of each module's file: there are a thousand, and to look at all took half of a load
_in_packages: set[str] = set()  # the modules of packages in these folders that the files have imported


def split_file(name: str) -> tuple[str, str]:
    """Split ``file.py:Name`` into the file and ``:Name``; the file is empty for a registered name."""
    file, colon, kind = name.rpartition(":") if ".py:" in name else (name, "", "")
    return (file, colon + kind) if file.endswith(".py") else ("", name)


@contextmanager
def same_folder() -> Iterator[None]:
    """Return to the working folder whatever the code in between does, so that relative names keep their meaning."""
    before = os.getcwd()
    try:
        yield
    finally:
        os.chdir(before)


def load_file(path: Path, what: str, remedy: Callable[[BaseException], str] = lambda _: "") -> ModuleType:
    """Run a Python file and return its module; ``what`` it is to have (policy, generator) is in messages.

    ``remedy`` may explain an error. Raises :class:`InputError`, with the line, for a file that does not load.
    """
    if not path.is_file():
        raise InputError([Problem(what, "a Python file", f"no file {path}", "Check the path.")])
    _LOG.info("running the code in %s", path)
    module_name = f"vinesim_{what}_{path.stem}"
    module = ModuleType(module_name)
    module.__file__ = str(path)
    own_folder = str(path.absolute().parent)
    for name in (_helpers(own_folder) | _in_packages) & sys.modules.keys():
        del sys.modules[name]  # they may have been edited too
    known = set(sys.modules)
    sys.modules[module_name] = module
    sys.path.insert(0, own_folder)
    try:  # not by Python's importer: its cache considers a file unchanged if its time in whole seconds is
        with same_folder():
            exec(compile(path.read_bytes(), path, "exec"), vars(module))  # noqa: S102
    except (Exception, SystemExit) as wrong:
        line = getattr(wrong, "lineno", None) or line_in(wrong, path)
        words = f"{type(wrong).__name__}: {wrong}"
        raise InputError([Problem(f"{path}:{line}", "a Python file that loads", words, remedy(wrong))]) from wrong
    finally:
        sys.path.remove(own_folder)
        _in_packages.update(name for name in sys.modules.keys() - known if _is_of_package_in(name, own_folder))
    return module


def _helpers(folder: str) -> set[str]:
    """Return the modules whose file lies directly in this folder, or in one from which a file was loaded before."""
    _folders.add(folder)
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and _folder_of(file) in _folders and module is not sys.modules.get("__main__"):
            found.add(module.__name__)
    return found


def _folder_of(file: str) -> str:
    """Return the folder in which a module's file lies."""
    if not os.path.isabs(file):
        return os.path.dirname(os.path.abspath(file))
    if file not in _folder:
        _folder[file] = os.path.dirname(os.path.abspath(file))
    return _folder[file]


def _is_of_package_in(name: str, folder: str) -> bool:
    """Whether a module is part of a package that lies directly in the folder, unless packages are installed there."""
    places = getattr(sys.modules.get(name.partition(".")[0]), "__path__", ())
    is_in_folder = any(os.path.dirname(os.path.abspath(place)) == folder for place in places)
    return is_in_folder and os.path.basename(folder) not in ("site-packages", "dist-packages")


def line_in(error: BaseException, path: Path) -> int:
    """Return the last line of a file that an error passed through."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
