"""Nodes that join and leave a running cluster: a change of the cluster file in its folder.

A node that joins is the last in the file, on its own shelf behind all others, and one that leaves stays there,
marked: so the units of all other nodes keep their numbers, which the journal and the agents use.
"""

from pathlib import Path
from typing import Any

from vinesim.formats.cluster.file import expected_name
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.live.folder import CLUSTER, cluster_in
from vinesim.model.errors import InputError, Problem

DRAFT = "cluster.draft.yaml"


def add_node(folder: Path, name: str, units: dict[str, int]) -> None:
    """Add a node to the cluster file of a folder. Raises :class:`InputError`, and leaves the file as it was, for a name
    that is or was in use, or types that the cluster does not have."""

    if (expected := expected_name(name)) is not None:
        raise InputError([Problem(("node",), expected, repr(name))])

    def change(nodes: list[dict[str, Any]]) -> None:
        cluster = cluster_in(folder)
        rack = max(node.rack for node in cluster.nodes)
        shelf = 1 + max(node.shelf for node in cluster.nodes)
        nodes.append({"name": name, "units": units, "rack": rack, "shelf": shelf})

    _change(folder, change)


def remove_node(folder: Path, name: str) -> None:
    """Mark a node as gone. Raises :class:`InputError` for one that is not there, or the last one."""

    def change(nodes: list[dict[str, Any]]) -> None:
        left = [node for node in nodes if not node.get("removed")]
        found = [node for node in left if node["name"] == name]
        if not found or len(left) == 1:
            known = ", ".join(str(node["name"]) for node in left)
            raise InputError([Problem(("node",), f"one of several nodes: {known}", repr(name))])
        found[0]["removed"] = True

    _change(folder, change)


def _change(folder: Path, change: Any) -> None:
    """Change the list of nodes, if the result is a valid cluster file."""
    document = YamlSource(folder / CLUSTER).data
    for place, node in enumerate(document["nodes"]):
        node.setdefault("shelf", place)  # the default, said, so that it stays
    change(document["nodes"])
    (folder / DRAFT).write_text(as_yaml(document), encoding="utf-8")
    cluster_in(folder, DRAFT)
    (folder / DRAFT).replace(folder / CLUSTER)
