"""Describe in words why a task waited, for ``vinesim explain`` and for the page of a run."""

from collections.abc import Sequence
from typing import Any

from vinesim.formats.source.quantities import amount_words, format_time_us, time_or_dash
from vinesim.metrics.blockers import RESERVED, Blocker
from vinesim.metrics.gang_shortages import GangRoom
from vinesim.metrics.openings import Opening
from vinesim.metrics.shortages import Fragmentation, Shortage
from vinesim.metrics.types_of_units import TypeOfUnit
from vinesim.metrics.wait import LostRun, Waiting

RUN_ENDED = "the run ended"  # how the wait of a task that never started ended, unless the caller knows more


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
    """Return the lines below the table: what was lacking, at most ``rows`` openings, and where the task started."""
    if found.waited_us <= 0:
        return []
    lines = blocker_lines(found, rows, names) + quota_lines(found, rows, names) + power_lines(found, rows)
    lines += reservation_lines(found, rows) + gang_lines(found, rows)
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
        lines.append(f"{found.clock.at(found.start_us):>10}  this job starts on {_on_unit(found)}")
    return lines


def headline(found: Waiting, cut: str = RUN_ENDED, names: list[str] | None = None) -> list[str]:
    """Return the first lines: when it arrived and started, where, and what it takes."""
    times = f"arrived at {found.clock.at(found.arrival_us)}"
    who = _name(found.job, found, names)
    who = who[0].upper() + who[1:] + ("" if found.job_id is None else f" (--job {found.job})")
    if found.start_us is None:
        cut = "it was withdrawn" if found.is_withdrawn else cut
        if found.is_dropped:
            cut = "the policy ended it" if found.lost_runs else "the policy refused it"
        started = "did not start again" if found.lost_runs else "never started"
        first = f"{who} waited {time_or_dash(found.waited_us)} and {started}: {times}; {cut}."
    else:
        where = f"{found.place(found.rack, found.shelf)} (unit {found.unit}, {found.unit_type})"
        waited = "did not wait" if found.waited_us <= 0 else f"waited {time_or_dash(found.waited_us)}"
        first = f"{who} {waited}: {times}, started at {found.clock.at(found.start_us)} on {where}."
    wants = ", requests " * bool(found.requests) + ", ".join(f"{name} {n:g}" for name, n in found.requests.items())
    which = (
        "" if found.n_tasks == 1 or found.gang is not None else f", the last to start of its {found.n_tasks:,} tasks"
    )
    which_nodes = "," * bool(found.partition) + _there(found)
    lines = [
        first,
        f"Task {found.task} ({found.task_type}){which}: takes {_demand(found)}{which_nodes}{wants}.",
    ]
    if found.after:
        lines.append(_after(found, names))
    if found.lost_runs:
        spans = [(run, found.clock.span(run.begin_us, run.end_us)) for run in found.lost_runs]
        runs = [f"on unit {run.unit} {span} ({_ended(run, found, names)})" for run, span in spans]
        lines.append(f"It had run before: {', '.join(runs)}.")
    if found.moves:
        lines.append(f"Later it was moved {'once' if found.moves == 1 else f'{found.moves:,} times'}.")
    if found.cut_off is not None:
        how = "Its limit ended it" if found.cut_off.outcome == "killed" else "It was withdrawn"
        lines.append(f"{how} at {found.clock.at(found.cut_off.end_us)}, before it was done.")
    return lines


def _ended(run: LostRun, found: Waiting, names: list[str] | None) -> str:
    """Describe why a run was lost, and which jobs of its cohort started then."""
    if not run.for_jobs:
        return run.outcome
    others = _listed([_name(job, found, names) for job in run.for_jobs[:MOST_NAMED]])
    return f"{run.outcome} as {others} of its cohort started"


