"""What a live run learned at which instant is in its record: the simulation repeats every start of it."""

import heapq
import json
import re

import numpy as np
import pytest

from tests.live.clusters import CoreTest
from vinesim.live.clock import GRID_US, ClusterClock
from vinesim.live.folder import JOURNAL
from vinesim.live.record import record
from vinesim.live.validation import validate

CLUSTER = """
processor_types: [{name: CPU, capacity: 2}, {name: ACC, ahead: AHEAD}]
task_types: [LONG, SHORT]
affinity: {times: {CPU: {LONG: 4 ms, SHORT: 2 ms}, ACC: {LONG: 2 ms, SHORT: 1 ms}}}
applications:
  - {name: LONG, relative_deadline: 20 ms, per_size: true, average_load: 100, max_consolidated: 3, kernel: echo}
  - {name: SHORT, relative_deadline: 9 ms, average_load: 100, max_consolidated: 4, kernel: echo}
kernels: kernels.py
nodes: [{name: n0, units: {ACC: 1, CPU: 1}}, {name: n1, units: {CPU: 1, ACC: 1}}]
policy: POLICY
engine: reference
lease: 1000 s
grace: 5 s
limits: {pending: 5000}
"""
TURN_US = 1e3 / 3


def lived(folder, text, seed=1, n_requests=400, turn_us=TURN_US, rate=1.1, cancelled=0.0):
    """A run in which a turn of the manager includes several arrivals and ends, at times that are no round numbers; and
    a share of turns the end of a request's use, while it waits or others run with it."""
    for name, sees in (("slack.py", "False"), ("seeing.py", "True")):
        (folder / name).write_text(OWN.replace("SEES", sees))
    core, random = CoreTest(folder, text), np.random.default_rng(seed)
    core.clock = core.core.clock = OnGrid()
    core.client()
    cluster = core.core.cluster
    kind = cluster.datacenter.unit_type
    ahead = np.array([one.ahead for one in cluster.processor_types])[kind]
    for node in cluster.nodes:
        hello = {"op": "agent.hello", "node": node.name, "epoch": 0, "ready": list(range(len(kind)))}
        core.turn((node.name, hello))
    names = [one.application.name for one in cluster.applications]
    ends, n_sent, free_us = [], 0, {}  # when each unit is done with what it has
    while n_sent < n_requests or ends or core.core.n_waiting:
        assert core.clock.us < 1e8, "some never start"
        n_new = int(random.poisson(rate)) if n_sent < n_requests else 0
        messages = [arrival(random, names, n_sent + i) for i in range(n_new)]
        n_sent += n_new
        while ends and ends[0][0] <= core.clock.us:
            _, _, node, attempt, n, took_us = heapq.heappop(ends)
            end = {"attempt": attempt, "epoch": 1, "outcome": "done", "results": [{"result": b"\x01"}] * n}
            messages.append((node, {"op": "agent.ended", "ends": [{**end, "execution_us": took_us}]}))
        if random.random() < cancelled and (keys := may_cancel(core.core)):
            messages.append(("c", {"op": "client.cancel", "key": keys[random.integers(0, len(keys))]}))
        sent = core.turn(*[messages[i] for i in random.permutation(len(messages))], after_us=turn_us)
        for node, run in [(peer, m) for peer, m in sent if m["op"] == "run"]:
            unit = run["unit"]
            took_us = float(random.lognormal(7.0, 0.5)) * len(run["payloads"]) * (2 - kind[unit] % 2)
            begun_us = max(core.clock.us, free_us.get(unit, 0.0)) if ahead[unit] else core.clock.us
            free_us[unit] = begun_us + took_us
            end = begun_us + took_us, run["attempt"], node, run["attempt"], len(run["payloads"]), took_us
            heapq.heappush(ends, end)
    counters = core.core.counters
    assert counters.n_done + counters.n_dropped + counters.n_cancelled == n_sent
    assert cancelled or not counters.n_cancelled
    core.core.journal.close()
    (folder / "state" / "journal").rename(folder / "state" / JOURNAL)
    return record(folder / "state")


def may_cancel(core):
    """The keys of requests that wait, or that run with others."""
    items = core.clients._all["c"].items.values()
    of = {one.key: 0 if one.run is None else sum(not other.is_cancelled for other in one.run.items) for one in items}
    return [key for key, n in of.items() if n != 1]


class OnGrid:
    """A clock that the test moves, and that shows the time as the manager's does."""

    def __init__(self):
        self.us = 1e6

    def now_us(self):
        return self.us // GRID_US * GRID_US


def arrival(random, names, number):
    name = names[random.integers(0, len(names))]
    call = {"op": "client.request", "key": str(number), "application": name, "payload": b"\x01"}
    return "c", {**call, "size": float(random.integers(1, 4))}


