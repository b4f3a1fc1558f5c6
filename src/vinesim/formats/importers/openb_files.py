"""Read the two files of an openb trace, nodes and pods, row by row."""

from pathlib import Path
from typing import NamedTuple

from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.source.csv_rows import CsvRows, read_csv_rows
from vinesim.formats.source.quantities import MEMORY

NODE_COLUMNS = ("cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time")
CPU = "CPU"  # the name of the processor type of all CPUs
MILLI = 1000


class Node(NamedTuple):
    """A node: thousandths of cores, MiB, GPUs and their model."""

    cpu_milli: int
    memory_mib: int
    n_gpus: int
    model: str


class Pod(NamedTuple):
    """A pod: thousandths of cores and of each GPU, MiB, GPUs, their models (none: any), and its times, s."""

    cpu_milli: int
    memory_mib: int
    n_gpus: int
    gpu_milli: int
    models: tuple[str, ...]
    created_s: float
    deleted_s: float


def read_nodes(path: Path, gpu_nodes: bool) -> tuple[list[Node], int]:
    """Return the nodes, and the number of nodes left out because they have no GPU."""
    found = read_csv_rows(path, NODE_COLUMNS)
    nodes = []
    for line, row in found.rows:
        cpu, memory = (found.number(line, name, row[name], least=1, is_whole=True) for name in NODE_COLUMNS[:2])
        n_gpus = found.number(line, "gpu", row["gpu"], least=0, most=MAX_UNITS, is_whole=True)
        if n_gpus > 0:
            found.check_name(line, "model", row["model"])
        if row["model"].lower() in (CPU.lower(), MEMORY) or "|" in row["model"]:
            found.add(line, f"model: the model of a GPU, other than {CPU} and {MEMORY}, without |", repr(row["model"]))
        if not found.problems:
            nodes.append(Node(int(cpu), int(memory), int(n_gpus), row["model"]))
    n_units = sum(2 + node.n_gpus for node in nodes)
    if not found.problems and n_units > MAX_UNITS:
        found.add(line, f"at most {MAX_UNITS:,} units: CPUs, memory and GPUs", f"{n_units:,} in all nodes")
    found.raise_problems()
    kept = [node for node in nodes if node.n_gpus or not gpu_nodes]
    if not kept:
        found.add(found.rows[-1][0], "a node with GPUs", "none")
        found.raise_problems()
    return kept, len(nodes) - len(kept)


def read_pod(found: CsvRows, line: int, row: dict[str, str]) -> Pod | None:
    """Return the pod of a row; None, with its problems added, if it is invalid."""
    n_before = len(found.problems)
    whole = {
        name: found.number(line, name, row[name], least=0, is_whole=True)
        for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    }
    created, deleted = (found.number(line, name, row[name], least=0) for name in POD_COLUMNS[-2:])
    models = tuple(sorted({name.strip() for name in row["gpu_spec"].split("|") if name.strip()}))
    if whole["num_gpu"] > 0 and not 0 < whole["gpu_milli"] <= MILLI:
        found.add(line, f"gpu_milli: thousandths of a GPU, 1 to {MILLI}", row["gpu_milli"])
    if len(found.problems) > n_before:
        return None
    cpu, memory, n_gpus, milli = map(int, whole.values())
    return Pod(cpu, memory, n_gpus, milli, models, created, deleted)


def holds(node: Node, pod: Pod) -> bool:
    """Whether a node without other pods has room for the pod."""
    has_gpus = not pod.n_gpus or (node.n_gpus >= pod.n_gpus and (not pod.models or node.model in pod.models))
    return has_gpus and node.cpu_milli >= pod.cpu_milli and node.memory_mib >= pod.memory_mib
