"""The scheduler as a component: a policy of the simulator, driven by calls instead of a simulated run."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np

from vinesim.engine import contract
from vinesim.engine.contract import BrokenContract, asked
from vinesim.engine.reference import has_room, start
from vinesim.live.columns import Requests, copy_of, empty_scratch, regrouped
from vinesim.live.grant import Grant, Place
from vinesim.live.leases import Leases
from vinesim.live.registration import Cluster, Registration, compiled
from vinesim.live.state import LiveState, expected_us
from vinesim.model.application import Application, listed_by_code
from vinesim.model.catalog import TASK_TYPES, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream_seed
from vinesim.model.workload import ONE_SLOT
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import resolve
from vinesim.state.layout import ARRIVAL, FINISH, TIMER, Action, View
from vinesim.state.scratch import plain_options

RECENT = 65_536  # how many lost grants and dropped requests are remembered


@dataclass
class _Running:
    """A grant that is not complete: the unit of each gang member, and the task that leads it there."""

    grant: Grant
    leads: dict[int, int]  # unit of the datacenter -> task


class Scheduler:
    """Decides which requests of registered applications start where: the four calls of Table I of the Symphony paper.

    It runs the policy's code from the simulator, as plain Python. It has no clock and does no input or output: each
    call is given the time, which must not go back. Report all events of one instant before calling ``can_issue``, as
    the simulator does. Every grant has a lease, so units whose completion is never reported become free again. Calls
    may come from several threads; each is atomic. Memory grows only with the pending and running requests.

    ``affinity`` [P, T] is operations (size) per us of each processor type for each task type, ``overhead_us`` [P, T] is
    added once per leader; both as in :class:`~vinesim.model.scenario.Scenario`. A lease is
    ``lease_factor`` times the expected time, at least ``lease_floor_us``. Raises :class:`InputError` for
    wrong arguments.
    """

    def __init__(
        self,
        datacenter: Datacenter,
        policy: Any = "symphony",
        options: Mapping[str, Any] | None = None,
        *,
        affinity: np.ndarray | None = None,
        overhead_us: np.ndarray | None = None,
        task_types: Sequence[TaskType] = TASK_TYPES,
        seed: int = 0,
        lease_factor: float = 10.0,
        lease_floor_us: float = 60e6,
    ):
        self._policy = _usable(resolve(policy, options))
        problems = [
            Problem(name, "a finite number, 0 or more", f"{value}")
            for name, value in (("lease_factor", lease_factor), ("lease_floor_us", lease_floor_us))
            if not 0 <= value < math.inf
        ]
        self._raise(problems)
        self._cluster = Cluster(datacenter, tuple(task_types), affinity, overhead_us, seed)
        self._lease = (lease_factor, lease_floor_us)
        self._of_tasks, self._of_jobs = (
            [name for name, (_, size) in self._policy.scratch.items() if size == what] for what in ("tasks", "jobs")
        )
        self._options = plain_options(self._policy.values_of_options())
        self._lock = RLock()
        self._now_us = -math.inf
        self._registered: list[Registration] = []
        self._groups: list[list[int]] = []  # for each application, by gang member
        self._requests = Requests()
        self._running: dict[int, _Running] = {}
        self._leases = Leases()
        self._n_grants = 0
        self._n_lost = 0
        self._ready: deque[Grant] = deque()  # that a policy issued before can_issue was called
        self._lost: deque[Grant] = deque(maxlen=RECENT)  # not yet reported
        self._lost_ids: dict[int, None] = {}
        self._dropped: deque[int] = deque(maxlen=RECENT)  # not yet reported
        self._ended: list[int] = []  # tasks to remove once the policy has seen the next event
        self._timer_us = math.inf
        self._model: Any = None
        self._state: Any = None
        self._scratch: Any = None
        self._view: Any = None

    @classmethod
    def of(cls, scenario: Scenario, *, lease_factor: float = 10.0, lease_floor_us: float = 60e6) -> "Scheduler":
        """Build the scheduler of a scenario, with the applications of its workload registered in order.

        Raises :class:`InputError` if the workload has requests of an application that is not listed.
        """
        work = scenario.workload
        scheduler = cls(
            scenario.datacenter,
            scenario.policy,
            scenario.options,
            affinity=scenario.affinity,
            overhead_us=scenario.overhead_us,
            task_types=work.task_types,
            seed=scenario.seed,
            lease_factor=lease_factor,
            lease_floor_us=lease_floor_us,
        )
        if work.application is None or not scenario.applications:
            raise InputError([Problem("applications", "the applications of the workload", "none")])
        codes, jobs = np.unique(work.application, return_index=True)
        first = dict(zip(codes.tolist(), jobs.tolist(), strict=True))
        for code, application in enumerate(listed_by_code(work, scenario.applications)):
            if application is not None and code in first:
                demand = ONE_SLOT if work.demand is None else float(work.demand[work.job_first[first[code]]])
                kind = work.task_types[int(work.job_task_type[first[code]])].name
                scheduler._register(application, kind, demand)
        return scheduler

    def register(
        self,
        name: str,
        relative_deadline_us: float,
        average_load: float,
        *,
        nodes: Sequence[tuple[int, int]] = (),
        gang_size: int = 1,
        max_consolidated: int = 1,
        per_size: bool = False,
        task_type: str | None = None,
        demand: float = ONE_SLOT,
    ) -> int:
        """newAppRegistration: an application and what it expects. Returns its number, from 0.

        Its requests are due ``relative_deadline_us`` after they arrive, or that time per unit of size with
        ``per_size``; ``average_load`` is the expected number per second. ``nodes``, as (rack, shelf), hold its data
        (empty: all); a request is a gang on ``gang_size`` of them. Up to ``max_consolidated`` requests can start as
        one. ``task_type`` is the column of the affinity, by default that of the application's name; ``demand`` is what
        a request takes of a unit's capacity: one slot by default, all of it with ``WHOLE_UNIT``.
        """
        application = Application(
            name, relative_deadline_us, per_size, average_load, max_consolidated, nodes, gang_size
        )
        return self._register(application, name if task_type is None else task_type, demand)

    def new_request(self, application: int, now_us: float, size: float = 1.0) -> int:
        """newRequestNotification: a request of that size has arrived. Returns its number, from 0."""
        with self._lock:
            problems = self._wrong_time("new_request", now_us) + self._unknown("new_request", application)
            if not 0 <= size < math.inf:
                problems.append(Problem("new_request, size", "a finite number, 0 or more", f"{size}"))
            self._raise(problems)
            self._advance(now_us)
            one, groups = self._registered[application], self._groups[application]
            due_us = one.deadline_us(self._now_us, size)
            job = self._requests.add(int(application), self._now_us, due_us, float(size), one.demand, groups)
            self._state.arrive(job)
            self._happened(ARRIVAL, job=job)
            return job

    def can_issue(self, now_us: float, application: int | None = None) -> Grant | None:
        """canIssueRequests: return the next grant of this instant, or None if there is none.

        With ``application``, only its grants are returned: None if another application is next, which stays undecided.
        """
        with self._lock:
            problems = self._wrong_time("can_issue", now_us)
            self._raise(problems if application is None else problems + self._unknown("can_issue", application))
            self._advance(now_us)
            for grant in self._ready:
                if application in (None, grant.application):
                    self._ready.remove(grant)
                    return grant
            return self._decided(application)

    def complete(self, grant: int, now_us: float, unit: int | None = None) -> bool:
        """requestComplete: the requests of a grant are done, or only the gang members on one ``unit`` of it.

        Returns False if the lease had ended: the unit belongs to another grant and nothing happens. Raises
        :class:`InputError` for a grant that was never issued or was completed before, or lost more than ``RECENT``
        losses ago.
        """
        with self._lock:
            self._raise(self._wrong_time("complete", now_us))
            self._advance(now_us)
            if grant in self._lost_ids:
                return False
            running = self._running.get(grant)
            if running is None:
                is_old = isinstance(grant, int) and 0 <= grant < self._n_grants
                found = f"{grant!r}, which was completed before" if is_old else f"{grant!r}, which was never issued"
                raise InputError([Problem("complete", "the id of a grant that is running", found)])
            if unit is not None and unit not in running.leads:
                expected = "a unit of the grant that is not done: " + ", ".join(map(str, running.leads))
                raise InputError([Problem(f"complete, grant {grant}", expected, repr(unit))])
            for place in list(running.leads) if unit is None else [unit]:
                task = running.leads.pop(place)
                at = self._state.task_unit[task]
                ended = self._state.free(task)
                self._happened(FINISH, unit=at, task=task)
                self._ended += ended
            if not running.leads:
                del self._running[grant]
                self._leases.end(grant)
            return True

    def renew(self, grant: int, now_us: float) -> bool:
        """Restart the lease of a grant whose requests still run. Returns False if it is no longer running."""
        with self._lock:
            self._raise(self._wrong_time("renew", now_us))
            self._advance(now_us)
            running = self._running.get(grant)
            if running is not None:
                given = running.grant
                self._leases.set(grant, self._now_us + (given.lease_until_us - given.issued_us))
            return running is not None

    def expire(self, now_us: float) -> tuple[Grant, ...]:
        """Take back the units of grants whose lease has ended, as every call does.

        Returns the grants lost since the last call, at most the last ``RECENT``. Their requests are not tried again.
        """
        with self._lock:
            self._raise(self._wrong_time("expire", now_us))
            self._advance(now_us)
            lost = tuple(self._lost)
            self._lost.clear()
            return lost

    def dropped(self) -> tuple[int, ...]:
        """Return the requests that the policy dropped since the last call, at most the last ``RECENT``."""
        with self._lock:
            dropped = tuple(self._dropped)
            self._dropped.clear()
            return dropped

    @property
    def ask_again_us(self) -> float:
        """When to call ``can_issue`` again if nothing else happens: when a lease ends, or when the policy's timer is
        due. Infinite if never."""
        with self._lock:
            return min(self._timer_us, self._leases.next_us())

    @property
    def n_pending(self) -> int:
        """Number of waiting requests."""
        with self._lock:
            return 0 if self._state is None else len({self._requests.task_job[task] for task in self._state.pending})

    @property
    def n_running(self) -> int:
        """Number of grants that are neither complete nor lost."""
        return len(self._running)

    @property
    def n_lost(self) -> int:
        """Number of grants lost so far."""
        return self._n_lost

    def load(self) -> dict[int, float]:
        """Return the resource map: the demand of the running requests on each unit of the datacenter."""
        with self._lock:
            if self._state is None:
                return dict.fromkeys(range(self._cluster.datacenter.n_units), 0.0)
            rows = self._model.unit_order.tolist()
            return dict(sorted(zip(rows, self._state.unit_load, strict=True)))

    # --- checks of calls, and the clock ---

    def _unknown(self, call: str, application: Any) -> list[Problem]:
        if isinstance(application, int | np.integer) and 0 <= application < len(self._registered):
            return []
        known = f", 0 to {len(self._registered) - 1}" if self._registered else "; there is none yet"
        expected = f"the number of an application{known}"
        return [Problem(f"{call}, application", expected, repr(application), "Register it first.")]

    def _wrong_time(self, call: str, now_us: float) -> list[Problem]:
        if self._now_us <= now_us < math.inf and now_us > -math.inf:
            return []
        return [Problem(f"{call}, now_us", f"a time, not before the last call's {self._now_us:.17g} us", f"{now_us!r}")]

    @staticmethod
    def _raise(problems: list[Problem]) -> None:
        if problems:
            raise InputError(problems)

    def _advance(self, now_us: float) -> None:
        """Advance the time: end the last instant for the policy, and end leases."""
        if now_us > self._now_us:
            self._now_us = float(now_us)
            if self._state is not None:
                self._state.now_us = self._now_us
                self._see(TIMER)
        while self._leases.next_us() <= now_us:
            self._lose(self._running.pop(self._leases.pop()))

    def _lose(self, running: _Running) -> None:
        """Free the grant's units; the policy sees that time has passed, not that a task has finished."""
        for task in running.leads.values():
            self._ended += self._state.free(task)
        self._n_lost += 1
        self._lost.append(running.grant)
        self._lost_ids[running.grant.id] = None
        if len(self._lost_ids) > RECENT:
            del self._lost_ids[next(iter(self._lost_ids))]
        if running.grant in self._ready:
            self._ready.remove(running.grant)
        self._happened(TIMER)

    # --- what the policy sees ---

    def _register(self, application: Application, task_type: str, demand: float) -> int:
        with self._lock:
            kinds = [kind.name for kind in self._cluster.task_types]
            if task_type not in kinds:
                where = f"application {application.name}, task_type"
                raise InputError([Problem(where, "one of " + ", ".join(kinds), repr(task_type))])
            if application.gang_size > 1 and "member" not in self._policy.groups:
                expected = f"1, as the policy {self._policy.name} places one node at a time"
                found = f"{application.gang_size}"
                raise InputError([Problem(f"application {application.name}, gang_size", expected, found)])
            registered = [*self._registered, Registration(application, kinds.index(task_type), demand)]
            model, groups = compiled(self._cluster, registered, self._policy)
            if self._state is None:
                self._begin(model)
            else:
                self._regroup(model, groups)
            self._registered, self._groups = registered, groups
            return len(registered) - 1

    def _begin(self, model: Any) -> None:
        self._scratch = empty_scratch(self._policy.scratch, model, self._policy.name)
        self._model = self._requests.in_model(model)
        self._state = LiveState(self._model, stream_seed(self._cluster.seed, "policy"))
        self._state.now_us = self._now_us
        self._see(TIMER)

    def _regroup(self, model: Any, groups: list[list[int]]) -> None:
        """Adapt to one more application: the groups of the others may have new numbers."""
        before = [group for gang in self._groups for group in gang]
        moved = dict(zip(before, (group for gang in groups for group in gang), strict=False))
        self._scratch = regrouped(self._scratch, self._policy.scratch, self._model, model, moved)
        for task, group in self._requests.task_group.items():
            self._requests.task_group[task] = moved[group]
        self._model = self._state.model = self._requests.in_model(model)
        self._see(TIMER)

    def _see(self, event: int, unit: int = -1, job: int = -1, task: int = -1) -> None:
        """Set what the policy sees from now on; tasks that ended before can be removed."""
        self._forget_ended()
        self._view = View(self._now_us, event, unit, job, task, self._options, self._scratch)

    def _forget_ended(self) -> None:
        """Remove the tasks that have ended from everything kept by task or job."""
        for task in self._ended:
            job = self._state.forget(task, self._requests)
            for name in self._of_tasks:
                getattr(self._scratch, name).pop(task, None)
            for name in self._of_jobs:
                getattr(self._scratch, name).pop(job, None)
        self._ended.clear()

    def _happened(self, event: int, unit: int = -1, job: int = -1, task: int = -1) -> None:
        """Handle an event: a policy that sees every event is asked, and told that more may follow."""
        self._see(event, unit, job, task)
        if not self._policy.sees_every_event:
            return
        self._state.is_more_to_come = True
        while (action := self._ask()).task >= 0:
            grant = self._act(action)
            if grant is not None:
                self._ready.append(grant)
        self._state.is_more_to_come = False

    # --- decisions ---

    def _decided(self, application: int | None) -> Grant | None:
        """Ask the policy until it starts something; undo what it did for an application other than ``application``."""
        while self._may_ask():
            before = None if application is None else (copy_of(self._scratch), self._state.random_state)
            action = self._ask()
            if action.task < 0:
                return None
            if before is not None and action.n_tasks > 0 and self._application_of(action) != application:
                vars(self._scratch).update(before[0])
                self._state.random_state = before[1]
                return None
            grant = self._act(action)
            if grant is not None:
                return grant
        return None

    def _may_ask(self) -> bool:
        if self._state is None or not self._state.pending:
            self._timer_us = math.inf
            return False
        return self._policy.may_overcommit or self._policy.sees_every_event or has_room(self._state)

    def _application_of(self, action: Action) -> int:
        job = self._requests.task_job.get(action.task, -1)
        return self._requests.job_application.get(job, -1)

    def _ask(self) -> Action:
        decide = self._policy.decide
        action = asked(decide, decide, self._model, self._state, self._view)
        if not isinstance(action, Action):
            raise PolicyError(f"policy {decide.__qualname__}: must return start(...) or nothing(), returned {action!r}")
        if action.task == -1:
            self._timer_us = action.until_us
            if not action.until_us > self._now_us:
                raise self._broken(BrokenContract(contract.WAIT_UNTIL_THE_PAST, -1, -1))
        return action

    def _act(self, action: Action) -> Grant | None:
        """Do what the policy wants: return a grant once all gang members have started, None for a dropped task."""
        started = self._started(action)
        task, job = started[0], self._requests.task_job[started[0]]
        if action.n_tasks == 0:
            if task == self._requests.job_first[job]:
                self._dropped.append(job)
            self._ended.append(task)
            return None
        requests = tuple(int(self._requests.task_job[one]) for one in started)
        leads, longest_us = {task: action.unit}, expected_us(self._model, self._state, started, action.unit)
        if "member" in self._policy.groups:
            for member in range(task + 1, self._requests.job_first[job + 1]):
                action = self._ask()
                if action.task != member or action.n_tasks != len(started):
                    raise PolicyError(f"policy {self._policy.name}: left request {job} started in part")
                others = self._started(action)
                leads[member] = action.unit
                longest_us = max(longest_us, expected_us(self._model, self._state, others, action.unit))
        return self._granted(requests, leads, longest_us)

    def _started(self, action: Action) -> list[int]:
        """Start the tasks of an action, or drop its task. Returns them."""
        try:
            start(self._state, action, self._policy.may_overcommit)
        except BrokenContract as broken:
            raise self._broken(broken) from None
        return [action.task, *(self._state.followers[action.task] if action.n_tasks > 0 else ())]

    def _granted(self, requests: tuple[int, ...], leads: Mapping[int, int], expected: float) -> Grant:
        """Record a grant and start its lease."""
        factor, floor_us = self._lease
        until_us = self._now_us + max(floor_us, factor * expected)
        places = {task: self._place(unit) for task, unit in leads.items()}
        application = self._requests.job_application[requests[0]]
        grant = Grant(self._n_grants, application, requests, tuple(places.values()), self._now_us, until_us)
        self._n_grants += 1
        self._running[grant.id] = _Running(grant, {place.unit: task for task, place in places.items()})
        self._leases.set(grant.id, until_us)
        return grant

    def _place(self, unit: int) -> Place:
        row, center = int(self._model.unit_order[unit]), self._cluster.datacenter
        kind = center.processor_types[int(center.unit_type[row])].name
        return Place(row, int(center.rack[row]), int(center.shelf[row]), kind)

    def _broken(self, broken: BrokenContract) -> PolicyError:
        return broken.as_policy_error(self._policy.name or type(self._policy).__name__, self._now_us)


def _usable(policy: Any) -> OnlinePolicy:
    """Return the policy if it can decide without knowing the workload. Raises :class:`InputError` if it cannot."""
    name = policy.name or type(policy).__name__
    if not isinstance(policy, OnlinePolicy):
        raise InputError([Problem("policy", "an online policy", f"{name}, a batch policy")])
    if policy.plans:
        raise InputError([Problem("policy", "a policy that decides online", f"{name}, which plans the whole workload")])
    if policy.takes_back:
        expected = "a policy that forgets tasks when they end"
        raise InputError([Problem("policy", expected, f"{name}, which keeps them in its own queues")])
    return policy
