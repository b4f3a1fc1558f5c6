"""The folder of a cluster: its file, token, journal, logs, and a folder per node."""

import json
import os
import shutil
from pathlib import Path

from vinesim.formats.cluster.file import CheckPolicy, read_cluster
from vinesim.live.address import make_token
from vinesim.model.cluster import Cluster
from vinesim.model.errors import InputError, Problem

CLUSTER, ORIGIN, JOURNAL, PORT = "cluster.yaml", "origin.json", "journal.sqlite", "port"


def default_folder() -> Path:
    """Return the folder of the cluster that commands mean if none is named."""
    named = os.environ.get("VINESIM_LIVE")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(named) if named else Path(state) / "vinesim" / "live"


def prepare(folder: Path, cluster_file: Path, check_policy: CheckPolicy | None = None) -> Cluster:
    """Make the folder of a cluster from its file. Raises :class:`~vinesim.model.errors.InputError`."""
    cluster = read_cluster(cluster_file, check_policy)
    make_token(folder)
    folder.chmod(0o700)
    shutil.copyfile(cluster_file, folder / CLUSTER)
    (folder / ORIGIN).write_text(json.dumps({"folder": str(cluster_file.resolve().parent)}))
    return cluster


def cluster_in(folder: Path, file: str = CLUSTER) -> Cluster:
    """Return the cluster of a folder, as that file there says. Raises :class:`InputError` if none was started there."""
    if not (folder / ORIGIN).is_file():
        remedy = "Start one: vinesim live start CLUSTER.yaml"
        raise InputError([Problem(str(folder), "the folder of a cluster", "none was started there", remedy)])
    origin = json.loads((folder / ORIGIN).read_text())
    return read_cluster(folder / file, folder=Path(origin["folder"]))
