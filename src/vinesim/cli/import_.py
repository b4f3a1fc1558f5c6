"""``vinesim import``: logs of real systems as workloads."""

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    importer = typer.Typer(help="Turn the log of a real system into a workload.", no_args_is_help=True)
    importer.command("swf")(swf)
    app.add_typer(importer, name="import")


def swf(
    log: Path = typer.Argument(..., help="Standard Workload Format, plain or gzip."),
    output: Path = typer.Option(..., "-o", "--output", help="The workload, a Parquet file."),
    machines: Path = typer.Option(None, help="The log's clusters (.machines); writes a scenario to run it on them."),
) -> None:
    """Import a Standard Workload Format log: each job becomes as many tasks as it had processors."""
    from vinesim.formats.machines import PROCESSOR_TYPE
    from vinesim.formats.swf import read_swf
    from vinesim.formats.swf_scenario import write_swf_scenario
    from vinesim.formats.workload_table import write_workload

    workload, datacenter, report = read_swf(log, machines)
    write_workload(output, workload, (PROCESSOR_TYPE,))
    typer.echo(str(report))
    typer.echo(f"wrote {output}")
    if datacenter is not None:
        scenario = output.with_suffix(".yaml")
        write_swf_scenario(scenario, output, datacenter)
        typer.echo(f"wrote {scenario}; run it: vinesim run {scenario}")
