"""Store in a result folder what is needed to repeat its runs, here or on another machine.

``inputs/`` holds the files that a document names, and the modules next to code, under their original relative paths, so
that relative names still work. ``origin.json`` lists them with their checksums, the command, and the versions. A file
larger than ``MOST_BYTES`` is linked, not copied, so a copy of the folder on another machine lacks it.
"""

import json
import os
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vinesim.formats.results.checksums import BLANK, is_intact, with_checksum
from vinesim.formats.results.folder import INPUTS, ORIGIN, SCENARIO, STUDY, SUMMARY, to_json
from vinesim.formats.scenario.keys import renamed
from vinesim.formats.source.files import read_bytes, replacing
from vinesim.formats.source.yaml_source import steps_of
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.formats.study.file import scenario_source
from vinesim.formats.study.text import inlined
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.packages import how_to_install
from vinesim.model.python_file import split_file
from vinesim.model.study import Study
from vinesim.model.version import code_version
from vinesim.policies.code import file_content, imported, with_modules
from vinesim.studies.backtest_record import record_file

MOST_BYTES = 64 << 20  # the largest file that is copied
_OWN_PACKAGES = ("numpy", "numba")  # packages that results depend on


@dataclass(frozen=True)
class Input:
    """A file that runs read: its name below the folder, or its absolute path if the document names it by that."""

    name: str
    where: str  # the file from which it was copied
    n_bytes: int
    sha256: str
    is_copied: bool


class Origin:
    """The files that a document names, and the place of each in the folder."""

    def __init__(self, home: Path, files: Iterable[Path]):
        """Relative names in the document start from ``home``. A file that does not exist is left out."""
        self._home = Path(os.path.abspath(home))
        found = dict.fromkeys(Path(os.path.abspath(file)) for file in files)
        data = [file for file in found if file.is_file()]
        code = [module for file in data if file.suffix == ".py" for module in with_modules(file)]
        self._files = tuple(dict.fromkeys([*data, *code]))
        self._root = Path(os.path.commonpath([self._home, *(file.parent for file in self._files)]))

    @classmethod
    def of_document(cls, document: Mapping[str, Any], home: Path) -> "Origin":
        """Return the origin of a scenario's document."""
        return cls(home, [*_named(home, [document]), *_records(home, document)])

    @classmethod
    def of_study(cls, study: Study, more: Iterable[Path] = ()) -> "Origin":
        """Return the origin of a study: its scenario, what its axes set, and more files."""
        set_here: list[Mapping[str, Any]] = [setting for axis in study.axes for setting in axis.settings]
        parts = [scenario_source(study).data, *set_here]
        own = [study.folder / file for file, _ in map(split_file, study.record) if file]
        own += _records(study.folder, parts[0])
        return cls(study.folder, [*_named(study.folder, parts), *own, *more])

    @property
    def home(self) -> Path:
        """The place below the folder from which relative names in the document start."""
        return INPUTS / self._home.relative_to(self._root) if self._files else Path()

    def document(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario's document with the names of the files in the folder, relative to the folder."""
        found: dict[str, Any] = renamed(data, (), lambda name: self.place(self._home / name).as_posix())
        return found

    def study(self, study: Study, folder: Path) -> Study:
        """Return the study as stored in ``folder``. Files that its axes name by absolute path stay where they are."""
        own = inlined(study)
        data = renamed(own.scenario, (), self._name_from_home)
        return replace(own, scenario=data, folder=Path(os.path.abspath(folder)) / self.home)

    def write(self, folder: Path, what: str, command: Sequence[str], out: Path | None = None, **more: Any) -> None:
        """Copy the files to ``folder`` and write ``origin.json``; messages call the folder ``out``.

        Files that are too large to be copied are named in a warning. Raises OSError.
        """
        if Path(os.path.abspath(folder)) in (self._root, *self._root.parents) and self._files:
            return  # the files are in the folder already
        (folder / self.home).mkdir(parents=True, exist_ok=True)  # for names that begin with ../
        inputs = [self._copied(file, folder) for file in self._files]
        document = {
            "what": what,
            "command": [Path(command[0]).name, *command[1:]],
            "vinesim": code_version(),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in _OWN_PACKAGES},
            "requires": _required(self._files),
            "home": self.home.as_posix(),
            **more,
            "inputs": [asdict(each) for each in inputs],
        }
        document["checksum"] = BLANK
        with replacing(folder / ORIGIN) as draft:
            draft.write_bytes(with_checksum(to_json(document).encode()))
        if large := [each for each in inputs if not each.is_copied]:
            names = ", ".join(f"{each.where} ({each.n_bytes / 1e6:,.0f} MB)" for each in large)
            text = f"not copied to {out or folder}, as it is large: {names}. To run the folder elsewhere, take it along"
            warnings.warn(text, InputWarning, stacklevel=2)

    def _name_from_home(self, name: str) -> str:
        place = self.place(self._home / name)
        return place.as_posix() if place.is_absolute() else Path(os.path.relpath(place, self.home)).as_posix()

    def place(self, file: Path) -> Path:
        """Return where a file is in the folder; its absolute name if it is not there."""
        path = Path(os.path.abspath(file))
        return INPUTS / path.relative_to(self._root) if path in self._files else path

    def _copied(self, file: Path, folder: Path) -> Input:
        place, size = self.place(file), file.stat().st_size
        target, is_copied = folder / place, size <= MOST_BYTES
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = file_content(file)
        if not (target.is_file() and file_content(target) == digest):
            target.unlink(missing_ok=True)
            if is_copied:
                shutil.copyfile(file, target)
                digest = file_content(target)
            else:
                with suppress(OSError):  # no links on this file system
                    target.symlink_to(file)
        return Input(place.as_posix(), str(file), size, digest, is_copied)


