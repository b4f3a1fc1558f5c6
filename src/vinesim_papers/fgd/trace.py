"""The nodes and pods of the trace as scenarios: their order drawn by the seed, and enough pods to fill the GPUs more
than once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.openb import MIB, types_of, workload_of
from vinesim.formats.importers.openb_files import MILLI, Node, Pod, holds, read_nodes, read_pod
from vinesim.formats.source.csv_rows import read_csv_rows
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.datacenter import Datacenter
from vinesim.model.network import NONE
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.model.workload import Workload
from vinesim.policies.scoring.fragmentation import PodType
from vinesim_papers.fgd.of_list import FgdOfList

LOAD = 1.31  # of the GPUs, asked for by all that arrive
COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")  # of the list of pods
SPEC = "gpu_spec"  # a column that some lists of the trace lack
IN_TURN = {"creation_time": "0", "deletion_time": "0"}  # pods arrive in the order that the seed draws, whatever these


class Trace(NamedTuple):
    """The nodes with GPUs, and the pods."""

    nodes: list[Node]
    pods: list[Pod]
    pod_types: tuple[PodType, ...]  # of all pods
    can_run: np.ndarray  # [pods] bool: an empty node has all that it asks for
    row: np.ndarray  # [pods] int64: its job in the workload, if it can run
    workload: Workload  # of those that can run
    asked_milli: np.ndarray  # [pods] int64: thousandths of GPUs that each asks for
    milli: int  # of all GPUs


class Drawn(NamedTuple):
    """A scenario of one seed. Pods that can run nowhere arrive, but are not in it."""

    scenario: Scenario
    arrivals: np.ndarray  # [A] int64: the pods in the order of arrival


def read_trace(nodes: Path, pods: Path) -> Trace:
    """Read the files. Raises :class:`InputError`."""
    places, _ = read_nodes(nodes, True)
    found = read_csv_rows(pods, COLUMNS)
    if SPEC in found.unused:
        found = read_csv_rows(pods, (*COLUMNS, SPEC))
    read = [read_pod(found, line, {SPEC: "", **row, **IN_TURN}) for line, row in found.rows]
    found.raise_problems()
    listed = [pod for pod in read if pod is not None]
    specs = [row.get(SPEC, "") for _, row in found.rows]
    holders = set(places)
    can_run = np.array([any(holds(node, pod) for node in holders) for pod in listed])
    if not can_run.any():
        found.add(found.rows[-1][0], "a pod that a node can hold", "none")
        found.raise_problems()
    row = np.where(can_run, np.cumsum(can_run) - 1, -1)
    models = sorted({node.model for node in places})
    work = workload_of([listed[i] for i in np.flatnonzero(can_run)], models)
    asked_milli = np.array([pod.n_gpus * pod.gpu_milli for pod in listed])
    pod_types = pod_types_of(listed, specs, [one.name for one in types_of(places)])
    return Trace(
        places, listed, pod_types, can_run, row, work, asked_milli, MILLI * sum(node.n_gpus for node in places)
    )


def pod_types_of(pods: Sequence[Pod], specs: Sequence[str], types: Sequence[str]) -> tuple[PodType, ...]:
    """Return the types of a list of pods; ``specs`` are their GPU models as the file has them, and distinguish types.
    ``types`` are the names of the processor types."""
    asked = [(pod.cpu_milli, pod.gpu_milli if pod.n_gpus else 0, pod.n_gpus) for pod in pods]
    counts = Counter(zip(asked, specs, [pod.models for pod in pods], strict=True))
    bits = {name: 1 << number for number, name in enumerate(types)}
    every = sum(bits.values())
    return tuple(
        PodType(count, *amounts, spec, sum(bits.get(name, 0) for name in models) if models else every)
        for (amounts, spec, models), count in counts.items()
    )


def drawn(trace: Trace, policy: str, seed: int) -> Drawn:
    """Return the scenario of a seed: nodes and pods in random order, then pods drawn from the list, with replacement,
    until the GPUs that all ask for are LOAD times those there are. They arrive one by one, and none ends."""
    random = stream(seed, "trace")
    nodes = random.permutation(len(trace.nodes))
    arrivals = random.permutation(len(trace.pods))
    asked = trace.asked_milli
    missing = LOAD * trace.milli - asked.sum()
    while missing > 0 and asked.any():
        more = random.integers(len(trace.pods), size=1000)
        more = more[: int(np.searchsorted(np.cumsum(asked[more]), missing)) + 1]
        arrivals = np.concatenate([arrivals, more])
        missing -= asked[more].sum()
    rows = trace.row[arrivals[trace.can_run[arrivals]]]
    center, affinity = datacenter_of([trace.nodes[i] for i in nodes])
    work = in_turn(trace.workload, rows)
    rule = FgdOfList(refuse=True, pod_types=trace.pod_types) if policy == "fgd" else policy
    options = {} if policy == "fgd" else {"refuse": True}
    return Drawn(Scenario(center, work, rule, options, affinity=affinity, network=NONE, seed=seed), arrivals)


def in_turn(work: Workload, rows: np.ndarray) -> Workload:
    """Return some of the jobs, of a task each, that arrive one by one and never end."""
    zeros = np.zeros(len(rows))
    return replace(
        work,
        job_task_type=zeros,
        job_first=np.arange(len(rows) + 1),
        arrival_us=np.arange(len(rows), dtype=float),
        operations=zeros + np.inf,
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=work.preferred_type[rows],
        demand=None if work.demand is None else work.demand[rows],
        units=None if work.units is None else work.units[rows],
        lead_types=None if work.lead_types is None else work.lead_types[rows],
        companions={name: amount[rows] for name, amount in (work.companions or {}).items()},
    )


def datacenter_of(nodes: list[Node]) -> tuple[Datacenter, np.ndarray]:
    """Return the nodes, one above the other in a rack, and the affinity of each processor type to pods."""
    types = types_of(nodes)
    names = [p.name for p in types]
    n_gpus = np.array([node.n_gpus for node in nodes])
    shelf = np.repeat(np.arange(len(nodes)), n_gpus + 2)
    place = np.arange(len(shelf)) - np.repeat(np.cumsum(n_gpus + 2) - (n_gpus + 2), n_gpus + 2)
    model = np.array([names.index(node.model) for node in nodes])[shelf]
    cpu = np.array([node.cpu_milli for node in nodes], float)[shelf]
    memory = np.array([node.memory_mib for node in nodes], float)[shelf] * MIB
    kind = np.select([place == 0, place == 1], [0, names.index(MEMORY)], model)
    capacity = np.select([place == 0, place == 1], [cpu, memory], float(MILLI))
    affinity = np.array([[0.0 if name == MEMORY else 1.0] for name in names])
    center = Datacenter(
        unit_type=kind, rack=np.zeros(len(shelf)), shelf=shelf, processor_types=types, capacity=capacity
    )
    return center, affinity
