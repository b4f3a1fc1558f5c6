"""The fragmentation of a node, over typical pods. Source: Weng et al., USENIX ATC 2023, section 3."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vinesim.policies.scoring.gpu_pods import MILLI, cpu_left, may_use, milli_left
from vinesim.state.demand_classes import coded, first_rows
from vinesim.state.model import classes_of_tasks

COVERED = 0.95  # of all pods are of typical kinds
MOST_TYPES = 63  # of processors: a set of them is one 63-bit mask
KNOWN = 4093  # places for nodes whose fragmentation is known; a prime, so that they spread
MOST_GPUS = 16  # of such a node
MOST_CPU = 1e9  # by which places are distinguished
SCRATCH: Mapping[str, tuple[str, str]] = {
    "typical_cpu": ("f8", "tasks"),
    "typical_gpus": ("i4", "tasks"),
    "typical_types": ("i8", "tasks"),  # types of GPUs, one bit each
    "typical_level": ("i4", "tasks"),  # its amount of a GPU, of the distinct ones
    "typical_weight": ("f8", "tasks"),
    "level": ("f8", "tasks"),  # the distinct amounts
    "n_typical": ("i8", "2"),  # pods, and amounts
    "left": ("f8", "units"),  # of each GPU of the node in question; below 0: not a GPU
    "known_gpus": ("i8", f"{KNOWN}"),  # of nodes whose fragmentation was computed last: GPUs, 0 = none is known
    "known_type": ("i8", f"{KNOWN}"),  # the type of the first of these, as a bit
    "known_left": ("f8", f"{KNOWN}*{MOST_GPUS}"),  # what was left of each
    "known_cpu": ("f8", f"{KNOWN}"),  # and of the CPU
    "known_found": ("f8", f"{KNOWN}"),  # and what was found
    "enough": ("i4", "tasks"),  # at that node: GPUs with that much left, for each amount
    "too_little": ("f8", "tasks"),  # what is left of the others
}
SIZED_BY_POD_TYPES = tuple(name for name, (_, size) in SCRATCH.items() if size == "tasks")  # there are no more types


class PodType(NamedTuple):
    """Pods that ask for the same. Of types with equally many pods, the one that asks for most comes first."""

    n_pods: int
    cpu: float
    milli: float  # of each GPU
    n_gpus: int
    models: str  # GPUs that it may have, in the words of the workload; other words make another type
    gpu_types: int  # the same, one bit for each processor type


def pod_types_of_workload(model: Any, pods: Mapping[str, np.ndarray], n_first: int) -> list[PodType]:
    """Return the types of the first tasks, or of all for 0. GPUs are distinguished by their set of processor types."""
    usable = may_use(model)
    all_gpus = usable.any(axis=0)
    kinds = classes_of_tasks(model)[: n_first or None]
    asked = [pods[name][: len(kinds)] for name in ("pod_cpu", "pod_milli", "pod_gpus")]
    code = coded([*asked, coded(list(usable.T))[kinds]])
    first = first_rows(code)
    sets = usable[kinds[first]]
    models = ["" if (row == all_gpus).all() else "|".join(f"{p:02}" for p in np.flatnonzero(row)) for row in sets]
    gpu_types = [sum(1 << int(p) for p in np.flatnonzero(row if row.any() else all_gpus)) for row in sets]
    columns = [np.bincount(code).tolist(), *(column[first].tolist() for column in asked), models, gpu_types]
    return [PodType(*found) for found in zip(*columns, strict=True)]


def typical_pods(types: Sequence[PodType], room: int) -> dict[str, np.ndarray]:
    """Return the contents of ``SCRATCH`` for the most frequent types, up to ``COVERED`` of the pods; arrays that have
    an entry for each type are of length ``room``."""
    ranked = sorted(types, reverse=True)
    n_pods = sum(one.n_pods for one in ranked)
    n_covered = np.cumsum([one.n_pods for one in ranked])
    chosen = ranked[: int(np.searchsorted(n_covered, COVERED * n_pods)) + 1]
    covered = float(n_covered[len(chosen) - 1])
    levels = sorted({one.milli for one in chosen})
    found: dict[str, list[Any]] = {
        "typical_cpu": [one.cpu for one in chosen],
        "typical_gpus": [one.n_gpus for one in chosen],
        "typical_types": [one.gpu_types for one in chosen],
        "typical_level": [levels.index(one.milli) for one in chosen],
        "typical_weight": [(one.n_pods / n_pods) / (covered / n_pods) for one in chosen],
        "level": levels,
    }
    padded = {name: np.pad(np.array(values), (0, room - len(values))) for name, values in found.items()}
    return {**padded, "n_typical": np.array([len(chosen), len(levels)])}


def look_at_node(model: Any, state: Any, scratch: Any, node: int) -> tuple[float, float]:
    """Note what is left of the GPUs of a node, and return what is left of its CPU, and its fragmentation."""
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        scratch.left[unit] = milli_left(model, state, scratch, unit) if scratch.scale[unit] > 0.0 else -1.0
    cpu = cpu_left(model, state, node)
    return cpu, fragmentation(model, scratch, node, cpu)


def fragmentation(model: Any, scratch: Any, node: int, cpu: float) -> float:
    """Return the thousandths of GPUs that typical pods cannot use, on average, of what is noted to be left at a node,
    with that much CPU. Its GPUs are taken to be of the type of the first. It is computed once for many nodes that are
    alike, and kinds of pods: of what was found, the last is kept at each of ``KNOWN`` places."""
    n_gpus, place, gpu_type = 0, int(min(cpu, MOST_CPU)) % KNOWN, 0
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if scratch.left[unit] >= 0.0:
            place = (31 * place + int(scratch.left[unit])) % KNOWN
            if n_gpus == 0:
                gpu_type = 1 << int(model.unit_type[unit])
            n_gpus += 1
    if is_known(model, scratch, node, place, n_gpus, gpu_type, cpu):
        return scratch.known_found[place]
    found = sum_over_pods(model, scratch, node, gpu_type, cpu)
    if 0 < n_gpus <= MOST_GPUS:
        scratch.known_gpus[place], scratch.known_type[place] = n_gpus, gpu_type
        scratch.known_cpu[place], scratch.known_found[place] = cpu, found
        i = place * MOST_GPUS
        for unit in range(model.node_first[node], model.node_first[node + 1]):
            if scratch.left[unit] >= 0.0:
                scratch.known_left[i] = scratch.left[unit]
                i += 1
    return found


def is_known(model: Any, scratch: Any, node: int, place: int, n_gpus: int, gpu_type: int, cpu: float) -> bool:
    """Whether the fragmentation of such a node is kept at a place."""
    if scratch.known_gpus[place] != n_gpus or scratch.known_type[place] != gpu_type or scratch.known_cpu[place] != cpu:
        return False
    i = place * MOST_GPUS
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if scratch.left[unit] >= 0.0:
            if scratch.known_left[i] != scratch.left[unit]:
                return False
            i += 1
    return n_gpus > 0


def sum_over_pods(model: Any, scratch: Any, node: int, gpu_type: int, cpu: float) -> float:
    """Return the same, summed up over the typical pods. The terms of each case are summed apart, as in the simulator:
    scores are rounded down, and the order of sums shows."""
    total = look_at_levels(model, scratch, node)
    lack_both, lack_gpu, lack_cpu, no_gpu_asked, no_gpu_no_cpu, not_allowed = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(scratch.n_typical[0]):
        weight, has_cpu = scratch.typical_weight[i], scratch.typical_cpu[i] <= cpu
        n_gpus, level = scratch.typical_gpus[i], scratch.typical_level[i]
        if n_gpus == 0:
            if has_cpu:
                no_gpu_asked += weight * total
            else:
                no_gpu_no_cpu += weight * total
        elif scratch.typical_types[i] & gpu_type == 0:
            not_allowed += weight * total
        elif scratch.enough[level] >= n_gpus:
            if has_cpu:
                lack_gpu += weight * scratch.too_little[level]
            else:
                lack_cpu += weight * total
        elif has_cpu:
            lack_gpu += weight * total
        else:
            lack_both += weight * total
    return lack_both + lack_gpu + lack_cpu + no_gpu_asked + no_gpu_no_cpu + not_allowed


def look_at_levels(model: Any, scratch: Any, node: int) -> float:
    """Note for each distinct amount how many GPUs of a node have it left, and how much the others have. Returns what
    all have left."""
    total = 0.0
    begin, end = int(model.node_first[node]), int(model.node_first[node + 1])
    for unit in range(begin, end):
        if scratch.left[unit] >= 0.0:
            total += scratch.left[unit]
    for level in range(scratch.n_typical[1]):
        amount, enough, too_little = scratch.level[level], 0, 0.0
        for unit in range(begin, end):
            left = scratch.left[unit]
            if left >= amount:
                enough += 1
            elif left > 0.0:
                too_little += left
        scratch.enough[level], scratch.too_little[level] = enough, too_little
    return total


def next_tightest(model: Any, scratch: Any, node: int, milli: float, above: float) -> int:
    """Return the GPU with the least left that suffices and is more than ``above``; the first of several."""
    best, least = -1, 2.0 * MILLI
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        left = scratch.left[unit]
        if left >= milli and left > above and left < least:
            best, least = unit, left
    return best


def take_tightest(model: Any, scratch: Any, task: int, node: int) -> None:
    """Note that the pod takes the GPUs with the least left that suffices, of whole ones the first."""
    milli = scratch.pod_milli[task]
    for _ in range(scratch.pod_gpus[task]):
        unit = next_tightest(model, scratch, node, milli, -1.0)
        if unit >= 0:
            scratch.left[unit] -= milli
