"""``vinesim import``: logs and measurements of real systems as workloads."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.formats.importers.report import ImportReport

JOBS = typer.Option(1000, help="Number of jobs to draw.")
NODES = typer.Option(4, help="Nodes of the scenario, each with one unit of each type.")
LOAD = typer.Option(0.9, help="Rate of arriving work, as a share of what all units can do.")
SEED = typer.Option(0, help="Seed of all random streams.")
JSON = typer.Option(False, "--json", help="Print the report as JSON and nothing else.")
WORKLOAD = typer.Option(..., "-o", "--output", help="The workload, a Parquet file; a scenario is written beside it.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    importer = typer.Typer(help="Turn logs and measurements of real systems into workloads.", no_args_is_help=True)
    for command in (swf, gavel, starpu, requests):
        importer.command(command.__name__)(command)
    app.add_typer(importer, name="import")


def swf(
    log: Path = typer.Argument(..., help="The log in the Standard Workload Format, plain or gzip."),
    output: Path = typer.Option(..., "-o", "--output", help="The workload, a Parquet file."),
    machines: Path = typer.Option(None, help="The log's clusters (.machines); also writes a scenario that uses them."),
    task: str = typer.Option(
        "processor", help="What becomes a task: each processor of a job, or the whole job on one node."
    ),
    partition: list[int] = typer.Option([], metavar="N", help="Take only the jobs of this partition; may be repeated."),
    as_json: bool = JSON,
) -> None:
    """Import a Standard Workload Format log: each job becomes one task per processor, or one task."""
    from vinesim.formats.importers.machines import PROCESSOR_TYPE
    from vinesim.formats.importers.swf import read_swf
    from vinesim.formats.importers.swf_scenario import write_swf_scenario
    from vinesim.formats.scenario.workload_table import write_workload
    from vinesim.model.parallel_jobs import warn_of_parallel_jobs

    _check_output(output)
    workload, datacenter, report = read_swf(log, machines, task, partition)
    write_workload(output, workload, (PROCESSOR_TYPE,))
    warn_of_parallel_jobs(workload)
    wrote = {output: f"{workload.n_jobs:,} jobs"}
    if datacenter is not None:
        scenario = output.with_suffix(".yaml")
        write_swf_scenario(scenario, output, datacenter, task)
        wrote[scenario] = _run_it(scenario)
    _tell(report, wrote, as_json)


def gavel(
    table: Path = typer.Argument(..., help="Throughputs: gpu, job_type, scale_factor, steps_per_s; plain or gzip."),
    output: Path = WORKLOAD,
    jobs: int = JOBS,
    duration: str = typer.Option("1 h", help="Median time of a job on its fastest GPU type."),
    duration_sd: float = typer.Option(1.0, help="Standard deviation of the logarithm of that time."),
    nodes: int = NODES,
    load: float = LOAD,
    seed: int = SEED,
    as_json: bool = JSON,
) -> None:
    """Draw training jobs from throughputs measured on several GPU types, as used by the scheduler Gavel."""
    from vinesim.formats.importers.gavel import read_gavel
    from vinesim.formats.importers.measured_table import write_measured
    from vinesim.formats.source.quantities import time_us
    from vinesim.workloads.measured import measured_jobs

    _check_output(output)
    median_us = time_us(duration, "--duration")
    measured, report = read_gavel(table)
    workload = measured_jobs(measured, jobs, nodes=nodes, load=load, median_us=median_us, sd=duration_sd, seed=seed)
    scenario = write_measured(output, measured, workload, nodes)
    _tell(report, {output: f"{workload.n_jobs:,} jobs", scenario: _run_it(scenario)}, as_json)


def starpu(
    kernels: Path = typer.Argument(
        ..., help="Kernel times: kernel, machine, device_type, cores, size_bytes, mean_us, dev_us, n; plain or gzip."
    ),
    output: Path = WORKLOAD,
    machine: str = typer.Option(None, help="Machine to use; default: the first with the most device types."),
    jobs: int = JOBS,
    noise: bool = typer.Option(False, "--noise", help="Vary the true times as measured; schedulers know the means."),
    nodes: int = NODES,
    load: float = LOAD,
    seed: int = SEED,
    as_json: bool = JSON,
) -> None:
    """Draw kernels from times measured on the devices of a machine, as recorded by the runtime StarPU."""
    from vinesim.formats.importers.measured_table import write_measured
    from vinesim.formats.importers.starpu import read_starpu
    from vinesim.workloads.measured import measured_jobs

    _check_output(output)
    measured, report = read_starpu(kernels, machine)
    workload = measured_jobs(measured, jobs, nodes=nodes, load=load, is_noisy=noise, seed=seed)
    scenario = write_measured(output, measured, workload, nodes)
    _tell(report, {output: f"{workload.n_jobs:,} jobs", scenario: _run_it(scenario)}, as_json)


def requests(
    log: Path = typer.Argument(..., help="A CSV file with a header line and one request per line, plain or gzip."),
    time: str = typer.Option(..., metavar="COLUMN", help="The column of times: seconds, or dates."),
    interval: str = typer.Option("1 s", help="Length of the intervals in which requests are counted."),
    output: Path = typer.Option(..., "-o", "--output", help="The series of counts, a CSV file."),
    as_json: bool = JSON,
) -> None:
    """Count the requests of a log: a series of arrivals for the generator `requests`."""
    from vinesim.formats.importers.request_times import counted, read_request_times, write_counts
    from vinesim.formats.source.quantities import format_time_us, time_us

    interval_us = time_us(interval, "--interval")
    times_us, report = read_request_times(log, time)
    counts = counted(times_us, interval_us)
    write_counts(output, counts, interval_us)
    most, span_us = int(counts.max()), float(times_us[-1])
    span, each = format_time_us(span_us), format_time_us(interval_us)
    report.made = f"{len(times_us):,} requests in {span}, at most {most:,} in {each}"
    report.numbers = {"requests": len(times_us), "span_us": span_us, "most_in_an_interval": most}
    _tell(report, {output: f"{len(counts):,} intervals"}, as_json)


def _check_output(output: Path) -> None:
    """Check the output's name: the scenario's name ends in .yaml, and a name in .csv would be read as CSV."""
    if output.suffix != ".parquet":
        raise InputError([Problem("-o", "a name that ends in .parquet", str(output))])


def _run_it(scenario: Path) -> str:
    return f"run it: vinesim run {scenario}"


def _tell(report: "ImportReport", wrote: dict[Path, str], as_json: bool) -> None:
    """Print what was read and left out, and which files were written."""
    if as_json:
        typer.echo(json.dumps(report.as_document(wrote), indent=2))
        return
    typer.echo(str(report))
    for file, words in wrote.items():
        typer.echo(f"wrote {file}{';' if words.startswith('run it') else ':'} {words}")
