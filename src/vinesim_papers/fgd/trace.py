"""The nodes and pods of the trace as scenarios: their order drawn by the seed, and as many pods as fill the GPUs more
than once."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.openb import MIB, types_of, workload_of
from vinesim.formats.importers.openb_files import MILLI, POD_COLUMNS, Node, Pod, holds, read_nodes, read_pod
from vinesim.formats.source.amounts import MEMORY
from vinesim.formats.source.csv_rows import read_csv_rows
from vinesim.model.datacenter import Datacenter
from vinesim.model.network import NONE
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.model.workload import Workload

LOAD = 1.31  # of the GPUs, asked for by all that arrive


class Trace(NamedTuple):
    """The nodes with GPUs, and the pods."""

    nodes: list[Node]
    pods: list[Pod]
    can_run: np.ndarray  # [pods] bool: an empty node has all that it asks for
    row: np.ndarray  # [pods] int64: its job in the workload, if it can run
    workload: Workload  # of those that can run
    asked_milli: np.ndarray  # [pods] int64: thousandths of GPUs that each asks for
    milli: int  # of all GPUs


class Drawn(NamedTuple):
    """A scenario of one seed. Pods that can run nowhere arrive, but are not in it."""

    scenario: Scenario
    arrivals: np.ndarray  # [A] int64: the pods in the order of arrival
    n_listed: int  # its first tasks are the pods of the list, each once


def read_trace(nodes: Path, pods: Path) -> Trace:
    """Read the files. Raises :class:`InputError`."""
    places, _ = read_nodes(nodes, True)
    found = read_csv_rows(pods, POD_COLUMNS)
    read = [read_pod(found, line, row) for line, row in found.rows]
    found.raise_problems()
    listed = [pod for pod in read if pod is not None]
    kinds = set(places)
    can_run = np.array([any(holds(node, pod) for node in kinds) for pod in listed])
    if not can_run.any():
        found.add(found.rows[-1][0], "a pod that a node can hold", "none")
        found.raise_problems()
    in_time = sorted(np.flatnonzero(can_run).tolist(), key=lambda i: listed[i].created_s)
    row = np.full(len(listed), -1)
    row[in_time] = np.arange(len(in_time))
    models = sorted({node.model for node in places})
    work = workload_of([listed[i] for i in in_time], models)
    asked_milli = np.array([pod.n_gpus * pod.gpu_milli for pod in listed])
    return Trace(places, listed, can_run, row, work, asked_milli, MILLI * sum(node.n_gpus for node in places))


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
    n_listed = int(trace.can_run.sum())
    center, affinity = datacenter_of([trace.nodes[i] for i in nodes])
    options = {"refuse": True} | ({"typical": n_listed} if policy == "fgd" else {})
    scenario = Scenario(
        center, in_turn(trace.workload, rows), policy, options, affinity=affinity, network=NONE, seed=seed
    )
    return Drawn(scenario, arrivals, n_listed)


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