@contextmanager
def keeping(
    of: Callable[[], Mapping[str, Any]], home: Path, out: Path | None, what: str = "run", **more: Any
) -> Iterator[Callable[[Path], None]]:
    """Provide a function that writes to a folder what a run or a back-test of the document needs.

    The files are kept as they are now, because a run may take hours and files may be edited in that time. ``of``
    returns the document. Without ``out`` nothing is kept.
    """
    if out is None:
        yield lambda _: None
        return
    document = of()
    origin = Origin.of_document(document, home)
    with tempfile.TemporaryDirectory(prefix="vinesim-inputs-") as name:
        staged = Path(name)
        origin.write(staged, what, sys.argv, out, **more)
        head = f"# Run it again:  vinesim {what} {out}\n"
        text = head + as_yaml(origin.document(document))
        (staged / SCENARIO).write_bytes(
            text.encode("utf-8", "surrogateescape")
        )  # names of files need not be valid text
        yield partial(_copy, staged)


def _copy(staged: Path, folder: Path) -> None:
    shutil.copytree(staged, folder, symlinks=True, dirs_exist_ok=True)


def read_origin(folder: Path, what: str = "") -> dict[str, Any]:
    """Return the contents of ``origin.json`` of a run, a sweep or a plan, and check that every input is unchanged.

    Raises :class:`InputError` that lists everything missing; other versions of packages give a warning.
    """
    file = folder / ORIGIN
    if not file.is_file():
        raise InputError([_without_origin(folder)])
    found = _parsed(file)
    if found is None:
        remedy = "Copy the whole folder again."
        raise InputError([Problem(str(file), "a file whose checksum matches", "a damaged or edited file", remedy)])
    if what and what != found["what"]:
        remedy = f"Give it to `vinesim {found['what']}`."
        raise InputError([Problem(str(folder), f"the folder of a {what}", f"that of a {found['what']}", remedy)])
    problems = [problem for each in _inputs(found) if (problem := _missing(folder, each))]
    for name, wanted in found["requires"].items():
        if find_spec(name) is None:
            remedy = how_to_install(wanted) if wanted else "Put it next to the code."
            problems.append(Problem(str(folder), f"the Python package {name}, which its code imports", "none", remedy))
    if problems:
        raise InputError(problems)
    if found["vinesim"] != code_version():
        text = f"{folder} is of VineSim {found['vinesim']}, and this is {code_version()}: results may differ"
        warnings.warn(text, InputWarning, stacklevel=2)
    return found


def _without_origin(folder: Path) -> Problem:
    """Return the problem with what is given in place of a folder that has an origin."""
    expected = "a folder that --out of run, sweep, plan or backtest wrote"
    if not folder.is_dir():
        found = "a file" if folder.exists() else "no such folder"
        return Problem(str(folder), expected, found, "Check the name.")
    if not any((folder / name).exists() for name in (SUMMARY, STUDY)):
        return Problem(str(folder), expected, "a folder of something else" if any(folder.iterdir()) else "an empty one")
    remedy = "It was written by an earlier version, or from Python: give the file that it was made from."
    return Problem(str(folder), f"a folder with {ORIGIN}", "none", remedy)


def damaged_files(folder: Path) -> list[Path]:
    """Return ``origin.json`` if it is damaged, otherwise the copied inputs that are."""
    file = folder / ORIGIN
    if not file.is_file():
        return []
    found = _parsed(file)
    if found is None:
        return [file]
    copies = [(folder / each.name, each.sha256) for each in _inputs(found) if each.is_copied]
    return [copy for copy, sha256 in copies if copy.is_file() and file_content(copy) != sha256]


def _parsed(file: Path) -> dict[str, Any] | None:
    """Return the contents of an ``origin.json``; None if it is damaged, or something else."""
    data = read_bytes(file)
    try:
        found = json.loads(data) if is_intact(data) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and "inputs" in found else None


def _inputs(found: Mapping[str, Any]) -> list[Input]:
    return [Input(**each) for each in found["inputs"]]


def _missing(folder: Path, given: Input) -> Problem | None:
    """Return the problem with an input; None if it exists unchanged."""
    file = folder / given.name
    expected = f"the file with SHA-256 {given.sha256[:16]}..., {given.n_bytes:,} bytes"
    remedy = "It was too large to be copied: put it there." if not given.is_copied else "Copy the whole folder again."
    if not file.is_file():
        return Problem(str(file), expected, "no such file", remedy)
    return None if file_content(file) == given.sha256 else Problem(str(file), expected, "another file", remedy)


def _named(home: Path, parts: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Return the files that parts of a scenario name; a part's keys may be dotted."""
    found: list[str] = []

    def note(name: str) -> str:
        found.append(name)
        return name

    for part in parts:
        for key, value in part.items():
            renamed(value, steps_of(str(key)) or (str(key),), note)
    return [home / name for name in found]


def _records(home: Path, document: Mapping[str, Any]) -> list[Path]:
    """Return the files with the error that back-tests of the document's jobs found; they may not exist."""
    file = record_file(document, home)
    return [] if file is None else [file]


def _required(files: Iterable[Path]) -> dict[str, str]:
    """Return the third-party packages that the Python files import, as requirements for pip with their versions."""
    code = [file for file in files if file.suffix == ".py"]
    own = {file.stem for file in code} | {file.parent.name for file in code} | {"vinesim", *_OWN_PACKAGES}
    names = {name for file in code for name in imported(read_bytes(file))} - own - sys.stdlib_module_names
    known = packages_distributions() if names else {}
    return {name: f"{known[name][0]}=={version(known[name][0])}" if name in known else "" for name in sorted(names)}
