"""Explain in Slurm's words what a job waited for, by repeating the policy's bookkeeping for a run with known starts.

At each event until the job started, its state, its limits and the queue give the reason, as ``squeue`` would show it.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vinesim.model.scenario import Scenario
from vinesim.policies.slurm.billing import place_of
from vinesim.policies.slurm.codes import ELIGIBLE, HELD, US_PER_S
from vinesim.policies.slurm.depth import is_passed_by
from vinesim.policies.slurm.events import arrive, withdraw
from vinesim.policies.slurm.limits import count_running, is_over, lacks_licences
from vinesim.policies.slurm.main_run import names_all
from vinesim.policies.slurm.node_sets import put, remove
from vinesim.policies.slurm.nodes import choose, find_nodes
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_jobs import Jobs
from vinesim.policies.slurm.prepare_limits import case_of, holders_of
from vinesim.policies.slurm.prepare_nodes import Places
from vinesim.policies.slurm.queue import calculate, tidy
from vinesim.policies.slurm.reason_words import forbidden, full, over_limit
from vinesim.policies.slurm.starting import begin, finish, is_on_nodes, leave, requeue
from vinesim.policies.slurm.switches import is_named
from vinesim.policies.slurm.waiting import check_held, is_satisfied
from vinesim.state.scratch import plain_options

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

KNOWN, WITHDRAWN, BEGIN, END, KILLED, LOST, CALCULATED, EDGE = range(8)  # what happens
ENDS = (END, KILLED, LOST)


class Ran(NamedTuple):
    """A run of a job, and how it ended."""

    job: int
    begin_us: float
    end_us: float
    end: int  # END, KILLED, or LOST (it waited again)


@dataclass(frozen=True)
class Reason:
    """Why a job waited in an interval."""

    begin_us: float
    end_us: float
    reason: str  # Slurm's word
    detail: str  # the limit, in words
    jobs: tuple[int, ...] = ()  # the jobs for which it waited


class Books:
    """The policy's arrays, updated event by event while a run is repeated."""

    def __init__(self, policy: "Slurm", scenario: Scenario):
        suited = policy.suited_to(scenario)
        self.s: Any = SimpleNamespace(**{name: array.copy() for name, array in vars(suited)["arrays"].items()})
        self.options = plain_options(suited.values_of_options())
        self.policy, self.scenario = policy, scenario
        self.places = Places.of(policy, scenario, [])
        self.accounts = Accounts.of(policy.accounts)
        self.jobs = Jobs.of(policy, scenario, self.places, self.accounts, [])
        self.keys = holders_of(policy, self.jobs, self.accounts, self.places)["holder_keys"]
        self.refused: dict[int, tuple[str, str]] = {}
        self.down = [(one.down_us, one.up_us, one.rack, one.shelf) for one in scenario.outages]
        center = scenario.datacenter
        nodes = np.unique(center.rack * np.int64(center.n_shelves) + center.shelf)
        self.number = {(int(n // center.n_shelves), int(n % center.n_shelves)): i for i, n in enumerate(nodes)}

    def note(self, kind: int, job: int, now_us: float) -> None:
        """Record an event, and make held jobs eligible if nothing holds them any more."""
        s, options = self.s, self.options
        if kind == KNOWN:
            if not arrive(s, options, job, now_us):
                self.refused[job] = self._refused(job)
        elif kind == WITHDRAWN:
            withdraw(s, options, job, now_us)
        elif kind == BEGIN and s.job_state[job] in (HELD, ELIGIBLE):
            begin(s, options, job, self._partition(job, now_us), now_us)
        elif kind in ENDS and is_on_nodes(s, job):
            leave(s, options, job, now_us)
            if kind == LOST:
                requeue(s, options, job, now_us)
            else:
                finish(s, job, kind == KILLED, now_us)
        elif kind == CALCULATED:
            calculate(s, options, options.priority_calc_period * US_PER_S, now_us)
        check_held(s, options, now_us)
        s.n_wanted[0] = 0  # the engine has carried out what the policy wants

    def _partition(self, job: int, now_us: float) -> int:
        """Return the partition in which a job may have started: the first one whose limits admit it."""
        parts = self.s.job_part[self.s.job_first_part[job] : self.s.job_first_part[job + 1]].tolist()
        return next((part for part in parts if not is_over(self.s, job, part, now_us)), parts[0])

    def reason(self, job: int, now_us: float) -> tuple[str, str, tuple[int, ...]] | None:
        """Return why a job waits now; None if it does not."""
        s = self.s
        if job in self.refused:
            return *self.refused[job], ()
        if s.job_state[job] == HELD:
            return self._held(job, now_us)
        if s.job_state[job] != ELIGIBLE:
            return None
        own, part = int(s.job_reservation[job]), int(s.job_part[s.job_first_part[job]])
        if own >= 0 and now_us < s.reservation_begin_us[own]:
            return "Reservation", f"reservation {list(self.places.reservations)[own]} has not begun", ()
        if s.part_never[s.job_first_part[job]]:
            return *self._forbidden(job, part), ()
        if is_over(s, job, part, now_us):
            return *over_limit(s, self.keys, self.accounts, job, part, now_us), self._holding(job, part)
        if lacks_licences(s, job):
            running = s.running[: s.n_running[0]].tolist()
            wanted = self._licences(job)
            holders = tuple(other for other in running if wanted & self._licences(other))
            names = list(self.policy.licenses)
            return "Licenses", f"not enough of {', '.join(names[i] for i in sorted(wanted))} is free", holders
        return self._room(job, part, now_us) if s.job_member[job] < 0 else self._together(job, part, now_us)

    def _refused(self, job: int) -> tuple[str, str]:
        s = self.s
        if s.job_denied[job]:
            reason, detail = self._forbidden(job, int(s.job_part[s.job_first_part[job]]))
        else:
            reason, detail = full(s, self.keys, self.accounts, job)
        return reason, f"refused: {detail}"

    def _forbidden(self, job: int, part: int) -> tuple[str, str]:
        """Return the reason of a job that breaks a limit all by itself."""
        qos, asked = self.policy.qos.get(self.jobs.qos[job], {}), self.jobs.asked[self.jobs.request[job]]
        refusal = self.places.refusal(part, qos, asked, self.jobs.limit_us[job])
        if refusal[0]:
            return refusal
        case = case_of(self.policy, self.jobs, self.accounts, self.places, job, part)
        return forbidden(self.s, self.jobs, case, self.keys, self.accounts, job, part)

    def _together(self, job: int, part: int, now_us: float) -> tuple[str, str, tuple[int, ...]]:
        """Return why a component waits although no limit stops it by itself."""
        s = self.s
        group = s.member_group[s.job_member[job]]
        members = s.member_job[s.group_first[group] : s.group_first[group + 1]].tolist()
        before = members[: members.index(job)]
        for other in before:
            count_running(s, other, 1)
        kept = over_limit(s, self.keys, self.accounts, job, part, now_us) if is_over(s, job, part, now_us) else None
        for other in before:
            count_running(s, other, -1)
        if kept is not None:
            return *kept, tuple(before)
        room = self._room(job, part, now_us)
        others = tuple(other for other in members if other != job)
        return room if room[0] == "ReqNodeNotAvail" else ("Resources", "its components start together", others)

    def _licences(self, job: int) -> set[int]:
        s = self.s
        return set(s.job_licence[s.job_first_licence[job] : s.job_first_licence[job + 1]].tolist())

    def _held(self, job: int, now_us: float) -> tuple[str, str, tuple[int, ...]] | None:
        s = self.s
        first, end = s.job_first_dependency[job], s.job_first_dependency[job + 1]
        others = [int(s.dependency_job[i]) for i in range(first, end)
                  if not is_satisfied(s, s.dependency_kind[i], s.dependency_job[i])]  # fmt: skip
        if others:
            return "Dependency", "", tuple(dict.fromkeys(others))
        if math.isinf(s.job_from_us[job]):
            return "JobHeldUser", "it was held in the log until the end", ()
        if now_us < s.job_known_us[job] and s.job_from_us[job] <= now_us:
            return None  # the scheduler has not received it yet
        if s.job_held_until_us[job] > now_us:
            return "BeginTime", "it was not to start before", ()
        return "JobArrayTaskLimit", f"at most {s.job_throttle[job]} of its array at once", ()

    def _holding(self, job: int, part: int) -> tuple[int, ...]:
        """Return the running jobs that count towards the limit that stops a job."""
        s, own = self.s, self._holders(self.s.part_case[place_of(self.s, job, part)])
        running = s.running[: s.n_running[0]].tolist()
        return tuple(other for other in running if own & self._holders(s.job_case[other]))

    def _holders(self, case: int) -> set[int]:
        """Return the holders of a case."""
        s = self.s
        return set(s.case_holder[s.case_first_holder[case] : s.case_first_holder[case + 1]].tolist())

    def _room(self, job: int, part: int, now_us: float) -> tuple[str, str, tuple[int, ...]]:
        s, request, options = self.s, self.s.job_request[job], self.options
        down = {self.number[rack, shelf] for begin_us, end_us, rack, shelf in self.down if begin_us <= now_us < end_us}
        for node in range(len(s.node_cpus)):
            (remove if node in down else put)(s.up_nodes, 0, node)
        find_nodes(s, job, part, now_us, now_us + s.job_limit_us[job], s.may)
        if choose(s, request, s.may, s.node_cpus, s.node_memory, s.node_kinds) == 0:
            end_us = now_us + s.job_limit_us[job]
            names = [
                name
                for name, (begin_s, end_s, _) in self.places.reservations.items()
                if begin_s * US_PER_S < end_us and end_s * US_PER_S > now_us
            ]
            what = [f"reserved: {', '.join(names)}"] if names else []
            named = [self.places.names[i] for i in sorted(down) if is_named(s, request, i)]
            what += [f"{', '.join(named)} down or drained"] if named else []
            what += [f"{len(down)} nodes down or drained"] if down and not named else []
            return "ReqNodeNotAvail", "; ".join(what) or "no node has what it asks for", ()
        tidy(s)
        columns = (s.entry_job, s.entry_part, s.entry_priority)
        entries = zip(*(column[: s.n_entries[0]].tolist() for column in columns), strict=True)
        n_before = 0
        for other, its, priority in entries:
            if other == job:
                break
            if its != part:
                continue
            n_before += 1
            closes = not names_all(s, s.job_request[other]) and not is_passed_by(s, options, other, priority, now_us)
            if closes and not is_over(s, other, its, now_us) and not lacks_licences(s, other):
                return "Priority", "", (other,)
            if n_before == options.partition_job_depth:
                detail = f"a run of the main scheduler tries {n_before:,} job{'s' * (n_before > 1)} of its partition"
                return "Priority", detail, (other,)
        return "Resources", "", tuple(s.running[: s.n_running[0]].tolist())


def reasons_of(policy: "Slurm", scenario: Scenario, runs: list[Ran], job: int, until_us: float) -> list[Reason]:
    """Return why a job waited, from its submission until its last start, or until ``until_us``."""
    books, work = Books(policy, scenario), scenario.workload
    last_us = max((one.begin_us for one in runs if one.job == job), default=until_us)
    events = [(float(us), KNOWN, j) for j, us in enumerate(work.arrival_us)]
    events += [(one.begin_us, BEGIN, one.job) for one in runs]
    events += [(one.end_us, one.end, one.job) for one in runs]
    if work.withdraw_us is not None:
        events += [(float(us), WITHDRAWN, j) for j, us in enumerate(work.withdraw_us) if math.isfinite(us)]
    period_us, first_us = policy.priority_calc_period * US_PER_S, float(books.s.due_us[0])
    n_times = int(max(0.0, last_us - first_us) // period_us) + 1
    events += [(first_us + i * period_us, CALCULATED, -1) for i in range(n_times)]
    edges = [*books.s.job_known_us, *(us for us in books.s.job_from_us if math.isfinite(us))]
    edges += [one.end_us + policy.requeue_delay * US_PER_S for one in runs if one.end == LOST]
    edges += [s * US_PER_S for begin_s, end_s, _ in books.places.reservations.values() for s in (begin_s, end_s)]
    edges += [us for down_us, up_us, _, _ in books.down for us in (down_us, up_us)]
    events += [(float(us), EDGE, -1) for us in edges if math.isfinite(us)]
    order = (WITHDRAWN, *ENDS, KNOWN, EDGE, CALCULATED, BEGIN)
    events.sort(key=lambda event: (event[0], order.index(event[1])))
    found: list[Reason] = []
    at_us, why = 0.0, None
    for now_us, kind, other in events:
        if now_us > last_us:
            break
        if why is not None and now_us > at_us:
            found.append(Reason(at_us, now_us, *why))
        books.note(kind, other, now_us)
        at_us, why = now_us, books.reason(job, now_us)
    if why is not None and last_us > at_us:
        found.append(Reason(at_us, last_us, *why))
    return _joined(found)


def _joined(found: list[Reason]) -> list[Reason]:
    """Join consecutive reasons that are equal; of the jobs that hold a limit, those of the first reason are kept."""
    joined: list[Reason] = []
    for one in found:
        last = joined[-1] if joined else None
        is_same = last is not None and (last.reason, last.detail.split(":")[0]) == (
            one.reason,
            one.detail.split(":")[0],
        )
        if last is not None and is_same and (one.reason != "Priority" or last.jobs == one.jobs):
            joined[-1] = Reason(last.begin_us, one.end_us, last.reason, last.detail, last.jobs)
        else:
            joined.append(one)
    return joined
