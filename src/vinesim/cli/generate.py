"""``vinesim generate``: synthetic workloads."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.terminal import say
from vinesim.model.errors import InputError, Problem

MAX_NODES = 10_000_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def generate(
    generator: str = typer.Argument(None, help="Name of a generator, or my_jobs.py:function; omit it to list all."),
    option: list[str] = typer.Option([], metavar="KEY=VALUE", help="An option of the generator."),
    seed: int = typer.Option(0, help="Seed of all random streams."),
    racks: int = typer.Option(1, min=1, help="Number of racks with nodes that can hold data."),
    shelves: int = typer.Option(1, min=1, help="Nodes per rack."),
    output: Path = typer.Option(
        None, "-o", "--output", help="The workload: a Parquet file, or text if the name ends in .txt."
    ),
) -> None:
    """Generate a workload, or list the generators and their options."""
    from vinesim.cli.arguments import key_values
    from vinesim.formats.papers.trace import write_trace
    from vinesim.formats.scenario.generator_options import OptionsReader
    from vinesim.formats.scenario.workload_writer import write_workload
    from vinesim.formats.source.yaml_source import YamlSource
    from vinesim.model.catalog import PROCESSOR_TYPES
    from vinesim.workloads.registry import generator as find
    from vinesim.workloads.registry import generators
    from vinesim.workloads.spec import COMMON

    if generator is None:
        for spec in generators().values():
            say(f"{spec.name}: {spec.summary}".replace("``", ""))
            _list_options(option for option in spec.options.values() if option not in COMMON)
        say("every generator:")
        _list_options(COMMON)
        return
    spec = find(generator)
    if output is None:
        raise InputError([Problem("vinesim generate", "-o FILE", "none", "Name the file to write.")])
    given = {key: _value(text) for key, text in key_values(option, "--option").items()}
    source = YamlSource.of(given, "--option")
    options = OptionsReader(source, Path()).read(spec, given, (), ())
    source.raise_if_any()
    if racks * shelves > MAX_NODES:
        raise InputError([Problem("--racks x --shelves", f"at most {MAX_NODES:,} nodes", f"{racks * shelves:,}")])
    nodes = [(rack, shelf) for rack in range(racks) for shelf in range(shelves)]
    workload = spec.generate(options, seed=seed, nodes=nodes)
    types = spec.processor_types or PROCESSOR_TYPES
    (write_trace if output.suffix == ".txt" else write_workload)(output, workload, types)
    say(f"wrote {output}: {workload.n_jobs:,} jobs, {workload.n_tasks:,} tasks")


def _list_options(options: Iterable[Any]) -> None:
    from vinesim.workloads.options import REQUIRED

    for option in options:
        default = "required" if option.default is REQUIRED else f"default {option.default}"
        say(f"  --option {option.name}=...  {option.expected}, {default}")


def _value(text: str) -> Any:
    """Parse a command-line value as YAML: a number, a list, a mapping, a word."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(
            [Problem("--option", "a value: a number, a word, [a list] or {a: mapping}", repr(text))]
        ) from None
