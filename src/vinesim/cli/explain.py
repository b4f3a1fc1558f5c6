"""``vinesim explain``: why a job of a run waited."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from vinesim.metrics.openings import Opening
    from vinesim.metrics.shortages import Fragmentation, Shortage
    from vinesim.metrics.waiting import TypeOfUnit, Waiting


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    folder: Path = typer.Argument(..., metavar="DIR", help="The result folder of a run with --explain --out DIR."),
    job: int = typer.Option(..., metavar="N", help="Number of the job, from 0 in trace order."),
    rows: int = typer.Option(10, min=1, metavar="N", help="At most this many lines about what happened meanwhile."),
    as_json: bool = typer.Option(False, "--json", help="Print the explanation as JSON and nothing else."),
) -> None:
    """Explain why a job waited: which units could run it, what they were doing, and which jobs took them."""
    from vinesim.formats.results.folder import to_json
    from vinesim.metrics.waiting import waiting_of

    found = waiting_of(folder, job)
    if as_json:
        sys.stdout.write(to_json(asdict(found)))
        return
    print_waiting(found, rows)


def print_waiting(found: "Waiting", rows: int, cut: str = "the run ended", names: list[str] | None = None) -> None:
    """Print it in words; ``cut`` is why a job that never started did not, ``names`` what to call each job."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for line in _headline(found, cut, names):
        console.print(line)
    table = Table(box=SIMPLE, pad_edge=False)
    for title, side in (("units", "left"), ("", "right"), ("can run it", "left"), (_free(found), "right")):
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    table.add_column("while it waited")
    for kind in found.types:
        free = "-" if found.on_nodes and not kind.is_lead else f"{kind.free_at_arrival:,}"
        table.add_row(kind.name, f"{kind.units:,}", _fits(kind, found), free, _why(kind, found))
    console.print(table)
    if found.waited_us <= 0:
        return
    for line in _gang(found, rows):
        console.print(line)
    if found.shortage is not None:
        console.print(_shortage(found.shortage, found))
    if found.fragmentation is not None:
        console.print(_fragmentation(found.fragmentation, found))
    taken = [opening for opening in found.openings if opening.taken_us is not None]
    for opening in taken[:rows]:
        console.print(_line(opening, found, names))
    if len(taken) > rows:
        rest = taken[rows:]
        older = sum(opening.by_older is True for opening in rest)
        younger = sum(opening.by_older is False for opening in rest)
        console.print(f"... {len(rest):,} more: {older:,} taken by older jobs, {younger:,} by younger ones")
    if found.unit is not None:
        console.print(f"{_time(found.start_us):>10}  this job starts on unit {found.unit} ({found.unit_type})")


def _headline(found: "Waiting", cut: str, names: list[str] | None) -> list[str]:
    times = f"arrived at {_time(found.arrival_us)}"
    who = _name(found.job, names)
    who = who[0].upper() + who[1:]
    if found.start_us is None:
        first = f"{who} waited {_time(found.waited_us)} and never started: {times}; {cut}."
    else:
        where = f"unit {found.unit} ({found.unit_type}, rack {found.rack}, shelf {found.shelf})"
        waited = "did not wait" if found.waited_us <= 0 else f"waited {_time(found.waited_us)}"
        first = f"{who} {waited}: {times}, started at {_time(found.start_us)} on {where}."
    wants = ", ".join(f"{name} {value:g}" for name, value in found.requests.items()) or "nothing"
    which = (
        "" if found.n_tasks == 1 or found.gang is not None else f", the last to start of its {found.n_tasks:,} tasks"
    )
    lines = [first, f"Task {found.task} ({found.task_type}){which}: takes {_demand(found)}, requests {wants}."]
    if found.lost_runs:
        spans = [(run, f"from {_time(run.begin_us)} to {_time(run.end_us)}") for run in found.lost_runs]
        runs = [f"on unit {run.unit} {span} ({run.outcome})" for run, span in spans]
        lines.append(f"It had run before: {', '.join(runs)}.")
    if found.moves:
        lines.append(f"Later it was moved {found.moves:,} times.")
    return lines


