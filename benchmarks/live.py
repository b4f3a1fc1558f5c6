"""Live scheduling: decisions per second of the compiled component, and of its plain twin, through the call that the
manager makes once a turn. The rest of the request path: ``benchmarks/live_requests.py``."""

import time
from typing import Any

import vinesim as vs
from benchmarks import symphony
from benchmarks.report import Report, Table, Target, figure
from vinesim.live.compiled import CompiledDecisions
from vinesim.live.decisions import Arrive, Complete, Decisions, SchedulerDecisions
from vinesim.live.registration import Cluster
from vinesim.policies.registry import resolve

BATCH = 64  # operations of one kind per turn, as far as there are units
TASK_US = 1e3
FLAT = ("fcfs", "edf", "symphony", "rb_ljf_ba", "easy_backfill", "drf", "delay", "earliest_completion")
MANY_RESERVATIONS = "conservative_backfill"  # one for each request that waits: measured with few, without a target
FEW = 100


def component(made: vs.Scenario, policy: str, is_compiled: bool) -> Decisions:
    """A component for a cluster, with the paper's four applications registered."""
    chosen = resolve(policy)
    parts = made.datacenter, made.workload.task_types, made.affinity, made.overhead_us, made.seed
    found: Decisions = (CompiledDecisions if is_compiled else SchedulerDecisions)(Cluster(*parts), chosen)
    for one in made.applications:
        found.register(one, one.name, vs.WHOLE_UNIT)
    return found


def per_second(made: vs.Scenario, policy: str, n_waiting: int, for_s: float, is_compiled: bool = True) -> float:
    """Grants per second of CPU time: all units are busy, and in each turn up to 64 become free and as many requests
    come; ``n_waiting`` more wait all the time."""
    one: Decisions = component(made, policy, is_compiled)
    n_applications, n_units = len(made.applications), made.datacenter.n_units
    batch, now_us, k = min(BATCH, n_units), 0.0, 0

    def arriving(n: int) -> list[Any]:
        nonlocal k
        k += n
        return [Arrive((k - i) % n_applications, 1.0, now_us) for i in range(n)]

    running = list(one.turn(now_us, arriving(n_units + n_waiting)).grants)
    n_grants, end_s = 0, time.process_time() + for_s
    begin_s = time.process_time()
    while time.process_time() < end_s:
        now_us += TASK_US
        over, running = running[:batch], running[batch:]
        operations = [Complete(grant.id, grant.places[0].unit) for grant in over]
        n_new = sum(len(grant.requests) for grant in over)
        found = one.turn(now_us, operations + arriving(n_new)).grants
        running += found
        n_grants += len(found)
    return n_grants / (time.process_time() - begin_s)


def run(quick: bool) -> Report:
    nodes, waiting = (3, 100, 1_000), (0, 1_000) if quick else (0, 1_000, 100_000)
    policies = ("fcfs",) if quick else FLAT
    for_s = 0.3 if quick else 2.0  # with many waiting, the first half second is slower
    rows, least = [], float("inf")
    for policy in policies:
        for n_nodes in nodes:
            made = symphony.scenario(n_nodes, policy, 1e6)
            found = [per_second(made, policy, n, for_s) for n in waiting]
            least = min(least, *found)
            rows.append([policy, f"{n_nodes:,}", *map(figure, found)])
    made = symphony.scenario(3, "fcfs", 1e6)
    plain = [figure(per_second(made, "fcfs", n, for_s, False)) if n <= 1_000 else "-" for n in waiting]
    rows.append(["fcfs, plain", "3", *plain])
    made = symphony.scenario(3, MANY_RESERVATIONS, 1e6)
    found = [per_second(made, MANY_RESERVATIONS, n, for_s) for n in (0, FEW)]
    rows.append([f"{MANY_RESERVATIONS}, {FEW} instead of 1,000", "3", *map(figure, found), *["-"] * (len(waiting) - 2)])
    columns = ["policy", "nodes", *(f"{n:,} waiting" for n in waiting)]
    note = (
        "Grants per second of CPU time, in one thread, through `turn`; a node has a CPU and two GPUs, each for one "
        f"request. Per call up to {BATCH} completions and as many arrivals; 9 at 3 nodes. Symphony consolidates, so a "
        "grant has several requests."
    )
    target = Target("decisions per second, the least", least, 50_000, 50_000, " /s", False)
    return Report([Table("Decisions of the live component", columns, rows, note)], [target])
