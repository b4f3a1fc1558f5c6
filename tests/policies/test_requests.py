"""The policies for requests: the rule of each, read directly, against what it does; and what must always hold."""

import math
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.test_battery import watched
from tests.properties.equivalence import differences
from tests.requests_scenarios import request_scenario
from tests.strategies import all_options
from vinesim.policies.registry import policies

NAMES = ("symphony", "symphony_recommended", "fcfs", "edf", "edf_drop", "least_laxity", "deadline_batch")
EVERY = pytest.mark.parametrize("name", NAMES)


def runs(name, n, **kind):
    """Scenarios of n seeds with the options of the policy in turn, and their results."""
    choices = all_options(policies()[name])
    for seed in range(n):
        scenario = request_scenario(seed, name, choices[seed % len(choices)], **kind)
        yield scenario, vs.simulate(scenario)


@EVERY
def test_both_engines_give_the_same_tables(name):
    choices = all_options(policies()[name])
    for seed in range(max(150, len(choices))):
        assert differences(request_scenario(seed, name, choices[seed % len(choices)])) == []


@EVERY
def test_every_request_ends_once(name):
    dropped = 0
    for scenario, result in runs(name, 150):
        finish = result.outcome.task_finish_us
        assert result.exit_reason == "ALL_DONE", scenario.seed
        gave_up = np.isnan(finish)
        dropped += gave_up.sum()
        assert (result.outcome.task_unit[gave_up] < 0).all()
        assert (finish[~gave_up] >= result.tasks["arrival_us"][~gave_up]).all()
        late = scenario.workload.deadline_us[result.tasks["job"]]
        assert (result.tasks["init_us"][~gave_up] <= finish[~gave_up]).all()
        assert np.isfinite(late).all()
    assert (dropped > 0) == (name in ("edf_drop", "deadline_batch"))


@EVERY
def test_batches_stay_within_the_limit_and_units_within_their_room(name):
    largest = 0
    for scenario, result in runs(name, 150):
        tasks, work = result.tasks, scenario.workload
        code = work.application[tasks["job"]]
        capacity = np.array([p.capacity for p in scenario.datacenter.processor_types])
        leads = np.ones(work.n_tasks, bool)
        leads[result.outcome.followers] = False
        for unit in np.unique(tasks["unit"][tasks["unit"] >= 0]):
            here = np.flatnonzero(tasks["unit"] == unit)
            for start in np.unique(tasks["init_us"][here]):
                for a in np.unique(code[here]):
                    batch = here[(tasks["init_us"][here] == start) & (code[here] == a)]
                    n_leads = leads[batch].sum()
                    assert len(batch) <= scenario.applications[a].batch_limit * n_leads
                    largest = max(largest, len(batch))
            begin, end = tasks["init_us"][here[leads[here]]], tasks["finish_us"][here[leads[here]]]
            room = capacity[tasks["unit_type"][here[0]]]
            for time in begin:
                assert ((begin <= time) & (time < end)).sum() <= room  # a GPU never runs two batches
    assert largest > 1


@EVERY
def test_requests_of_several_nodes_start_at_once_on_nodes_of_one_type(name):
    seen = 0
    for scenario, result in runs(name, 150):
        first = scenario.workload.job_first
        for job in np.flatnonzero(np.diff(first) > 1):
            part = slice(first[job], first[job + 1])
            if (result.tasks["unit"][part] >= 0).all():
                assert len(set(result.tasks["init_us"][part])) == 1
                assert len(set(result.tasks["unit_type"][part])) == 1
                assert len(set(result.tasks["shelf"][part])) == first[job + 1] - first[job]
                seen += 1
            else:
                assert (result.tasks["unit"][part] < 0).all()
    assert seen > 100


@EVERY
def test_applications_stay_on_their_nodes(name):
    checked = 0
    for scenario, result in runs(name, 100):
        code = scenario.workload.application[result.tasks["job"]]
        for a, application in enumerate(scenario.applications):
            used = {(int(r), int(s)) for r, s in zip(result.tasks["rack"], result.tasks["shelf"], strict=True)}
            used = {
                (0, int(s))
                for s, c, u in zip(result.tasks["shelf"], code, result.tasks["unit"], strict=True)
                if c == a and u >= 0
            }
            if application.nodes:
                assert used <= set(application.nodes)
                checked += len(used)
    assert checked > 20


@EVERY
def test_the_order_within_an_application_is_kept(name):
    for scenario, result in runs(name, 150):
        if name in ("edf", "edf_drop", "least_laxity") and scenario.options["consolidate"] != "yes":
            continue
        job = result.tasks["job"]
        for a in range(len(scenario.applications)):
            mine = (scenario.workload.application[job] == a) & (result.tasks["unit"] >= 0)
            assert (np.diff(result.tasks["init_us"][mine]) >= 0).all()


