"""What the policy of a live scheduler sees, and what follows from its answers."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vinesim.engine.contract import BrokenContract, decision, strict_numbers
from vinesim.engine.reference import has_room, start
from vinesim.live.columns import Requests, copy_of, empty_scratch, is_endless, regrouped
from vinesim.live.grant import Grant, place_at
from vinesim.live.grants import RECENT, Grants, Running
from vinesim.live.registration import Cluster, Registration, can_forget, compiled, registration
from vinesim.live.state import LiveState, expected_us
from vinesim.model.application import Application
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.streams import stream_seed
from vinesim.policies.contract import OnlinePolicy, title_of
from vinesim.state.layout import (
    ARRIVAL,
    DOWN,
    DROP,
    DROPPED,
    FINISH,
    OUTAGE,
    PENDING,
    TIMER,
    WAIT_NOT_LATER,
    Action,
    View,
)
from vinesim.state.scratch import plain_options


class Decider:
    """A policy and the requests that it knows. As in a run, it is called after each event: for the last
    event of an instant when the caller wants grants, for the others when the next one comes."""

    def __init__(self, policy: OnlinePolicy, cluster: Cluster, grants: Grants):
        self.policy, self.cluster, self._grants = policy, cluster, grants
        self._can_forget = can_forget(policy)
        self._of_tasks, self._of_jobs = (
            [name for name, (_, size) in policy.scratch.items() if size == what] for what in ("tasks", "jobs")
        )
        self.options = plain_options(policy.values_of_options())
        self.now_us = -math.inf
        self.registered: list[Registration] = []
        self.unregistered: set[int] = set()
        self.resources: list[str] = []  # that applications request, in the order of the model
        self.groups: list[int] = []  # of each application
        self.requests = Requests()
        self.dropped: deque[int] = deque(maxlen=RECENT)  # not yet reported
        self.ended: list[int] = []  # tasks to remove once the policy has seen the next event
        self.timer_us = math.inf
        self.is_called = True  # the policy was called for the last event until it wanted nothing more
        self.must_call = False  # it sees every event, and was not called for the last one at all
        self.down: set[int] = set()  # rows of units that are down
        self.model: Any = None
        self.state: Any = None
        self.scratch: Any = None
        self.view: Any = None

    def pass_to(self, now_us: float) -> None:
        """Advance the time; what the policy saw of the last instant is over."""
        self.close()
        self.now_us = float(now_us)
        if self.state is not None:
            self.state.now_us = self.now_us
            self.see(TIMER)

    @property
    def ask_again_us(self) -> float:
        """When the policy wants to be called again; infinite if nothing waits, or if that time has come: a run drops a
        timer that rings while no unit has room."""
        is_ahead = self.n_pending > 0 and self.timer_us > self.now_us
        return self.timer_us if is_ahead else math.inf

    @property
    def n_pending(self) -> int:
        """Number of waiting requests."""
        return 0 if self.state is None else len(self.state.pending)

    def n_pending_of(self, application: int) -> int:
        """Return how many requests of an application wait."""
        jobs = [self.requests.task_job[task] for task in (() if self.state is None else self.state.pending)]
        return sum(self.requests.job_application[job] == application for job in jobs)

    def unregister(self, application: int) -> None:
        """Let an application go. What it registered stays in the model, under a name that nobody uses."""
        one = self.registered[application]
        name = f"{one.application.name}, unregistered {len(self.unregistered)}"
        self.registered[application] = replace(one, application=replace(one.application, name=name))
        self.unregistered.add(application)

    def arrive(self, application: int, size: float, arrived_us: float) -> int:
        """Add a request that is pending from now on. Returns its number."""
        self.report()
        one, group = self.registered[application], self.groups[application]
        due_us = one.deadline_us(arrived_us, size)
        wanted = [one.requests.get(name, 0.0) for name in self.resources]
        n_tasks = one.application.gang_size
        job = self.requests.add(application, arrived_us, due_us, size, one.demand, group, n_tasks, wanted)
        self.state.arrive(job)
        self.record_event(ARRIVAL, job=job)
        return job

    def finish(self, task: int) -> None:
        """Note that a task is done, with those that were started together with it."""
        self.report()
        unit = self.state.task_unit[task]
        ended = self.state.release(task)
        self.record_event(FINISH, unit=unit, task=task)
        self.ended += ended

    def lose(self, running: Running) -> None:
        """Free the grant's units. The policy sees that time has passed, not that a task has finished; one with queues
        of its own sees the end, because it counts what runs."""
        for task in running.leads.values():
            self.report()
            ended = self.state.release(task)
            if self.policy.takes_back:
                self.record_event(FINISH, unit=self.state.task_unit[task], task=task)
            self.ended += ended
        self.report()
        self.record_event(TIMER)

    def cancel(self, job: int) -> bool:
        """Forget a request of which no task has started. Returns whether there was such a request and the policy could
        forget it. As in a run, the policy's timer is then over, and the policy is called unless another event follows
        at this instant."""
        if self.state is None or job not in self.requests.job_left or not self._can_forget:
            return False
        first = self.requests.job_first[job]
        if self.state.task_unit[first] != PENDING:
            return False
        self.report()
        if self.state.task_unit[first] != PENDING:
            return False
        self.state.pending.remove(first)
        for task in range(first, self.requests.job_first[job + 1]):
            self.state.task_unit[task] = DROPPED
            self.ended.append(task)
        self.timer_us, self.must_call = math.inf, self.policy.sees_every_event
        return True

    def set_up(self, units: list[int], is_up: bool) -> None:
        """Open or close units, by their rows in the datacenter; the policy is called as after an outage."""
        self.report()
        self.down = self.down - set(units) if is_up else self.down | set(units)
        if self.state is not None:
            self._close_down()
            self.record_event(OUTAGE)

    def _close_down(self) -> None:
        """Close the units that are down, and open the others."""
        for unit, row in enumerate(self.model.unit_order.tolist()):
            self.state.unit_open[unit] = DOWN if row in self.down else float(self.model.unit_capacity[unit])
        for unit in range(len(self.model.unit_order)):
            self.state.ahead.offer(unit)

    def register(
        self, application: Application, task_type: str, demand: float, requests: Mapping[str, float] | None = None
    ) -> int:
        """Add an application. Returns its number. Raises :class:`InputError`."""
        self.close()
        one = registration(self.cluster, self.policy, application, task_type, demand, requests)
        registered = [*self.registered, one]
        model, groups = compiled(self.cluster, registered, self.policy)
        if self.state is None:
            self._begin(model)
        else:
            self._regroup(model, groups)
        self.registered, self.groups = registered, groups
        self._name_resources()
        return len(registered) - 1

    def _name_resources(self) -> None:
        """Give the waiting requests a value for each resource that any application requests."""
        self.resources = sorted({name for one in self.registered for name in one.requests})
        for task in self.requests.task_request:
            one = self.registered[self.requests.job_application[self.requests.task_job[task]]]
            self.requests.task_request[task] = [one.requests.get(name, 0.0) for name in self.resources]

    def _begin(self, model: Any) -> None:
        self.scratch = empty_scratch(self.policy.scratch, model, self.policy.name, self.policy.takes_back)
        self.model = self.requests.in_model(model)
        self.state = LiveState(self.model, stream_seed(self.cluster.seed, "policy"))
        self.state.now_us = self.now_us
        self._close_down()
        self.see(TIMER)

    def _regroup(self, model: Any, groups: list[int]) -> None:
        """Adapt to one more application: the groups of the others may have new numbers."""
        moved = dict(zip(self.groups, groups, strict=False))
        self.scratch = regrouped(self.scratch, self.policy.scratch, self.model, model, moved)
        for task, group in self.requests.task_group.items():
            self.requests.task_group[task] = moved[group]
        self.model = self.state.model = self.requests.in_model(model)
        self.see(TIMER)

    def see(self, event: int, unit: int = -1, job: int = -1, task: int = -1) -> None:
        """Set what the policy sees from now on; tasks that ended before can be removed."""
        self._forget_ended()
        self.is_called, self.must_call = True, False
        self.view = View(self.now_us, event, unit, job, task, self.options, self.scratch)

    def see_again(self) -> None:
        """Make the view again after everything was restored."""
        if self.state is not None:
            self.view = View(self.now_us, TIMER, -1, -1, -1, self.options, self.scratch)

    def _forget_ended(self) -> None:
        """Remove the tasks that have ended from everything kept by task or job.

        The queues of a policy that ``takes_back`` may hold a task until it comes to their head: such tasks are removed
        when no other is left.
        """
        if self.policy.takes_back and len(self.ended) < len(self.requests.task_job):
            return
        if self.policy.takes_back and self.ended:
            self._empty_queues()
        for task in self.ended:
            job = self.state.forget(task, self.requests)
            for name in self._of_tasks:
                getattr(self.scratch, name).pop(task, None)
            for name in self._of_jobs:
                getattr(self.scratch, name).pop(job, None)
        self.ended.clear()

    def _empty_queues(self) -> None:
        """Remove the entries of all tasks from the scratch."""
        for name, (_, size) in self.policy.scratch.items():
            if is_endless(size):
                getattr(self.scratch, name).clear()

    def record_event(self, event: int, unit: int = -1, job: int = -1, task: int = -1) -> None:
        """Show an event to the policy; it is called for it later."""
        self.see(event, unit, job, task)
        self.is_called, self.must_call = False, self.policy.sees_every_event

    def report(self) -> None:
        """Call the policy for the last event if it was not called, as another one may follow at the same instant."""
        if self.is_called:
            return
        self.state.is_more_to_come = True
        while (action := self._next()) is not None:
            grant = self._act(action)
            if grant is not None:
                self._grants.ready.append(grant)
        self.state.is_more_to_come = False
        self.see(TIMER)

    def close(self) -> None:
        """End what the policy is shown of the last event. If nobody wanted grants then, only a policy that sees every
        event is called: another policy would start something before the caller knows of it."""
        if self.policy.sees_every_event:
            self.report()
        elif not self.is_called:
            self.see(TIMER)
        self.must_call = False

    def next_grant(self, application: int | None) -> Grant | None:
        """Ask the policy until it starts something; undo what it did for an application other than ``application``."""
        while True:
            before = None if application is None else (copy_of(self.scratch), self.state.random_state, self.must_call)
            action = self._next()
            if action is None:
                break
            if before is not None and action.n_tasks > 0 and self._application_of(action) != application:
                vars(self.scratch).update(before[0])
                self.state.random_state = before[1]
                self.must_call = before[2]
                return None
            grant = self._act(action)
            if grant is not None:
                return grant
        if not self.is_called:
            self.see(TIMER)  # it has been called for the event; calls from now on are not for that event again
        return None

    def _next(self) -> Action | None:
        """Call the policy; None if it does nothing or need not be called."""
        if not (self.must_call or self._may_ask()):
            return None
        self.must_call = False
        action = self._ask()
        if self.n_pending == 0:
            self.timer_us = math.inf
        return action if action.task >= 0 else None

    def _may_ask(self) -> bool:
        if self.state is None or not self.state.pending:
            self.timer_us = math.inf
            return False
        return self.policy.may_overcommit or self.policy.sees_every_event or has_room(self.state)

    def _application_of(self, action: Action) -> int:
        job = self.requests.task_job.get(action.task, -1)
        return self.requests.job_application.get(job, -1)

    def _ask(self) -> Action:
        with strict_numbers(self.policy.compiled):
            action = decision(self.policy.decide, self.model, self.state, self.view)
        if action.task == -1:
            self.timer_us = action.until_us
            if not action.until_us > self.now_us:
                raise self._broken(BrokenContract(WAIT_NOT_LATER, -1, -1))
        return action

    def _act(self, action: Action) -> Grant | None:
        """Do what the policy wants: return a grant, None for a request that is dropped."""
        try:
            start(self.state, action, self.policy.may_overcommit)
        except BrokenContract as broken:
            raise self._broken(broken) from None
        state, job = self.state, self.requests.task_job[action.task]
        tasks = range(self.requests.job_first[job], self.requests.job_first[job + 1])
        if action.kind == DROP:
            self.dropped.append(job)
            self.ended += tasks
            return None
        requests = tuple(int(self.requests.task_job[one]) for one in (action.task, *state.followers[action.task]))
        leads = {task: int(state.task_unit[task]) for task in tasks}
        longest_us = max(
            expected_us(self.model, state, [task, *state.followers[task]], unit) for task, unit in leads.items()
        )
        return self._granted(requests, leads, longest_us)

    def _granted(self, requests: tuple[int, ...], leads: Mapping[int, int], longest_us: float) -> Grant:
        """Record a grant and start its lease."""
        center, row = self.cluster.datacenter, self.model.unit_order
        places = {task: place_at(center, int(row[unit])) for task, unit in leads.items()}
        application = self.requests.job_application[requests[0]]
        return self._grants.give(application, requests, places, self.now_us, longest_us)

    def _broken(self, broken: BrokenContract) -> PolicyError:
        return broken.as_policy_error(title_of(self.policy), self.now_us)


def usable(policy: Any) -> OnlinePolicy:
    """Return the policy if it can decide without knowing the workload. Raises :class:`InputError` if it cannot."""
    name = title_of(policy)
    if not isinstance(policy, OnlinePolicy):
        raise InputError([Problem(("policy",), "an online policy", f"{name}, a batch policy")])
    if policy.plans:
        raise InputError(
            [Problem(("policy",), "a policy that decides online", f"{name}, which plans the whole workload")]
        )
    if policy.preempts:
        raise InputError([Problem(("policy",), "a policy that lets tasks end", f"{name}, which declares preempts")])
    return policy
