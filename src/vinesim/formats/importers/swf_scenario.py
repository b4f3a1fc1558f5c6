"""The scenario file that runs an imported log on its own clusters."""

from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter

JOB_TYPE = TaskType("RUN_TIME")  # when each job is one task
PROCESSOR_TIME = TaskType("PROCESSOR_TIME")  # when each of its processors is one
AFFINITY = 1.0  # a unit does 1 us of run time in 1 us
OF_PROCESSORS = "An imported log on its own clusters: each processor of a job is one task of a gang."
OF_JOBS = "An imported log on its own clusters: each job takes its processors from one node."


def write_swf_scenario(
    path: Path, workload: Path, datacenter: Datacenter, task: str, computer: str = "", start: datetime | None = None
) -> None:
    """Write the scenario next to its workload, whose first job arrives at the date ``start``, if it is known. A cluster
    is a rack, a node is a shelf; a unit is a processor, or a node if each job is one task."""
    is_whole = task == "job"
    task_type = (JOB_TYPE if is_whole else PROCESSOR_TIME).name
    document = {
        "description": (OF_JOBS if is_whole else OF_PROCESSORS) + f" Computer: {computer}." * bool(computer),
        "extends": "none",
        "processor_types": [_type(processor) for processor in datacenter.processor_types],
        "task_types": [task_type],
        "affinity": {"absolute": {p.name: {task_type: AFFINITY} for p in datacenter.processor_types}},
        "network": "none",
        **({} if start is None else {"start_date": f"{start}"}),
        "datacenter": {"racks": [_rack(datacenter, rack) for rack in range(datacenter.n_racks)]},
        "workload": {"file": workload.name},
        "policy": "easy_backfill" if is_whole else "high",
        "sampling": "1 h",
    }
    write_yaml(path, document)


def _type(processor: ProcessorType) -> dict[str, Any]:
    if processor.capacity == 1.0 and not processor.attributes:
        return {"name": processor.name}
    return {"name": processor.name, "capacity": processor.capacity, "attributes": dict(processor.attributes)}


def _rack(datacenter: Datacenter, rack: int) -> dict[str, Any]:
    """A rack's nodes, all of one kind, from the lowest shelf up; adjacent equal nodes are counted together."""
    inside = datacenter.rack == rack
    name = datacenter.processor_types[datacenter.unit_type[inside][0]].name
    units = np.bincount(datacenter.shelf[inside]).tolist()
    return {"nodes": [{"units": {name: n}, "count": len(list(same))} for n, same in groupby(units)]}
