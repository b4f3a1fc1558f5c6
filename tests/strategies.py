"""Random scenarios, written once: drawn by Hypothesis (which shrinks them) or by a seeded generator (which is fast).

Small and nasty on purpose: many equal times, empty tasks, units that cannot run a task, data everywhere or nowhere,
slots, shared units, overheads, ill-ordered networks, runs that are cut off.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, TypeVar, get_args, get_type_hints

import numpy as np
from hypothesis import strategies as st

import vinesim as vs
from vinesim.policies.contract import BatchPolicy, Policy

T = TypeVar("T")


class Dice(Protocol):
    """The source of random choices."""

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both possible."""

    def pick(self, values: Sequence[T]) -> T:
        """One of the values."""


class SeededDice:
    """Choices of a NumPy generator."""

    def __init__(self, seed: int):
        self._random = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def pick(self, values: Sequence[T]) -> T:
        return values[self.integer(0, len(values) - 1)]


class DrawnDice:
    """Choices of Hypothesis; the first value and the smallest number are the simplest."""

    def __init__(self, draw: Any):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def pick(self, values: Sequence[T]) -> T:
        return values[self.integer(0, len(values) - 1)]


NETWORKS = (
    vs.Network(),
    vs.Network(intra_rack=None, inter_rack=None, hop_latency_us=0.0),
    vs.Network(intra_rack=1310.72, inter_rack=131.072, hop_latency_us=0.0),
    vs.Network(local=4.0, intra_rack=2.0, inter_rack=1.0, hop_latency_us=1.0),  # all tiers cost something
    vs.Network(local=1.0, intra_rack=2.0, inter_rack=8.0),  # ill-ordered: the far data comes first
    vs.Network(local=3.0, intra_rack=3.0, inter_rack=3.0, hop_latency_us=0.0),  # all tiers are the same
    vs.Network(local=2.0, intra_rack=None, inter_rack=5.0, hops_intra=0, hops_inter=1),
)
SPEEDS = (1.0, 2.0, 0.5, 4.0, 0.0, 0.0, 0.1, 3.7)
OPERATIONS = (4.0, 0.0, 1.0, 7.0, 4.0, 10.0, 3.3)
DEMANDS = (1.0, 0.5, vs.WHOLE_UNIT, 0.3, vs.ONE_SLOT, 2.0, 0.0)
BYTES = (0.0, 8.0, 1000.0, 0.0, 2.5)


@dataclass(frozen=True)
class Limits:
    """What a scenario may hold."""

    units: int = 12
    jobs: int = 15
    tasks_of_job: int = 6
    demands: Literal["any", "equal", "none"] = "any"
    sharing: bool = True  # units of capacity above 1
    slowdown: bool = True  # units that share their speed
    horizons: bool = True
    outages: bool = False
    early: bool = False  # priorities, limits, withdrawals, checkpoints, failures, tasks placed and without end
    after: bool = False  # jobs wait for others


def build_scenario(dice: Dice, limits: Limits, policy: Any, options: Mapping[str, Any] | None = None) -> vs.Scenario:
    """Return one scenario within the limits."""
    n_racks, n_shelves = dice.integer(1, 4), dice.integer(1, 4)
    n_types, n_task_types = dice.integer(1, 4), dice.integer(1, 4)
    n_units = dice.integer(1, limits.units)
    types = tuple(_processor_type(dice, p, limits) for p in range(n_types))
    center = vs.Datacenter(
        np.array([dice.integer(0, n_types - 1) for _ in range(n_units)]),
        np.array([dice.integer(0, n_racks - 1) for _ in range(n_units)]),
        np.array([dice.integer(0, n_shelves - 1) for _ in range(n_units)]),
        types,
        n_racks,
        n_shelves,
    )
    speeds = np.array([[dice.pick(SPEEDS) for _ in range(n_task_types)] for _ in range(n_types)])
    deployed = np.unique(center.unit_type)
    for t in np.flatnonzero(speeds[deployed].max(axis=0) <= 0):
        speeds[deployed[0], t] = 1.0
    overhead = None
    if dice.integer(0, 2) == 2:
        overhead = np.array([[dice.pick((0.0, 1.0, 2.5)) for _ in range(n_task_types)] for _ in range(n_types)])
    case = vs.Scenario(
        center,
        _workload(dice, limits, center, speeds),
        policy=policy,
        options=options or {},
        affinity=speeds,
        overhead_us=overhead,
        network=dice.pick(NETWORKS),
        horizon_us=float(dice.integer(1, 60)) if limits.horizons and dice.integer(0, 4) == 4 else math.inf,
        seed=dice.integer(0, 2**40),
        outages=outages_of(dice, center) if limits.outages else (),
        period_us=dice.pick((5.0, 2.3)),
    )
    case = with_early_ends(dice, limits, case) if limits.early else case
    return with_after(dice, case) if limits.after else case


