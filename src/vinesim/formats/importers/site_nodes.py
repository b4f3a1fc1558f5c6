"""Read the nodes and partitions of a Slurm site from slurm.conf or, without it, from the output of scontrol."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from vinesim.formats.importers.slurm_nodes import MIB, gpus_of
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.values import NOTHING, hosts
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.errors import InputError, Problem

CPU = "CPU"


@dataclass(frozen=True)
class SiteNode:
    """A node, and the partitions that it is in."""

    name: str
    cpus: int
    memory_mib: int
    gpus: tuple[tuple[str, int], ...]  # type and number
    features: tuple[str, ...]
    weight: int
    partitions: tuple[str, ...] = ()


class SitePartition(NamedTuple):
    """A partition, with its values by lower-case name."""

    name: str
    nodes: frozenset[str]
    values: dict[str, str]
    unknown: frozenset[str] = frozenset()  # nodes that it names, but no line describes


class Nodes(NamedTuple):
    """All nodes in Slurm's order, and the partitions."""

    nodes: list[SiteNode]
    partitions: list[SitePartition]
    long_qos: frozenset[str] = frozenset()  # QOS whose jobs may exceed the time limit of their partition

    @property
    def gpu_types(self) -> list[str]:
        """The types of GPUs that any node has."""
        return sorted({kind for node in self.nodes for kind, _ in node.gpus})

    def groups(self) -> list[tuple[str, list[SiteNode]]]:
        """Return the nodes grouped into runs of equal ones, each named by the letters of its first node's name."""
        names: dict[tuple[object, ...], str] = {}
        for node in self.nodes:
            if _kind(node) not in names:
                stem = re.sub(r"\d+$", "", node.name).strip("-_") or node.name
                taken = sum(name.split(".")[0] == stem for name in names.values())
                names[_kind(node)] = f"{stem}.{taken + 1}" if taken else stem
        return [(names[kind], list(run)) for kind, run in groupby(self.nodes, key=_kind)]


def _place(node: SiteNode) -> list[object]:
    """Return Slurm's sort key of a node: its name, with the numbers in it compared as numbers."""
    parts = re.split(r"0*([0-9]+)", node.name)  # every second part is a number
    return [(len(part), part) if i % 2 else part for i, part in enumerate(parts)]


def _kind(node: SiteNode) -> tuple[object, ...]:
    return node.cpus, node.memory_mib, node.gpus, node.features, node.weight, node.partitions


def read_nodes(site: Site) -> Nodes:
    """Return the nodes and partitions. Raises :class:`InputError` where no file has any."""
    rows = [entry.values for entry in site.config.entries.get("nodename", [])]
    rows = rows or [{name.lower(): value for name, value in fields.items()} for fields in site.nodes]
    found: dict[str, SiteNode] = {}
    for row in rows:
        for name in hosts(row["nodename"]):
            found[name] = _node(name, row)
    if not found:
        remedy = "Add slurm.conf, or the output of: scontrol show nodes -o > nodes.txt"
        raise InputError([Problem(str(site.folder), "the nodes of the site", "none", remedy)])
    sets = _node_sets(site, found)
    partitions = [_partition(values, found, sets) for values in _partition_rows(site)]
    nodes = [
        SiteNode(**{**vars(node), "partitions": tuple(one.name for one in partitions if node.name in one.nodes)})
        for node in sorted(found.values(), key=_place)
    ]
    long_qos = [one.name for one in site.qos if "partitiontimelimit" in map(str.lower, one.flags)]
    return Nodes(nodes, partitions, frozenset(long_qos))


def has_partitions(site: Site) -> bool:
    """Whether a file describes the partitions beyond their lists of nodes."""
    return bool(site.config.entries.get("partitionname") or site.partitions)


def _partition_rows(site: Site) -> list[dict[str, str]]:
    """Return the values of the partitions; only their nodes, if nothing else is known.

    For a partition without PreemptMode, scontrol shows the cluster's, even if that preempts nothing.
    """
    if not has_partitions(site):
        of_nodes: dict[str, list[str]] = {}
        for fields in site.nodes:
            for name in {*fields.get("Partitions", "").split(",")} - NOTHING:
                of_nodes.setdefault(name, []).append(fields["NodeName"])
        return [{"partitionname": name, "nodes": ",".join(names)} for name, names in sorted(of_nodes.items())]
    if rows := [entry.values for entry in site.config.entries.get("partitionname", [])]:
        return rows
    unsaid = "" if preempts_by(site.config.settings) else "preemptmode"
    lower = ({name.lower(): value for name, value in fields.items()} for fields in site.partitions)
    return [{name: value for name, value in values.items() if name != unsaid} for values in lower]


def preempts_by(settings: Mapping[str, str]) -> str:
    """Return the kind of preemption, partition_prio or qos; "" if there is none."""
    kind = settings.get("preempttype", "").rpartition("/")[2].lower()
    return kind if kind in ("partition_prio", "qos") else ""


def _partition(values: dict[str, str], nodes: dict[str, SiteNode], sets: Mapping[str, set[str]]) -> SitePartition:
    given = values.get("nodes", "")
    names = {"ALL"} if given.upper() == "ALL" else set(hosts(given))
    named = names.difference(sets).union(*(sets[name] for name in names & set(sets)))
    return SitePartition(values["partitionname"], frozenset(named & set(nodes)), values, frozenset(named - set(nodes)))


def _node_sets(site: Site, nodes: Mapping[str, SiteNode]) -> dict[str, set[str]]:
    """Return the nodes of each name that partitions may have in place of nodes: those it lists, and those with its
    feature."""
    found = {"ALL": set(nodes)}
    for entry in site.config.entries.get("nodeset", []):
        feature = entry.values.get("feature", "")
        with_feature = {name for name, node in nodes.items() if feature in node.features}
        found[entry.values["nodeset"]] = set(hosts(entry.values.get("nodes", ""))) | with_feature
    return found


def _node(name: str, row: dict[str, str]) -> SiteNode:
    cpus = next((int(row[key]) for key in ("cpuefctv", "cpus", "cputot") if row.get(key, "").isdecimal()), 0)
    if not cpus:
        sockets = int(row.get("sockets", row.get("socketsperboard", "1")))
        cpus = sockets * int(row.get("corespersocket", "1")) * int(row.get("threadspercore", "1"))
    memory = int(row.get("realmemory", "1")) - int(row.get("memspeclimit", "0") or 0)
    features = row.get("feature") or row.get("features") or row.get("availablefeatures") or ""
    weight = row.get("weight", "1")
    return SiteNode(
        name,
        cpus,
        memory,
        gpus_of("" if row.get("gres", "") in NOTHING else row["gres"]),
        () if features in NOTHING else tuple(filter(None, features.split(","))),
        int(weight) if weight.isdecimal() else 1,
    )


def racks_of(nodes: Nodes) -> list[dict[str, object]]:
    """Return the nodes in the form of a scenario, in Slurm's order, with one rack per run of equal nodes.

    A user can then change the number of nodes in a rack, and the nodes of other racks keep their places.
    """
    made: list[dict[str, object]] = []
    for group, run in nodes.groups():
        node = run[0]
        units = {CPU: {"cores": node.cpus}, **dict(node.gpus)}
        one = {"count": len(run), "group": group, "units": units, MEMORY: f"{node.memory_mib} MiB"}
        made.append({"nodes": [one]})
    return made


def bytes_of(mib: float) -> float:
    """Convert MiB to bytes."""
    return mib * MIB