def _after(found: Waiting, names: list[str] | None) -> str:
    """Name the jobs that it waited for before it was eligible."""
    others = _listed([_name(job, found, names) for job in found.after[:MOST_NAMED]])
    if (n_more := len(found.after) - MOST_NAMED) > 0:
        others += f" and {n_more:,} more"
    if found.eligible_us is None:
        return f"It waits for {others} to be over, and is not eligible."
    if found.eligible_us <= found.arrival_us:
        return f"It came after {others}, over by then."
    return f"It waited for {others} to be over until {found.clock.at(found.eligible_us)}, and only then for units."


def free_title(found: Waiting) -> str:
    """Return the title of the column that counts what was free on arrival."""
    return "nodes free at arrival" if found.on_nodes else "free at arrival"


def _demand(found: Waiting) -> str:
    if found.holds_several:
        return f"{_listed(_parts(found))} on one node"
    if found.demand == "whole" or _takes_whole(found):
        return "a whole unit"
    return "one slot" if found.demand == "one slot" else f"{found.demand:g} of a unit's capacity"


def _there(found: Waiting) -> str:
    """Name the partition of the task, if it has one."""
    return f" in partition {found.partition}" if found.partition else ""


def _parts(found: Waiting) -> list[str]:
    """Describe the units that the task takes: those that it runs on, and each companion."""
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
    """Describe whether units of the type can run the task, and if not, why."""
    if kind.companion:
        return f"no, held as companion: {amount_words(kind.name, kind.companion)}"
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
    """Describe what the units of a type were doing while the task waited."""
    if found.waited_us <= 0:
        return "-"
    started = kind.name == found.unit_type
    if not kind.is_lead:
        return "-" if kind.has_affinity or kind.companion else f"cannot run {found.task_type} tasks"
    if not kind.can_run:
        return "too small" if kind.units else "-"
    if kind.lacks and not started:
        free = "" if kind.first_free_us is None else f"; one free from {found.clock.at(kind.first_free_us)}"
        return f"requests not met{free}"
    parts = [f"down for {time_or_dash(kind.down_unit_us)} in all"] if kind.down_unit_us > 0 else []
    if kind.free_unit_us <= 0 and not kind.taken_by_older + kind.taken_by_younger:
        until = (
            "" if kind.busy_until_us is None or started else f", the first until {found.clock.at(kind.busy_until_us)}"
        )
        full = "no node with room" if found.on_nodes else "no room" if kind.takes < kind.capacity else "all busy"
        parts.append(f"{full}{until}")
    what = "node" if found.on_nodes else "unit"
    for count, who in ((kind.taken_by_older, "older"), (kind.taken_by_younger, "younger")):
        if count == 1:
            parts.append(f"a {what} became free and {'an older' if who == 'older' else 'a younger'} job took it")
        elif count:
            parts.append(f"{what}s became free {count:,} times and {who} jobs took them")
    if kind.free_us > 0 and found.gang is not None:
        parts.append(f"some node had room for one of its tasks for {format_time_us(kind.free_us)}")
    elif kind.free_us > 0:
        parts.append(f"some {what} had room for {format_time_us(kind.free_us)}: {_why_idle(found)}")
    if started and kind.lacks:
        parts.append("it started here although its requests are not met")
    return "; ".join(parts)


def _why_idle(found: Waiting) -> str:
    """Explain why a place with room was left idle, or refer to the lines that do."""
    if found.quotas:
        return "see its quotas"
    if found.power and not found.blockers:
        return "see the power caps"
    if found.reservations and not found.blockers:
        return "see the reservations"
    return "see below for whom" if found.blockers else f"the policy {found.policy} left them idle"


def _more_times(found: Sequence[Any], rows: int) -> list[str]:
    return [f"... {len(found) - rows:,} more times"] if len(found) > rows else []


def blocker_lines(found: Waiting, rows: int, names: list[str] | None = None) -> list[str]:
    """List when there was room, and for which job the policy kept it."""
    lines = [_blocked(one, found, names) for one in found.blockers[:rows]]
    return lines + _more_times(found.blockers, rows)


