"""Read LSF's records of jobs that ended: lines of ``lsb.acct``, or the output of ``bacct -l``.

A line ``"JOB_FINISH"`` of lsb.acct has fields separated by blanks. Texts are in quotation marks; a quotation mark
inside a text is doubled. bacct breaks its lines anywhere and indents the rest; its dates may lack the year. Sources:
IBM Spectrum LSF 10.1, lsb.acct and bacct.
"""

import datetime
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vinesim.formats.importers.slurm_fields import whole
from vinesim.formats.source.files import lines_of
from vinesim.model.errors import InputError, Problem

FINISH, RULE = '"JOB_FINISH"', "-" * 20
INDENT = " " * 15  # least length of a continued line of bacct
BEFORE_HOSTS = 22  # fields of a line of lsb.acct before the numbers of hosts
_FIELD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_JOB = re.compile(r"Job <(\d+)(?:\[\d+\])?>")
_EVENT = re.compile(r"(?:\w{3} )?(\w{3} +\d{1,2} \d\d:\d\d:\d\d)(?: (\d{4}))?: (.*)")
_HOSTS = re.compile(r"(?:on Host\(s\)|[Dd]ispatched to(?: \d+ Hosts/Processors)?) ((?:<[^>]*> ?)+)")
_WAIT = re.compile(r"^\s*-?[\d.]+\s+(\d+)\s+(\d+)\s+\w+\s", re.MULTILINE)
TWICE = "a record that is there twice, as where logs overlap"
EXPECTED = "lines of lsb.acct, or what bacct -l prints"


class Record(NamedTuple):
    """LSF's record of a job; times are s since 1970."""

    line: int
    number: int | None
    name: str
    user: str
    queue: str
    submitted_s: float
    start_s: float  # 0: it never started
    end_s: float
    hosts: tuple[str, ...]  # such as 16*host1, or a host repeated for each slot
    wanted: str  # its resource requirements, in LSF's words
    is_of_array: bool  # whether it is an array, whose jobs share its number
    is_local: bool = False  # whether times are the cluster's local time


def records_of(log: Path, year: int) -> Iterator[Record | tuple[int, str]]:
    """Yield each job once, or a line and why it is not a job. Raises :class:`InputError` for another format."""
    lines = [line.decode("utf-8", "replace").rstrip() for line in lines_of(log)]
    seen = set[str]()
    if any(line.startswith(FINISH) for line in lines):
        for number, line in enumerate(lines, 1):
            if line.startswith(FINISH) and line in seen:
                yield number, TWICE
            elif line.startswith(FINISH):
                seen.add(line)
                yield _of_fields(number, [a.replace('""', '"') if a else b for a, b in _FIELD.findall(line)])
            elif line and not line.startswith('"'):
                yield number, "no record"
        return
    if not any(_JOB.match(line.strip()) for line in lines):
        remedy = "Write it with: bacct -u all -l -UF > jobs.txt, or give lsb.acct."
        raise InputError([Problem(str(log), EXPECTED, "neither", remedy)])
    for number, text in _blocks(lines):
        yield (number, TWICE) if text in seen else _of_block(log, number, text, year)
        seen.add(text)


def _of_fields(line: int, fields: list[str]) -> Record | tuple[int, str]:
    try:
        n_asked = int(fields[BEFORE_HOSTS])
        at = BEFORE_HOSTS + 1 + n_asked
        n_hosts = int(fields[at])
        hosts = fields[at + 1 : at + 1 + n_hosts]
        name = fields[at + 1 + n_hosts + 2]
        end, number, submitted, start = (float(fields[i]) for i in (2, 3, 7, 10))
    except (ValueError, IndexError):
        return line, "a record whose fields cannot be read"
    wanted = next((text for text in fields[::-1] if text.startswith("select[")), fields[13])
    return Record(
        line, int(number), name, fields[11], fields[12], submitted, start, end, tuple(hosts), f"{fields[13]} {wanted}",
        "[" in name,
    )  # fmt: skip


def _blocks(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the text of each job, with broken lines joined, and the number of its first line."""
    first, held = 0, list[str]()
    for number, line in enumerate([*lines, RULE], 1):
        plain = line.strip()
        if plain.startswith(RULE) or _JOB.match(plain):
            if held:
                yield first, "\n".join(held)
            first, held = number, [plain] if _JOB.match(plain) else []
        elif held and line.startswith(INDENT):
            held[-1] += line.lstrip(" ")
        elif held and plain:
            held.append(plain)


def _of_block(log: Path, line: int, text: str, year: int) -> Record | tuple[int, str]:
    head = text.split("\n")[0]
    named = dict(re.findall(r"(Job|Job Name|User|Queue) <([^>]*)>", head))
    times, hosts, wanted = dict[str, float](), tuple[str, ...](), ""
    last = 0.0
    for part in text.split("\n"):
        event = _EVENT.match(part)
        if event is None:
            continue
        if not event[2] and not year:
            expected, remedy = "a date with the year", "Say --year, the one in which the first job was submitted."
            raise InputError([Problem(f"{log}:{line}", expected, part[:40], remedy)])
        second = _second(event[1], int(event[2] or year), last if not event[2] else 0.0)
        if second is None:
            return line, "a date that cannot be read"
        last = second
        kind = re.match(r"Submitted|\[?\d*\]? ?[Dd]ispatched|Completed|Exited", event[3])
        if kind is None:
            continue
        word = "start" if "ispatched" in kind[0] else "submitted" if kind[0] == "Submitted" else "end"
        times[word] = second
        if word == "start":
            found = _HOSTS.findall(event[3])
            hosts = tuple(re.findall(r"<([^>]*)>", found[-1])) if found else ()
        if word != "end":
            wanted += f" {event[3]}"
    if "submitted" not in times:
        return line, "no date of submission"
    if waits := _WAIT.search(text.partition("Accounting information")[2]):
        times.setdefault("end", times["submitted"] + float(waits[2]))
    digits, is_of_array, _ = named.get("Job", "").partition("[")
    return Record(
        line, whole(digits), named.get("Job Name", ""), named.get("User", ""), named.get("Queue", ""),
        times["submitted"], times.get("start", 0.0), times.get("end", 0.0), hosts, wanted, bool(is_of_array),
        is_local=True,
    )  # fmt: skip


def _second(text: str, year: int, after: float) -> float | None:
    """Parse a date such as May 6 12:11:59, s since 1970; it is in the next year if it would be before ``after``."""
    for one in (year, year + 1):
        try:
            date = datetime.datetime.strptime(f"{one} {text}", "%Y %b %d %H:%M:%S").replace(tzinfo=datetime.UTC)
        except ValueError:
            return None
        if date.timestamp() >= after:
            return date.timestamp()
    return None
