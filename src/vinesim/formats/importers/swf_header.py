"""The header of an SWF log: comments such as ``; MaxProcs: 100`` that say what the log was recorded on, and when.

Source: the format of the Parallel Workloads Archive, version 2.2, "Header Comments".
"""

import datetime
import os
import re
from dataclasses import dataclass

from vinesim.formats.importers.machines import MAX_UNITS, Clusters
from vinesim.formats.source.files import lines_of

_LABEL = re.compile(r";\s*([A-Za-z]\w*)\s*:\s*(.*\S)")
_COUNT = re.compile(r"\d{1,9}")
LAST_S = 253402300800  # the end of the year 9999


@dataclass(frozen=True)
class SwfHeader:
    """The labels of a header with their texts; the first line of each label."""

    labels: dict[str, str]

    @property
    def clusters(self) -> Clusters:
        """Nodes and processors per node; empty if the header does not say how many there are, or too many.

        Processors that cannot be shared out equally make nodes of two sizes.
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
        """What the datacenter was made of, in words; nothing if there is none."""
        if not self.clusters:
            return ""
        said = ", ".join(f"{name} {self.labels[name]}" for name in ("MaxNodes", "MaxProcs") if name in self.labels)
        made = " and ".join(f"{n:,} nodes of {width:,} processors" for n, width in self.clusters)
        return f"the datacenter is that of the header ({said}): {made}; give --machines for another one"

    @property
    def is_unequal(self) -> bool:
        """Whether the number of processors is no multiple of that of the nodes."""
        return len(self.clusters) > 1

    @property
    def computer(self) -> str:
        """The computer and where it stood, in words; nothing if the header does not say."""
        return ", ".join(self.labels[name] for name in ("Computer", "Installation") if name in self.labels)

    def began(self, first_s: float) -> str:
        """Return when the first job was submitted, as a date, and the time zone; nothing if the header does not say."""
        start, zone = self._count("UnixStartTime"), self.labels.get("TimeZoneString", "")
        if not start or not 0 <= start + first_s < LAST_S:
            return ""
        date = datetime.datetime.fromtimestamp(start + first_s, datetime.UTC).isoformat(timespec="seconds")
        return f"the first job was submitted at {date}" + (f"; the log is of {zone}" if zone else "")

    def _count(self, label: str) -> int:
        """Return the first number of a label's text, as MaxNodes may be followed by words; 0 if there is none."""
        found = _COUNT.match(self.labels.get(label, ""))
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
