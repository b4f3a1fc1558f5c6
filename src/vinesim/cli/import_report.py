"""The report of an import: the checks of what was imported, printed, and kept next to the files that were written."""

import json
from pathlib import Path

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from vinesim.cli.console import Console
from vinesim.cli.terminal import say
from vinesim.formats.importers.declaration import Imported
from vinesim.formats.importers.report import Finding
from vinesim.formats.scenario.file import read_source, scenario_from
from vinesim.formats.scenario.offer import Offer
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.source.files import replacing
from vinesim.metrics.sanity import of_arrivals, sanity_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError
from vinesim.model.scenario import Scenario
from vinesim.model.workload import Workload
from vinesim.policies.registry import resolve

WIDTH = 80
ODD_DROPPED = 0.1  # of the lines
AGAINST_A_RUN = ("cannot run", "never run")  # findings of jobs that a run refuses


def check(done: Imported, on: Scenario | None) -> list[Path]:
    """Check what was imported, on a datacenter if one is known; return the files that were written, with the report."""
    report = done.report
    report.findings = [*_findings(done, on), *report.findings]
    share = report.n_dropped / report.n_lines if report.n_lines else 0.0
    words = f"{report.n_dropped:,} of {report.n_lines:,} lines ({share:.1%})"
    report.findings.append(Finding("dropped", words, share >= ODD_DROPPED, {"dropped": report.n_dropped}))
    report.findings.append(Finding("time zone", report.time_zone or "none: the log has no dates"))
    kept = done.output.with_suffix(".import.json")
    wrote = [file for file in (done.output, done.scenario, done.mapping, kept) if file is not None]
    with replacing(kept) as draft:
        draft.write_text(json.dumps(report.as_document(wrote), indent=2) + "\n", encoding="utf-8")
    return wrote


def print_report(done: Imported, wrote: list[Path], on: Scenario | None) -> None:
    """Print what was read, left out and found, on whose datacenter, and the files written."""
    for line in str(done.report).splitlines():
        say(line)
    table = Table(title="Checks", title_justify="left", show_header=False, box=SIMPLE, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    for finding in done.report.findings:
        table.add_row("!" if finding.is_odd else "", finding.what, finding.words)
    Console(width=min(Console().width, WIDTH)).print(table)
    say(f"wrote {done.output}: {done.holds}")
    say(f"wrote {wrote[-1]}: this report")
    if done.mapping is not None:
        say(f"wrote {done.mapping}: how the columns were read; correct it and import again with --mapping")
    if done.scenario is not None:
        odd = [finding.what for finding in done.report.findings if finding.is_odd and on is None]
        against = [what for what in odd if what in AGAINST_A_RUN]
        end = f"it does not run yet, see {against[0]!r} above" if against else f"run it: vinesim run {done.scenario}"
        say(f"wrote {done.scenario}; {end}")


def _findings(done: Imported, on: Scenario | None) -> list[Finding]:
    if done.arrival_us is not None:
        return of_arrivals(done.arrival_us)
    try:
        if on is not None:
            return sanity_of(*_on_another(done, on))
        if done.scenario is not None:
            own = scenario_from(read_source(done.scenario), done.scenario.parent, check_policy=resolve)
            return sanity_of(own.workload, own.datacenter, own.affinity)
    except InputError as error:
        return [Finding("cannot run", str(one), True, {"problems": error.n_problems}) for one in error.problems]
    found = of_arrivals(read_workload(done.output).arrival_us)
    return [*found, Finding("load", "no datacenter is known: give one by --on SCENARIO")]


def read_plainly(path: Path) -> Scenario:
    """Read a scenario without its policy. Raises :class:`InputError`."""
    return scenario_from(read_source(path), path.parent)


def _on_another(done: Imported, other: Scenario) -> tuple[Workload, Datacenter, np.ndarray]:
    """Return the imported jobs on the datacenter of another scenario, where all its units do 1 us of them in 1 us."""
    center = other.datacenter
    runs = np.asarray(other.affinity.any(axis=1))
    resources = [p.name for p, is_able in zip(center.processor_types, runs, strict=True) if not is_able]
    offer = Offer.of(center.processor_types, center, resources)
    own = read_source(done.scenario).data.get("workload", {}) if done.scenario is not None else {}
    work = read_workload(done.output, center.processor_types, offer=offer, columns=own.get("columns"))
    return work, center, np.repeat(runs[:, None].astype(np.float64), len(work.task_types), axis=1)
