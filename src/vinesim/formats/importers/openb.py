"""Import the nodes and pods of a GPU cluster from two CSV files, in the form of Alibaba's trace of 2023 (openb).

Nodes: sn, cpu_milli, memory_mib, gpu (count), model. Pods: name, cpu_milli, memory_mib, num_gpu, gpu_milli (of one
GPU), gpu_spec (the models that its GPUs may be, A|B; empty: any), creation_time, deletion_time (s).

A pod becomes a job of one task. If it has GPUs, these are its lead, and CPU and memory are companions; otherwise its
cores are its lead. It runs for as long as it existed, from when it is placed. Capacities and demands of CPUs and GPUs
are thousandths, as in the files, which keeps all sums exact.
"""

from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.openb_files import CPU, MILLI, POD_COLUMNS, Node, Pod, holds, read_nodes, read_pod
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.source.csv_rows import read_csv_rows
from vinesim.formats.source.quantities import MEMORY, format_time_us
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.workload import NO_PREFERENCE, Workload

COUNTED = ("qos", "pod_phase")
POD = TaskType("POD")
MIB = 2**20
LEFT_OUT = (
    "names of nodes and pods, and racks: all nodes are in one rack, in the order of the file",
    "when and whether the cluster placed a pod: the simulated policy decides",
    "qos and phase",
)


def import_openb(
    nodes: Annotated[Path, Argument("Nodes: sn, cpu_milli, memory_mib, gpu, model; plain or gzip.")],
    pods: Annotated[Path, Argument("Pods: cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, creation_time ...")],
    output: Annotated[Path, Option("The workload, a Parquet file; a scenario is written next to it.", short="-o")],
    gpu_nodes: Annotated[bool, Option("Take only the nodes with GPUs.")] = False,
    start: Annotated[float, Option("Leave out the pods created before this time, s.")] = 0.0,
) -> Imported:
    """Import the nodes and pods of a GPU cluster, in the form of Alibaba's trace of 2023 (openb)."""
    check_workload(output)
    places, workload, report = read_openb(nodes, pods, gpu_nodes, start)
    types = types_of(places)
    write_workload(output, workload, types)
    scenario = output.with_suffix(".yaml")
    write_yaml(scenario, _document(places, types, output))
    return Imported(report, output, f"{workload.n_jobs:,} pods", scenario)


IMPORTER = Importer("openb", import_openb)


def read_openb(
    nodes: Path, pods: Path, gpu_nodes: bool = False, start: float = 0.0
) -> tuple[list[Node], Workload, ImportReport]:
    """Return the nodes, the workload of the pods, and a report. Raises :class:`InputError`."""
    places, n_left_out = read_nodes(nodes, gpu_nodes)
    found = read_csv_rows(pods, POD_COLUMNS)
    given = [name for name in COUNTED if name in found.unused]
    if given:
        found = read_csv_rows(pods, (*POD_COLUMNS, *given))
    report = ImportReport(found.path, len(found.rows), left_out=LEFT_OUT)
    report.unused = found.unused
    kinds, kept = set(places), []
    for line, row in found.rows:
        pod = read_pod(found, line, row)
        if pod is None:
            continue
        reason = _reason_to_drop(pod, kinds, start)
        for column in given:
            report.count(column, row[column] or "empty", not reason)
        if reason:
            report.drop(reason, line)
        else:
            kept.append(pod)
    found.raise_problems()
    if not kept:
        found.add(found.rows[-1][0], "a pod that a node can hold", "none; " + "; ".join(report.dropped))
        found.raise_problems()
    kept.sort(key=lambda pod: pod.created_s)
    workload = workload_of(kept, sorted({node.model for node in places if node.n_gpus}))
    n_gpus = sum(node.n_gpus for node in places)
    days = (kept[-1].created_s - kept[0].created_s) / 86400
    span = format_time_us(days * 86400e6)
    report.made = f"{len(kept):,} pods over {span}, on {len(places):,} nodes with {n_gpus:,} GPUs"
    report.numbers = {"pods": len(kept), "days": days, "nodes": len(places), "gpus": n_gpus}
    if n_left_out:
        report.notes.append(f"{n_left_out:,} nodes without GPUs were left out")
    return places, workload, report


def _reason_to_drop(pod: Pod, kinds: set[Node], start: float) -> str:
    """Return why a pod is left out; empty if it is not."""
    if pod.created_s < start:
        return "created before the start"
    if pod.deleted_s <= pod.created_s:
        return "not deleted after it was created"
    return "" if any(holds(node, pod) for node in kinds) else "no node has all that it asks for"


def workload_of(pods: list[Pod], models: list[str]) -> Workload:
    """Return the pods as jobs of one task each; the first arrives at 0."""
    leads = [((CPU,) if not pod.n_gpus else tuple(set(pod.models) & set(models)) or tuple(models)) for pod in pods]
    sets = sorted({tuple(sorted(lead)) for lead in leads})
    n_gpus, cpu = (np.array([getattr(pod, name) for pod in pods]) for name in ("n_gpus", "cpu_milli"))
    zeros = np.zeros(len(pods))
    return Workload(
        job_task_type=zeros,
        job_first=np.arange(len(pods) + 1),
        arrival_us=np.array([pod.created_s - pods[0].created_s for pod in pods]) * 1e6,
        operations=np.array([pod.deleted_s - pod.created_s for pod in pods]) * 1e6,
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=zeros + NO_PREFERENCE,
        task_types=(POD,),
        units=np.maximum(n_gpus, 1),
        demand=np.where(n_gpus > 0, [pod.gpu_milli for pod in pods], cpu),
        lead_types=np.array([sets.index(tuple(sorted(lead))) for lead in leads]),
        lead_sets=tuple(sets),
        companions={
            CPU: np.where(n_gpus > 0, cpu, 0.0),
            MEMORY: np.array([pod.memory_mib for pod in pods], np.float64) * MIB,
        },
    )


def types_of(nodes: list[Node]) -> tuple[ProcessorType, ...]:
    """Return the processor types of the nodes: CPUs, the models of GPUs, and memory."""
    models = sorted({node.model for node in nodes if node.n_gpus})
    return (ProcessorType(CPU), *(ProcessorType(model, capacity=MILLI) for model in models), ProcessorType(MEMORY))


def _document(nodes: list[Node], types: tuple[ProcessorType, ...], workload: Path) -> dict[str, Any]:
    """Return the scenario of the nodes and pods; adjacent equal nodes are grouped."""
    kinds = [(node, len(list(same))) for node, same in groupby(nodes)]
    units = [p for p in types if p.name != MEMORY]
    return {
        "description": "Nodes and pods of a GPU cluster. CPUs and GPUs count in thousandths: a core is 1000.",
        "extends": "none",
        "processor_types": [{"name": p.name} | ({"capacity": p.capacity} if p.capacity != 1.0 else {}) for p in units],
        "task_types": [POD.name],
        "affinity": {"absolute": {p.name: {POD.name: 1.0} for p in units}},
        "network": "none",
        "datacenter": {"racks": [{"nodes": [_node(node, count) for node, count in kinds]}]},
        "workload": {"file": workload.name},
        "policy": "flat",
    }


def _node(node: Node, count: int) -> dict[str, Any]:
    units: dict[str, Any] = {CPU: {"capacity": node.cpu_milli}}
    if node.n_gpus:
        units[node.model] = node.n_gpus
    return {"count": count, "units": units, "memory": f"{node.memory_mib} MiB"}
