"""The state of the reference engine: the clock, the task queue, the units and who holds them.

Source: VineSim report, section 5.4 (VineProcessor, task queue, time machine).
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from vinesim.core.state import first_units
from vinesim.engine.contract import OutOfTime
from vinesim.engine.reference_batching import Engines
from vinesim.engine.reference_ends import Progress
from vinesim.engine.reference_trial import Before, Place, Trial, attached_to, is_of_gang
from vinesim.engine.reference_waits import Ahead, Dependencies, Draws, HeldQuotas
from vinesim.state import places, queries
from vinesim.state.expected import is_admitted
from vinesim.state.layout import PENDING
from vinesim.state.model import Model

TWO_64 = 2**64


class ReferenceState:
    """The clock, the task queue and the units."""

    def __init__(self, model: Model, seed: int):
        n_units, n_tasks = len(model.unit_type), len(model.task_operations)
        self.model = model
        self.now_us = 0.0
        self.begin_us = 0.0  # when a policy supposes that tasks begin, if that is later
        self.timer_us = math.inf
        self.next_job = 0
        self.pending: list[int] = []  # tasks that have arrived and not started, oldest first
        self.time_machine: dict[int, tuple[float, int]] = {}  # task -> when it finishes, sequence
        self.sequence = 0
        units = first_units(model)
        self.task_unit = [PENDING] * n_tasks if units is None else units.tolist()
        self.task_left: dict[int, float] = {}  # of tasks that have left a unit: the share of their work
        self.attained_us: dict[int, float] = defaultdict(float)  # us on the units that they have left
        self.task_init_us = [math.nan] * n_tasks
        self.task_start_us = [math.nan] * n_tasks
        self.task_finish_us = [math.nan] * n_tasks
        self.followers: dict[int, list[int]] = {}  # leader -> the tasks consolidated with it
        self.unit_load = [0.0] * n_units
        self.unit_open = model.unit_capacity.tolist()  # DOWN while the node is down
        self.to_ask = 0
        self.interrupted: list[int] = []  # by the last outages
        self.running: list[list[int]] = [[] for _ in range(n_units)]  # by unit, in order of start
        self.held: dict[int, list[tuple[int, float]]] = {}  # task -> units that it holds, or held last, its own first
        self.holders: list[tuple[tuple[int, float], ...]] = [()] * n_units  # by unit, tasks and what they hold of it
        self.quotas = HeldQuotas(self)
        self.ahead = Ahead(self)
        self.draws = Draws(self)
        self.arrived: list[int] = []  # the tasks that have arrived, in this order, where jobs wait for others
        self.dependencies = Dependencies(self)
        self.work_done = [0.0] * n_units  # shared units: see core/laws/shared.py
        self.work_at_us = [0.0] * n_units
        self.work_due: dict[int, float] = {}
        self.engines = Engines(self)
        self.n_events = 0
        self.random_state = seed
        self.progress = Progress(self)

    def reservations_allow(self, task: int, unit: int) -> bool:
        return len(self.model.reserved_first) == 0 or is_admitted(self.model, self, task, unit)

    def group_of(self, task: int) -> int:
        return self.model.task_group[task] if len(self.model.task_group) else 0

    def task_type_of(self, task: int) -> int:
        return self.model.group_task_type[self.group_of(task)]

    def random_below(self, n: int) -> int:
        self.random_state = (self.random_state + 0x9E3779B97F4A7C15) % TWO_64
        z = self.random_state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % TWO_64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % TWO_64
        z ^= z >> 31
        return int(float(z >> 11) * 2.0**-53 * n)

    @property
    def quota_held(self) -> list[float]:
        return self.quotas.held

    def queue(self, task: int, time_us: float) -> None:
        self.sequence += 1
        self.time_machine[task] = time_us, self.sequence

    def next_finish_us(self) -> float:
        return min(self.next_queued_us(), self.engines.next_done_us())

    def next_queued_us(self) -> float:
        """When the next task finishes that is not on a serving engine, or the next cache comes to one."""
        return min(self.time_machine.values(), default=(math.inf, 0))[0]

    def next_arrival_us(self) -> float:
        job, arrival_us = self.dependencies.next_job(), self.model.job_arrival_us
        return max(float(arrival_us[job]), self.now_us) if job < len(arrival_us) else math.inf

    def left_of_job(self, task: int) -> list[int]:
        """Which tasks of a pending gang are left, numbered from the job's first; [0] of a task that is of none."""
        if not is_of_gang(self, task):
            return [0]
        first = int(self.model.job_first[self.model.task_job[task]])
        return sorted(other - first for other in (task, *attached_to(self, task)))

    def place_of(self, task: int, unit: int) -> dict[int, int] | None:
        """The units of a pending task and of those that are attached to it, None if there is no room for them."""
        if self.task_unit[task] != PENDING or not is_of_gang(self, task):
            return {task: unit}
        return Place(self, task, unit).find(unit)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """What is held is changed for a while."""
        before = Before(self)
        try:
            yield Trial(self)
        finally:
            before.restore()

    def begin_trial(self) -> int:
        """See state/places.py."""
        self.begun = Trial(self)
        return self.begun.note()

    def note_place(self, rows: Any, task: int, unit: int) -> None:
        """See state/places.py: held one after another, and then released."""
        place = self.place_of(task, unit)
        assert place is not None
        with self.trial():
            for member, own in place.items():
                places.note_rows(self.model, self, rows, member, own)
                self.hold_all(member, own)

    # --- where the data of tasks is ---

    def data_node(self, task: int) -> int:
        if task in self.engines.prefilled:
            return int(self.model.unit_node[self.engines.prefilled[task]])
        return int(self.model.task_data_node[task]) if len(self.model.task_data_node) else 0

    def data_bytes(self, task: int) -> float:
        if task in self.engines.prefilled:
            return self.engines.cache_bytes(task)
        return float(self.model.task_data_bytes[task]) if len(self.model.task_data_bytes) else 0.0

    # --- what tasks hold ---

    def units_at(self, node: int, processor_type: int) -> list[int]:
        """The units of a type at a node, in order."""
        model, first = self.model, int(node) * len(self.model.affinity) + int(processor_type)
        found: list[int] = model.node_unit[model.node_begin[first] : model.node_begin[first + 1]].tolist()
        return found

    def hold_all(self, task: int, own: int) -> None:
        """Hold all that the task takes: of the unit that it runs on, and the rest."""
        rows = SimpleNamespace(row_unit={}, row_amount={})
        places.note_rows(self.model, self, rows, task, own)
        self.held[task] = list(zip(rows.row_unit.values(), rows.row_amount.values(), strict=True))
        self.hold(task)

    def hold(self, task: int) -> None:
        """Give a task what it took."""
        for unit, amount in self.held[task]:
            self.unit_load[unit] += amount
            self.holders[unit] += ((task, amount),)

    def let_go(self, task: int) -> None:
        """Take everything from a task. What rounding leaves of a unit that nobody holds counts as nothing."""
        for unit, amount in self.held[task]:
            self.holders[unit] = tuple(one for one in self.holders[unit] if one[0] != task)
            self.unit_load[unit] = self.unit_load[unit] - amount if self.holders[unit] else 0.0

    # --- what is left of tasks ---

    def left_now(self, task: int) -> float:
        left = self.task_left.get(task, 1.0)
        return left * (1.0 - self.progress.share_done(task)) if queries.is_running(self.model, self, task) else left

    # --- units that share their speed ---

    def is_shared(self, unit: int) -> bool:
        return bool(self.model.unit_parallelism[unit] < self.model.unit_capacity[unit])

    def speed(self, task: int, unit: int, load: float) -> float:
        if load <= self.model.unit_parallelism[unit]:
            return 1.0
        return float(queries.throughput(self.model, self, task, unit, load) / load)

    def advance_work(self, unit: int) -> None:
        took_us = self.now_us - self.work_at_us[unit]
        if queries.has_speed_curves(self.model, unit):
            for task in self.running[unit]:
                self.work_due[task] -= took_us * self.speed(task, unit, self.unit_load[unit])
        else:
            self.work_done[unit] += took_us * self.speed(-1, unit, self.unit_load[unit])
        self.work_at_us[unit] = self.now_us

    def first_due(self, unit: int, load: float) -> int:
        """The running task that is done first."""

        def order(task: int) -> tuple[float, float]:
            if not queries.has_speed_curves(self.model, unit):
                return self.work_due[task], 0.0
            return max(0.0, self.work_due[task]) / self.speed(task, unit, load), self.work_due[task]

        return min(self.running[unit], key=order)

    def requeue_first(self, unit: int) -> None:
        load = self.unit_load[unit]
        for task in self.running[unit]:
            self.time_machine.pop(task, None)
            self.task_finish_us[task] = math.inf  # unknown: others may join
        if self.running[unit]:
            first = self.first_due(unit, load)
            left = max(0.0, self.work_due[first] - self.work_done[unit])
            finish_us = self.now_us + left / self.speed(first, unit, load)
            finish_us = max(finish_us, self.task_start_us[first])  # rounding must not put it before
            first, finish_us = self.progress.or_killed(unit, first, finish_us)
            if finish_us == math.inf:
                if self.work_due[first] == math.inf:
                    return  # none of them ever ends
                raise OutOfTime(first, unit, left / self.speed(first, unit, load))
            self.task_finish_us[first] = finish_us
            self.queue(first, finish_us)

    def running_tasks(self) -> set[int]:
        """The running tasks, with those that are consolidated with them."""
        return {one for some in self.running for task in some for one in (task, *self.followers[task])}

    def check_time(self, started: list[int], unit: int, service: float, finish_us: float) -> None:
        """Raise OutOfTime if the time of tasks that start as one does not advance the clock, or ends beyond the range
        of numbers though none of them has operations without end."""
        is_wrong = not self.now_us < finish_us < math.inf and service != 0.0
        ends = finish_us < math.inf or max(self.model.task_operations[task] for task in started) < math.inf
        if is_wrong and ends:
            raise OutOfTime(started[0], unit, service)
