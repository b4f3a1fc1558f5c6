"""A scenario from measured times: a workload file, the table of speeds, and nodes with a unit of each type."""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vinesim.formats.files import replacing
from vinesim.formats.workload_table import write_workload
from vinesim.model.workload import Workload
from vinesim.workloads.measured import Measured


@dataclass
class MeasuredReport:
    """What an import of measurements read and left out."""

    path: str
    n_rows: int
    about: str = ""
    left_out: dict[str, int] = field(default_factory=dict)  # what: number of rows, or of what it names

    def leave_out(self, what: str, n: int = 1) -> None:
        """Count what is left out."""
        if n:
            self.left_out[what] = self.left_out.get(what, 0) + n

    def text(self, measured: Measured) -> str:
        """The report, a line a thing."""
        n_tasks = len(measured.task_types)
        types = ", ".join(p.name for p in measured.processor_types)
        about = f", {self.about}" if self.about else ""
        lines = [f"{self.path}{about}: {self.n_rows:,} rows, {n_tasks:,} task types on {types}"]
        return "\n".join(lines + [f"left out: {what} ({n:,})" for what, n in self.left_out.items()])


def write_measured(output: Path, measured: Measured, workload: Workload, nodes: int) -> Path:
    """Write the workload, and beside it the scenario that runs it on ``nodes`` nodes of one unit of each type; returns
    the scenario's name. Raises :class:`InputError`."""
    scenario = output.with_suffix(".yaml")
    tasks = [t.name for t in measured.task_types]
    document = {
        "description": "Jobs drawn from measured times; those in the workload's columns time_us are what counts.",
        "extends": "none",
        "processor_types": [{"name": p.name} for p in measured.processor_types],
        "task_types": tasks,
        "affinity": {  # operations per us
            "absolute": {
                p.name: {task: value for task, value in zip(tasks, row.tolist(), strict=True) if value > 0}
                for p, row in zip(measured.processor_types, measured.affinity, strict=True)
            }
        },
        "network": "none",
        "datacenter": {
            "racks": [{"nodes": [{"units": {p.name: 1 for p in measured.processor_types}, "count": nodes}]}]
        },
        "workload": {"file": output.name},
        "policy": "earliest_completion",
    }
    write_workload(output, workload, measured.processor_types)
    with replacing(scenario) as draft:
        draft.write_text(yaml.safe_dump(document, sort_keys=False))
    return scenario
