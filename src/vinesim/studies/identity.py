"""The id of a run: a hash of everything that decides its outcome, equal on every machine.

It covers the scenario's document after the changes of the point, the bytes of the files that it names, the policy (see
``policies.identity``), the seed, the warm-up and VineSim's version. It does not cover descriptions, labels, or where
files are. Numbers count by value (5 is 5.0), but a quantity outside the policy's options counts as text: ``5 us`` gives
another id than 5. The order of keys counts only where it matters: among the units of a rack or node, and in mappings
among a generator's options.
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.keys import FILE_SECTIONS, names_file
from vinesim.formats.source.quantities import time_us
from vinesim.formats.source.yaml_source import YamlSource, steps_of
from vinesim.model.digest import feed
from vinesim.model.errors import InputError
from vinesim.model.python_file import split_file
from vinesim.model.scenario import PERIOD_US
from vinesim.model.version import code_version
from vinesim.policies.code import code_of_file, file_content
from vinesim.policies.documents import prepared
from vinesim.policies.identity import policy_content
from vinesim.workloads.registry import generators

_NOT_COUNTED = ("description", "seed")  # the seed of the run counts instead
_WITH_POLICY = ("policy", "options", "period")  # one section: what counts in one depends on the others
_IN_ORDER = "in order"


def run_id(
    document: Mapping[str, Any],
    folder: Path,
    seed: int,
    warm_up: str | Mapping[str, float] | None = None,
    record: Sequence[str] = (),
) -> str:
    """Return the id of a run from the scenario's whole document, after all changes: 16 hex digits."""
    content = Content(folder)
    document = prepared(YamlSource.of(document), folder, loads_files=False)[0].data
    names = sorted({_section(name) for name in (*document, "policy")})
    digests = [content.section(name, _value(document, name)) for name in names]
    return of_sections(digests, seed, surroundings(warm_up, content.own_numbers(record)))


def surroundings(warm_up: str | Mapping[str, float] | None, own_numbers: Sequence[Any]) -> bytes:
    """Return the digest of everything that all runs of a study share."""
    digest = hashlib.sha256()
    feed(digest, ["vinesim run", code_version(), warm_up, *own_numbers])
    return digest.digest()


def of_sections(digests: list[bytes], seed: int, around: bytes) -> str:
    """Return the id from the digests of the sections in the order of their names, the seed, and the surroundings."""
    return hashlib.sha256(b"".join((around, *digests, b"%d" % seed))).hexdigest()[:16]


def _section(key: str) -> str:
    """Return the section that a top-level key belongs to."""
    return "policy" if key in _WITH_POLICY else key


def _value(document: Mapping[str, Any], section: str) -> Any:
    return [document.get(key) for key in _WITH_POLICY] if section == "policy" else document.get(section)


