"""Read the machines file of an SWF log, as the simulator Alea writes it: a cluster per line, fields separated by tabs.

Fields: id, name, nodes, processors per node, speed, memory per node in KB.
"""

import os

import numpy as np

from vinesim.formats.source.files import read_text
from vinesim.model.catalog import ProcessorType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem

PROCESSOR_TYPE = ProcessorType("CPU")
MAX_UNITS = 10_000_000
Clusters = list[tuple[int, int]]  # nodes and processors per node of each cluster


def processors_of(clusters: Clusters) -> Datacenter:
    """Return a datacenter with one ``CPU`` unit per processor; rack = the cluster's line, shelf = its node, from 0."""
    rack = np.concatenate([np.full(n * p, c) for c, (n, p) in enumerate(clusters)])
    shelf = np.concatenate([np.repeat(np.arange(n), p) for n, p in clusters])
    return Datacenter(np.zeros(len(rack)), rack, shelf, (PROCESSOR_TYPE,))


def nodes_of(clusters: Clusters) -> Datacenter:
    """Return a datacenter with one unit per node; a type ``NODE_12`` has the capacity of 12 processors."""
    widths = sorted({processors for _, processors in clusters})
    types = tuple(ProcessorType(f"NODE_{n}", capacity=n, attributes={"cores": n}) for n in widths)
    unit_type = np.concatenate([np.full(n, widths.index(p)) for n, p in clusters])
    rack = np.concatenate([np.full(n, c) for c, (n, _) in enumerate(clusters)])
    shelf = np.concatenate([np.arange(n) for n, _ in clusters])
    return Datacenter(unit_type, rack, shelf, types)


def read_clusters(path: str | os.PathLike[str]) -> Clusters:
    """Return the clusters of a machines file. Raises :class:`InputError`."""
    problems = []
    clusters: Clusters = []
    speeds: set[str] = set()
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip() or line.startswith(("#", ";")):
            continue
        fields = [text.strip() for text in line.split("\t")]
        if len(fields) < 5:
            expected = "fields separated by tabs: id, name, nodes, processors per node, speed, memory"
            problems.append(Problem(f"{path}:{number}:1", expected, f"{len(fields)} fields"))
            continue
        counts = []
        for index in (2, 3):
            text = fields[index]
            if text.isascii() and text.isdigit() and len(text) < 9 and int(text):
                counts.append(int(text))
            else:
                column = sum(len(f) + 1 for f in line.split("\t")[:index]) + 1
                problems.append(Problem(f"{path}:{number}:{column}", "a whole number above 0", repr(text[:40])))
        speeds.add(fields[4])
        if len(counts) == 2:
            clusters.append((counts[0], counts[1]))
    if len(speeds) > 1:
        problems.append(Problem(str(path), "clusters of equal speed", ", ".join(sorted(speeds)[:5])))
    if sum(nodes * processors for nodes, processors in clusters) > MAX_UNITS:
        problems.append(Problem(str(path), f"at most {MAX_UNITS:,} processors", "more", "Is this the right file?"))
    if not clusters and not problems:
        problems.append(Problem(str(path), "at least one cluster", "none"))
    if problems:
        raise InputError(problems)
    return clusters
