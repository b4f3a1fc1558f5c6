"""What is kept of a run after its engine has stopped, and the log of its segments that ended early."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from vinesim.engine.periods import PeriodClock
from vinesim.engine.run import Run
from vinesim.model.power_caps import MW_PER_W
from vinesim.model.result import KILLED, EarlyEnds, ExitReason, Held, Outcome, Serving
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_GANG
from vinesim.policies.contract import OnlinePolicy, Policy
from vinesim.state.demand import amounts, comparable
from vinesim.state.layout import DROPPED, OVERFULL, PENDING, has_shared_speed
from vinesim.state.model import Model, classes_of_tasks, demands_of_tasks


class Ended(NamedTuple):
    """A run that came to its end."""

    engine: str
    run: Run
    clock: PeriodClock | None
    reason: ExitReason
    words: str  # more of the reason
    compile_s: float


def collect(
    scenario: Scenario, model: Model, policy: Policy, online: OnlinePolicy, ended: Ended, proven: Any
) -> Outcome:
    """Return the columns that the engine filled; the run does not continue after that. A task that was running when the
    run was cut off has no finish, and one whose data was still in transfer has no start.

    ``online`` decided, or the batch ``policy`` from outside the loop; ``proven`` is what its plan has proven.
    """
    run, clock, reason = ended.run, ended.clock, ended.reason
    columns, dropped_us = run.columns(), None
    if reason is not ExitReason.ALL_DONE or policy.may_drop or scenario.workload.withdraw_us is not None:
        dropped_us = take_dropped_us(columns, policy.may_drop)
    early = run.early_ends() if may_end_early(scenario, online) else None
    early_held = _early_held(model, run, early) if early is not None and len(model.class_units) else None
    moves = None if clock is None or clock.moves is None else clock.moves.ends()
    accounts = None if clock is None else clock.accounts
    held = _held(model, run) if len(model.class_units) else None
    granted_us = run.granted_us() if len(model.type_ahead) else None
    end_us = min(run.now_us, scenario.horizon_us) if reason is not ExitReason.HORIZON else scenario.horizon_us
    if reason is not ExitReason.ALL_DONE:
        for name in ("task_start_us", "task_finish_us"):
            columns[name][columns[name] > end_us] = np.nan
    followers = run.followers()
    if granted_us is not None:  # a unit has not come to those that waited there at the end
        waits = columns["task_init_us"] > end_us
        columns["task_unit"][waits] = PENDING
        columns["task_init_us"][waits] = np.nan
        followers = followers[columns["task_unit"][followers] >= 0]
    if early is not None:
        is_over = early.end_us <= end_us  # others would be killed later
        early = EarlyEnds(*(column[is_over] for column in early))
        last = early.task[early.is_last]
        columns["task_finish_us"][last] = np.nan
        in_transfer = columns["task_start_us"][last] > early.end_us[early.is_last]
        columns["task_start_us"][last[in_transfer]] = np.nan
    return Outcome(
        **columns,
        unit_order=model.unit_order,
        shares_units=may_share_units(model, policy.may_overcommit)
        or len(followers) > 0
        or (early is not None and bool(early.is_follower.any())),
        exit_reason=reason,
        reason=ended.words,
        end_us=end_us,
        n_events=run.n_events,
        followers=followers,
        early=joined(early, moves) if early is not None and moves is not None else early or moves,
        failures=run.failures(),
        preempts=online.preempts,
        periods=None if accounts is None else accounts.table(),
        unit_energy=None if accounts is None or not accounts.has_power else accounts.unit_energy,
        proven=proven,
        held=held,
        early_held=early_held,
        granted_us=granted_us,
        peaks_w=run.peaks_mw() / MW_PER_W if scenario.datacenter.has_power_caps else None,
        eligible_us=run.eligible_us() if len(model.job_predecessors) else None,
        serving=_serving(run, end_us) if len(model.engine_unit) else None,
        dropped_us=dropped_us,
    )


def take_dropped_us(columns: dict[str, np.ndarray], may_drop: bool) -> np.ndarray | None:
    """[..., N] us: when the policy dropped each task, which replaces its finish; NaN: it did not. None if the policy
    drops none. Afterwards the columns say that these tasks, and the withdrawn ones, did not start."""
    unit, finish_us = columns["task_unit"], columns["task_finish_us"]
    if not may_drop and unit.min(initial=PENDING) >= PENDING:
        return None  # there is none to say it of
    is_dropped = unit == DROPPED
    dropped_us = np.where(is_dropped, finish_us, np.nan) if may_drop else None
    np.maximum(unit, PENDING, out=unit)
    finish_us[is_dropped] = np.nan
    return dropped_us


def _serving(run: Run, end_us: float) -> Serving:
    """Return how requests fared on serving engines; events after the end of the run count as not happened."""
    found = run.serving(end_us)
    return found._replace(first_token_us=np.where(found.first_token_us <= end_us, found.first_token_us, np.nan))


def _held(model: Model, run: Run) -> Held:
    """Return how much tasks hold, or held last, of units besides the one that they run on."""
    task, unit = run.held()
    return Held(task, unit, _amounts(model, task, run.columns()["task_unit"][task], unit))


def _early_held(model: Model, run: Run, early: EarlyEnds) -> Held:
    """Return how much was held by segments that ended early and were not the last of their tasks."""
    place, unit = run.early_held()
    row = np.flatnonzero(early.why != KILLED)[place]  # the tasks that limits ended were added to the log
    return Held(row, unit, _amounts(model, early.task[row], early.unit[row], unit))


def _amounts(model: Model, task: np.ndarray, own: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """[H] how much of ``unit`` tasks that run on ``own`` hold."""
    is_lead = model.unit_type[unit] == model.unit_type[own]
    lead = amounts(model.task_demand[task], model.unit_capacity[unit])
    return np.where(is_lead, lead, model.class_companion[classes_of_tasks(model, task), model.unit_type[unit]])


def may_share_units(model: Model, may_overcommit: bool) -> bool:
    """Whether several tasks can be on a unit at the same time, even if none are consolidated."""
    return has_shared_speed(model) or len(model.task_demand) > 0 or may_overcommit


def why_over(scenario: Scenario, model: Model, run: Run, policy: Policy) -> tuple[ExitReason, str]:
    """Return why a run ends that has no events left although tasks are not done, and more in words."""
    if run.n_pending == 0:
        n_left = scenario.workload.n_tasks - run.n_done
        verbs = "run or wait for others that do" if len(model.job_predecessors) else "run"
        return ExitReason.ENDLESS, f"{n_left} tasks {verbs}, and none of them ever ends"
    return ExitReason.STALLED, why_stalled(scenario, model, run, policy)


def why_stalled(scenario: Scenario, model: Model, run: Run, policy: Policy) -> str:
    """Say in words which tasks are left, and what the first of them waits for."""
    pending = run.pending()
    task = int(pending[0])
    work, types = scenario.workload, scenario.datacenter.processor_types
    job = int(model.task_job[task])
    type_name = work.task_types[int(work.job_task_type[job])].name
    text = f"{len(pending)} tasks are pending and nothing runs; the first is task {task} ({type_name})"
    wanted = int(work.preferred_type[task]) if "preferred_type" in groups_of(policy) else -1
    if wanted >= 0 and not (model.unit_type == wanted).any():
        return f"{text}, which prefers {types[wanted].name}: the datacenter has none"
    own = int(classes_of_tasks(model, pending[:1])[0])
    if wanted >= 0 and scenario.affinity[wanted, model.class_task_type[own]] <= 0:
        return f"{text}, which prefers {types[wanted].name}: its affinity to {type_name} is 0"
    if wanted >= 0 and model.affinity[wanted, own] <= 0:
        return f"{text}, which prefers {types[wanted].name}: no node has all that it would hold there"
    is_gang = work.gang_within is not None and work.gang_within[job] != NO_GANG
    for member in _kinds_among(scenario, model, np.arange(task, work.job_first[job + 1] if is_gang else task + 1)):
        lacking = what_no_unit_has(scenario, model, member, policy)
        if lacking:
            return f"{text}{f', with task {member} of its gang' * (member != task)}: no unit {lacking}"
    if scenario.datacenter.has_power_caps:
        return f"{text}: the power caps leave too little for it, or the policy starts it on none of the idle units"
    return f"{text}: the policy starts it on none of the idle units"


def _kinds_among(scenario: Scenario, model: Model, tasks: np.ndarray) -> list[int]:
    """Return the first of the tasks of each kind: they need the same."""
    demand, requests = comparable(demands_of_tasks(model, tasks)), (scenario.workload.requests or {}).values()
    needed = np.stack([classes_of_tasks(model, tasks), demand, *(requested[tasks] for requested in requests)])
    firsts: np.ndarray = np.unique(needed, axis=1, return_index=True)[1]
    return tasks[np.sort(firsts)].tolist()


def groups_of(policy: Policy) -> tuple[str, ...]:
    """What the policy distinguishes tasks by, besides their type."""
    return policy.groups if isinstance(policy, OnlinePolicy) else ()


def what_no_unit_has(scenario: Scenario, model: Model, task: int, policy: Policy) -> str:
    """Say in words what a task needs that no unit has, or has together; nothing if one has all of it."""
    needs = list(_needs(scenario, model, task, policy))
    if np.all([units for _, units in needs], axis=0).any():
        return ""
    for i in reversed(range(len(needs))):  # only those without which a unit would remain
        fewer = needs[:i] + needs[i + 1 :]
        if fewer and not np.all([units for _, units in fewer], axis=0).any():
            needs = fewer
    return " and ".join(words for words, _ in needs)


def _needs(scenario: Scenario, model: Model, task: int, policy: Policy) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what a unit must do for a task, in words, and [U] which units do it."""
    work, types, job = scenario.workload, scenario.datacenter.processor_types, int(model.task_job[task])
    own = classes_of_tasks(model, np.array([task]))[0]
    yield "can run it", scenario.affinity[model.unit_type, model.class_task_type[own]] > 0
    for name, requested in (work.requests or {}).items():
        provided = np.array([one.attributes.get(name, math.inf) for one in types])[model.unit_type]
        yield f"provides the {requested[task]:g} of {name} that it requests", provided >= requested[task]
    if len(model.task_demand) and not policy.may_overcommit:
        amount = amounts(np.full(len(model.unit_type), model.task_demand[task]), model.unit_capacity)
        yield f"is as large as its demand of {model.task_demand[task]:g}", amount <= model.unit_capacity * OVERFULL
    if len(model.job_partition):
        nodes = model.partition_node[model.job_partition[job]]
        yield "is in its partition", nodes[model.unit_node]
    if "application" in groups_of(policy) and work.application is not None:
        application = int(work.application[job])
        if 0 <= application < len(model.application_units):
            bits = model.application_units[application].view(np.uint8)
            units = np.unpackbits(bits, count=len(model.unit_type), bitorder="little")
            yield "is on a node with the data of its application", units.astype(bool)
    yield "is on a node that has all that it would hold there", model.affinity[model.unit_type, own] > 0