def _free(found: "Waiting") -> str:
    return "nodes free at arrival" if found.on_nodes else "free at arrival"


def _demand(found: "Waiting") -> str:
    if found.holds_several:
        return f"{_listed(_parts(found))} on one node"
    if found.demand == "whole" or _takes_whole(found):
        return "a whole unit"
    return "one slot" if found.demand == "one slot" else f"{found.demand:g} of a unit's capacity"


def _parts(found: "Waiting") -> list[str]:
    """Say what a task that holds several units takes: the units that it runs on, and each other one."""
    lead, number = _leads(found), f"{found.n_units:,}"
    takes = [kind.takes for kind in found.types if kind.is_lead and kind.takes < kind.capacity]
    if takes:
        number = f"{takes[0]:g} of {'a' if found.n_units == 1 else f'each of {number}'}"
    return [f"{number} {lead}", *(f"{_amount(*held)} of {held[0]}" for held in found.companions.items())]


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _leads(found: "Waiting") -> str:
    return " or ".join(kind.name for kind in found.types if kind.is_lead)


def _amount(name: str, amount: float) -> str:
    """Say how much of a unit of a type."""
    from vinesim.formats.scenario.datacenter_parts import MEMORY
    from vinesim.formats.source.quantities import format_bytes

    return format_bytes(amount) if name == MEMORY else f"{amount:g}"


def _fits(kind: "TypeOfUnit", found: "Waiting") -> str:
    """Say whether units of the type can run the task, and if not, why."""
    if kind.companion:
        return f"no, held beside: {_amount(kind.name, kind.companion)}"
    if not kind.has_affinity:
        return "no"
    if not kind.is_asked_for:
        return f"no, it asks for {' or '.join(found.lead_types)}"
    if not kind.can_run and found.on_nodes:
        return "no, no node has all that it holds"
    if not kind.can_run:
        return f"no, its capacity {kind.capacity:g} is below the demand {kind.takes:g}"
    return "requests: " + ", ".join(kind.lacks) if kind.lacks else "yes"


def _why(kind: "TypeOfUnit", found: "Waiting") -> str:
    """Say in words what the units of a type were doing."""
    if found.waited_us <= 0:
        return "-"
    started = kind.name == found.unit_type
    if not kind.is_lead:
        return "-" if kind.has_affinity or kind.companion else f"cannot run {found.task_type} tasks"
    if not kind.can_run:
        return "too small"
    if kind.lacks and not started:
        free = "" if kind.first_free_us is None else f"; one free from {_time(kind.first_free_us)}"
        return f"requests not met{free}"
    parts = [f"down for {_time(kind.down_unit_us)} in all"] if kind.down_unit_us > 0 else []
    if kind.free_unit_us <= 0 and not kind.taken_by_older + kind.taken_by_younger:
        until = "" if kind.busy_until_us is None or started else f", the first until {_time(kind.busy_until_us)}"
        full = "no node with room" if found.on_nodes else "no room" if kind.takes < kind.capacity else "all busy"
        parts.append(f"{full}{until}")
    for count, who in ((kind.taken_by_older, "older"), (kind.taken_by_younger, "younger")):
        if count:
            parts.append(f"{count:,} x free, taken by {who} jobs")
    if kind.free_unit_us > 0 and found.gang is not None:
        parts.append(f"nodes with room for one of its tasks for {_time(kind.free_unit_us)} in all")
    elif kind.free_unit_us > 0:
        parts.append(f"free for {_time(kind.free_unit_us)} in all: the policy {found.policy} left them idle")
    if started and kind.lacks:
        parts.append("it started here although its requests are not met")
    return "; ".join(parts)


