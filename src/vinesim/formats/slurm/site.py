"""Read a folder with any files of a Slurm site; they are recognised by their contents, not by their names."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from vinesim.formats.slurm.accounts import Association, Qos, read_associations, read_dump, read_qos
from vinesim.formats.slurm.availability import NodeEvent, Reservation, read_events, read_reservations
from vinesim.formats.slurm.blocks import read_blocks
from vinesim.formats.slurm.config import Config, read_config
from vinesim.formats.slurm.jobs import JobTable, read_jobs
from vinesim.formats.slurm.lines import Unread, text_lines
from vinesim.formats.slurm.snapshots import Snapshot, read_snapshots
from vinesim.formats.slurm.values import NOTHING
from vinesim.model.errors import InputError, Problem

HEAD_LINES, HEAD_LETTERS = 50, 16_384  # the most lines and letters of a file that are examined to recognise it
NAMED = {"slurm.conf": "config", "gres.conf": "gres", "topology.conf": "topology"}
_INDEX, _AMOUNT = re.compile(r"\[\d+\]$"), re.compile(r"^(\d+) [a-z/]+$")  # of scontrol show config
MOST_LETTERS = 400  # the most letters of names of files in an error about a folder without jobs
COMMAND = (
    "sacct --allusers --allocations --duplicates --parsable2 --noconvert --starttime ... --endtime ... > sacct.txt"
)


@dataclass
class Site:
    """The contents of a site's files; empty for missing files."""

    folder: Path
    config: Config = field(default_factory=Config)  # slurm.conf or, without it, the settings that scontrol shows
    gres: Config = field(default_factory=Config)  # gres.conf
    topology: Config = field(default_factory=Config)  # topology.conf
    shown_config: dict[str, str] = field(default_factory=dict)  # scontrol show config, by lower-case name
    nodes: list[dict[str, str]] = field(default_factory=list)  # scontrol show nodes
    partitions: list[dict[str, str]] = field(default_factory=list)  # scontrol show partitions
    reservations: list[Reservation] = field(default_factory=list)
    events: list[NodeEvent] = field(default_factory=list)
    associations: list[Association] = field(default_factory=list)
    qos: list[Qos] = field(default_factory=list)
    jobs: JobTable = field(default_factory=JobTable)
    queue: list[Snapshot] = field(default_factory=list)  # squeue
    priorities: list[Snapshot] = field(default_factory=list)  # sprio -l
    shares: list[Snapshot] = field(default_factory=list)  # sshare -l -a -P
    files: dict[str, str] = field(default_factory=dict)  # the files read, by kind
    unused: dict[str, str] = field(default_factory=dict)  # files that were not read, and the reasons
    unread: dict[str, Unread] = field(default_factory=dict)  # lines that were not read, by kind


KINDS: tuple[tuple[str, str], ...] = (  # kinds of files, and how they begin; the first match counts
    ("dump", r"(#.*\n)*\s*Cluster - '|# To edit this file start with a cluster line"),
    ("show config", r"Configuration data as of "),
    ("nodes", r"NodeName=\S+ +(Arch=|CoresPerSocket=|NodeAddr=)|NodeName=\S+ .*\bCfgTRES="),
    ("partitions", r"PartitionName=\S+\s+AllowGroups="),
    ("reservations", r"(##.*\n)?(ReservationName=|No reservations in the system)"),
    ("jobs", r"(?=[^\n]*\bJobID(Raw)?\b)(?=[^\n]*\bSubmit\b)[^\n]*\|"),
    ("events", r"(?=[^\n]*\bNodeName\b)(?=[^\n]*\bTimeStart\b)[^\n]*\|"),
    ("shares", r"(##.*\n)?(?=[^\n]*\bRawShares\b)[^\n]*\|"),
    ("qos", r"(?=[^\n]*\bGraceTime\b)(?=[^\n]*\bName\b)[^\n]*\|"),
    ("associations", r"(?=[^\n]*\bAccount\b)(?=[^\n]*\bUser\b)(?=[^\n]*\bShare\b)[^\n]*\|"),
    ("priorities", r"(##.*\n)?\s*JOBID\s+PARTITION\s+(USER\s+)?PRIORITY"),
    ("queue", r"(##.*\n)?(?=[^\n]*\bJOBID\b)(?=[^\n]*\b(STATE|ST)\b)[^\n]*\|"),
    ("topology", r"(?si).*?^\s*(SwitchName|BlockName)="),
    ("gres", r"(?si)(?=.*^\s*(NodeName=\S+\s+)?Name=(gpu|mps|shard|nic)|.*^\s*AutoDetect=)(?!.*^\s*PartitionName=)"),
    ("config", r"(?si).*?^\s*(NodeName|PartitionName|ClusterName|SlurmctldHost|SelectType)\s*="),
)
_PATTERNS = [(kind, re.compile(pattern, re.MULTILINE)) for kind, pattern in KINDS]