def may_end_early(scenario: Scenario, policy: OnlinePolicy) -> bool:
    """Whether a task may leave its unit before it is done, or never."""
    return scenario.interrupts or policy.preempts or scenario.workload.may_end_early or scenario.is_disaggregated


def with_killed(
    ends: EarlyEnds, killed: np.ndarray, columns: Mapping[str, np.ndarray], left: np.ndarray, followers: np.ndarray
) -> EarlyEnds:
    """Return the log with the last segments of the tasks that their limits ended; their finish in ``columns`` is when.

    ``killed`` includes running tasks that will be killed, which have no row yet: their finish is after the last event.
    """
    rows = [
        killed,
        columns["task_unit"][killed],
        columns["task_init_us"][killed],
        columns["task_start_us"][killed],
        columns["task_finish_us"][killed],
        np.asarray(left)[killed],
        np.full(len(killed), KILLED),
        np.isin(killed, followers),
    ]
    return joined(ends, EarlyEnds(*rows))


def joined(one: EarlyEnds, other: EarlyEnds) -> EarlyEnds:
    """Return two logs as one, in the order of time."""
    both = [np.append(first, second).astype(first.dtype) for first, second in zip(one, other, strict=True)]
    order = np.argsort(both[4], kind="stable")
    return EarlyEnds(*(column[order] for column in both))
