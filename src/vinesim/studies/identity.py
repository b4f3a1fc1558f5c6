"""The id of a run: a hash of all that decides its outcome, equal on every machine.

It covers the scenario's document after the point's changes, the bytes of the files that it names, a policy's code, the
seed, the warm-up and VineSim's version; not descriptions, labels, or where files lie. Numbers count by value (5 is
5.0), but a quantity is its text: ``5 us`` is another id than 5. The order of keys counts only where it decides
something: among the units of a rack or node, and in mappings among a generator's options.
"""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vinesim.formats.scenario_keys import FILE_SECTIONS, split_policy
from vinesim.formats.yaml_source import YamlSource, steps_of
from vinesim.model.scenario import feed
from vinesim.model.version import VERSION
from vinesim.studies.policy_code import code_of_class, code_of_entry_point, code_of_file, file_content

_NOT_COUNTED = ("description", "seed")  # the run's own seed counts
_IN_ORDER = "in order"


def run_id(
    document: Mapping[str, Any], folder: Path, seed: int, warm_up: str | Mapping[str, float] | None = None
) -> str:
    """The id of a run of a scenario's whole document, after all changes: 16 hex digits."""
    content = Content(folder)
    digests = [content.section(name, document[name]) for name in sorted(document)]
    return of_sections(digests, seed, surroundings(warm_up))


def surroundings(warm_up: str | Mapping[str, float] | None) -> bytes:
    """The digest of what is the same in all runs of a study."""
    digest = hashlib.sha256()
    feed(digest, ["vinesim run", VERSION, warm_up])
    return digest.digest()


def of_sections(digests: list[bytes], seed: int, around: bytes) -> str:
    """The id from the digests of the sections in the order of their names, the seed, and the surroundings."""
    return hashlib.sha256(b"".join((around, *digests, b"%d" % seed))).hexdigest()[:16]


class Content:
    """Digests of a document's sections; each file is read once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._files: dict[Path, Any] = {}

    def section(self, name: str, value: Any) -> bytes:
        """The digest of a top-level key with its value; nothing for one that decides nothing."""
        if name in _NOT_COUNTED or value is None:
            return b""
        if name in FILE_SECTIONS and isinstance(value, Mapping) and isinstance(value.get("file"), str):
            value = {**value, "file": self._file(value["file"])}
        elif name == "policy":
            value = self._policy(value)
        digest = hashlib.sha256()
        feed(digest, [name, _ordered(value, name, name == "workload")])
        return digest.digest()

    def _file(self, name: str) -> list[Any]:
        """What counts of a named file: its kind and its bytes."""
        path = self.folder / name
        if path not in self._files:
            self._files[path] = [Path(name).suffix, file_content(path)]
        return self._files[path]

    def _policy(self, policy: Any) -> Any:
        if not isinstance(policy, str):
            return policy if isinstance(policy, int | float | list | dict) else code_of_class(policy)
        file, rest = split_policy(policy)
        if not file:
            return [policy, code_of_entry_point(policy)]
        path = self.folder / file
        if path not in self._files:
            self._files[path] = code_of_file(path)
        return [rest, self._files[path]]


def _ordered(value: Any, name: str, is_workload: bool) -> Any:
    """The value with the mappings whose order decides something as lists of pairs."""
    if isinstance(value, Mapping):
        inner = {key: _ordered(item, key, is_workload) for key, item in value.items()}
        is_option = is_workload and name not in ("workload", "options")
        return [_IN_ORDER, *map(list, inner.items())] if name == "units" or is_option else inner
    if isinstance(value, list):
        return [_ordered(item, "", is_workload) for item in value]
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return str(value)  # wrong, which the scenario's own check tells
    return value


class PointIds:
    """The digests of points, section by section, each section once for the positions that decide it."""

    def __init__(self, source: YamlSource, folder: Path, settings: list[tuple[Mapping[str, Any], ...]]):
        """``settings`` are of each axis, position by position."""
        self._source, self._content, self._settings = source, Content(folder), settings
        touched = [{str((steps_of(key) or (key,))[0]) for setting in axis for key in setting} for axis in settings]
        names = sorted({*map(str, source.data), *(name for names in touched for name in names)})
        self._by_section: list[tuple[str, list[int], dict[tuple[int, ...], bytes]]] = [
            (name, [a for a, names in enumerate(touched) if name in names], {}) for name in names
        ]

    def digests(self, positions: tuple[int, ...]) -> list[bytes]:
        """Of the sections of the point at these positions of the axes."""
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
            if str((steps_of(key) or (key,))[0]) == name
        }
        return self._source.changed(settings).data.get(name)
