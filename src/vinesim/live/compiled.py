"""The decision component that runs a policy compiled: the same code as a run, on a window of an endless stream.

A decision costs the same however many requests wait. Its slow twin is :class:`~vinesim.live.scheduler.Scheduler`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.core.code import Own
from vinesim.core.features import of_live
from vinesim.core.loops import MODEL_TYPE, state_type, turn_for
from vinesim.core.state import build_state
from vinesim.core.turn import (
    ANSWER,
    ARRIVE,
    CLOSE,
    END,
    FREE,
    OPEN,
    OPERATION,
    RENUMBERED,
    TELL,
    WITHDRAW,
    empty_window,
)
from vinesim.engine.compiling import announce_compilation
from vinesim.engine.contract import BrokenContract, broken, call_policy
from vinesim.engine.engine_choice import queries_of
from vinesim.jit.reference import Arrays, words_of
from vinesim.live.columns import along_groups
from vinesim.live.decisions import Arrive, Complete, Lose, Operation, Outcome, SetUp, in_order
from vinesim.live.grant import Grant, Place, place_at
from vinesim.live.registration import Cluster, Registration, can_forget, compiled, registration
from vinesim.live.renumbering import moved_scratch, moved_state, moved_window, surviving
from vinesim.live.saving import packed, signature, unpacked
from vinesim.model.application import Application
from vinesim.model.streams import stream_seed
from vinesim.model.workload import ONE_SLOT
from vinesim.policies.contract import OnlinePolicy, title_of
from vinesim.state.arrays import FIELDS
from vinesim.state.layout import BROKEN, DROP, NOTHING, OUTAGE, TIMER
from vinesim.state.model import ROWS, Model
from vinesim.state.scratch import FACTOR, TASK_COUNT, build_options, build_scratch

LEAST_TASKS = 4096  # length of the first window
SAVED = (  # the rest follows from it
    "_registered",
    "_n_tasks",
    "_n_arrived",
    "_state",
    "_window",
    "_scratch",
    "_down",
    "_running",
    "_ready",
    "_n_given",
    "_now_us",
)


class CompiledDecisions:
    """A policy at work, compiled when it is made."""

    engine, engine_why = "compiled", ""

    def __init__(self, cluster: Cluster, policy: OnlinePolicy, n_tasks: int = LEAST_TASKS):
        self._cluster, self._policy, self._n_tasks = cluster, policy, n_tasks
        self._numbers, self._can_forget = policy.task_numbers or {}, can_forget(policy)
        self._features = of_live(queries_of(policy.decide), cluster.datacenter.takes_ahead)
        self._options = build_options(policy.values_of_options())
        self._begin()
        with announce_compilation(policy, None):
            self._compile()

    def _begin(self) -> None:
        """Forget everything."""
        self._registered: list[Registration] = []
        self._groups: list[int] = []  # of each application
        self._base: Any = None  # the model without the window
        self._turn: Any = None
        self._given: tuple[
            Any, ...
        ] = ()  # the model, the state and the window, for the turn; where the policy's own is
        self._n_arrived = 1
        self._state: Any = None
        self._window: Any = None
        self._scratch: Any = None
        self._places: list[Place] = []  # of each unit
        self._down: set[int] = set()  # rows of units that went down before the first application
        self._running: dict[int, dict[int, int]] = {}  # grant -> unit's row -> leading task
        self._ready: list[Grant] = []  # of turns that were not to grant anything
        self._n_given = 0
        self._now_us = -math.inf

    def _compile(self) -> None:
        """Compile the turn, or load it from the disk, with its own application."""
        self.register(Application("compile", 1.0), self._cluster.task_types[0].name, ONE_SLOT)
        self.turn(0.0, ())
        self._begin()

    # --- applications ---

    def register(
        self, application: Application, task_type: str, demand: float, requests: Mapping[str, float] | None = None
    ) -> int:
        """Add an application. Returns its number. Raises :class:`~vinesim.model.errors.InputError`."""
        one = registration(self._cluster, self._policy, application, task_type, demand, requests)
        registered = [*self._registered, one]
        base, groups = compiled(self._cluster, registered, self._policy)
        moved = dict(zip(self._groups, groups, strict=False))
        old, self._base, self._registered, self._groups = self._base, base, registered, groups
        if old is None:
            self._set_up()
        else:
            self._scratch = self._regrouped(old, moved)
        self._renew(moved)
        return len(registered) - 1

    def _set_up(self) -> None:
        """Make the state, and the policy's arrays, for the first application."""
        n_resources = self._base.task_request.shape[1]
        self._window = empty_window(self._n_tasks, n_resources)
        model = self._with_window()
        seed, policy = stream_seed(self._cluster.seed, "policy"), self._policy
        self._state = build_state(model, self._features, seed, policy.sees_every_event, policy.may_overcommit)
        self._state.run["next_job"] = self._state.run["n_arrived"] = 1
        self._scratch = build_scratch(self._policy.scratch, model)
        for name in [name for name, how in self._numbers.items() if how == TASK_COUNT]:
            getattr(self._scratch, name)[:] = 1  # task 0 stands for those that are gone
        self._name_places()

    def _name_places(self) -> None:
        """Note which unit of the datacenter is where."""
        self._rows = self._base.unit_order.tolist()
        self._unit_of = {row: unit for unit, row in enumerate(self._rows)}
        self._places = [place_at(self._cluster.datacenter, row) for row in self._rows]

    def _with_window(self) -> Model:
        """Return the model with read-only views of the window in place of its own columns."""
        views = {name: getattr(self._window, name).view() for name in ROWS if hasattr(self._window, name)}
        for view in views.values():
            view.flags.writeable = False
        if len(self._base.task_demand) == 0 and self._policy.sees_every_event:  # each takes all of any unit, until
            # others register; a policy that does not see every event needs the column
            views["task_demand"] = views["task_demand"][:0]
        return self._base.replaced(**views)

    def _regrouped(self, old: Model, moved: Mapping[int, int]) -> Any:
        """Return the policy's arrays for the groups as they are numbered now."""
        found = {}
        for name, (dtype, size) in self._policy.scratch.items():
            parts = size.split(FACTOR)
            if "groups" in parts:
                axis = parts.index("groups")
                before = along_groups(getattr(self._scratch, name), old, parts, axis)
                found[name] = np.zeros(before.size // len(before) * len(self._base.group_task_type), dtype)
                after = along_groups(found[name], self._base, parts, axis)
                for source, target in moved.items():
                    after[target] = before[source]
        return self._scratch._replace(**found)

    def _renew(self, moved: Mapping[int, int] | None = None) -> None:
        """Renumber what is left, so that the window has room; ``moved`` are the groups with other numbers. The
        window becomes longer if it would soon be full again."""
        queues = [name for name, (_, size) in self._policy.scratch.items() if size == "queue" and name in self._numbers]
        left = surviving(self._state, self._window, [getattr(self._scratch, name) for name in queues])
        while len(left.tasks) > self._n_tasks // 2:
            self._n_tasks *= 2
        window = moved_window(self._window, left, self._n_tasks, self._base.task_request.shape[1])
        n_left, n_groups = len(left.tasks), len(self._base.group_task_type)
        if moved:
            renamed = np.arange(max(moved) + 1)
            renamed[list(moved)] = list(moved.values())
            window.task_group[1:n_left] = renamed[window.task_group[1:n_left]]
        window = window._replace(group_tail=np.full(n_groups, -1, np.int64), **self._applications())
        applications = window.job_application[window.task_job[1:n_left]]
        window.task_request[1:n_left] = window.application_request[applications]
        gang_unit = np.full(max(window.application_size, default=1), -1, np.int32)
        self._state = moved_state(self._state, left, window, n_groups)._replace(gang_unit=gang_unit)
        self._scratch = moved_scratch(self._scratch, self._policy.scratch, self._numbers, left, self._n_tasks)
        self._running = {
            grant: {unit: int(left.task_now[task]) for unit, task in leads.items()}
            for grant, leads in self._running.items()
        }
        self._window = window
        self._n_arrived = n_left
        self._hand_over()
        self._do([(RENUMBERED, 0, 0.0, 0.0)], False)

    def _hand_over(self) -> None:
        """Give the turn its arrays as they are now."""
        own, policy = Own(self._options, self._scratch), self._policy
        made = turn_for(policy.decide, policy.renumbered, self._features, own)
        model = self._with_window().arrays(made.fields)
        self._turn, self._words = made.kernel, words_of(self._scratch)  # what is kept keeps its address
        arrays = Arrays(model, MODEL_TYPE), Arrays(self._state, state_type(self._features)), Arrays(self._window)
        self._given = *arrays, self._options.ctypes.data, self._words.ctypes.data
        self._answers = np.zeros(self._n_tasks, ANSWER)
        self._requests = np.zeros(self._n_tasks, np.int64)
        self._gang_sizes = [one.application.gang_size for one in self._registered]
        run = self._state.run
        self._now, self._timer, self._n_pending = run["now_us"], run["timer_us"], run["n_pending"]

    def _applications(self) -> dict[str, np.ndarray]:
        """Return the window's columns of applications."""
        all_, names = self._registered, sorted({name for one in self._registered for name in one.requests})
        return {
            "application_group": np.array(self._groups, np.int64),
            "application_size": np.array([one.application.gang_size for one in all_], np.int64),
            "application_demand": np.array([one.demand for one in all_], np.float64),
            "application_due_us": np.array([one.application.relative_deadline_us for one in all_], np.float64),
            "application_per_size": np.array([one.application.per_size for one in all_], bool),
            "application_request": np.array(
                [[one.requests.get(name, 0.0) for name in names] for one in all_], np.float64
            ).reshape(len(all_), len(names)),
        }

    # --- saving ---

    def save(self) -> bytes:
        """Return everything that it knows."""
        return packed(self._signature, {name: getattr(self, name) for name in SAVED})

    def restore(self, data: bytes) -> None:
        """Continue where :meth:`save` was called, with the same cluster and policy. Restore only what you have saved
        yourself: the data is a pickle, which can run code. Raises :class:`InputError` for other data."""
        content = unpacked(data, self._signature)
        self._begin()
        vars(self).update({name: content[name] for name in SAVED})
        if self._registered:
            self._state = self._state._replace(**{name: self._state.unit[field] for name, field in FIELDS})
            self._base, self._groups = compiled(self._cluster, self._registered, self._policy)
            self._name_places()
            self._hand_over()

    @property
    def _signature(self) -> str:
        return signature(self._policy, self._cluster, "compiled, ")

    # --- turns ---

    @property
    def running(self) -> list[int]:
        """The grants that have not ended."""
        return list(self._running)

    def turn(self, now_us: float, operations: Sequence[Operation], may_grant: bool = True) -> Outcome:
        """Tell the policy what has happened, and ask it until it grants nothing more."""
        outcome, operations = Outcome(), in_order(operations)
        lost = self._lose_ready({one.grant for one in operations if isinstance(one, Lose)}) if self._ready else []
        if self._state is None:
            for one in operations:
                assert isinstance(one, SetUp)  # nothing else is possible without an application
                self._down = self._down - set(one.units) if one.is_up else self._down | set(one.units)
            return outcome
        n_new = sum([self._gang_sizes[one.application] for one in operations if isinstance(one, Arrive)])
        while self._n_arrived + n_new >= self._n_tasks:
            self._n_tasks *= 1 + (n_new >= self._n_tasks // 2)
            self._renew()
        first = int(self._window.n_requests[0])
        rows, n_requests = self._rows_of(now_us, operations)
        outcome.numbers = list(range(first, first + n_requests))
        self._n_arrived += n_new
        self._now[0] = self._now_us = now_us
        n_answers = self._do(rows, may_grant)
        grants, given_up = self._answered(n_answers, now_us)
        outcome.dropped, outcome.withdrawn = tuple(given_up[DROP]), (*given_up[NOTHING], *lost)
        if may_grant:
            outcome.grants, self._ready = self._ready + grants, []
        else:
            self._ready += grants
        is_ahead = self._n_pending[0] and self._timer[0] > now_us  # a run drops one that rings while no unit has room
        outcome.ask_again_us = float(self._timer[0]) if is_ahead else math.inf
        return outcome

    def _lose_ready(self, lost: set[int]) -> list[int]:
        """Forget grants that were never given to anybody. Returns their requests."""
        found = [number for grant in self._ready if grant.id in lost for number in grant.requests]
        self._ready = [grant for grant in self._ready if grant.id not in lost]
        return found

    def _do(self, rows: list[tuple[Any, ...]], may_grant: bool) -> int:
        """Let the turn do these operations. Returns the number of answers."""
        run = self._state.run
        stopped, n_answers = call_policy(
            self._policy.decide,
            self._turn,
            *self._given,
            np.array(rows, OPERATION),
            self._answers,
            self._requests,
            may_grant,
        )
        if stopped == BROKEN:
            found = broken(run[0])
            assert isinstance(found, BrokenContract)
            raise found.as_policy_error(title_of(self._policy), self._now_us)
        return int(n_answers)

    def _rows_of(self, now_us: float, operations: Sequence[Operation]) -> tuple[list[tuple[Any, ...]], int]:
        """Return the operations as the turn reads them, and how many requests arrive."""
        rows: list[tuple[Any, ...]] = [(CLOSE, self._unit_of[row], 0.0, 0.0) for row in self._down]
        self._down.clear()
        n_requests = 0
        for one in operations:
            if isinstance(one, Arrive):
                rows.append((ARRIVE, one.application, one.size, min(one.arrived_us, now_us)))
                n_requests += 1
            elif isinstance(one, Complete):
                leads = self._running[one.grant]
                rows.append((END, leads.pop(one.unit), 0.0, 0.0))
                if not leads:
                    del self._running[one.grant]
            elif isinstance(one, Lose):
                how = END if self._policy.takes_back else FREE  # it counts what runs
                rows += [(how, task, 0.0, 0.0) for task in self._running.pop(one.grant, {}).values()]
                rows.append((TELL, TIMER, 0.0, 0.0))
            elif isinstance(one, SetUp):
                rows += [(OPEN if one.is_up else CLOSE, self._unit_of[row], 0.0, 0.0) for row in one.units]
                rows.append((TELL, OUTAGE, 0.0, 0.0))
            elif self._can_forget:
                rows.append((WITHDRAW, one.request, 0.0, 0.0))
        return rows, n_requests

    def _answered(self, n_answers: int, now_us: float) -> tuple[list[Grant], dict[int, list[int]]]:
        """Return the grants, and the requests that were dropped or withdrawn."""
        answers = self._answers[:n_answers].tolist()
        requests = self._requests[: sum([answer[4] for answer in answers])].tolist()
        grants: list[Grant] = []
        given_up: dict[int, list[int]] = {DROP: [], NOTHING: []}
        at = i = 0
        while i < n_answers:
            kind, task, unit, _, n, application = answers[i]
            mine, at, i = requests[at : at + n], at + n, i + 1
            if kind in given_up:
                given_up[kind] += mine
                continue
            places, leads = [self._places[unit]], {self._rows[unit]: task}
            while i < n_answers and answers[i][3] > 0:
                places.append(self._places[answers[i][2]])
                leads[self._rows[answers[i][2]]] = answers[i][1]
                i += 1
            grants.append(Grant(self._n_given, application, tuple(mine), tuple(places), now_us, math.inf))
            self._running[self._n_given] = leads
            self._n_given += 1
        return grants, given_up
