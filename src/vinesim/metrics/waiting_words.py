"""Say in words why a task waited: what ``vinesim explain`` prints and the page of a run shows."""

from vinesim.formats.source.amounts import amount_words
from vinesim.formats.source.quantities import span_words, time_or_dash
from vinesim.metrics.openings import Opening
from vinesim.metrics.shortages import Fragmentation, Shortage
from vinesim.metrics.types_of_units import TypeOfUnit
from vinesim.metrics.waiting import Waiting

RUN_ENDED = "the run ended"  # why a job that never started did not


def unit_rows(found: Waiting) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the table of unit types."""
    rows = [
        [
            kind.name,
            f"{kind.units:,}",
            fits(kind, found),
            "-" if found.on_nodes and not kind.is_lead else f"{kind.free_at_arrival:,}",
            why(kind, found),
        ]
        for kind in found.types
    ]
    return ["units", "", "can run it", free_title(found), "while it waited"], rows


def lines_below(found: Waiting, rows: int, names: list[str] | None = None) -> list[str]:
    """Return what stands below the table: what was lacking, at most ``rows`` openings, and where it started."""
    if found.waited_us <= 0:
        return []
    lines = quota_lines(found, rows) + gang_lines(found, rows)
    lines += [] if found.shortage is None else shortage(found.shortage, found).split("\n")
    lines += [] if found.fragmentation is None else [fragmentation(found.fragmentation, found)]
    taken = [opening for opening in found.openings if opening.taken_us is not None]
    lines += [line(opening, found, names) for opening in taken[:rows]]
    if len(taken) > rows:
        rest = taken[rows:]
        older = sum(opening.by_older is True for opening in rest)
        younger = sum(opening.by_older is False for opening in rest)
        lines.append(f"... {len(rest):,} more: {older:,} taken by older jobs, {younger:,} by younger ones")
    if found.unit is not None:
        lines.append(f"{time_or_dash(found.start_us):>10}  this job starts on unit {found.unit} ({found.unit_type})")
    return lines


def headline(found: Waiting, cut: str = RUN_ENDED, names: list[str] | None = None) -> list[str]:
    """Return the first lines: when it arrived and started, where, and what it takes."""
    times = f"arrived at {time_or_dash(found.arrival_us)}"
    who = _name(found.job, names)
    who = who[0].upper() + who[1:] + ("" if found.job_id is None else f" (job_id {found.job_id})")
    if found.start_us is None:
        cut = "it was withdrawn" if found.is_withdrawn else cut
        started = "did not start again" if found.lost_runs else "never started"
        first = f"{who} waited {time_or_dash(found.waited_us)} and {started}: {times}; {cut}."
    else:
        where = f"unit {found.unit} ({found.unit_type}, {found.place(found.rack, found.shelf)})"
        waited = "did not wait" if found.waited_us <= 0 else f"waited {time_or_dash(found.waited_us)}"
        first = f"{who} {waited}: {times}, started at {time_or_dash(found.start_us)} on {where}."
    wants = ", ".join(f"{name} {value:g}" for name, value in found.requests.items()) or "nothing"
    which = (
        "" if found.n_tasks == 1 or found.gang is not None else f", the last to start of its {found.n_tasks:,} tasks"
    )
    which_nodes = "," * bool(found.partition) + _there(found)
    lines = [
        first,
        f"Task {found.task} ({found.task_type}){which}: takes {_demand(found)}{which_nodes}, requests {wants}.",
    ]
    if found.lost_runs:
        spans = [(run, span_words(run.begin_us, run.end_us)) for run in found.lost_runs]
        runs = [f"on unit {run.unit} {span} ({run.outcome})" for run, span in spans]
        lines.append(f"It had run before: {', '.join(runs)}.")
    if found.moves:
        lines.append(f"Later it was moved {'once' if found.moves == 1 else f'{found.moves:,} times'}.")
    if found.cut_off is not None:
        how = "Its limit ended it" if found.cut_off.outcome == "killed" else "It was withdrawn"
        lines.append(f"{how} at {time_or_dash(found.cut_off.end_us)}, before it was done.")
    return lines


def free_title(found: Waiting) -> str:
    """Return the title of the column of what was free at its arrival."""
    return "nodes free at arrival" if found.on_nodes else "free at arrival"


def _demand(found: Waiting) -> str:
    if found.holds_several:
        return f"{_listed(_parts(found))} on one node"
    if found.demand == "whole" or _takes_whole(found):
        return "a whole unit"
    return "one slot" if found.demand == "one slot" else f"{found.demand:g} of a unit's capacity"


def _there(found: Waiting) -> str:
    """Name the partition that it is bound to."""
    return f" in partition {found.partition}" if found.partition else ""


def _parts(found: Waiting) -> list[str]:
    """Say what a task that holds several units takes: the units that it runs on, and each other one."""
    lead, number = _leads(found), f"{found.n_units:,}"
    takes = [kind.takes for kind in found.types if kind.is_lead and kind.takes < kind.capacity]
    if takes:
        number = f"{takes[0]:g} of {'a' if found.n_units == 1 else f'each of {number}'}"
    return [f"{number} {lead}", *(f"{amount_words(*held)} of {held[0]}" for held in found.companions.items())]


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _leads(found: Waiting) -> str:
    return " or ".join(kind.name for kind in found.types if kind.is_lead)


def fits(kind: TypeOfUnit, found: Waiting) -> str:
    """Say whether units of the type can run the task, and if not, why."""
    if kind.companion:
        return f"no, held beside: {amount_words(kind.name, kind.companion)}"
    if not kind.has_affinity:
        return "no"
    if not kind.is_asked_for:
        return f"no, it asks for {' or '.join(found.lead_types)}"
    if not kind.units:
        return "no, none where it may be"
    if not kind.can_run and found.on_nodes:
        return "no, no node has all that it holds"
    if not kind.can_run:
        return f"no, its capacity {kind.capacity:g} is below the demand {kind.takes:g}"
    return "requests: " + ", ".join(kind.lacks) if kind.lacks else "yes"


def why(kind: TypeOfUnit, found: Waiting) -> str:
    """Say in words what the units of a type were doing."""
    if found.waited_us <= 0:
        return "-"
    started = kind.name == found.unit_type
    if not kind.is_lead:
        return "-" if kind.has_affinity or kind.companion else f"cannot run {found.task_type} tasks"
    if not kind.can_run:
        return "too small" if kind.units else "-"
    if kind.lacks and not started:
        free = "" if kind.first_free_us is None else f"; one free from {time_or_dash(kind.first_free_us)}"
        return f"requests not met{free}"
    parts = [f"down for {time_or_dash(kind.down_unit_us)} in all"] if kind.down_unit_us > 0 else []
    if kind.free_unit_us <= 0 and not kind.taken_by_older + kind.taken_by_younger:
        until = "" if kind.busy_until_us is None or started else f", the first until {time_or_dash(kind.busy_until_us)}"
        full = "no node with room" if found.on_nodes else "no room" if kind.takes < kind.capacity else "all busy"
        parts.append(f"{full}{until}")
    for count, who in ((kind.taken_by_older, "older"), (kind.taken_by_younger, "younger")):
        if count:
            parts.append(f"{count:,} x free, taken by {who} jobs")
    if kind.free_unit_us > 0 and found.gang is not None:
        parts.append(f"nodes with room for one of its tasks for {time_or_dash(kind.free_unit_us)} in all")
    elif kind.free_unit_us > 0:
        why_idle = "see its quotas" if found.quotas else f"the policy {found.policy} left them idle"
        parts.append(f"free for {time_or_dash(kind.free_unit_us)} in all: {why_idle}")
    if started and kind.lacks:
        parts.append("it started here although its requests are not met")
    return "; ".join(parts)


def quota_lines(found: Waiting, rows: int) -> list[str]:
    """Say when a quota left too little for the task, with its gang."""
    lines = []
    for wait in found.quotas[:rows]:
        held, most, needed = (amount_words(wait.types, amount) for amount in (wait.held, wait.most, wait.needed))
        span = span_words(wait.begin_us, wait.end_us)
        lines.append(f"{span}: quota of {wait.whose} on {wait.types} used: {held} of {most}; it needs {needed}")
    more = len(found.quotas) - rows
    return lines + ([f"... {more:,} more times"] if more > 0 else [])


def gang_lines(found: Waiting, rows: int) -> list[str]:
    """Say for how many tasks of a gang there was room, where, from when to when."""
    gang = found.gang
    if gang is None:
        return []
    where = {"node": " on one node", "rack": " in one rack", "anywhere": ""}[gang.within]
    where = " on one node" if gang.n_nodes == 1 else where
    limit = f", at most {gang.per_node:,} on a node" if gang.per_node < gang.n_tasks else ""
    limit = f", {gang.per_node:,} on each of {gang.n_nodes:,} nodes" if gang.n_nodes > 1 else limit
    lines = [f"{gang.n_tasks:,} tasks start together{where}{limit}."]
    if not gang.is_alike:
        lines.append("They demand different things; below all count as if they demanded what this one does.")
    for room in found.gang_rooms[:rows]:
        nodes = [f"{found.place(rack, shelf)} ({_share(n, found)})" for rack, shelf, n in room.nodes[:MOST_NODES]]
        more = len(room.nodes) - len(nodes)
        at = "; ".join(nodes) + (f"; {more:,} more nodes" if more else "")
        span = span_words(room.begin_us, room.end_us)
        has = f"{_share(room.n_tasks, found)} of {_share(gang.n_tasks, found)} {_shared(found)}"
        if room.n_tasks >= gang.n_tasks:
            lines.append(f"{span}: room for all: the policy {found.policy} left it waiting")
        else:
            lines.append(f"{span}: gang incomplete: {has} on allowed nodes" + (f": {at}" if at else ""))
    if len(found.gang_rooms) > rows:
        lines.append(f"... {len(found.gang_rooms) - rows:,} more times")
    return lines


MOST_NODES = 4  # named in a line


def _takes_whole(found: Waiting) -> bool:
    return all(kind.takes == kind.capacity for kind in found.types if kind.is_lead)


def _share(n_tasks: int, found: Waiting) -> str:
    """Say how much of a gang so many of its tasks are: in units if each takes whole ones."""
    return f"{n_tasks * found.n_units:,}" if _takes_whole(found) else f"{n_tasks:,}"


def _shared(found: Waiting) -> str:
    return _leads(found) if _takes_whole(found) else "tasks"


def shortage(lack: Shortage, found: Waiting) -> str:
    """Say which parts of what the task takes were nowhere, and when most of the units that it runs on were free."""
    parts = _parts(found)
    lines = [
        f"no node had {part} for {time_or_dash(us)}" for part, us in zip(parts, lack.nowhere_us, strict=True) if us > 0
    ]
    if lack.scattered_us > 0 and len(parts) > 1:
        lines.append(f"each of these was on some node, but not all on one, for {time_or_dash(lack.scattered_us)}")
    lead = _leads(found)
    most = f"No {lead} was free{_there(found)}."
    if lack.n_free:
        several = "was" if lack.n_free == 1 else "were"
        number = parts[0].removesuffix(f" {lead}")
        wanted = [number if " of " not in number else parts[0], *([_listed(parts[1:])] if parts[1:] else [])]
        free = f"At {time_or_dash(lack.at_us)} {lack.n_free:,} {lead} {several} free{_there(found)}"
        most = f"{free}, on no node {' with '.join(wanted)}."
    return f"It needs {_demand(found)}. {most}\nLacking: {'; '.join(lines)}."


def fragmentation(lack: Fragmentation, found: Waiting) -> str:
    """Say for how long there was room enough in all, but at no single place."""
    if found.holds_several:
        return f"Fragmentation: enough of everything in all, but on no single node, for {time_or_dash(lack.time_us)}."
    at = (
        f"At {time_or_dash(lack.at_us)} {lack.room:g} was free on {lack.units:,} units, at most {lack.largest:g} on one"
    )
    takes = "a whole unit" if found.demand == "whole" else f"{lack.needed:g}"
    long = f"Fragmentation: room enough in all, but on no single unit, for {time_or_dash(lack.time_us)}."
    return f"{long} {at}; the task takes {takes}."


def line(opening: Opening, found: Waiting, names: list[str] | None) -> str:
    """Say when a place had room, and who took it."""
    freed = "had room" if opening.freed_by is None else f"freed by {_name(opening.freed_by, names)}"
    when = "at once" if opening.taken_us == opening.free_us else f"at {time_or_dash(opening.taken_us)}"
    unit = f"unit {opening.unit} ({opening.unit_type})"
    if found.on_nodes:
        unit = f"{found.place(opening.rack, opening.shelf)} ({opening.unit_type})"
    age = {True: "older", False: "younger", None: "an earlier run of this task"}[opening.by_older]
    who = f"went down {when}"
    if opening.taken_by is not None:
        who = f"taken {when} by {_name(opening.taken_by, names)} ({age})"
    return f"{time_or_dash(opening.free_us):>10}  {unit} {freed}; {who}"


def _name(job: int, names: list[str] | None) -> str:
    return f"job {job}" if names is None else names[job]
