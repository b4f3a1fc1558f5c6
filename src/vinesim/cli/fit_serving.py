"""``vinesim fit serving``: how long the steps of a serving engine take, from what was measured of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.terminal import output, say
from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.studies.serving_fit import ServingFit


def fit_serving(
    log: Path = typer.Argument(
        ..., help="Measured requests or steps, .csv or .jsonl, plain or gzip; the documentation lists the columns."
    ),
    meta: Path = typer.Option(None, metavar="FILE.json", help="The engine's settings as vLLM names them."),
    max_sequences: int = typer.Option(None, metavar="N", help="Maximum number of sequences in a step."),
    max_batched_tokens: int = typer.Option(None, metavar="N", help="Maximum number of tokens in a step."),
    memory_tokens: int = typer.Option(None, metavar="N", help="Tokens that fit into the memory."),
    block_tokens: int = typer.Option(None, metavar="N", help="Tokens in a block of memory; default 16."),
    when_full: str = typer.Option(
        None, metavar="recompute|resume", help="Whether a preempted sequence computes its tokens again, or resumes."
    ),
    prefix_caching: bool = typer.Option(
        None, "--prefix-caching/--no-prefix-caching", help="Let a preempted sequence find its blocks again."
    ),
    profile: Path = typer.Option(
        None, metavar="FILE.yaml", help="The section profile of a step's time; the fit finds what it leaves out."
    ),
    name: str = typer.Option("ENGINE", metavar="NAME", help="Name of the processor type to write."),
    written: Path = typer.Option(
        None, "-o", "--output", metavar="FILE.yaml", help="Write the engine, for scenarios that extend this file."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print what was found as JSON and nothing else."),
) -> None:
    """Fit the time of a step to a log's first half, at most 1,000 requests, and say how far the others are from the
    measured times."""
    from vinesim.cli.progress import working
    from vinesim.formats.importers.engine_settings import read_engine_settings
    from vinesim.formats.importers.serving_log import Requests, read_serving_log
    from vinesim.formats.results.folder import to_json
    from vinesim.formats.scenario.batching import moved_profile, read_profile
    from vinesim.formats.scenario.fitted_scenario import batching_document, step_document, write_engine
    from vinesim.studies.serving_fit import fit_requests, fit_steps
    from vinesim.studies.serving_run import engine_with

    options = {
        "max_sequences": max_sequences,
        "max_batched_tokens": max_batched_tokens,
        "memory_tokens": memory_tokens,
        "block_tokens": block_tokens,
        "when_full": when_full,
        "prefix_caching": prefix_caching,
    }
    given = {key: value for key, value in options.items() if value is not None}
    settings = {**({} if meta is None else read_engine_settings(meta)), **given}
    known = None if profile is None else read_profile(profile)
    measured = read_serving_log(log)
    with working("fitting"):
        if isinstance(measured, Requests):
            engine = engine_with(settings, measured)
            fitted = fit_requests(measured, engine, None if known is None else known[1])
            used = known and moved_profile(known[0], profile, Path() if written is None else written.parent)
            section = {"batching": batching_document(engine, step_document(fitted.step, used))}
        else:
            if known is not None:
                raise InputError([Problem("--profile", "a log of requests", "a log of steps", "Leave it out.")])
            fitted = fit_steps(measured)
            section = {"step": step_document(fitted.step)}
    if written is not None:
        write_engine(written, name, section, log.name)
    if as_json:
        output().write(to_json(as_document(fitted, section)))
        return
    print_fit(fitted, section)
    if written is not None:
        say(f"wrote {written}")


def as_document(fitted: "ServingFit", section: dict[str, Any]) -> dict[str, Any]:
    """Return the fit for JSON: the statistics in us, and the part of a scenario."""
    from vinesim.studies.serving_run import STATISTICS

    def times(*, seen: bool) -> dict[str, Any]:
        measured, simulated = (table.tolist() for table in fitted.statistics(seen=seen))
        return {
            name.replace(" ", "_") + "_us": {
                "measured": dict(zip(STATISTICS, measured[i], strict=True)),
                "fitted": dict(zip(STATISTICS, simulated[i], strict=True)),
            }
            for i, name in enumerate(fitted.names)
        }

    counts = {fitted.of: fitted.n, "seen": fitted.n_seen}
    return {**counts, "of_seen": times(seen=True), "of_unseen": times(seen=False), "scenario": section}


def print_fit(fitted: "ServingFit", section: dict[str, Any]) -> None:
    """Print a fit for people, 80 columns wide."""
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.cli.console import Console
    from vinesim.formats.source.quantities import format_time_us
    from vinesim.formats.source.yaml_writer import as_yaml
    from vinesim.studies.serving_run import STATISTICS

    n_unseen = fitted.n - fitted.n_seen
    say(f"fitted to the first {fitted.n_seen:,} of {fitted.n:,} {fitted.of}; the other {n_unseen:,} judge the fit")
    (seen, of_seen), (unseen, of_unseen) = fitted.statistics(seen=True), fitted.statistics(seen=False)
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("")
    for title in ("measured", "fitted", "error", "error of those seen"):
        table.add_column(title, justify="right", no_wrap=True)
    for i, name in enumerate(fitted.names):
        for j, statistic in enumerate(STATISTICS):
            errors = [_error(seen[i, j], of_seen[i, j]), _error(unseen[i, j], of_unseen[i, j])]
            times = [format_time_us(unseen[i, j]), format_time_us(of_unseen[i, j])]
            table.add_row(name if j == 0 else "", statistic, *times, errors[1], errors[0])
    Console().print(table)
    for line in as_yaml(section).splitlines():
        say(line)


def _error(measured: float, fitted: float) -> str:
    return f"{100 * (fitted / measured - 1):+.1f}%" if measured > 0 else "-"
