"""Measure VineSim: ``python -m benchmarks [NAME...] [--quick] [--write]``.

Without a name, all. ``--quick`` takes smaller models, under a minute in all; ``--write`` puts the tables into
docs/explanation, where the markers of a benchmark stand. ``core_cases --against COMMIT`` measures this checkout in
turns with another commit.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks import (
    backends,
    binding,
    checksums,
    core_turns,
    explore,
    gangs,
    gpu,
    live,
    memory,
    optimal,
    placement,
    plans,
    policies,
    rbss,
    scale,
    serving,
    slurm,
    small_runs,
    start,
    symphony,
    throughput,
    trace,
    user_policy,
    vectors,
)
from benchmarks.machine import description
from benchmarks.report import Report, Table
from benchmarks.write import page_of, write_tables

BENCHMARKS: dict[str, Callable[[bool], Report]] = {
    "throughput": throughput.run,
    "small_runs": small_runs.run,
    "scale": scale.run,
    "memory": memory.run,
    "user_policy": user_policy.run,
    "policies": policies.run,
    "start": start.run,
    "trace": trace.run,
    "binding": binding.run,
    "backends": backends.run,
    "checksums": checksums.run,
    "optimal": optimal.run,
    "rbss": rbss.run,
    "placement": placement.run,
    "serving": serving.run,
    "symphony": symphony.run,
    "plans": plans.run,
    "vectors": vectors.run,
    "gangs": gangs.run,
    "gpu": gpu.run,
    "live": live.run,
    "explore": explore.run,
    "slurm": slurm.run,
}


CORE_CASES = "core_cases"  # is measured only when it is named: it needs a commit


def show(console: Console, table: Table) -> None:
    rich = RichTable(title=table.title, caption=table.note, title_justify="left", caption_justify="left")
    for i, name in enumerate(table.columns):
        rich.add_column(name, justify="right" if i else "left")
    for row in table.rows:
        rich.add_row(*row)
    console.print(rich)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = ", ".join((*BENCHMARKS, CORE_CASES))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {known}")
    parser.add_argument("--quick", action="store_true", help="smaller models, under a minute")
    parser.add_argument("--write", action="store_true", help="put the tables into the documentation")
    parser.add_argument("--against", metavar="COMMIT", help=f"what {CORE_CASES} compares this checkout with")
    parser.add_argument("--case", action="append", default=[], help=f"only this case of {CORE_CASES}")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {*BENCHMARKS, CORE_CASES}
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {known}")
    if unknown := set(arguments.case) - set(core_turns.CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are: {'; '.join(core_turns.CASES)}")
    if (CORE_CASES in arguments.names) != (arguments.against is not None):
        parser.error(f"{CORE_CASES} and --against COMMIT go together")
    if arguments.case and arguments.against is None:
        parser.error(f"--case needs {CORE_CASES}")
    benchmarks = dict(BENCHMARKS)
    if arguments.against is not None:
        try:
            against = core_turns.commit_of(arguments.against)
        except ValueError as wrong:
            parser.error(f"--against: {wrong}")
        benchmarks[CORE_CASES] = partial(core_turns.run, against=against, cases=arguments.case)
    if arguments.write and arguments.quick:
        parser.error("--write needs the full measurement: leave out --quick")
    names = arguments.names or list(BENCHMARKS)
    pages = {name: page_of(name) for name in names} if arguments.write else {}
    if homeless := [name for name, page in pages.items() if page is None]:
        parser.error(f"no page of docs/explanation has a place for {', '.join(homeless)}: % begin NAME and % end NAME")
    console = Console()
    machine = description()
    console.print(machine)
    for name in names:
        begun = time.perf_counter()
        report = benchmarks[name](arguments.quick)
        console.rule(f"{name}: {time.perf_counter() - begun:.0f} s")
        for table in report.all_tables():
            show(console, table)
        if page := pages.get(name):
            write_tables(page, name, report.all_tables(), machine)


if __name__ == "__main__":
    main()
