"""``slurm.conf``, ``gres.conf`` and ``topology.conf``: lines of ``Name=value`` pairs, with files that they include.

Names are the same in upper and lower case. A line that begins with NodeName, PartitionName and the like describes
these; its values for DEFAULT hold for the lines that follow. Source: the manual page of slurm.conf.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from vinesim.formats.slurm.lines import text_lines
from vinesim.model.errors import InputError, Problem

KINDS = ("nodename", "partitionname", "switchname", "nodeset", "downnodes", "frontendname", "name", "blockname")
MOST_FILES = 100  # most files that one file includes, directly or indirectly
_PAIR = re.compile(r"([A-Za-z_][\w/]*)\s*=\s*(\"[^\"]*\"|\S*)")


@dataclass(frozen=True)
class Entry:
    """A line about nodes, a partition, a switch or GPUs: its values by lower-case name, with the defaults before it."""

    values: dict[str, str]
    where: str  # file and line


@dataclass(frozen=True)
class Config:
    """The settings of a file and of the files that it includes."""

    settings: dict[str, str] = field(default_factory=dict)  # by lower-case name
    entries: dict[str, list[Entry]] = field(default_factory=dict)  # by first key, such as "nodename"
    places: dict[str, str] = field(default_factory=dict)  # the file and line of each setting
    files: set[str] = field(default_factory=set)  # the names of the files read

    def list_of(self, name: str) -> dict[str, str]:
        """Return a setting that is a list of names and values, such as SchedulerParameters; "" without one."""
        found = {}
        for item in self.settings.get(name, "").split(","):
            key, _, value = item.strip().partition("=")
            if key:
                found[key.lower()] = value
        return found


def read_config(path: Path) -> Config:
    """Read a configuration file and what it includes. Raises :class:`InputError`."""
    config, problems = Config(), list[Problem]()
    _read(path, config, dict[str, dict[str, str]](), [], problems)
    if problems:
        raise InputError(problems)
    return config


def _read(
    path: Path, config: Config, defaults: dict[str, dict[str, str]], within: list[Path], problems: list[Problem]
) -> None:
    config.files.add(path.name)
    text, begun = "", 0
    for number, line in enumerate(text_lines(path), 1):
        begun = begun or number
        bare = _without_comment(line).rstrip()
        if bare.endswith("\\"):
            text += bare[:-1] + " "
            continue
        text, place, begun = text + bare, f"{path}:{begun}", 0
        words = text.split()
        if len(words) == 2 and words[0].lower() == "include":
            _include(path.parent / Path(words[1]).name, place, config, defaults, [*within, path], problems)
        elif words:
            _add(text, place, config, defaults, problems)
        text = ""


def _include(
    path: Path,
    place: str,
    config: Config,
    defaults: dict[str, dict[str, str]],
    within: list[Path],
    problems: list[Problem],
) -> None:
    if path in within or len(within) > MOST_FILES:
        problems.append(Problem(place, "files that do not include one another", f"a circle: {path.name} again"))
        return
    if not path.is_file():
        remedy = "Name each file in a line of its own." if "*" in path.name else "Copy it there, or delete the line."
        problems.append(Problem(place, "a file next to this one to include", f"no {path.name}", remedy))
        return
    _read(path, config, defaults, within, problems)


def _add(text: str, place: str, config: Config, defaults: dict[str, dict[str, str]], problems: list[Problem]) -> None:
    pairs = [(name.lower(), value.strip('"')) for name, value in _PAIR.findall(text)]
    if not pairs or _PAIR.sub("", text).strip():
        problems.append(Problem(place, "Name=value, with no spaces in a value unless it is quoted", repr(text)[:60]))
        return
    kind = next((name for name, _ in pairs if name in KINDS), "") if pairs[0][0] in KINDS or len(pairs) > 1 else ""
    if not kind:
        for name, value in pairs:
            config.settings[name] = value
            config.places[name] = place
        return
    values = dict(pairs)
    if not values[kind] or "=" in values[kind]:
        problems.append(Problem(place, f"a name after {kind}=", repr(values[kind])[:60]))
    elif values[kind].upper() == "DEFAULT":
        defaults.setdefault(kind, {}).update(values)
    else:
        config.entries.setdefault(kind, []).append(Entry({**defaults.get(kind, {}), **values}, place))


def _without_comment(line: str) -> str:
    """Cut the line at its first ``#`` that no backslash precedes."""
    return re.split(r"(?<!\\)#", line, maxsplit=1)[0].replace("\\#", "#")
