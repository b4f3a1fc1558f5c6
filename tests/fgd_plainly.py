"""Placement of pods on shared GPUs in plain Python, node by node and pod by pod, as the paper defines it."""

import math
from collections import Counter
from dataclasses import dataclass, field

from vinesim.formats.importers.openb_files import Node, Pod


@dataclass
class Place:
    """A node and its free resources."""

    cpu: int
    memory: int
    left: list[int]
    model: str
    classes: list[int] = field(default_factory=list)  # of its GPU pods: 0 a share, else whole GPUs

    @classmethod
    def of(cls, node: Node) -> "Place":
        return cls(node.cpu_milli, node.memory_mib, [1000] * node.n_gpus, node.model)

    def with_pod(self, pod: Pod, gpus: list[int]) -> "Place":
        left = [amount - (pod.gpu_milli if i in gpus else 0) for i, amount in enumerate(self.left)]
        own = [pod_class(pod)] if pod.n_gpus else []
        return Place(self.cpu - pod.cpu_milli, self.memory - pod.memory_mib, left, self.model, self.classes + own)


def pod_class(pod: Pod) -> int:
    return 0 if pod.gpu_milli < 1000 else pod.n_gpus


def suffices(place: Place, pod: Pod) -> list[int]:
    """Return the GPUs with enough left, those with the least first."""
    if pod.n_gpus == 0:
        return []
    return sorted((i for i, left in enumerate(place.left) if left >= pod.gpu_milli), key=lambda i: (place.left[i], i))


def fits(place: Place, pod: Pod) -> bool:
    if pod.cpu_milli > place.cpu or pod.memory_mib > place.memory:
        return False
    if pod.n_gpus == 0:
        return True
    return (not pod.models or place.model in pod.models) and len(suffices(place, pod)) >= pod.n_gpus


def dot_product(place: Place, pod: Pod) -> int:
    of_cpu = (place.cpu / 128000) * (pod.cpu_milli / 128000)
    of_gpu = (sum(place.left) / 8000) * (pod.gpu_milli * pod.n_gpus / 8000)
    return int(100 * (1 - (of_cpu + of_gpu) / 2))


def gpu_clustering(place: Place, pod: Pod) -> int:
    if pod.n_gpus == 0:
        return 0
    in_use = 25 * (8000 - sum(place.left)) // 8000
    if not place.classes:
        return in_use + 25
    if pod_class(pod) in place.classes:
        return in_use + (75 if len(set(place.classes)) == 1 else 50)
    return in_use


def gpu_packing(place: Place, pod: Pod) -> int:
    if pod.n_gpus == 0:
        return 0
    n_free = place.left.count(1000)
    if n_free == len(place.left):
        return max(33 - n_free, n_free)
    taken = [place.left[i] for i in suffices(place, pod)[: pod.n_gpus]]
    if 1000 in taken:
        return max(50 - taken.count(1000), 33)
    return max(100 - sum(taken) * 100 // 1000 // 10, 50)


def gpu_best_fit(place: Place, pod: Pod) -> int:
    cpu, gpu = place.cpu - pod.cpu_milli, sum(place.left) - pod.gpu_milli * pod.n_gpus
    return int((1 - (cpu / 128000 * 0.5 + gpu / 8000 * 0.5)) * 100)


class Fgd:
    """The scores of fgd, with the typical pods of a list; ``specs`` are their GPU models as in its file."""

    def __init__(self, pods: list[Pod], models: list[str], specs: list[str] | None = None):
        def of_set(pod: Pod) -> str:
            return "" if set(pod.models) == set(models) else "|".join(pod.models)

        def kind(pod: Pod, spec: str) -> tuple:
            return pod.cpu_milli, pod.gpu_milli if pod.n_gpus else 0, pod.n_gpus, spec

        kinds = map(kind, pods, specs or map(of_set, pods))
        counts = sorted(Counter(kinds).items(), key=lambda item: (item[1], item[0]), reverse=True)
        covered, typical = 0, []
        for one, count in counts:
            if covered >= 0.95 * len(pods):
                break
            covered += count
            typical.append((one, count))
        self.typical = [(one, (count / len(pods)) / (covered / len(pods))) for one, count in typical]

    def fragmentation(self, place: Place) -> float:
        total, sums = sum(place.left), dict.fromkeys(("both", "gpu", "cpu", "no gpu", "no gpu or cpu", "model"), 0.0)
        for (cpu, milli, n_gpus, spec), weight in self.typical:
            has_cpu = cpu <= place.cpu
            if n_gpus == 0:
                sums["no gpu" if has_cpu else "no gpu or cpu"] += weight * total
            elif spec and place.model not in spec.split("|"):
                sums["model"] += weight * total
            elif sum(left >= milli for left in place.left) < n_gpus:
                sums["gpu" if has_cpu else "both"] += weight * total
            elif has_cpu:
                sums["gpu"] += weight * sum(left for left in place.left if left < milli)
            else:
                sums["cpu"] += weight * total
        return sum(sums.values())

    def tries(self, place: Place, pod: Pod) -> list[tuple[int, list[int]]]:
        """Return the score of each choice of GPUs."""
        found = suffices(place, pod)
        is_share = pod.n_gpus == 1 and pod.gpu_milli < 1000
        choices = [[gpu] for gpu in sorted(found)] if is_share else [found[: pod.n_gpus]]
        before = self.fragmentation(place)
        gains = [(before - self.fragmentation(place.with_pod(pod, gpus)), gpus) for gpus in choices]
        return [(int(100 / (1 + math.exp(-gain / 1000))), gpus) for gain, gpus in gains]

    def __call__(self, place: Place, pod: Pod) -> int:
        return max(score for score, _ in self.tries(place, pod))

    def gpus(self, place: Place, pod: Pod) -> list[int]:
        return max(self.tries(place, pod), key=lambda found: found[0])[1]


SCORES = {
    "dot_product": dot_product,
    "gpu_clustering": gpu_clustering,
    "gpu_packing": gpu_packing,
    "gpu_best_fit": gpu_best_fit,
}


def placed(
    name: str, nodes: list[Node], pods: list[Pod], fgd: Fgd | None = None
) -> tuple[list[tuple[int, list[int]]], dict]:
    """Return the node (-1: none) and GPUs of each pod, and the score of every node with room for it, by (pod, node)."""
    score = (fgd or Fgd(pods, sorted({node.model for node in nodes}))) if name == "fgd" else SCORES[name]
    places, found, scores = [Place.of(node) for node in nodes], [], {}
    for number, pod in enumerate(pods):
        own = {i: score(place, pod) for i, place in enumerate(places) if fits(place, pod)}
        scores |= {(number, i): value for i, value in own.items()}
        if not own:
            found.append((-1, []))
            continue
        best = max(own, key=lambda i: (own[i], -i))
        tightest = suffices(places[best], pod)[: pod.n_gpus]
        gpus = score.gpus(places[best], pod) if name == "fgd" else tightest
        places[best] = places[best].with_pod(pod, gpus)
        found.append((best, gpus))
    return found, scores
