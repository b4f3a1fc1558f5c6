"""The scenario file that runs an imported log on the clusters it comes from."""

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from vinesim.formats.files import replacing
from vinesim.formats.machines import PROCESSOR_TYPE
from vinesim.formats.swf import AFFINITY, TASK_TYPE
from vinesim.model.datacenter import Datacenter


def write_swf_scenario(path: Path, workload: Path, datacenter: Datacenter) -> None:
    """Write the scenario beside its workload: a rack a cluster, a shelf a node, a unit a processor."""
    processor = PROCESSOR_TYPE.name
    document = {
        "description": "An imported log on its own clusters: each processor of a job is a task of its run time.",
        "extends": "none",
        "processor_types": [{"name": processor}],
        "task_types": [TASK_TYPE.name],
        "affinity": {"absolute": {processor: {TASK_TYPE.name: float(AFFINITY[0, 0])}}},
        "network": "none",
        "datacenter": {"racks": [_rack(datacenter, rack, processor) for rack in range(datacenter.n_racks)]},
        "workload": {"file": workload.name},
        "policy": "high",
        "sampling": "1 h",
    }
    with replacing(path) as draft:
        draft.write_text(yaml.safe_dump(document, sort_keys=False))


def _rack(datacenter: Datacenter, rack: int, processor: str) -> dict[str, Any]:
    """A rack's nodes from the lowest shelf up, equal neighbours counted together."""
    units = np.bincount(datacenter.shelf[datacenter.rack == rack]).tolist()
    return {"nodes": [{"units": {processor: n}, "count": len(list(same))} for n, same in groupby(units)]}