def kind_of(path: Path) -> str:
    """Return the kind of a file, judged by its beginning; "" if unknown."""
    if (name := path.name.removesuffix(".gz")) in NAMED:
        return NAMED[name]
    head = "\n".join(islice(text_lines(path), HEAD_LINES))[:HEAD_LETTERS]
    return next((kind for kind, pattern in _PATTERNS if pattern.match(head)), "")


def read_site(folder: Path) -> Site:
    """Read a site's folder. Raises :class:`InputError` if it is not a folder, or has neither jobs nor a queue."""
    if not folder.is_dir():
        instead = "a file" if folder.exists() else "no such folder"
        raise InputError([Problem(str(folder), "a folder with the files of a Slurm site", instead, "Check the path.")])
    site = Site(folder)
    found: dict[str, list[Path]] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        try:
            kind = kind_of(path)
        except InputError as error:
            site.unused[path.name] = f"expected {error.problems[0].expected}, found {error.problems[0].found}"
            continue
        if kind:
            found.setdefault(kind, []).append(path)
        else:
            site.unused[path.name] = "no file of Slurm that is known" if any(text_lines(path)) else "it is empty"
    problems = list[Problem]()
    for kind, paths in found.items():
        paths = _preferred(paths)
        try:
            _read_kind(site, kind, paths)
        except InputError as error:
            problems += error.problems
            continue
        if kind == "jobs":
            continue
        included = {"config": site.config, "gres": site.gres, "topology": site.topology}.get(kind, Config()).files
        for path in paths[1:]:
            if path.name not in included:
                site.unused[path.name] = f"{paths[0].name} is taken"
    if problems:
        raise InputError(problems)
    if not site.queue:
        check_jobs(site)
    return site


def _read_kind(site: Site, kind: str, paths: list[Path]) -> None:
    """Read the first file of a kind, or all files of jobs."""
    if kind == "jobs":
        site.jobs = read_jobs(*paths)
        site.unread[kind] = site.jobs.unread
        site.files[kind] = ", ".join(path.name for path in paths)
        return
    site.files[kind] = paths[0].name
    _READERS[kind](site, paths[0], site.unread.setdefault(kind, Unread()))


def check_jobs(site: Site) -> None:
    """Raise :class:`InputError` if there are no jobs; it names what was found instead."""
    if site.jobs.jobs:
        return
    found = [f"{name} ({kind})" for kind, name in site.files.items()]
    found += [f"{reason}: {len(lines):,} lines" for reason, lines in site.jobs.dropped.items()]
    found += [f"{name} ({why})" for name, why in site.unused.items()]
    files, remedy = ", ".join(found) or "no files", f"Write them with: {COMMAND}"
    raise InputError([Problem(str(site.folder), "the jobs, as sacct prints them", files[:MOST_LETTERS], remedy)])


def _preferred(paths: list[Path]) -> list[Path]:
    """Sort the files of one kind: Slurm's own names such as slurm.conf first, then shorter names, so that nodes.txt
    comes before nodes_end.txt."""
    return sorted(paths, key=lambda path: (path.name.removesuffix(".gz") not in NAMED, len(path.name), path.name))


Reader = Callable[[Path, Unread], object]


def _set(name: str, read: Reader) -> Callable[[Site, Path, Unread], None]:
    return lambda site, path, unread: setattr(site, name, read(path, unread))


def _blocks(first: str) -> Reader:
    return lambda path, _: [fields for _, fields in read_blocks(path, first)]


def _config(path: Path, _: Unread) -> Config:
    return read_config(path)


def _snapshots(separator: str | None) -> Reader:
    return lambda path, unread: list(read_snapshots(path, unread, separator))


def _dump(site: Site, path: Path, unread: Unread) -> None:
    """Read a dump, which has more of the tree than the table of associations, and therefore replaces that."""
    site.associations = read_dump(path, unread)


def _associations(site: Site, path: Path, unread: Unread) -> None:
    if "dump" not in site.files:
        site.associations = read_associations(path, unread)


def _show_config(site: Site, path: Path, _: Unread) -> None:
    """Read the output of scontrol show config, whose amounts have the units of slurm.conf."""
    pairs = (line.partition("=") for line in text_lines(path) if "=" in line)
    found = {_INDEX.sub("", name.strip().lower()): _AMOUNT.sub(r"\1", value.strip()) for name, _, value in pairs}
    site.shown_config = found
    if "config" not in site.files:
        settings = {name: value for name, value in found.items() if value not in NOTHING}
        site.config = Config(settings=settings, places=dict.fromkeys(settings, str(path)))


_READERS: dict[str, Callable[[Site, Path, Unread], None]] = {
    "dump": _dump,
    "associations": _associations,
    "show config": _show_config,
    "nodes": _set("nodes", _blocks("NodeName")),
    "partitions": _set("partitions", _blocks("PartitionName")),
    "reservations": _set("reservations", read_reservations),
    "events": _set("events", read_events),
    "shares": _set("shares", _snapshots("|")),
    "qos": _set("qos", read_qos),
    "priorities": _set("priorities", _snapshots(None)),
    "queue": _set("queue", _snapshots("|")),
    "topology": _set("topology", _config),
    "gres": _set("gres", _config),
    "config": _set("config", _config),
}
