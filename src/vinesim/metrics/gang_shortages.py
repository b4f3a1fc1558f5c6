"""Find for how many tasks of a waiting gang there was room at once, where, and when."""

from collections.abc import Sequence
from dataclasses import dataclass

from vinesim.metrics.openings import Place, UnitRoom
from vinesim.metrics.shortages import IDLE, Span, merged
from vinesim.model.workload import ANYWHERE, NODE, RACK

GANG = "gang"  # as the state of a part of a wait
WITHIN = {NODE: "node", RACK: "rack", ANYWHERE: "anywhere"}


@dataclass(frozen=True)
class Gang:
    """The tasks that must start together, the waiting one included."""

    n_tasks: int  # the waiting one included
    within: str  # where they have to be: "node", "rack" or "anywhere"
    per_node: int  # the most at one node
    is_alike: bool  # whether all demand the same
    n_nodes: int = 0  # the number of nodes with that many tasks each; 0: any number


@dataclass(frozen=True)
class GangRoom:
    """An interval in which there was room for exactly ``n_tasks`` tasks of the gang within its node or rack."""

    begin_us: float
    end_us: float
    n_tasks: int
    unit_type: str | None  # on which they could have run; None: no room for any
    nodes: list[tuple[int, int, int]]  # rack, shelf, tasks


def gang_rooms(places: Sequence[Place], gang: Gang, since_us: float, until_us: float) -> list[GangRoom]:
    """Return for how many tasks there was room at once while the gang waited, on units of one type and within one node
    or rack if the gang requires that.

    Every member counts as if it demanded what the waiting task does. ``places`` are the nodes that can run it, in their
    state before all changes.
    """
    offers = [_offer(place, gang) for place in places]
    every = [(change, i, unit) for i, place in enumerate(places) for change, unit in place.changes]
    every.sort(key=lambda changed: (changed[0], changed[1], changed[2].unit))
    found: list[GangRoom] = []
    now_us, changed = since_us, set(range(len(places)))
    for change, i, unit in every:
        if change.time_us > until_us:
            break
        if change.time_us > now_us:
            _note(found, places, offers, changed, gang, now_us, change.time_us)
            now_us = change.time_us
        unit.apply(change)
        changed.add(i)
    _note(found, places, offers, changed, gang, now_us, until_us)
    return found


def room_spans(rooms: Sequence[GangRoom], gang: Gang) -> list[Span]:
    """Split the wait of a gang into spans: IDLE while there was room for all of it, otherwise GANG."""
    return merged([Span(room.begin_us, room.end_us, IDLE if room.n_tasks >= gang.n_tasks else GANG) for room in rooms])


def _note(
    found: list[GangRoom],
    places: Sequence[Place],
    offers: list[int],
    changed: set[int],
    gang: Gang,
    begin_us: float,
    end_us: float,
) -> None:
    """Append an interval, or extend the last one if nothing changed."""
    if end_us <= begin_us:
        return
    for i in changed:
        offers[i] = _offer(places[i], gang)
    changed.clear()
    n_tasks, unit_type, nodes = _most(places, offers, gang)
    last = found[-1] if found else None
    if last is not None and (last.n_tasks, last.unit_type, last.nodes) == (n_tasks, unit_type, nodes):
        found[-1] = GangRoom(last.begin_us, end_us, n_tasks, unit_type, nodes)
    else:
        found.append(GangRoom(begin_us, end_us, n_tasks, unit_type, nodes))


def _most(
    places: Sequence[Place], offers: Sequence[int], gang: Gang
) -> tuple[int, str | None, list[tuple[int, int, int]]]:
    """Return the most tasks that have room together, on which type, and where; the first of several."""
    rooms: dict[tuple[str, int, int], list[tuple[int, int, int]]] = {}
    for place, offer in zip(places, offers, strict=True):
        if offer:
            rack = place.rack if gang.within != "anywhere" else -1
            shelf = place.shelf if gang.within == "node" else -1
            rooms.setdefault((place.unit_type, rack, shelf), []).append((place.rack, place.shelf, offer))
    best: tuple[int, str | None, list[tuple[int, int, int]]] = (0, None, [])
    for (unit_type, _, _), nodes in rooms.items():
        n_tasks = min(gang.n_tasks, sum(offer for *_, offer in nodes))
        if n_tasks > best[0]:
            best = n_tasks, unit_type, nodes
    return best


def _offer(place: Place, gang: Gang) -> int:
    """Return for how many tasks a node has room, each on the first units with room.

    If the gang needs a fixed number of tasks per node, a node with room for fewer counts as 0.
    """
    parts = [[_copy(unit) for unit in units] for units in place.parts]
    most, n = min(gang.n_tasks, gang.per_node), 0
    while n < most:
        for c, units in enumerate(parts):
            free = [unit for unit in units if unit.has_room][: place.wanted(c)]
            if len(free) < place.wanted(c):
                return 0 if gang.n_nodes else n
            for unit in free:
                unit.load += unit.needed
        n += 1
    return n


def _copy(unit: UnitRoom) -> UnitRoom:
    return UnitRoom(unit.unit, unit.capacity, unit.needed, [], unit.load, unit.n_down)
