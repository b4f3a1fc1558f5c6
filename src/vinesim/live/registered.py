"""Applications that clients register, as they are in the journal: for the manager, and for what is read afterwards."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vinesim.live.journal import Journal
from vinesim.model.application import Application
from vinesim.model.cluster import Cluster, LiveApplication
from vinesim.model.errors import InputError, Problem


def registered(what: Mapping[str, Any], cluster: Cluster) -> LiveApplication:
    """Return the application that a client's call describes. Raises :class:`InputError`."""
    places = {node.name: (node.rack, node.shelf) for node in cluster.nodes}
    if unknown := [name for name in what["nodes"] if name not in places]:
        raise InputError([Problem(("nodes",), f"some of {', '.join(places)}", ", ".join(unknown))])
    application = Application(
        name=what["name"],
        relative_deadline_us=what["relative_deadline_us"],
        per_size=what["per_size"],
        average_load=what["average_load"],
        max_consolidated=what["max_consolidated"],
        nodes=tuple(places[name] for name in what["nodes"]),
        gang_size=what["gang_size"],
    )
    return LiveApplication(application, what["kernel"], what["task_type"], what["demand"])


def with_registered(cluster: Cluster, journal: Journal) -> Cluster:
    """Return the cluster with its file's applications and those that clients have registered."""
    own, types = {one.application.name for one in cluster.applications}, {one.name for one in cluster.task_types}
    found = []
    for row in journal.rows("SELECT content FROM applications ORDER BY name"):
        what = json.loads(row["content"])
        if what["name"] not in own and what["task_type"] in types:
            found.append(registered(what, cluster))
    return replace(cluster, applications=(*cluster.applications, *found))