def with_after(dice: Dice, case: vs.Scenario) -> vs.Scenario:
    """Return the scenario with jobs that wait for others, which may arrive later."""
    work, rank = case.workload, list(range(case.workload.n_jobs))
    for i in range(len(rank)):  # each waits for those before it in some order
        j = dice.integer(i, min(i + 3, len(rank) - 1))
        rank[i], rank[j] = rank[j], rank[i]
    waits: list[list[int]] = [[] for _ in rank]
    placed = np.zeros(work.n_tasks) if work.placed is None else work.placed + 1
    for i in range(1, len(rank)):
        is_free = (placed[work.job_first[rank[i]] : work.job_first[rank[i] + 1]] == 0).all()
        if is_free:
            waits[rank[i]] = sorted({rank[dice.integer(max(0, i - 4), i - 1)] for _ in range(dice.pick((0, 1, 2, 0)))})
    first = np.r_[0, np.cumsum([len(some) for some in waits])]
    after = np.array([one for some in waits for one in some], np.int64)
    return replace(case, workload=replace(work, after_first=first, after=after))


def with_early_ends(dice: Dice, limits: Limits, case: vs.Scenario) -> vs.Scenario:
    """Return the scenario with columns about early ends, and with failures."""
    columns: dict[str, Any] = {}
    work, center, speeds = case.workload, case.datacenter, case.affinity
    jobs, tasks = range(work.n_jobs), range(work.n_tasks)
    if dice.integer(0, 2):
        columns["priority"] = [dice.pick((0.0, 1.0, 2.5, -1.0)) for _ in jobs]
    if dice.integer(0, 2) == 2:
        columns |= {"user": [dice.integer(0, 1) for _ in jobs], "user_names": ("ada", "bob")}
    if dice.integer(0, 2) == 2:
        columns["limit_us"] = [dice.pick((math.inf, 2.0, 5.0, 0.7)) for _ in jobs]
    if dice.integer(0, 2) == 2:
        columns["withdraw_us"] = [time + dice.pick((math.inf, 0.0, 3.0, 8.5)) for time in work.arrival_us]
    if dice.integer(0, 1):
        columns["checkpoint_us"] = [dice.pick((1.0, math.inf, 0.4)) for _ in tasks]
    if dice.integer(0, 1):
        columns["restart_us"] = [dice.pick((0.0, 0.5, 1.25)) for _ in tasks]
    if dice.integer(0, 4) == 4 and work.times_us is None:
        columns["operations"] = [dice.pick((size, size, size, math.inf)) for size in work.operations]
    if dice.integer(0, 3) == 3 and work.arrival_us[0] == 0:
        columns["placed"] = _placed(dice, center, speeds, work)
    failures = []
    for _ in range(dice.integer(0, 2) if limits.outages else 0):
        until = vs.Times(dice.pick((5.0, 20.0)), *dice.pick((("exponential",), ("weibull", 0.7), ("constant",))))
        repair = vs.Times(dice.pick((1.0, 0.0)), dice.pick(("constant", "exponential")))
        kind = dice.pick((None, center.processor_types[int(center.unit_type[0])].name))
        failures.append(vs.Failures(until, repair, kind, running=dice.pick(("requeue", "finish"))))
    return replace(
        case,
        workload=replace(work, **columns),
        failures=tuple(failures),
        preemption=dice.pick(("resume", "checkpoint", "restart")),
        horizon_us=min(case.horizon_us, 150.0) if failures else case.horizon_us,  # else a task may never be done
    )