def test_fcfs_edf_and_symphony_are_one_for_an_application_of_constant_deadline_without_batches():
    """On one processor type, where nothing is to be chosen but the order."""
    for seed in range(60):
        base = request_scenario(seed, "fcfs", gangs=False)
        only_gpus = base.datacenter.unit_type > 0
        center = vs.Datacenter(
            np.ones(only_gpus.sum(), int),
            base.datacenter.rack[only_gpus],
            base.datacenter.shelf[only_gpus],
            base.datacenter.processor_types,
            1,
            base.datacenter.n_shelves,
        )
        work = replace(
            base.workload,
            application=np.zeros(base.workload.n_jobs),
            job_task_type=np.zeros(base.workload.n_jobs),
            deadline_us=None,
        )
        one = replace(base.applications[0], batch_limit=1, per_size=False, nodes=())
        tables = []
        for name in ("fcfs", "edf", "symphony"):
            scenario = replace(base, datacenter=center, workload=work, applications=(one,), policy=name)
            tables.append(vs.simulate(scenario).outcome.task_finish_us.tobytes())
        assert len(set(tables)) == 1


def test_the_power_changes_nothing_when_all_loads_are_equal():
    """Item by item: within a sign |s|^p L orders as |s| L^(1/p); with the load left out every p orders alike."""
    tables = {}
    for seed in range(60):
        for options in ({"power": 1.0}, {"power": 3.0}, {"power": 7.0}, {"urgency": "linear"}):
            scenario = request_scenario(seed, "symphony", {**options, "load": "off"})
            tables.setdefault(seed, set()).add(vs.simulate(scenario).outcome.task_finish_us.tobytes())
    assert all(len(found) == 1 for found in tables.values())
    differ = 0
    for seed in range(60):
        one, other = (
            vs.simulate(request_scenario(seed, "symphony", {"power": p})).outcome.task_finish_us for p in (1.0, 7.0)
        )
        differ += one.tobytes() != other.tobytes()
    assert differ > 0  # with loads it does


# --- each rule, read directly ---


def pieces(scenario, model, state, view):
    """(application, first pending request, pending requests of it) as lists, from the workload only."""
    job = {t: int(model.task_job[t]) for t in state.pending}
    queues = {}
    for task in sorted(state.pending):
        if task == scenario.workload.job_first[job[task]]:
            queues.setdefault(int(scenario.workload.application[job[task]]), []).append(task)
    return queues


def places(scenario, model, state, application, processor_type):
    """Units of a type with room, on the application's nodes, one a node: the least loaded first."""
    nodes = scenario.applications[application].nodes
    busy = {v: sum(len(state.running[u]) for u in np.flatnonzero(model.unit_node == v)) for v in set(model.unit_node)}
    found = {}
    for u in np.flatnonzero(model.unit_type == processor_type):
        v = model.unit_node[u]
        is_there = not nodes or (int(model.node_rack[v]), int(model.node_shelf[v])) in nodes
        if is_there and len(state.running[u]) < model.unit_capacity[u]:
            found.setdefault(int(v), int(u))
    if len(found) < scenario.applications[application].nodes_per_request:
        return []
    return [u for _, _, u in sorted((busy[v], u, u) for v, u in found.items())]


def fastest(scenario, model, application):
    """Processor types in use, the fastest first."""
    kinds = sorted(set(map(int, model.unit_type)))
    return sorted(kinds, key=lambda p: (-model.affinity[p, application], p))


