"""What a live run learned at which instant is in its record: the simulation repeats every start of it."""

import heapq

import numpy as np
import pytest

from tests.live.clusters import CoreTest
from vinesim.engine.simulate import simulate
from vinesim.live.clock import GRID_US, ClusterClock
from vinesim.live.folder import JOURNAL
from vinesim.live.record import record

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


def lived(folder, policy, n_requests=400, seed=1, ahead=0):
    """A run in which a turn of the manager includes several arrivals and ends, at times that are no round numbers."""
    for name, sees in (("slack.py", "False"), ("seeing.py", "True")):
        (folder / name).write_text(OWN.replace("SEES", sees))
    text = CLUSTER.replace("POLICY", policy).replace("AHEAD", str(ahead))
    core, random = CoreTest(folder, text), np.random.default_rng(seed)
    core.clock = core.core.clock = OnGrid()
    core.client()
    for node in ("n0", "n1"):
        core.turn((node, {"op": "agent.hello", "node": node, "epoch": 0, "ready": [0, 1, 2, 3]}))
    ends, n_sent, free_us = [], 0, {}  # when each unit is done with what it has
    while n_sent < n_requests or ends:
        n_new = int(random.poisson(1.1)) if n_sent < n_requests else 0
        messages = [arrival(random, n_sent + i) for i in range(n_new)]
        n_sent += n_new
        while ends and ends[0][0] <= core.clock.us:
            _, _, node, attempt, n, took_us = heapq.heappop(ends)
            end = {"attempt": attempt, "epoch": 1, "outcome": "done", "results": [{"result": b"\x01"}] * n}
            messages.append((node, {"op": "agent.ended", "ends": [{**end, "execution_us": took_us}]}))
        sent = core.turn(*[messages[i] for i in random.permutation(len(messages))], after_us=TURN_US)
        for node, run in [(peer, m) for peer, m in sent if m["op"] == "run"]:
            slow = 1 if run["unit"] in (0, 3) else 2
            took_us = float(random.lognormal(7.0, 0.5)) * len(run["payloads"]) * slow
            begun_us = max(core.clock.us, free_us.get(run["unit"], 0.0)) if ahead and slow == 1 else core.clock.us
            free_us[run["unit"]] = begun_us + took_us
            end = begun_us + took_us, run["attempt"], node, run["attempt"], len(run["payloads"]), took_us
            heapq.heappush(ends, end)
    assert core.core.counters.n_done == n_sent
    core.core.journal.close()
    (folder / "state" / "journal").rename(folder / "state" / JOURNAL)
    return record(folder / "state")


class OnGrid:
    """A clock that the test moves, and that shows the time as the manager's does."""

    def __init__(self):
        self.us = 1e6

    def now_us(self):
        return self.us // GRID_US * GRID_US


def arrival(random, number):
    name = ("LONG", "SHORT")[random.integers(0, 2)]
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
    recorded = lived(tmp_path, policy)
    again, ours = simulate(recorded.in_full, engine="reference").tasks, recorded.result.tasks
    assert np.array_equal(again["unit"], ours["unit"])
    assert np.array_equal(again["init_us"], ours["init_us"])
    assert np.array_equal(again["finish_us"], ours["finish_us"])
    waited = ours["init_us"] - recorded.scenario.workload.arrival_us
    assert (waited > 0).mean() > 0.2  # the order mattered


@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize("policy", ["slack.py:Slack", "seeing.py:Slack", "fcfs", "edf", "symphony"])
def test_it_does_so_where_units_take_requests_ahead(tmp_path, policy, ahead):
    recorded = lived(tmp_path, policy, ahead=ahead)
    again, ours = simulate(recorded.in_full, engine="reference").tasks, recorded.result.tasks
    for name in ("unit", "granted_us", "init_us", "finish_us"):
        assert np.array_equal(again[name], ours[name]), name
    assert (ours["granted_us"] < ours["init_us"]).mean() > 0.05  # some waited ahead


def test_the_managers_clock_shows_times_whose_sums_are_exact():
    clock = ClusterClock(0.0, 1e6 / 3)
    times = [clock.now_us() for _ in range(100)]
    assert all(time % GRID_US == 0.0 for time in times)
    assert times == sorted(times)