def _placed(dice: Dice, center: vs.Datacenter, speeds: np.ndarray, work: vs.Workload) -> np.ndarray:
    """At most one task on each unit, of jobs that arrive at 0."""
    placed, left = np.full(work.n_tasks, -1), list(range(center.n_units))
    type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
    for task in np.flatnonzero(np.repeat(work.arrival_us, np.diff(work.job_first)) == 0):
        need = 1.0 if work.demand is None or np.isnan(work.demand[task]) else work.demand[task]
        sizes = [center.processor_types[k].capacity for k in center.unit_type]
        able = [u for u in left if speeds[center.unit_type[u], type_of_task[task]] > 0]
        able = [u for u in able if min(need, sizes[u]) == need or work.demand is None or np.isinf(need)]
        if able and dice.integer(0, 1):
            placed[task] = dice.pick(able)
            left.remove(placed[task])
    return placed


def outages_of(dice: Dice, center: vs.Datacenter) -> tuple[vs.Outage, ...]:
    """Some nodes go down and come up, at times at which tasks arrive and end, too; a few for ever."""
    nodes = sorted(set(zip(center.rack.tolist(), center.shelf.tolist(), strict=True)))
    found = []
    for rack, shelf in nodes:
        time = 0.0
        for _ in range(dice.integer(0, 3)):
            down = time + dice.pick((0.0, 1.0, 4.0, 2.5))
            time = down + dice.pick((1.0, 3.0, 7.25))
            if dice.integer(0, 7) == 7:
                time = math.inf
            found.append(vs.Outage(rack, shelf, down, time, dice.pick(("requeue", "finish"))))
            if time == math.inf:
                break
    return tuple(found)


def _processor_type(dice: Dice, number: int, limits: Limits) -> vs.ProcessorType:
    capacity, parallelism = 1.0, None
    if limits.sharing:
        capacity = dice.pick((1.0, 1.0, 4.0, 2.5))
        parallelism = dice.pick((None, None, 1.0, 2.0, 0.3)) if limits.slowdown else None
    attributes = {name: dice.pick((4.0, 1.0, 8.0)) for name in ("cores", "sms") if dice.integer(0, 1)}
    asleep_w = (2.0, None)[number % 2]
    powers = {"idle_power_w": 5.0 + number, "dynamic_power_w": 1.0 + number / 4, "sleep_power_w": asleep_w}
    return vs.ProcessorType(f"P{number}", capacity=capacity, parallelism=parallelism, attributes=attributes, **powers)


def _workload(dice: Dice, limits: Limits, center: vs.Datacenter, speeds: np.ndarray) -> vs.Workload:
    n_task_types = speeds.shape[1]
    n_jobs = dice.integer(1, limits.jobs)
    counts = [dice.integer(1, limits.tasks_of_job) for _ in range(n_jobs)]
    n_tasks = sum(counts)
    if dice.integer(0, 1):  # few distinct times, so that finishes and arrivals coincide
        arrival = sorted(float(dice.integer(0, 12)) for _ in range(n_jobs))
    else:
        arrival = sorted(dice.integer(0, 400) / 7.0 for _ in range(n_jobs))
    kinds = np.array([dice.integer(0, n_task_types - 1) for _ in range(n_jobs)])
    demand = None
    if limits.demands != "none" and limits.sharing and dice.integer(0, 2):
        shares = [dice.pick(DEMANDS) for _ in range(n_tasks)]
        if limits.demands == "equal":
            shares = [shares[0]] * n_tasks
        capacity = np.array([p.capacity for p in center.processor_types])
        able = np.bincount(center.unit_type, minlength=len(capacity))[:, None] * speeds > 0
        largest = np.where(able, capacity[:, None], 0.0).max(axis=0)[np.repeat(kinds, counts)]
        demand = np.where(np.isinf(shares), shares, np.minimum(shares, largest))
    has_data = dice.integer(0, 3) > 0
    prefers = dice.integer(0, 2) > 0
    n_types = len(center.processor_types)
    return vs.Workload(
        **_columns_of(dice, n_jobs, n_tasks, n_types, arrival),
        job_task_type=kinds,
        job_first=np.r_[0, np.cumsum(counts)],
        arrival_us=np.array(arrival),
        operations=np.array([dice.pick(OPERATIONS) for _ in range(n_tasks)]),
        data_bytes=np.array([dice.pick(BYTES) if has_data else 0.0 for _ in range(n_tasks)]),
        data_rack=np.array([dice.integer(0, center.n_racks - 1) if has_data else 0 for _ in range(n_tasks)]),
        data_shelf=np.array([dice.integer(0, center.n_shelves - 1) if has_data else 0 for _ in range(n_tasks)]),
        preferred_type=np.array(
            [dice.integer(-1, len(center.processor_types) - 1) if prefers else -1 for _ in range(n_tasks)]
        ),
        demand=demand,
        application=np.array([dice.integer(0, 2) for _ in range(n_jobs)]) if dice.integer(0, 1) else None,
        task_types=tuple(vs.TaskType(f"T{t}") for t in range(n_task_types)),
    )


