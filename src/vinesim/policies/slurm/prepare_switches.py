"""Build the arrays of switches: a tree as in topology.conf, whose leaves are switches with nodes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.slurm.values import hosts
from vinesim.model.errors import Problem
from vinesim.policies.slurm.node_sets import packed

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm


def wrong_switches(topology: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Return the problems of a topology: switches with both nodes and switches, or neither; unknown ones; cycles;
    nodes below several of them."""
    below, _, problems = _tree(topology)
    leaf = dict[str, str]()
    for name in (name for name, one in topology.items() if "nodes" in one):
        for node in sorted(node for node in below[name] if leaf.setdefault(node, name) != name):
            place = ("policy", "options", "topology", name, "nodes")
            problems.append(Problem(place, "nodes that no other switch names", f"{node}, as in {leaf[node]}"))
    return problems


def switches_of(policy: "Slurm", node_names: list[str]) -> dict[str, Any]:
    """Return the leaf of each node, and the nodes below each switch, the lowest level first.

    A node below no switch is its own leaf. Without switches there are no leaves.
    """
    given = policy.topology
    if not given:
        return {"node_leaf": np.zeros(len(node_names)), "n_leaves": [0], "switch_nodes": [], "switch_level": []}
    below, level, _ = _tree(given)
    leaf = {name: i for i, name in enumerate(name for name in given if "nodes" in given[name])}
    own = {node: leaf[name] for name in leaf for node in below[name]}
    n_leaves = len(leaf)
    node_leaf = np.zeros(len(node_names), int)
    for i, node in enumerate(node_names):
        node_leaf[i] = own.get(node, n_leaves)
        n_leaves += node not in own
    ordered = sorted(given, key=lambda name: level[name])
    sets = [[node in below[name] for node in node_names] for name in ordered]
    sets += [list(node_leaf == i) for i in range(len(leaf), n_leaves)]
    return {"node_leaf": node_leaf, "n_leaves": [n_leaves], "switch_nodes": packed(sets),
            "switch_level": [level[name] for name in ordered] + [0] * (n_leaves - len(leaf))}  # fmt: skip


def _tree(given: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, set[str]], dict[str, int], list[Problem]]:
    """Return the nodes below each switch, its level, and what is wrong."""
    below, level, problems = dict[str, set[str]](), dict[str, int](), list[Problem]()
    for name in given:
        _look_below(name, given, below, level, [], problems)
    return below, level, problems


def _look_below(
    name: str, given: Mapping[str, Mapping[str, Any]], below: dict[str, set[str]], level: dict[str, int],
    within: list[str], problems: list[Problem],
) -> None:  # fmt: skip
    """Find the nodes below a switch, and its level; a leaf has level 0."""
    if name in below:
        return
    place, one = ("policy", "options", "topology", name), given.get(name)
    if one is None or name in within:
        expected = "switches of the topology" if one is None else "switches that are not above themselves"
        problems.append(Problem(("policy", "options", "topology", *within[-1:]), expected, repr(name)[:40]))
        below[name], level[name] = set(), 0
        return
    others = hosts(str(one.get("switches", "")))
    if bool(others) == ("nodes" in one):
        problems.append(Problem(place, "either nodes or switches", ", ".join(one) or "neither"))
    for other in others:
        _look_below(other, given, below, level, [*within, name], problems)
    below[name] = set(hosts(str(one.get("nodes", "")))).union(*(below.get(other, set()) for other in others))
    level[name] = 1 + max((level.get(other, 0) for other in others), default=-1)
