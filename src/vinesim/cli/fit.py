"""``vinesim fit``: what fits a log: distributions of its jobs, or the times of a serving engine."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.commands import Commands
from vinesim.cli.fit_serving import fit_serving
from vinesim.cli.terminal import output, say

if TYPE_CHECKING:
    from rich.table import Table

    from vinesim.formats.importers.any_log import Log
    from vinesim.workloads.fit_log import LogFit
    from vinesim.workloads.fitting import Fitted


class Fits(Commands):
    """The subcommands; ``log`` may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the subcommand before its arguments, unless there is one."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["log", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the command with its subcommands."""
    words = "Fit what a scenario needs to a log, and say how far it is from the log."
    fits = typer.Typer(name="fit", cls=Fits, help=words, no_args_is_help=True)
    fits.command("log")(fit)
    fits.command("serving")(fit_serving)
    app.add_typer(fits)


def fit(
    log: Path = typer.Argument(..., help="A log: .swf, .swf.gz, or a workload's table, .csv or .parquet."),
    time: str = typer.Option(
        None, metavar="COLUMN", help="For a CSV file with one request per line: the column of times, seconds or dates."
    ),
    written: Path = typer.Option(
        None, "-o", "--output", metavar="FILE.yaml", help="Write the part of a scenario that generates such jobs."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print what was found as JSON and nothing else."),
) -> None:
    """Fit distributions to a log's arrivals and sizes, and say how far each is from the log."""
    from vinesim.formats.importers.any_log import read_log
    from vinesim.formats.results.folder import to_json
    from vinesim.formats.scenario.fitted_scenario import write_fitted
    from vinesim.workloads.fit_log import fit_log

    found = read_log(log, time)
    fitted = fit_log(found.arrival_us, found.sizes, found.user)
    if written is not None:
        write_fitted(written, fitted, found, log.name)
    if as_json:
        output().write(to_json(as_document(fitted, found)))
        return
    print_fit(fitted, found)
    if written is not None:
        say(f"wrote {written}: the part of a scenario that generates such jobs")


def as_document(fitted: "LogFit", log: "Log") -> dict[str, Any]:
    """Return the fit for JSON, with the part of a scenario."""
    from vinesim.formats.scenario.fitted_scenario import fitted_document, notes

    document = {item.name: getattr(fitted, item.name) for item in dataclasses.fields(fitted)}
    for name, of_what in (("gaps", fitted.gaps), ("sizes", fitted.sizes)):
        document[name] = [
            {
                "name": one.name,
                "parameters": dataclasses.asdict(one.distribution),  # type: ignore[call-overload]
                "aic": one.aic,
                "ks": one.ks,
                "tails": {f"p{100 * share:g}": error for share, error in one.tails.items()},
            }
            for one in of_what
        ]
    for name in ("gap_correlations", "size_correlations"):
        document[name] = {str(lag): value for lag, value in document[name].items()}
    return {**document, "notes": notes(fitted), "scenario": fitted_document(fitted, log)}


def print_fit(fitted: "LogFit", log: "Log") -> None:
    """Print a fit for people, 80 columns wide."""
    from vinesim.cli.console import Console
    from vinesim.formats.scenario.fitted_scenario import notes
    from vinesim.formats.source.quantities import format_time_us
    from vinesim.workloads.fit_log import LEAST_DAYS, LEAST_WEEKS
    from vinesim.workloads.modulation import DAY_US

    console = Console()
    console.print(f"{fitted.n_jobs:,} jobs in {format_time_us(fitted.span_us)}")
    steady = " at a steady rate" if fitted.daily or fitted.weekly else ""
    console.print(_table(f"Times between arrivals{steady}", fitted.gaps, is_time=True))
    if fitted.sizes:
        console.print(_table("Sizes" + ("" if log.is_time else ", operations"), fitted.sizes, is_time=log.is_time))
    console.print(_correlations(fitted))
    cycles = (("Hours of the day", fitted.daily, LEAST_DAYS), ("Days of the week", fitted.weekly, 7 * LEAST_WEEKS))
    for name, rates, n_days in cycles:
        if fitted.span_us >= n_days * DAY_US:
            words = "no cycle found" if not rates else f"{min(rates):g} to {max(rates):g} times the mean rate"
            console.print(f"{name}, from the first arrival: {words}")
    if fitted.n_users > 1:
        console.print(f"{fitted.n_users:,} users; correlation of a user's sizes: {fitted.user_correlation:.2f}")
    for note in notes(fitted):
        console.print(note, style="bold")


def _table(title: str, fits: "list[Fitted] | Any", *, is_time: bool) -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.formats.scenario.fitted_scenario import distribution_text

    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("best first", no_wrap=True)
    table.add_column("parameters")
    for name in ("AIC", "KS", "p50", "p90", "p99", "p99.9"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in fits:
        given = distribution_text(one, is_time=is_time)[one.name]
        words = ", ".join(f"{k} {_word(v)}" for k, v in given.items()) if isinstance(given, dict) else str(given)
        aic = "" if one is fits[0] else f"{one.aic - fits[0].aic:+.2g}"
        tails = [f"{100 * error:+.0f}%" if abs(error) < 10 else f"x{error + 1:,.0f}" for error in one.tails.values()]
        table.add_row(one.name, words, aic, f"{one.ks:.3f}", *tails)
    return table


def _word(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(map(_word, value))
    return value if isinstance(value, str) else f"{value:g}"


def _correlations(fitted: "LogFit") -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title="Autocorrelation", title_justify="left", box=SIMPLE, pad_edge=False)
    table.add_column("")
    for lag in fitted.gap_correlations:
        table.add_column(f"lag {lag}", justify="right", no_wrap=True)
    table.add_column("by chance", justify="right")
    chance = f"{fitted.chance_correlation:.3f}"
    table.add_row("times between arrivals", *(f"{x:.3f}" for x in fitted.gap_correlations.values()), chance)
    if fitted.size_correlations:
        table.add_row("sizes (ranks)", *(f"{x:.3f}" for x in fitted.size_correlations.values()), chance)
    return table
