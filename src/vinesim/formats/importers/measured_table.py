"""Write a scenario from measured times: a workload file, an affinity table, and nodes with one unit of each type."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from vinesim.formats.importers.declaration import Imported, Option
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.source.csv_rows import CsvRows
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.workload import Workload
from vinesim.workloads.measured import Measured

# the options for drawing jobs from a table of measured times
Output = Annotated[Path, Option("The workload, a Parquet file; a scenario is written next to it.", short="-o")]
Jobs = Annotated[int, Option("Number of jobs to draw.")]
Nodes = Annotated[int, Option("Nodes of the scenario, each with one unit of each type.")]
Load = Annotated[float, Option("Rate of arriving work, as a share of what all units can do.")]
Seed = Annotated[int, Option("Seed of all random streams.")]


def report_on(
    found: CsvRows, measured: Measured, dropped: Mapping[str, Sequence[int]], about: str = ""
) -> ImportReport:
    """Return the report on the rows of a file."""
    types = [p.name for p in measured.processor_types]
    report = ImportReport(found.path, len(found.rows), unused=found.unused)
    report.made = f"{about}{len(measured.task_types):,} task types on {', '.join(types)}"
    report.numbers = {"task_types": [t.name for t in measured.task_types], "processor_types": types}
    for reason, lines in dropped.items():
        report.drop(reason, *sorted(lines))
    return report


def write_measured(output: Path, measured: Measured, workload: Workload, nodes: int, report: ImportReport) -> Imported:
    """Write the workload, and next to it a scenario that runs it on ``nodes`` nodes with one unit of each type.

    Raises :class:`InputError`.
    """
    scenario = output.with_suffix(".yaml")
    tasks = [t.name for t in measured.task_types]
    document = {
        "description": "Jobs drawn from measured times; their times are in the workload's columns time_us.",
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
    write_yaml(scenario, document)
    return Imported(report, output, f"{workload.n_jobs:,} jobs", scenario)