def _columns_of(dice: Dice, n_jobs: int, n_tasks: int, n_types: int, arrival: Sequence[float]) -> dict[str, Any]:
    """Columns that few workloads have: measured times, hidden factors, estimates, requests, deadlines."""
    columns: dict[str, Any] = {}
    if dice.integer(0, 3) == 3:
        columns["times_us"] = np.array(
            [[dice.pick((3.0, 1.0, 0.0, 4.5)) for _ in range(n_types)] for _ in range(n_tasks)]
        )
    if dice.integer(0, 3) == 3:
        columns["time_factor"] = np.array([dice.pick((1.0, 0.5, 1.75)) for _ in range(n_tasks)])
    if dice.integer(0, 3) == 3:
        columns["estimate_us"] = np.array([dice.pick((1.0, 2.0, 8.0)) for _ in range(n_tasks)])
    if dice.integer(0, 2) == 2:
        columns["requests"] = {
            name: np.array([dice.pick((0.0, 1.0, 4.0, 6.0)) for _ in range(n_tasks)]) for name in ("cores", "sms")
        }
    if dice.integer(0, 2) == 2:
        columns["deadline_us"] = np.array([time + dice.pick((3.0, math.inf, 9.0)) for time in arrival])
    return columns


def seeded_scenario(
    seed: int, policy: Any = "high", options: Mapping[str, Any] | None = None, limits: Limits | None = None
) -> vs.Scenario:
    """The scenario of a seed."""
    return build_scenario(SeededDice(seed), limits or Limits(), policy, options)


@st.composite
def scenarios(
    draw: Any, policy: Any = "high", options: Mapping[str, Any] | None = None, limits: Limits | None = None
) -> vs.Scenario:
    """Hypothesis: any scenario within the limits."""
    return build_scenario(DrawnDice(draw), limits or Limits(), policy, options)


def with_policy(scenario: vs.Scenario, policy: Any, options: Mapping[str, Any] | None = None) -> vs.Scenario:
    """Return the scenario under another policy."""
    return replace(scenario, policy=policy, options=options or {})


MANY = 1000  # combinations
CHOICES = {  # of numbers that cannot be anything
    "power": (1.0, 3.0, 2.5),
    "slack_unit_us": (1.0, 1000.0),
    "factor": (1.0, 10.0),
    "quantum_us": (1.0, 1000.0),
}
NUMBERS = {float: (0.0, 1.0, 7.5, 1e9), int: (1, 2, 3), bool: (False, True)}


def all_options(policy: type[Policy]) -> list[dict[str, Any]]:
    """Every combination of a policy's choices, and a few values of its numbers; of a batch policy, and of one with many
    options, each option alone, of the latter also some at random together."""
    hints = get_type_hints(policy)
    if issubclass(policy, BatchPolicy):
        return [
            {},
            *(
                {item.name: value}
                for item in fields(policy)
                for value in get_args(hints[item.name]) or NUMBERS[hints[item.name]]
                if value != "cuda"
            ),
        ]
    values_of: dict[str, Sequence[Any]] = {
        item.name: get_args(hints[item.name]) or CHOICES.get(item.name) or NUMBERS[hints[item.name]]
        for item in fields(policy)
    }
    if math.prod(map(len, values_of.values())) > MANY:
        dice = SeededDice(0)
        together = [{name: dice.pick(values) for name, values in values_of.items()} for _ in range(30)]
        return [{}, *({name: value} for name, values in values_of.items() for value in values), *together]
    combinations: list[dict[str, Any]] = [{}]
    for name, values in values_of.items():
        combinations = [{**chosen, name: value} for chosen in combinations for value in values]
    return combinations