class Rules:
    """The choice of each policy: (task, number of requests, unit), None, or ("drop", task)."""

    def __init__(self, scenario, policy):
        self.scenario, self.policy = scenario, policy
        self.seen = {}  # (application, processor type) -> sizes, times

    def time(self, model, task, a, p):
        return model.overhead_us[p, a] + model.task_operations[task] / model.affinity[p, a]

    def queue(self, model, state, view, key):
        queues = pieces(self.scenario, model, state, view)
        n = 1 if self.policy.consolidate == "yes" else None  # the first of each application stands for it
        task = min((t for tasks in queues.values() for t in tasks[:n]), key=lambda t: (key(t), t))
        a = int(self.scenario.workload.application[model.task_job[task]])
        return task, a, queues

    def strict(self, model, state, view, key):
        task, a, queues = self.queue(model, state, view, key)
        for p in fastest(self.scenario, model, a):
            units = places(self.scenario, model, state, a, p)
            if units:
                limit = self.scenario.applications[a].batch_limit
                is_first = queues[a][0] == task
                count = min(limit, len(queues[a])) if self.policy.consolidate != "no" and is_first else 1
                return task, count, units[0]
        return None

    def fcfs(self, model, state, view):
        return self.strict(model, state, view, lambda t: t)

    def due(self, model, task):
        return self.scenario.workload.deadline_us[model.task_job[task]]

    def edf(self, model, state, view):
        return self.strict(model, state, view, lambda t: self.due(model, t))

    def shortest(self, model, task):
        a = int(self.scenario.workload.application[model.task_job[task]])
        application = self.scenario.applications[a]
        nodes = {p: set() for p in fastest(self.scenario, model, a)}
        for unit, p in enumerate(model.unit_type):
            v = model.unit_node[unit]
            if not application.nodes or (int(model.node_rack[v]), int(model.node_shelf[v])) in application.nodes:
                nodes[int(p)].add(v)
        usable = [p for p in nodes if len(nodes[p]) >= application.nodes_per_request]
        return min(self.time(model, task, a, p) for p in usable)

    def edf_drop(self, model, state, view):
        task, _, _ = self.queue(model, state, view, lambda t: self.due(model, t))
        if view.now_us + self.shortest(model, task) > self.due(model, task):
            return "drop", task
        return self.edf(model, state, view)

    def least_laxity(self, model, state, view):
        def key(task):
            return self.due(model, task) - self.shortest(model, task)

        return self.strict(model, state, view, key)

    def predicted(self, a, p, size):
        """Least squares through the last observations, by NumPy."""
        sizes, times = (np.array(v[-self.policy.window :]) for v in self.seen.get((a, p), ([], [])))
        if not len(sizes):
            return 0.0
        if len(set(sizes)) == 1:
            return times.mean()
        slope, base = np.polyfit(sizes, times, 1)
        return max(0.0, slope * size + base if slope > 0 else times.mean())

    def symphony(self, model, state, view):
        best = None
        for a, tasks in sorted(pieces(self.scenario, model, state, view).items()):
            application = self.scenario.applications[a]
            load = len(tasks) / application.average_load
            choice = None
            for p in fastest(self.scenario, model, a):
                units = places(self.scenario, model, state, a, p)
                if units:
                    size = model.task_operations[tasks[0]]
                    slack = self.due(model, tasks[0]) - view.now_us - self.predicted(a, p, size)
                    value = -math.copysign(abs(slack) ** self.policy.power, slack) * load
                    if choice is None or value < choice[0] - 1e-9 * abs(value):
                        choice = (value, tasks[0], min(application.batch_limit, len(tasks)), units[0])
            if choice is not None and (best is None or choice[0] > best[0] + 1e-9 * abs(best[0])):
                best = choice
        return None if best is None else best[1:]


@pytest.mark.parametrize("name", ["fcfs", "edf", "edf_drop", "least_laxity", "symphony"])
def test_the_rule_is_its_definition(name):
    started = 0

    def compare(policy, model, state, view, action, before):
        nonlocal started, told, in_parts
        if name == "symphony" and view.task >= 0 and view.task != told:
            told = view.task
            a = int(scenario.workload.application[model.task_job[told]])
            key = (a, int(model.unit_type[view.unit]))
            size = model.task_operations[[told, *state.together[told]]].sum()
            sizes, times = rules.seen.setdefault(key, ([], []))
            sizes.append(size)
            times.append(view.now_us - state.task_init_us[told])
        is_more = state.next_finish_us() == view.now_us or state.next_arrival_us() == view.now_us
        if is_more or not state.pending:
            assert action.task == -1
            return
        if in_parts:  # the other parts of the request
            in_parts -= 1
            assert action.task >= 0
            return
        expected = getattr(rules, name)(model, state, view)
        if expected is None:
            assert action.task == -1
            return
        started += 1
        task = expected[1] if expected[0] == "drop" else expected[0]
        n_parts = int(np.diff(scenario.workload.job_first)[model.task_job[task]])
        in_parts = n_parts - 1
        if expected[0] == "drop":
            assert (action.task, action.n_tasks, action.unit) == (task, 0, -1)
        else:
            assert (action.task, action.n_tasks, action.unit) == expected

    choices = [{}] if name == "symphony" else all_options(policies()[name])
    for seed in range(80):
        scenario = request_scenario(seed, name, choices[seed % len(choices)])
        policy = policies()[name].from_options(choices[seed % len(choices)])
        rules, told, in_parts = Rules(scenario, policy), -1, 0
        watched(scenario, compare)
    assert started > 500
