"""Judge backfilling by trying everything, for small clusters and gangs of equal tasks.

A node has an amount of each resource, and a task takes some of each at one node. All amounts are whole numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Room = list[tuple[int, ...]]  # free amount of each resource, by node
Place = dict[int, int]  # node -> tasks there


@dataclass(eq=False)
class Job:
    arrival: int
    run: int
    estimate: int
    n_tasks: int
    takes: tuple[int, ...]  # of each resource, by task
    nodes: tuple[int, ...]  # where it may run
    scopes: tuple[tuple[int, ...], ...] = ()  # if given, all tasks go to the nodes of one group
    start: int = -1
    place: Place = field(default_factory=dict)

    def less(self, room: Room, place: Place, sign: int = 1) -> Room:
        """Return the room without the tasks (``sign`` 1), or with them given back (-1)."""
        return [
            tuple(r - sign * place.get(node, 0) * t for r, t in zip(free, self.takes, strict=True))
            for node, free in enumerate(room)
        ]


def places(job: Job, room: Room) -> Iterator[Place]:
    """Return all places where a job has room."""

    def among(nodes: tuple[int, ...], left: int) -> Iterator[Place]:
        if left == 0:
            yield {}
        elif nodes:
            most = min([left, *(r // t for r, t in zip(room[nodes[0]], job.takes, strict=True) if t > 0)])
            for n in range(most, -1, -1):
                for rest in among(nodes[1:], left - n):
                    yield rest | ({nodes[0]: n} if n else {})

    for scope in job.scopes or (job.nodes,):
        yield from among(tuple(node for node in scope if node in job.nodes), job.n_tasks)


def earliest(job: Job, sizes: Room, running: list[Job], now: int) -> int:
    """Return the earliest time at which the job has room if nothing else starts."""
    room = sizes
    for other in running:
        room = other.less(room, other.place)
    if next(places(job, room), None) is not None:
        return now
    for end in sorted({max(now, other.start + other.estimate) for other in running}):
        room = sizes
        for other in running:
            if other.start + other.estimate > end:
                room = other.less(room, other.place)
        if next(places(job, room), None) is not None:
            return end
    raise AssertionError("it fits when all is over")


@dataclass
class Verdict:
    """Counts of what a schedule did to the first waiting jobs."""

    n_backfilled: int = 0
    n_delayed: int = 0  # starts that delayed a first job
    n_missed: int = 0  # jobs that waited although their start would have delayed no first job
    n_idle: int = 0  # first jobs that waited although they had room


def judge(jobs: list[Job], sizes: Room) -> Verdict:
    """Judge a schedule: when each job starts, and where."""
    found = Verdict()
    for now in sorted({job.arrival for job in jobs} | {job.start + job.run for job in jobs}):
        running = [job for job in jobs if job.start < now < job.start + job.run]
        waiting = [job for job in jobs if job.arrival <= now < job.start]
        starting = [job for job in jobs if job.start == now]
        first = waiting[0] if waiting else None
        for job in starting:
            if first is not None and jobs.index(job) > jobs.index(first):
                before = earliest(first, sizes, running, now)
                found.n_delayed += earliest(first, sizes, [*running, job], now) > before
                found.n_backfilled += 1
            running.append(job)
        if first is not None:
            shadow = earliest(first, sizes, running, now)
            found.n_idle += shadow == now and all(job.start + job.estimate > now for job in running)
            for job in waiting[1:]:
                found.n_missed += any(delays_not(job, place, first, sizes, running, now, shadow) for place in
                                      places(job, left_of(sizes, running)))  # fmt: skip
    return found


def left_of(sizes: Room, running: list[Job]) -> Room:
    for job in running:
        sizes = job.less(sizes, job.place)
    return sizes


def delays_not(job: Job, place: Place, first: Job, sizes: Room, running: list[Job], now: int, shadow: int) -> bool:
    """Whether the first job starts as early if another one starts now at a place."""
    kept: Any = job.start, job.place
    job.start, job.place = now, place
    is_same = earliest(first, sizes, [*running, job], now) == shadow
    job.start, job.place = kept
    return is_same


def each_pass(
    jobs: list[Job], passes_at: str, begun: dict[int, int]
) -> Iterator[tuple[int, list[int], dict[int, int]]]:
    """Yield each pass over the queue: the time, the waiting jobs, and the processors that each job holds.

    Between two passes, the caller may add jobs to ``begun``. Events are the ends of tasks, in the order of their
    starts, then arrivals.
    """
    held: dict[int, int] = {}
    arrived: list[int] = []
    while len(held) < len(jobs) or any(held.values()):
        ends = {i: begun[i] + jobs[i].run for i in held if held[i]}
        ahead = [i for i in range(len(jobs)) if i not in arrived]
        now = min([*ends.values(), *(jobs[i].arrival for i in ahead)])
        events = [i for i, end in ends.items() if end == now for _ in range(held[i])]
        events += [i for i in ahead if jobs[i].arrival == now]
        for n_left, i in zip(range(len(events) - 1, -1, -1), events, strict=True):
            if i in ends:
                held[i] -= 1
            else:
                arrived.append(i)
            if passes_at == "event" or n_left == 0:
                yield now, [j for j in arrived if j not in begun], {j: n for j, n in held.items() if n}
                held |= {j: jobs[j].n_tasks for j in begun if j not in held}


def counting_easy(jobs: list[Job], n_processors: int, passes_at: str = "instant") -> list[int]:
    """Return when each job starts under EASY as published, which counts processors."""
    begun: dict[int, int] = {}
    for now, waiting, held in each_pass(jobs, passes_at, begun):
        free, shadow, spare = n_processors - sum(held.values()), -1, 0
        for i in waiting:
            job = jobs[i]
            is_over = now + job.estimate <= shadow
            if job.n_tasks <= free and (shadow < 0 or is_over or job.n_tasks <= spare):
                begun[i], held[i] = now, job.n_tasks
                free -= job.n_tasks
                spare -= 0 if is_over else job.n_tasks
            elif shadow < 0:
                spare = free
                for end, n in sorted((max(now, begun[j] + jobs[j].estimate), n) for j, n in held.items()):
                    if spare >= job.n_tasks and end > shadow:
                        break
                    spare, shadow = spare + n, end
                spare -= job.n_tasks
    return [begun[i] for i in range(len(jobs))]


def counting_conservative(jobs: list[Job], n_processors: int, passes_at: str = "instant") -> list[int]:
    """Return when each job starts under conservative backfilling that counts processors.

    If a job ends early or late, reservations move in order of arrival until none can.
    """
    begun: dict[int, int] = {}
    planned: dict[int, int] = {}
    before: dict[int, int] = {}  # what jobs held after the last pass

    def earliest(i: int, now: int) -> int:
        used = [(begun[j], begun[j] + jobs[j].estimate, n) for j, n in held.items()]
        used += [(planned[j], planned[j] + jobs[j].estimate, jobs[j].n_tasks) for j in planned if j != i]
        for time in sorted({now} | {end for _, end, _ in used if end > now}):
            moments = [time, *(begin for begin, _, _ in used if time < begin < time + jobs[i].estimate)]
            taken = [sum(n for begin, end, n in used if begin <= at < end) for at in moments]
            if max(taken) + jobs[i].n_tasks <= n_processors:
                return time
        raise AssertionError("it fits when all is over")

    for now, waiting, held in each_pass(jobs, passes_at, begun):
        is_freed = any(held.get(i, 0) < n and jobs[i].run != jobs[i].estimate for i, n in before.items())
        planned = {i: begin for i, begin in planned.items() if begin >= now}
        has_moved = True
        while has_moved:
            has_moved = False
            for i in waiting:
                begin = earliest(i, now) if i not in planned or (is_freed and planned[i] > now) else planned[i]
                has_moved |= begin < planned.get(i, begin)
                planned[i] = min(begin, planned.get(i, begin))
        for i in waiting:
            if planned[i] == now and jobs[i].n_tasks <= n_processors - sum(held.values()):
                begun[i], held[i] = now, jobs[i].n_tasks
                del planned[i]
        before = held
    return [begun[i] for i in range(len(jobs))]
