"""Read the nodes of a Slurm cluster from the output of ``scontrol show nodes``, with a line or a paragraph per node.

Fields used: NodeName, CPUEfctv (otherwise CPUTot), RealMemory - MemSpecLimit (MiB), Gres (such as gpu:a100:8(S:0-1)),
Partitions and State.
"""

import os
import re
from typing import NamedTuple

from vinesim.formats.importers.made_nodes import ANY_GPU, CPU
from vinesim.formats.importers.slurm_fields import whole
from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.source.files import read_text
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.errors import InputError, Problem

MIB = 2**20
IS_OFF = ("DOWN", "DRAIN", "FAIL", "NO_RESPOND", "POWERED_DOWN", "UNKNOWN")
_FIELD = re.compile(r"(?:^|\s)(NodeName|CPUEfctv|CPUTot|RealMemory|MemSpecLimit|Gres|Partitions|State)=(\S*)")
_GPU = re.compile(r"gpu(?::([^:,()]+))?:(\d+)(?:\([^)]*\))?$")


class SlurmNode(NamedTuple):
    """What a node has, the partitions that it is in, and its name."""

    name: str
    cores: int
    memory_bytes: int
    gpus: tuple[tuple[str, int], ...]  # type and number
    partitions: tuple[str, ...]
    is_off: bool  # whether it was down or drained when the command ran

    @property
    def has_types(self) -> bool:
        """Whether the type of its GPUs is given."""
        return any(kind != ANY_GPU for kind, _ in self.gpus)

    def most_gpus(self, gpu_type: str) -> int:
        """Return how many GPUs of one type it has; empty for any type."""
        return max((n for kind, n in self.gpus if gpu_type in ("", kind)), default=0)


def read_slurm_nodes(path: str | os.PathLike[str]) -> list[SlurmNode]:
    """Return the nodes, in the order of the file. Raises :class:`InputError`."""
    nodes, problems, fields = [], list[Problem](), dict[str, str]()
    first, names = 0, set[str]()
    lines = read_text(path).split("\n")
    for number, line in enumerate([*lines, "NodeName="], 1):
        found = _FIELD.findall(line)
        if any(name == "NodeName" for name, _ in found):
            if fields:
                nodes.append(_node(f"{path}:{first}", fields, names, problems))
            fields, first = {}, number
        elif found and not fields:
            continue  # fields before the first node
        fields |= dict(found)
    if not nodes:
        command = "Write it with: scontrol show nodes -o > nodes.txt"
        problems.append(Problem(str(path), "nodes as scontrol shows them, NodeName=...", "none", command))
    n_units = sum(2 + sum(n for _, n in node.gpus) for node in nodes)
    if not problems and n_units > MAX_UNITS:
        problems.append(Problem(str(path), f"at most {MAX_UNITS:,} units: CPUs, memory and GPUs", f"{n_units:,}"))
    if problems:
        raise InputError(problems[:20], len(problems))
    return nodes


def _node(where: str, fields: dict[str, str], names: set[str], problems: list[Problem]) -> SlurmNode:
    """Return a node; its errors are added to the problems."""
    name = fields["NodeName"]
    if not name or "[" in name:
        problems.append(Problem(where, "NodeName: the name of one node", repr(name), "Give the output of scontrol."))
    elif name in names:
        problems.append(Problem(where, "each node once", f"{name} again"))
    names.add(name)
    cores = _whole(where, fields, "CPUEfctv" if "CPUEfctv" in fields else "CPUTot", None, problems)
    memory = _whole(where, fields, "RealMemory", None, problems) - _whole(where, fields, "MemSpecLimit", 0, problems)
    if cores < 1 or memory < 1:
        found = f"{cores} CPUs, {memory} MB"
        problems.append(Problem(where, "CPUs and memory for jobs", found))
    gpus = gpus_of(fields.get("Gres", ""))
    if (most := sum(n for _, n in gpus)) > MAX_UNITS:
        problems.append(Problem(where, f"Gres: at most {MAX_UNITS:,} GPUs", f"{most:,}"))
    taken = [kind for kind, _ in gpus if kind in (CPU, MEMORY) or "|" in kind]
    if taken:
        problems.append(Problem(where, f"Gres: types of GPUs other than {CPU} and {MEMORY}", ", ".join(taken)))
    partitions = tuple(filter(None, fields.get("Partitions", "").split(",")))
    is_off = any(state in fields.get("State", "") for state in IS_OFF)
    return SlurmNode(name, cores, memory * MIB, gpus, partitions, is_off)


def gpus_of(gres: str) -> tuple[tuple[str, int], ...]:
    """Return the GPUs in a node's Gres: type and number of each type, sorted."""
    found: dict[str, int] = {}
    for item in re.split(r",(?![^(]*\))", gres):
        if match := _GPU.match(item):
            kind = match[1] or ANY_GPU
            found[kind] = found.get(kind, 0) + int(min(float(match[2]), MAX_UNITS + 1))  # with any number of digits
    return tuple(sorted((kind, n) for kind, n in found.items() if n))


def _whole(where: str, fields: dict[str, str], name: str, default: int | None, problems: list[Problem]) -> int:
    text = fields.get(name, "" if default is None else str(default))
    if (found := whole(text)) is not None:
        return found
    problems.append(Problem(where, f"{name}: a whole number", repr(text)[:40] if name in fields else "nothing"))
    return 1 if default is None else default