def _blocked(one: Blocker, found: Waiting, names: list[str] | None) -> str:
    who, span = _name(one.job, found, names), found.clock.span(one.begin_us, one.end_us)
    if one.why != RESERVED:
        return f"{span}: room, but {who} came first, and the policy {found.policy} starts jobs in order"
    until = ", which never started" if one.starts_us is None else f" until {found.clock.at(one.starts_us)}"
    others = "" if not one.n_more else f" (and room for {one.n_more:,} other job{'s' * (one.n_more > 1)} before it)"
    late = ""
    if found.expected_us is not None and one.begin_us + found.expected_us > (one.starts_us or one.end_us):
        late = f"; this job, expected to take {format_time_us(found.expected_us)}, would have overrun it"
    return f"{span}: room, but reserved for {who}{until}{others}{late}"


def quota_lines(found: Waiting, rows: int, names: list[str] | None = None) -> list[str]:
    """List when a quota left too little for the task and its gang, and which jobs held it."""
    lines = []
    for wait in found.quotas[:rows]:
        held, most, needed = (amount_words(wait.types, amount) for amount in (wait.held, wait.most, wait.needed))
        span = found.clock.span(wait.begin_us, wait.end_us)
        by = [_name(job, found, names) for job in wait.jobs[:MOST_HOLDERS]]
        by += [f"{len(wait.jobs) - len(by):,} more"] * (len(wait.jobs) > len(by))
        used = f"{held} of {most}" + (f" by {_listed(by)}" if by else "")
        lines.append(f"{span}: quota of {wait.whose} on {wait.types} used: {used}; it needs {needed}")
    return lines + _more_times(found.quotas, rows)


def power_lines(found: Waiting, rows: int) -> list[str]:
    """List when power caps left too little for the task."""
    lines = []
    for wait in found.power[:rows]:
        span = found.clock.span(wait.begin_us, wait.end_us)
        least, most = (f"{watts:,.4g}" for watts in wait.drawn_w)
        drawn = least if least == most else f"{least} to {most}"
        needed = f"drawn; it needs {wait.needed_w:,.4g} W"
        lines.append(f"{span}: power cap of {wait.whose}: {drawn} W of {wait.cap_w:,.4g} W {needed}")
    return lines + _more_times(found.power, rows)


def reservation_lines(found: Waiting, rows: int) -> list[str]:
    """List when the task had room on nodes of reservations that did not admit it."""
    lines = []
    for wait in found.reservations[:rows]:
        span, until = found.clock.span(wait.begin_us, wait.end_us), wait.over_us
        whose = f"for {', '.join(wait.users)}" if wait.users else "maintenance"
        times = f"from {found.clock.at(wait.start_us)}" + ("" if until is None else f" to {found.clock.at(until)}")
        lines.append(f"{span}: room, but reservation {wait.name} ({whose}) {times} does not admit it")
    return lines + _more_times(found.reservations, rows)


def gang_lines(found: Waiting, rows: int) -> list[str]:
    """List for how many tasks of a gang there was room, where and when."""
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
        span = found.clock.span(room.begin_us, room.end_us)
        has = f"{_share(room.n_tasks, found)} of {_share(gang.n_tasks, found)} {_shared(found)}"
        if room.n_tasks >= gang.n_tasks:
            lines.append(f"{span}: room for all: {_why_left(room, found)}")
        else:
            lines.append(f"{span}: gang incomplete: {has} on allowed nodes" + (f": {at}" if at else ""))
    lines += _more_times(found.gang_rooms, rows)
    return lines


def _why_left(room: GangRoom, found: Waiting) -> str:
    """Explain why a gang waited although there was room for all of it."""
    if any(one.begin_us < room.end_us and room.begin_us < one.end_us for one in found.blockers):
        return "see above for whom"
    return f"the policy {found.policy} left it waiting"