OWN = """
from vinesim.policies import OnlinePolicy, deadline_us, fastest_free, next_pending, nothing, oldest_pending, start


class Slack(OnlinePolicy):
    '''The request that is due first, at each event: it does not wait for the rest of the instant.'''

    groups = ("application",)
    sees_every_event = SEES

    @staticmethod
    def decide(model, state, view):
        best, task = -1, oldest_pending(model, state)
        while task >= 0:
            if best < 0 or deadline_us(model, state, task) < deadline_us(model, state, best):
                best = task
            task = next_pending(model, state, task)
        unit = fastest_free(model, state, best) if best >= 0 else -1
        return start(best, unit) if unit >= 0 else nothing()
"""
POLICIES = [
    "slack.py:Slack",
    "seeing.py:Slack",
    "fcfs",
    "edf",
    "symphony",
    "rb_ljf_ba",
    "rb_fifo",
    "fcfs\noptions: {consolidate: true}",
]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_simulation_repeats_every_start(tmp_path, policy):
    recorded = lived(tmp_path, CLUSTER.replace("POLICY", policy).replace("AHEAD", "0"))
    check(recorded)
    waited = recorded.result.tasks["init_us"] - recorded.scenario.workload.arrival_us
    assert (waited > 0).mean() > 0.2  # the order mattered


@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize("policy", ["slack.py:Slack", "seeing.py:Slack", "fcfs", "edf", "symphony"])
def test_it_does_so_where_units_take_requests_ahead(tmp_path, policy, ahead):
    recorded = lived(tmp_path, CLUSTER.replace("POLICY", policy).replace("AHEAD", str(ahead)))
    check(recorded)
    ours = recorded.result.tasks
    assert (ours["granted_us"] < ours["init_us"]).mean() > 0.05  # some waited ahead


@pytest.mark.parametrize("policy", ["delay\noptions: {wait_us: 2345.678, wait_for: node}", "symphony_recommended"])
def test_it_does_so_on_a_drawn_cluster(tmp_path, policy):
    check(lived_as_drawn(tmp_path, policy, 2))


def test_it_does_so_where_a_policy_decides_at_times_of_its_own(tmp_path):
    policy = "rb_fifo\noptions: {polling_us: 700.1}"
    recorded = lived(tmp_path, CLUSTER.replace("POLICY", policy).replace(", ahead: AHEAD", ""))
    check(recorded)
    at_us = recorded.result.tasks["init_us"] + recorded.begin_us
    assert np.array_equal(np.round(at_us / 700.1) * 700.1, at_us)


def test_what_the_policy_dropped_is_in_the_record(tmp_path):
    recorded = lived(
        tmp_path, CLUSTER.replace("POLICY", "edf_drop").replace("AHEAD", "1").replace("9 ms", "3 ms"), rate=1.6
    )
    check(recorded)
    n_dropped = int(np.isfinite(recorded.result.tasks["dropped_us"]).sum())
    assert 0 < n_dropped == recorded.result.summary["jobs"]["refused"] < 400
    assert (recorded.scenario.workload.n_jobs, recorded.left_out) == (400, ())
    lines = {line.what: line for line in validate(recorded, 3, engine="reference")}
    line = lines["requests dropped"]
    assert line.measured == line.in_full == pytest.approx(100.0 * n_dropped / 400)
    assert lines["response, mean"].in_full == pytest.approx(lines["response, mean"].measured, rel=1e-12)
    assert np.isfinite(recorded.drawn(0).workload.times_us).all()


FORGETS = [policy for policy in POLICIES if not policy.startswith("rb_")]


@pytest.mark.parametrize("policy", [*FORGETS, "edf_drop", "symphony_recommended"])
def test_what_was_cancelled_is_withdrawn_in_the_simulation(tmp_path, policy):
    text = CLUSTER.replace("POLICY", policy).replace("AHEAD", "1")
    recorded = lived(tmp_path, text, cancelled=0.3, rate=1.3)
    check(recorded)
    withdraw_us = recorded.scenario.workload.withdraw_us
    assert np.isfinite(withdraw_us).sum() == recorded.result.summary["jobs"]["withdrawn"] > 20
    assert [one.n_starts for one in recorded.left_out] in ([], [0])  # the policy did not know some
    lines = {line.what: line for line in validate(recorded, 2, engine="reference")}
    line = lines["requests cancelled"]
    assert line.measured == line.in_full > 5.0


def test_where_the_policy_starts_what_was_cancelled_this_is_said(tmp_path):
    text = CLUSTER.replace("POLICY", "rb_fifo").replace("AHEAD", "0")
    recorded = lived(tmp_path, text, cancelled=0.3, rate=1.3)
    words = next(str(one) for one in recorded.left_out if one.n_starts)
    said = "requests that were cancelled, which rb_fifo starts all the same; this may touch"
    assert re.fullmatch(rf"\d+ {said} \d+ starts", words)