class Content:
    """Computes the digests of a document's sections; each file is read once.

    Attributes:
        files: the hashes of all files that have been read, by path.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.files: dict[Path, str] = {}
        self._content: dict[Path, Any] = {}

    def section(self, name: str, value: Any) -> bytes:
        """Return the digest of a section; empty if it decides nothing or has its default value."""
        if name == "policy":
            value = self._policy(*value)
        elif name in _NOT_COUNTED or value is None or value == _default(name):
            return b""
        if name in FILE_SECTIONS:
            value = self._with_files(value)
        if name == "workload" and isinstance(value, Mapping) and isinstance(value.get("generator"), str):
            value = {**value, "generator": self._generator(value["generator"])}
        digest = hashlib.sha256()
        feed(digest, [name, _ordered(value, name, name == "workload")])
        return digest.digest()

    def _with_files(self, value: Any) -> Any:
        """Return the value with each file that it names, at any depth, replaced by what identifies the file."""
        if isinstance(value, list):
            return [self._with_files(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        return {
            key: self._file(item) if names_file(key) and isinstance(item, str) else self._with_files(item)
            for key, item in value.items()
        }

    def _file(self, name: str) -> list[Any]:
        """Return what identifies a named file: its format and the hash of its bytes."""
        path = self.folder / name
        if path not in self._content:
            self.files[path] = file_content(path)
            self._content[path] = [Path(name).suffix, self.files[path]]
        return self._content[path]

    def own_numbers(self, record: Sequence[str]) -> list[Any]:
        """Return what identifies the functions that a study records: their names and the code of their files."""
        own = [split_file(name) for name in record]
        return [[rest.removeprefix(":"), self._code(self.folder / file)] for file, rest in own if file]

    def _generator(self, name: str) -> Any:
        """Return what identifies a generator: its name, or the function's name and the code of its file."""
        file, rest = split_file(name)
        if file:
            return [rest.removeprefix(":"), self._code(self.folder / file)]
        own = generators().get(name)
        module = None if own is None else sys.modules.get(own.make.__module__)
        is_own = module is not None and module.__name__.startswith("vinesim.")
        return name if module is None or is_own else [name, code_of_file(Path(str(module.__file__)))]

    def _policy(self, policy: Any, options: Any, period: Any) -> list[Any]:
        content = policy_content("high" if policy is None else policy, options, self.folder, self._code)
        with suppress(InputError):  # reported by the scenario's own check
            period = PERIOD_US if period is None else time_us(period, "")
        return [*content, period]

    def _code(self, path: Path) -> Any:
        if path not in self._content:
            own, modules = self._content[path] = code_of_file(path)
            self.files |= {path: own, **{path.parent / name: content for name, content in modules.items()}}
        return self._content[path]


def _default(name: str) -> Any:
    field = ScenarioDocument.model_fields.get(name)
    return None if field is None else field.default


def _ordered(value: Any, name: str, is_workload: bool) -> Any:
    """Return the value with mappings as lists of pairs where their order matters."""
    if isinstance(value, Mapping):
        inner = {key: _ordered(item, key, is_workload) for key, item in value.items()}
        is_option = is_workload and name not in ("workload", "options")
        return [_IN_ORDER, *map(list, inner.items())] if name == "units" or is_option else inner
    if isinstance(value, list):
        return [_ordered(item, "", is_workload) for item in value]
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return str(value)  # invalid; the scenario's own check reports it
    return value


class PointIds:
    """Computes the digests of points by section. A section is hashed once for all points in which it is equal."""

    def __init__(self, source: YamlSource, folder: Path, settings: list[tuple[Mapping[str, Any], ...]]):
        """``settings`` are the settings of each axis, by position."""
        self._source, self._content, self._settings = source, Content(folder), settings
        touched = [{_section_of(key) for setting in axis for key in setting} for axis in settings]
        names = sorted({"policy", *map(_section, map(str, source.data))}.union(*touched))
        self._by_section: list[tuple[str, list[int], dict[tuple[int, ...], bytes]]] = [
            (name, [a for a, names in enumerate(touched) if name in names], {}) for name in names
        ]

    @property
    def files(self) -> dict[Path, str]:
        """The hashes, by path, of the files that all points computed up to now name."""
        return self._content.files

    def own_numbers(self, record: Sequence[str]) -> list[Any]:
        """Return what identifies the functions that a study records."""
        return self._content.own_numbers(record)

    def digests(self, positions: tuple[int, ...]) -> list[bytes]:
        """Return the digests of the sections at the point with these positions on the axes."""
        found = []
        for name, axes, known in self._by_section:
            key = tuple([positions[a] for a in axes])
            if key not in known:
                known[key] = self._content.section(name, self._value(name, axes, key))
            found.append(known[key])
        return found

    def _value(self, name: str, axes: list[int], positions: tuple[int, ...]) -> Any:
        settings = {
            key: value
            for axis, position in zip(axes, positions, strict=True)
            for key, value in self._settings[axis][position].items()
            if _section_of(key) == name
        }
        source = self._source.changed(settings)
        if name == "policy":
            source = prepared(source, self._content.folder, loads_files=False)[0]
        return _value(source.data, name)


def _section_of(key: str) -> str:
    return _section(str((steps_of(key) or (key,))[0]))