MOST_NAMED = 4  # at most this many jobs that it waited for are named
MOST_NODES = 4  # named in a line
MOST_HOLDERS = 3  # at most this many jobs that used up a quota are named


def _takes_whole(found: Waiting) -> bool:
    return all(kind.takes == kind.capacity for kind in found.types if kind.is_lead)


def _share(n_tasks: int, found: Waiting) -> str:
    """Describe a number of a gang's tasks as a part of the gang: in units if each task takes whole ones."""
    return f"{n_tasks * found.n_units:,}" if _takes_whole(found) else f"{n_tasks:,}"


def _shared(found: Waiting) -> str:
    return _leads(found) if _takes_whole(found) else "tasks"


def shortage(lack: Shortage, found: Waiting) -> str:
    """Describe which parts of the demand no node had room for, and when the most lead units were free."""
    parts = _parts(found)
    lines = [
        f"no node had {part} for {time_or_dash(us)}" for part, us in zip(parts, lack.nowhere_us, strict=True) if us > 0
    ]
    if lack.scattered_us > 0 and len(parts) > 1:
        lines.append(f"each of these was on some node, but not all on one, for {time_or_dash(lack.scattered_us)}")
    lead = _leads(found)
    most = f"no {lead} was free{_there(found)}."
    if lack.n_free:
        several = "was" if lack.n_free == 1 else "were"
        number = parts[0].removesuffix(f" {lead}")
        wanted = [number if " of " not in number else parts[0], *([_listed(parts[1:])] if parts[1:] else [])]
        free = f"at {found.clock.at(lack.at_us)} {lack.n_free:,} {lead} {several} free{_there(found)}"
        most = f"{free}, on no node {' with '.join(wanted)}."
    full = f"For {format_time_us(lack.time_us)} no node had room for it: {most}"
    return f"It needs {_demand(found)}. {full}\nLacking: {'; '.join(lines)}."


def fragmentation(lack: Fragmentation, found: Waiting) -> str:
    """Describe for how long there was enough room in total, but at no single place."""
    if found.holds_several:
        return f"Fragmentation: enough of everything in all, but on no single node, for {time_or_dash(lack.time_us)}."
    most = f"{lack.room:g} was free on {lack.units:,} units, at most {lack.largest:g} on one"
    takes = "a whole unit" if found.demand == "whole" else f"{lack.needed:g}"
    long = f"Fragmentation: room enough in all, but on no single unit, for {time_or_dash(lack.time_us)}."
    return f"{long} At {found.clock.at(lack.at_us)} {most}; the task takes {takes}."


def line(opening: Opening, found: Waiting, names: list[str] | None) -> str:
    """Describe when a place had room, and who took it."""
    freed = "had room" if opening.freed_by is None else f"freed by {_name(opening.freed_by, found, names)}"
    when = "at once" if opening.taken_us == opening.free_us else f"at {found.clock.at(opening.taken_us)}"
    unit = f"unit {opening.unit} ({opening.unit_type})"
    if found.on_nodes:
        unit = f"{found.place(opening.rack, opening.shelf)} ({opening.unit_type})"
    age = {True: "older", False: "younger", None: "an earlier run of this task"}[opening.by_older]
    who = f"went down {when}"
    if opening.taken_by is not None:
        who = f"taken {when} by {_name(opening.taken_by, found, names)} ({age})"
    return f"{found.clock.at(opening.free_us):>10}  {unit} {freed}; {who}"


def _on_unit(found: Waiting) -> str:
    """Name the place where it started: the node, if it has a name, and the unit."""
    unit = f"unit {found.unit} ({found.unit_type})"
    return f"{found.place(found.rack, found.shelf)}, {unit}" if found.places else unit


def _name(job: int, found: Waiting, names: list[str] | None) -> str:
    """Name a job, by its original id if it has one."""
    if names is not None:
        return names[job]
    number = found.job_id if job == found.job else found.job_ids.get(job)
    return f"job {job if number is None else number}"
