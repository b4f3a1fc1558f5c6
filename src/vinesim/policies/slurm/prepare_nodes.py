"""Build the arrays of a site's nodes, partitions and reservations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vinesim.formats.slurm.requests import WHOLE
from vinesim.formats.slurm.values import OF_TYPE, hosts
from vinesim.formats.source.quantities import MEMORY
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.slurm.codes import US_PER_MINUTE, US_PER_S
from vinesim.policies.slurm.node_sets import packed

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

MIB = 2.0**20
CPU = "CPU"


class Asked(NamedTuple):
    """The parts of a job's request that partitions limit."""

    least: int  # nodes; 0: not specified
    most: int
    cpus: float  # per node; WHOLE: all


@dataclass
class Places:
    """Nodes in Slurm's order, partitions and reservations."""

    cpus: np.ndarray  # [N]
    memory: np.ndarray  # [N] MiB
    kinds: np.ndarray  # [N, K]
    kind_names: list[str]
    weight: np.ndarray  # [N]
    features: list[frozenset[str]]  # [N]
    names: list[str]  # [N] "" if a node has none
    partitions: list[str]
    part_nodes: np.ndarray  # [P, N]
    options: list[Mapping[str, Any]]  # of each partition
    reservations: dict[str, tuple[float, float, np.ndarray]]

    @property
    def number_of(self) -> dict[str, int]:
        """The index of each node by its name."""
        return {name: i for i, name in enumerate(self.names) if name}

    @classmethod
    def of(cls, policy: "Slurm", scenario: Scenario, problems: list[Problem]) -> "Places":
        """Read the nodes of a scenario. Errors are added to ``problems``."""
        center = scenario.datacenter
        place = center.rack * np.int64(center.n_shelves) + center.shelf
        nodes, node = np.unique(place, return_inverse=True)
        names = [p.name for p in center.processor_types]
        capacity = center.unit_capacity
        resources = {names[code] for code in scenario.resources}
        kind_names = [name for name in names if name not in (CPU, MEMORY) and name not in resources]

        def total(name: str, of_unit: np.ndarray) -> np.ndarray:
            mine = center.unit_type == names.index(name) if name in names else np.zeros(len(node), bool)
            return np.bincount(node[mine], of_unit[mine], len(nodes))

        ones = np.ones(len(node))
        racks, shelves = nodes // center.n_shelves, nodes % center.n_shelves
        partitions = [one.name for one in scenario.partitions]
        part_nodes = [one.has(racks, shelves) for one in scenario.partitions]
        counts = np.unique(racks, return_counts=True)[1].tolist()
        weight, features, node_names = _of_runs(policy.nodes, counts, problems)
        options = [policy.partitions.get(name, {}) for name in partitions]
        unknown = sorted(set(policy.partitions) - set(partitions))
        problems += [
            Problem(("policy", "options", "partitions", name), "a partition of the scenario", repr(name),
                    did_you_mean(name, partitions)) for name in unknown
        ]  # fmt: skip
        of_types = [OF_TYPE + kind.lower() for kind in kind_names]
        problems += [
            Problem(("policy", "options", "partitions", name, "tres_billing_weights"), "types of GPUs of the nodes",
                    repr(key), did_you_mean(key, of_types))
            for name, one in policy.partitions.items()
            for key in one.get("tres_billing_weights") or ()
            if key.startswith(OF_TYPE) and key.lower() not in of_types
        ]  # fmt: skip
        reservations = {}
        for name, one in policy.reservations.items():
            given = [host for text in one.get("nodes", []) for host in hosts(str(text))]
            is_in = np.array([name in set(given) for name in node_names])
            reservations[name] = float(one["start_s"]), float(one["end_s"]), is_in
        return cls(
            total(CPU, capacity), total(MEMORY, capacity) / MIB,
            np.array([total(name, ones) for name in kind_names]).reshape(len(kind_names), len(nodes)).T,
            kind_names, weight, features, node_names, partitions,
            np.array(part_nodes).reshape(len(partitions), len(nodes)),
            options, reservations,
        )  # fmt: skip

    def refusal(self, part: int, qos: Mapping[str, Any], asked: Asked, limit_us: float) -> tuple[str, str]:
        """Return why a partition never accepts a job of a QOS, in Slurm's words and VineSim's; empty if it does."""
        given, name = self.options[part], self.partitions[part]
        if limit_us > float(given.get("max_time", np.inf)) * US_PER_MINUTE and not qos.get("partition_time_limit"):
            return "PartitionTimeLimit", f"it asks for more time than partition {name} has"
        least, most = nodes_allowed(given, qos)
        if max(asked.least, asked.most) > most > 0 or 0 < asked.most < least:
            return "PartitionNodeLimit", f"it asks for fewer or more nodes than jobs may have in partition {name}"
        cpus = self.cpus[self.part_nodes[part]].min(initial=np.inf) if asked.cpus == WHOLE else asked.cpus
        if 0 < given.get("max_cpus_per_node", 0) < cpus < np.inf:
            return "PartitionConfig", f"it asks for more CPUs of a node than jobs may have in partition {name}"
        return "", ""

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the policy about nodes."""
        known, rank = np.unique(self.weight, return_inverse=True)
        tiers = np.array([int(one.get("priority_tier", 1)) for one in self.options])
        spans = list(self.reservations.values())
        kinds = self.kinds if len(self.kind_names) else np.zeros((len(self.cpus), 1))
        most = np.array([int(one.get("max_cpus_per_node", 0)) for one in self.options])
        return {
            "node_cpus": self.cpus,
            "node_memory": self.memory,
            "node_kinds": np.concatenate([kinds, np.tile(most[most > 0], (len(self.cpus), 1))], axis=1),
            "n_kinds": [kinds.shape[1] + (most > 0).sum()],
            "n_gpu_kinds": [kinds.shape[1]],
            "part_cpus_kind": np.where(most > 0, kinds.shape[1] + np.cumsum(most > 0) - 1, -1),
            "node_weight": rank,
            "n_weights": [len(known)],
            "part_nodes": packed(self.part_nodes),
            "part_tier": tiers,
            "part_least_loaded": [bool(one.get("lln", False)) for one in self.options],
            "reservation_begin_us": [begin * US_PER_S for begin, _, _ in spans],
            "reservation_end_us": [end * US_PER_S for _, end, _ in spans],
            "reservation_nodes": packed([nodes for _, _, nodes in spans]) if spans else [],
        }


def nodes_allowed(partition: Mapping[str, Any], qos: Mapping[str, Any]) -> tuple[int, int]:
    """Return the fewest and the most nodes that a job of a QOS may have in a partition; 0 if not limited."""
    least = 0 if qos.get("partition_min_nodes") else int(partition.get("min_nodes", 0))
    return least, 0 if qos.get("partition_max_nodes") else int(partition.get("max_nodes", 0))


def _of_runs(
    given: Mapping[str, Any], counts: list[int], problems: list[Problem]
) -> tuple[np.ndarray, list[frozenset[str]], list[str]]:
    """Return the weight, features and name of each node.

    ``given`` lists groups of equal nodes by their host names, in the order of the racks; ``counts`` are the nodes of
    each rack. Nodes that were added later have no names.
    """
    if given and len(given) != len(counts):
        expected, remedy = "the runs of equal nodes, one for each rack", "Import the site again."
        problems.append(
            Problem(("policy", "options", "nodes"), f"{expected}: {len(counts):,}", f"{len(given):,}", remedy)
        )
    weights, features, names = list[float](), list[frozenset[str]](), list[str]()
    listed = [*given.values(), *[{}] * len(counts)][: len(counts)]
    for one, n in zip(listed, counts, strict=True):
        weights += [float(one.get("weight", 1))] * n
        features += [frozenset(one.get("features", []))] * n
        own = hosts(str(one.get("names", "")))[:n]
        names += own + [""] * (n - len(own))
    return np.array(weights), features, names