ANY_CLUSTER = [
    "fcfs", "fcfs\noptions: {consolidate: true}", "edf", "edf_drop", "least_laxity", "deadline_consolidation",
    "symphony", "symphony_recommended", "symphony\noptions: {defer: 'yes'}", "high", "pref", "flat", "closer_to_data",
    "pref\noptions: {in_order: true}", "delay\noptions: {wait_us: 2345.678, wait_for: node}", "drf", "earliest_finish",
    "random_fit", "least_requests", "power_of_two", "earliest_completion", "easy_backfill", "conservative_backfill",
    "rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ba\noptions: {polling_us: 700.1, estimate: learned}",
]  # fmt: skip
WITHOUT_AHEAD = ("rb_", "easy", "conservative", "earliest_completion")
KEEPS = (*WITHOUT_AHEAD, "drf")  # what is cancelled


@pytest.mark.slow
@pytest.mark.parametrize("policy", ANY_CLUSTER)
def test_it_does_so_on_many_drawn_clusters(tmp_path, policy):
    for seed in range(10, 22):
        place = tmp_path / str(seed)
        place.mkdir()
        check(lived_as_drawn(place, policy, seed, 0.0 if policy.startswith(KEEPS) else 0.3 * (seed % 2)))


def lived_as_drawn(folder, policy, seed, cancelled=0.0):
    random = np.random.default_rng(seed)
    text, n_units = drawn(random, policy, not policy.startswith(WITHOUT_AHEAD))
    turn_us = float(random.choice([TURN_US, 1000.0, 100.0]))
    rate = random.uniform(0.2, 1.2) * n_units / 4 * turn_us / TURN_US
    return lived(folder, text, seed, 150, turn_us, rate, cancelled)


def drawn(random, policy, may_take_ahead):
    """Return a cluster file with any types, applications and nodes, and how many units it has."""
    n_types, n_nodes, n_applications = random.integers(1, 4, 3).tolist()
    takes_ahead = may_take_ahead and random.random() < 0.5
    types = [
        {
            "name": f"P{p}",
            **({"ahead": int(random.integers(0, 3))} if takes_ahead else {"capacity": int(random.integers(1, 4))}),
        }
        for p in range(n_types)
    ]
    tasks = [f"T{t}" for t in range(random.integers(1, n_applications + 1))]
    times = {
        f"P{p}": {task: f"{random.integers(1, 6)} ms" for task in tasks if p == 0 or random.random() < 0.85}
        for p in range(n_types)
    }
    applications = [
        {
            "name": f"A{a}",
            "task_type": tasks[a % len(tasks)],
            "relative_deadline": f"{random.integers(3, 40)} ms",
            "per_size": bool(random.random() < 0.5),
            "max_consolidated": int(random.choice([1, 3, 8])),
            "demand": 1.0 if takes_ahead else float(random.choice([0.5, 1.0])),
            "kernel": "echo",
        }
        for a in range(n_applications)
    ]
    nodes = [
        {f"P{p}": int(random.integers(1, 3)) for p in range(n_types) if p == n % n_types or random.random() < 0.6}
        for n in range(n_nodes)
    ]
    text = f"""
processor_types: {json.dumps(types)}
task_types: {json.dumps(tasks)}
affinity: {{times: {json.dumps(times)}}}
applications: {json.dumps(applications)}
kernels: kernels.py
nodes: {json.dumps([{"name": f"n{n}", "units": units} for n, units in enumerate(nodes)])}
policy: {policy}
engine: reference
lease: 1000 s
grace: 5 s
limits: {{pending: 5000}}
"""
    return text, sum(sum(units.values()) for units in nodes)


def check(recorded):
    """The simulation starts each request when and where it has started, until something happens that the record leaves
    out, such as a request that is cancelled in the turn in which a timer of the policy starts it."""
    again, ours = recorded.repeated(engine="reference").tasks, recorded.result.tasks
    names = {"unit", "granted_us", "init_us", "finish_us", "dropped_us"} & {*again, *ours}
    assert {"unit", "init_us", "finish_us"} <= names
    since_us = min((one.since_us for one in recorded.left_out if one.n_starts), default=np.inf) - recorded.begin_us
    granted_us = ours["granted_us" if "granted_us" in ours else "init_us"]
    is_before = granted_us < since_us if since_us < np.inf else np.ones(len(granted_us), bool)
    assert is_before.sum() > 10
    for name in sorted(names):
        np.testing.assert_array_equal(again[name][is_before], ours[name][is_before], name)


def test_the_managers_clock_shows_times_whose_sums_are_exact():
    clock = ClusterClock(0.0, 1e6 / 3)
    times = [clock.now_us() for _ in range(100)]
    assert all(time % GRID_US == 0.0 for time in times)
    assert times == sorted(times)