def _gang(found: "Waiting", rows: int) -> list[str]:
    """Say for how many tasks of a gang there was room, where, from when to when."""
    gang = found.gang
    if gang is None:
        return []
    where = {"node": " on one node", "rack": " in one rack", "anywhere": ""}[gang.within]
    limit = f", at most {gang.per_node:,} on a node" if gang.per_node < gang.n_tasks else ""
    lines = [f"{gang.n_tasks:,} tasks start together{where}{limit}."]
    if not gang.is_alike:
        lines.append("They demand different things; below all count as if they demanded what this one does.")
    for room in found.gang_rooms[:rows]:
        nodes = [f"rack {rack}, shelf {shelf} ({_share(n, found)})" for rack, shelf, n in room.nodes[:MOST_NODES]]
        more = len(room.nodes) - len(nodes)
        at = "; ".join(nodes) + (f"; {more:,} more nodes" if more else "")
        span = f"from {_time(room.begin_us)} to {_time(room.end_us)}"
        has = f"{_share(room.n_tasks, found)} of {_share(gang.n_tasks, found)} {_shared(found)}"
        if room.n_tasks >= gang.n_tasks:
            lines.append(f"{span}: room for all: the policy {found.policy} left it waiting")
        else:
            lines.append(f"{span}: gang incomplete: {has} on allowed nodes" + (f": {at}" if at else ""))
    if len(found.gang_rooms) > rows:
        lines.append(f"... {len(found.gang_rooms) - rows:,} more times")
    return lines


MOST_NODES = 4  # named in a line


def _takes_whole(found: "Waiting") -> bool:
    return all(kind.takes == kind.capacity for kind in found.types if kind.is_lead)


def _share(n_tasks: int, found: "Waiting") -> str:
    """Say how much of a gang so many of its tasks are: in units if each takes whole ones."""
    return f"{n_tasks * found.n_units:,}" if _takes_whole(found) else f"{n_tasks:,}"


def _shared(found: "Waiting") -> str:
    return _leads(found) if _takes_whole(found) else "tasks"


def _shortage(lack: "Shortage", found: "Waiting") -> str:
    """Say which parts of what the task takes were nowhere, and when most of the units that it runs on were free."""
    parts = _parts(found)
    lines = [f"no node had {part} for {_time(us)}" for part, us in zip(parts, lack.nowhere_us, strict=True) if us > 0]
    if lack.scattered_us > 0 and len(parts) > 1:
        lines.append(f"each of these was on some node, but not all on one, for {_time(lack.scattered_us)}")
    lead = _leads(found)
    most = f"No {lead} was free."
    if lack.n_free:
        several = "was" if lack.n_free == 1 else "were"
        wanted = [parts[0].removesuffix(f" {lead}"), *([_listed(parts[1:])] if parts[1:] else [])]
        most = f"At {_time(lack.at_us)} {lack.n_free:,} {lead} {several} free, on no node {' with '.join(wanted)}."
    return f"It needs {_demand(found)}. {most}\nLacking: {'; '.join(lines)}."


def _fragmentation(lack: "Fragmentation", found: "Waiting") -> str:
    if found.holds_several:
        return f"Fragmentation: enough of everything in all, but on no single node, for {_time(lack.time_us)}."
    at = f"At {_time(lack.at_us)} {lack.room:g} was free on {lack.units:,} units, at most {lack.largest:g} on one"
    takes = "a whole unit" if found.demand == "whole" else f"{lack.needed:g}"
    long = f"Fragmentation: room enough in all, but on no single unit, for {_time(lack.time_us)}."
    return f"{long} {at}; the task takes {takes}."


def _line(opening: "Opening", found: "Waiting", names: list[str] | None) -> str:
    freed = "had room" if opening.freed_by is None else f"freed by {_name(opening.freed_by, names)}"
    when = "at once" if opening.taken_us == opening.free_us else f"at {_time(opening.taken_us)}"
    unit = f"unit {opening.unit} ({opening.unit_type})"
    if found.on_nodes:
        unit = f"rack {opening.rack}, shelf {opening.shelf} ({opening.unit_type})"
    age = {True: "older", False: "younger", None: "an earlier run of this task"}[opening.by_older]
    who = f"went down {when}"
    if opening.taken_by is not None:
        who = f"taken {when} by {_name(opening.taken_by, names)} ({age})"
    return f"{_time(opening.free_us):>10}  {unit} {freed}; {who}"


def _name(job: int, names: list[str] | None) -> str:
    return f"job {job}" if names is None else names[job]


def _time(value: Any) -> str:
    from vinesim.formats.source.quantities import time_or_dash

    return time_or_dash(value)
