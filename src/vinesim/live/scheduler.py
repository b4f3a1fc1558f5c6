"""The scheduler as a component: a policy of the simulator, driven by calls instead of a simulated run."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Condition, RLock
from typing import Any

import numpy as np

from vinesim.live.decider import Decider, usable
from vinesim.live.grant import Grant
from vinesim.live.grants import Grants
from vinesim.live.registration import Cluster
from vinesim.live.saving import restored, saved
from vinesim.model.application import Application, listed_by_code
from vinesim.model.catalog import TASK_TYPES, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.workload import ONE_SLOT
from vinesim.policies.registry import resolve

SHORTEST_S = 1e-4  # of a wait, so that a clock that has not reached a time yet is not read all the time


class Scheduler:
    """Decides which requests of registered applications start where: the four calls of Table I of the Symphony paper.

    It runs the policy's code from the simulator, as plain Python, and does no input or output. Each call is given the
    time, us, which must not go back; or the scheduler has a ``clock`` and reads it itself, so that several threads need
    not agree on an order. Report all events of one instant before calling ``can_issue``, what ends before what arrives,
    as the simulator does: the policy is called after each, and sees until the last that more comes. Every
    grant has a lease, so units whose completion is never reported become free again. Calls may come from several
    threads; each is atomic. Memory grows only with the pending and running requests.

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
        clock: Callable[[], float] | None = None,
    ):
        chosen = usable(resolve(policy, options))
        problems = [
            Problem(name, "a finite number, 0 or more", f"{value}")
            for name, value in (("lease_factor", lease_factor), ("lease_floor_us", lease_floor_us))
            if not 0 <= value < math.inf
        ]
        self._raise(problems)
        self._lock = RLock()
        self._changed = Condition(self._lock)  # something has happened that may let a grant be given
        self._clock = clock
        self._cluster = Cluster(datacenter, tuple(task_types), affinity, overhead_us, seed)
        self._grants = Grants(lease_factor, lease_floor_us)
        self._decider = Decider(chosen, self._cluster, self._grants)

    @classmethod
    def of(cls, scenario: Scenario, **settings: Any) -> "Scheduler":
        """Build the scheduler of a scenario, with the applications of its workload registered in order.

        ``settings`` are ``lease_factor``, ``lease_floor_us`` and ``clock``.

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
            **settings,
        )
        if work.application is None or not scenario.applications:
            raise InputError([Problem(("applications",), "the applications of the workload", "none")])
        if work.has_vectors:
            found = "tasks that hold several units, or name processor types or partitions"
            raise InputError([Problem(("workload",), "requests that hold one unit each, of any type", found)])
        codes, jobs = np.unique(work.application, return_index=True)
        first = dict(zip(codes.tolist(), jobs.tolist(), strict=True))
        for code, application in enumerate(listed_by_code(work, scenario.applications)):
            if application is not None and code in first:
                demand = ONE_SLOT if work.demand is None else float(work.demand[work.job_first[first[code]]])
                type_name = work.task_types[int(work.job_task_type[first[code]])].name
                task = work.job_first[first[code]]
                wanted = {name: float(column[task]) for name, column in (work.requests or {}).items()}
                scheduler.register_application(application, type_name, demand, wanted)
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
        requests: Mapping[str, float] | None = None,
    ) -> int:
        """newAppRegistration: an application and what it expects. Returns its number, from 0.

        Its requests are due ``relative_deadline_us`` after they arrive, or that time per unit of size with
        ``per_size``; ``average_load`` is the expected number per second. ``nodes``, as (rack, shelf), hold its data
        (empty: all); a request is a gang on ``gang_size`` of them. Up to ``max_consolidated`` requests can start as
        one. ``task_type`` is the column of the affinity, by default that of the application's name; ``demand`` is what
        a request takes of a unit's capacity: one slot by default, all of it with ``WHOLE_UNIT``. ``requests`` is the
        least that the unit's type must provide of its attributes, such as cores or sms.
        """
        application = Application(
            name, relative_deadline_us, per_size, average_load, max_consolidated, nodes, gang_size
        )
        return self.register_application(application, task_type, demand, requests)

    def register_application(
        self,
        application: Application,
        task_type: str | None = None,
        demand: float = ONE_SLOT,
        requests: Mapping[str, float] | None = None,
    ) -> int:
        """Do the same for an application that is described already."""
        with self._lock:
            kind = application.name if task_type is None else task_type
            return self._decider.register(application, kind, demand, requests)

    def unregister(self, application: int) -> None:
        """Let an application go. Its number is not used again, its name may be. Raises :class:`InputError` while
        requests of it wait or run."""
        with self._lock:
            problems = self._unknown("unregister", application)
            n_running = sum(one.grant.application == application for one in self._grants.running.values())
            n_pending = 0 if problems else self._decider.n_pending_of(application)
            if n_pending or n_running:
                found = f"{n_pending} waiting and {n_running} running grants"
                remedy = "Cancel and complete them first."
                problems.append(Problem(f"unregister, application {application}", "no requests", found, remedy))
            self._raise(problems)
            self._decider.unregister(int(application))

    def new_request(
        self, application: int, now_us: float | None = None, size: float = 1.0, *, arrived_us: float | None = None
    ) -> int:
        """newRequestNotification: a request of that size has arrived. Returns its number, from 0.

        ``arrived_us`` is for a request that returns, for example because its unit broke: when it first arrived. Its
        deadline counts from then.
        """
        with self._lock:
            now_us, problems = self._time("new_request", now_us)
            problems += self._unknown("new_request", application)
            if not 0 <= size < math.inf:
                problems.append(Problem("new_request, size", "a finite number, 0 or more", f"{size}"))
            if arrived_us is not None and not -math.inf < arrived_us <= now_us:
                problems.append(Problem("new_request, arrived_us", f"a time, at most {now_us:.17g}", f"{arrived_us!r}"))
            self._raise(problems)
            self._advance(now_us)
            self._changed.notify_all()
            return self._decider.arrive(int(application), float(size), now_us if arrived_us is None else arrived_us)

    def can_issue(self, now_us: float | None = None, application: int | None = None) -> Grant | None:
        """canIssueRequests: return the next grant of this instant, or None if there is none.

        With ``application``, only its grants are returned: None if another application is next, which stays undecided.
        """
        with self._lock:
            now_us, problems = self._time("can_issue", now_us)
            self._raise(problems if application is None else problems + self._unknown("can_issue", application))
            self._advance(now_us)
            return self._grants.take_ready(application) or self._decider.next_grant(application)

    def next_grant(self, application: int | None = None, timeout_s: float | None = None) -> Grant | None:
        """Wait for the next grant, as ``can_issue`` returns it; None if there is none in that time. The scheduler must
        have a clock; other threads bring requests and completions meanwhile."""
        if self._clock is None:
            raise InputError([Problem(("next_grant",), "a scheduler with a clock", "one without", "Give it clock=.")])
        until_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while (grant := self.can_issue(None, application)) is None:
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return None
                due_s = (self.ask_again_us - self._decider.now_us) / 1e6
                self._changed.wait(None if min(left_s, due_s) == math.inf else max(min(left_s, due_s), SHORTEST_S))
            return grant

    def complete(self, grant: int, now_us: float | None = None, unit: int | None = None) -> bool:
        """requestComplete: the requests of a grant are done, or only the gang members on one ``unit`` of it.

        Returns False if the lease had ended: the unit belongs to another grant and nothing happens. Raises
        :class:`InputError` for a grant that was never issued or was completed before, or lost more than ``RECENT``
        losses ago.
        """
        with self._lock:
            self._advance_to("complete", now_us)
            if grant in self._grants.lost_ids:
                return False
            running = self._grants.running.get(grant)
            if running is None:
                raise InputError(
                    [Problem(("complete",), "the id of a grant that is running", self._grants.wrong(grant))]
                )
            if unit is not None and unit not in running.leads:
                expected = "a unit of the grant that is not done: " + ", ".join(map(str, running.leads))
                raise InputError([Problem(f"complete, grant {grant}", expected, repr(unit))])
            for place in list(running.leads) if unit is None else [unit]:
                self._decider.finish(running.leads.pop(place))
            if not running.leads:
                self._grants.end(grant)
            self._changed.notify_all()
            return True

    def renew(self, grant: int, now_us: float | None = None) -> bool:
        """Restart the lease of a grant whose requests still run. Returns False if it is no longer running."""
        with self._lock:
            self._advance_to("renew", now_us)
            return self._grants.renew(grant, self._decider.now_us)

    def lose(self, grant: int, now_us: float | None = None) -> bool:
        """Take back the units of a grant that will never complete. The policy learns nothing from it.

        Returns False if it is not running, for example because it was lost before.
        """
        with self._lock:
            self._advance_to("lose", now_us)
            running = self._grants.withdraw(grant)
            if running is not None:
                self._decider.lose(running)
                self._changed.notify_all()
            return running is not None

    def lost_unreported(self, grant: int) -> tuple[int, ...]:
        """Return the requests of a grant that no call has returned yet."""
        with self._lock:
            return next((one.requests for one in self._grants.ready if one.id == grant), ())

    def close_event(self) -> None:
        """End what the policy is shown of the last event, as nothing may be granted now. One that sees every event is
        called for it, and sees that more may come."""
        with self._lock:
            self._decider.close()

    def cancel(self, request: int, now_us: float | None = None) -> bool:
        """Withdraw a request that waits. Returns False if it has started, ended, or was dropped. Also if the policy
        keeps tasks in its scratch and must be notified of those that go: then the request starts all the same."""
        with self._lock:
            self._advance_to("cancel", now_us)
            return self._decider.cancel(request)

    def set_up(self, units: Iterable[int], is_up: bool, now_us: float | None = None) -> None:
        """Say that units (rows of the datacenter) have gone down or come up. Nothing starts on a unit that is down;
        what runs there goes on until it is completed or lost."""
        with self._lock:
            now_us, problems = self._time("set_up", now_us)
            units, known = list(units), range(self._cluster.datacenter.n_units)
            for unit in units:
                if unit not in known:
                    problems.append(Problem("set_up, units", f"units, 0 to {len(known) - 1}", repr(unit)))
            self._raise(problems)
            self._advance(now_us)
            self._decider.set_up(units, is_up)
            self._changed.notify_all()

    def expire(self, now_us: float | None = None) -> tuple[Grant, ...]:
        """Take back the units of grants whose lease has ended, as every call does.

        Returns the grants lost since the last call, at most the last ``RECENT``. Their requests are not tried again.
        """
        with self._lock:
            self._advance_to("expire", now_us)
            lost = tuple(self._grants.lost)
            self._grants.lost.clear()
            return lost

    def dropped(self) -> tuple[int, ...]:
        """Return the requests that the policy dropped since the last call, at most the last ``RECENT``."""
        with self._lock:
            dropped = tuple(self._decider.dropped)
            self._decider.dropped.clear()
            return dropped

    @property
    def ask_again_us(self) -> float:
        """When to call ``can_issue`` again if nothing else happens: when a lease ends, or when the policy's timer is
        due. Infinite if never."""
        with self._lock:
            return min(self._decider.ask_again_us, self._grants.next_us)

    @property
    def n_pending(self) -> int:
        """Number of waiting requests."""
        with self._lock:
            return self._decider.n_pending

    @property
    def n_running(self) -> int:
        """Number of grants that are neither complete nor lost."""
        return len(self._grants.running)

    @property
    def running(self) -> list[int]:
        """The ids of these grants."""
        return list(self._grants.running)

    @property
    def n_lost(self) -> int:
        """Number of grants lost so far."""
        return self._grants.n_lost

    def load(self) -> dict[int, float]:
        """Return the resource map: the demand of the running requests on each unit of the datacenter."""
        with self._lock:
            if self._decider.state is None:
                return dict.fromkeys(range(self._cluster.datacenter.n_units), 0.0)
            rows = self._decider.model.unit_order.tolist()
            return dict(sorted(zip(rows, self._decider.state.unit_load, strict=True)))

    # --- saving ---

    def save(self) -> bytes:
        """Return everything that it knows: applications, requests, grants, leases, and what the policy has learned."""
        with self._lock:
            self._decider.close()
            return saved(self._decider, self._grants)

    def restore(self, data: bytes) -> None:
        """Continue where :meth:`save` was called, in a scheduler made with the same arguments. Restore only what you
        have saved yourself: the data is a pickle, which can run code. Raises :class:`InputError` for other data."""
        with self._lock:
            restored(data, self._decider, self._grants)
            self._changed.notify_all()

    # --- checks of calls, and the clock ---

    def _unknown(self, call: str, application: Any) -> list[Problem]:
        is_number = isinstance(application, int | np.integer) and 0 <= application < len(self._decider.registered)
        if is_number and application not in self._decider.unregistered:
            return []
        known = f", 0 to {len(self._decider.registered) - 1}" if self._decider.registered else "; there is none yet"
        expected = f"the number of an application{known}"
        return [Problem(f"{call}, application", expected, repr(application), "Register it first.")]

    def _time(self, call: str, now_us: float | None) -> tuple[float, list[Problem]]:
        """Return the time of a call, and what is wrong with it; without one, the clock's."""
        last_us = self._decider.now_us
        if now_us is None and self._clock is not None:
            return max(last_us, float(self._clock())), []
        if now_us is not None and last_us <= now_us < math.inf and now_us > -math.inf:
            return now_us, []
        remedy = "" if now_us is not None else "Or give the scheduler a clock."
        expected = f"a time, not before the last call's {last_us:.17g} us"
        return math.inf if now_us is None else now_us, [Problem(f"{call}, now_us", expected, f"{now_us!r}", remedy)]

    def _advance_to(self, call: str, now_us: float | None) -> None:
        """Advance to the time of a call. Raises :class:`InputError` if it is wrong."""
        now_us, problems = self._time(call, now_us)
        self._raise(problems)
        self._advance(now_us)

    @staticmethod
    def _raise(problems: list[Problem]) -> None:
        if problems:
            raise InputError(problems)

    def _advance(self, now_us: float) -> None:
        """Advance the time: end the last instant for the policy, and end leases."""
        if now_us > self._decider.now_us:
            self._decider.pass_to(now_us)
        while self._grants.next_us <= now_us:
            self._decider.lose(self._grants.lose())
            self._changed.notify_all()
