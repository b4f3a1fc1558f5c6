"""Read the header of an SWF log: comments such as ``; MaxProcs: 100`` that describe the machine and the times.

Source: the format of the Parallel Workloads Archive, version 2.2, "Header Comments".
"""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from vinesim.formats.importers.machines import MAX_UNITS, Clusters
from vinesim.formats.source.files import lines_of

_LABEL = re.compile(r";\s*([A-Za-z]\w*)\s*:\s*(.*\S)")
_COUNT = re.compile(r"\d{1,9}")
_TIME = re.compile(r"\d{1,11}")
_OFFSET = re.compile(r"[+-]?\d{1,5}")
_DATE = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?([A-Za-z]{3})[a-z]*\s+(\d{1,2})\s+(\d\d:\d\d:\d\d)(?:\s+[A-Z]{2,5})?\s+(\d{4})"
)
AFTER_1990_S = 6.3e8  # larger times count from 1970
LAST_S = 253402300800  # the end of the year 9999
DAY_S = 86400


@dataclass(frozen=True)
class SwfHeader:
    """The labels of a header with their texts; of repeated labels, the first counts."""

    labels: dict[str, str]

    @property
    def clusters(self) -> Clusters:
        """Nodes and processors per node; empty if the header does not give the number, or too large a one.

        If the processors cannot be divided equally, there are nodes of two sizes.
        """
        nodes, processors = (self._count(label) for label in ("MaxNodes", "MaxProcs"))
        processors = processors or nodes
        nodes = min(nodes or processors, processors)
        if not 0 < processors <= MAX_UNITS:
            return []
        each, more = divmod(processors, nodes)
        return [(n, width) for n, width in ((more, each + 1), (nodes - more, each)) if n]

    @property
    def on_what(self) -> str:
        """How the datacenter was derived, in words; empty if there is none."""
        if not self.clusters:
            return ""
        said = ", ".join(f"{name} {self.labels[name]}" for name in ("MaxNodes", "MaxProcs") if name in self.labels)
        made = " and ".join(f"{n:,} nodes of {width:,} processors" for n, width in self.clusters)
        return f"the datacenter is that of the header ({said}): {made}; give --machines for another one"

    @property
    def is_unequal(self) -> bool:
        """Whether the number of processors is not a multiple of the number of nodes."""
        return len(self.clusters) > 1

    @property
    def computer(self) -> str:
        """The computer and its site, in words; empty if the header does not give them."""
        return ", ".join(self.labels[name] for name in ("Computer", "Installation") if name in self.labels)

    def began(self, first_s: float) -> datetime | None:
        """Return the date at which the first job was submitted, in the log's time zone or, if unknown, in UTC.

        ``first_s`` counts from the start of the log or from 1970. The date is None if neither gives it.
        """
        start_s = 0.0 if first_s > AFTER_1990_S else self._start_s
        if start_s is None or not 0 <= start_s + first_s < LAST_S - DAY_S:
            return None
        return datetime.fromtimestamp(start_s + first_s, self._zone or UTC)

    @property
    def zone(self) -> str:
        """The time zone of the log's dates, in words."""
        if isinstance(self._zone, ZoneInfo):
            return self.labels["TimeZoneString"]
        return f"{self._zone or UTC}" + ", as the header names no time zone" * (self._zone is None)

    @property
    def _start_s(self) -> float | None:
        """The start of the log, s since 1970, from UnixStartTime or, without it, from the local StartTime."""
        if start := self._count("UnixStartTime", _TIME):
            return start
        found = _DATE.match(self.labels.get("StartTime", ""))
        try:
            date = datetime.strptime(" ".join(found.groups()), "%b %d %H:%M:%S %Y") if found else None
        except ValueError:
            return None
        return date.replace(tzinfo=self._zone or UTC).timestamp() if date else None

    @property
    def _zone(self) -> tzinfo | None:
        """The time zone by its name or, if that is missing or unknown on this machine, by its offset from UTC, s."""
        try:
            return ZoneInfo(self.labels["TimeZoneString"])
        except (KeyError, ValueError, OSError):  # missing, not the name of a zone, or unknown
            pass
        offset = _OFFSET.fullmatch(self.labels.get("TimeZone", ""))
        return timezone(timedelta(seconds=int(offset[0]))) if offset and abs(int(offset[0])) < DAY_S else None

    def _count(self, label: str, digits: re.Pattern[str] = _COUNT) -> int:
        """Return the first number in a label's text, which may continue with words; 0 if there is none."""
        found = digits.match(self.labels.get(label, ""))
        return int(found[0]) if found and not self.labels[label][found.end() :][:1].isdigit() else 0


def read_header(path: str | os.PathLike[str]) -> SwfHeader:
    """Return the header: the comments before the first job. Raises :class:`InputError` if the file cannot be read."""
    labels: dict[str, str] = {}
    for line in lines_of(path):
        text = line.decode("utf-8", "replace").strip()
        if text and not text.startswith(";"):
            break
        if found := _LABEL.match(text):
            labels.setdefault(found[1], found[2])
    return SwfHeader(labels)
