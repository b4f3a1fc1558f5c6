"""The policies for requests: the rule of each, read directly, against what it does; and what must always hold."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import vinesim as vs
from tests.policies.test_battery import watched
from tests.requests_scenarios import request_scenario
from tests.strategies import all_options
from vinesim.policies.registry import policies

NAMES = ("symphony", "symphony_recommended", "fcfs", "edf", "edf_drop", "least_laxity", "deadline_consolidation")
EVERY = pytest.mark.parametrize("name", NAMES)


@cache
def runs(name):
    """Scenarios with the options of the policy in turn, and their results, which several tests look at."""
    choices = all_options(policies()[name])
    scenarios = [request_scenario(seed, name, choices[seed % len(choices)]) for seed in range(75)]
    return [(scenario, vs.simulate(scenario)) for scenario in scenarios]


@EVERY
def test_every_request_ends_once(name):
    dropped = 0
    for scenario, result in runs(name):
        finish = result.outcome.task_finish_us
        assert result.exit_reason == "ALL_DONE", scenario.seed
        gave_up = np.isnan(finish)
        dropped += gave_up.sum()
        assert (result.outcome.task_unit[gave_up] < 0).all()
        assert (finish[~gave_up] >= result.tasks["arrival_us"][~gave_up]).all()
        late = scenario.workload.deadline_us[result.tasks["job"]]
        assert (result.tasks["init_us"][~gave_up] <= finish[~gave_up]).all()
        assert np.isfinite(late).all()
    assert (dropped > 0) == (name in ("edf_drop", "deadline_consolidation"))


@EVERY
def test_consolidation_stays_within_the_limit_and_units_within_their_room(name):
    largest = 0
    for scenario, result in runs(name):
        tasks, work = result.tasks, scenario.workload
        code = work.application[tasks["job"]]
        capacity = np.array([p.capacity for p in scenario.datacenter.processor_types])
        leads = np.ones(work.n_tasks, bool)
        leads[result.outcome.followers] = False
        for unit in np.unique(tasks["unit"][tasks["unit"] >= 0]):
            here = np.flatnonzero(tasks["unit"] == unit)
            for start in np.unique(tasks["init_us"][here]):
                for a in np.unique(code[here]):
                    as_one = here[(tasks["init_us"][here] == start) & (code[here] == a)]
                    n_leads = leads[as_one].sum()
                    assert len(as_one) <= scenario.applications[a].max_consolidated * n_leads
                    largest = max(largest, len(as_one))
            begin, end = tasks["init_us"][here[leads[here]]], tasks["finish_us"][here[leads[here]]]
            room = capacity[tasks["unit_type"][here[0]]]
            for time in begin:
                assert ((begin <= time) & (time < end)).sum() <= room  # a GPU never runs two leaders
    assert largest > 1


@EVERY
def test_gangs_start_at_once_on_nodes_of_one_type(name):
    seen = 0
    for scenario, result in runs(name):
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
    assert seen > 50


@EVERY
def test_applications_stay_on_their_nodes(name):
    checked = 0
    for scenario, result in runs(name):
        code = scenario.workload.application[result.tasks["job"]]
        for a, application in enumerate(scenario.applications):
            mine = (code == a) & (result.tasks["unit"] >= 0)
            used = set(zip(result.tasks["rack"][mine].tolist(), result.tasks["shelf"][mine].tolist(), strict=True))
            if application.nodes:
                assert used <= set(application.nodes)
                checked += len(used)
    assert checked > 20


@EVERY
def test_the_order_within_an_application_is_kept(name):
    for scenario, result in runs(name):
        if name in ("edf", "edf_drop", "least_laxity") and scenario.options["consolidate"] != "yes":
            continue
        job = result.tasks["job"]
        for a in range(len(scenario.applications)):
            mine = (scenario.workload.application[job] == a) & (result.tasks["unit"] >= 0)
            assert (np.diff(result.tasks["init_us"][mine]) >= 0).all()


def test_fcfs_edf_and_symphony_are_one_for_an_application_of_constant_deadline_without_consolidation():
    """On one processor type, where nothing is to be chosen but the order."""
    for seed in range(25):
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
        one = replace(base.applications[0], max_consolidated=1, per_size=False, nodes=())
        tables = []
        for name in ("fcfs", "edf", "symphony"):
            scenario = replace(base, datacenter=center, workload=work, applications=(one,), policy=name)
            tables.append(vs.simulate(scenario).outcome.task_finish_us.tobytes())
        assert len(set(tables)) == 1


def test_the_power_changes_nothing_when_all_loads_are_equal():
    """Item by item: within a sign |s|^p L orders as |s| L^(1/p); with the load left out every p orders alike."""
    tables = {}
    for seed in range(25):
        for options in ({"power": 1.0}, {"power": 3.0}, {"power": 7.0}, {"urgency": "linear"}):
            scenario = request_scenario(seed, "symphony", {**options, "load": "off"})
            tables.setdefault(seed, set()).add(vs.simulate(scenario).outcome.task_finish_us.tobytes())
    assert all(len(found) == 1 for found in tables.values())
    differ = 0
    for seed in range(25):
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
    if len(found) < scenario.applications[application].gang_size:
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
        self.slowdown = {}  # of each task when it started
        self.expected = {}  # when what was last started on a unit is expected to end
        self.loads = {}  # application -> mean of its pending requests, the last number, when that was

    def time(self, model, task, a, p):
        return model.overhead_us[p, a] + model.task_operations[task] / model.affinity[p, a]

    def queue(self, model, state, view, key):
        queues = pieces(self.scenario, model, state, view)
        n = 1 if self.policy.consolidate in (True, "yes") else None  # the first of each application stands for it
        task = min((t for tasks in queues.values() for t in tasks[:n]), key=lambda t: (key(t), t))
        a = int(self.scenario.workload.application[model.task_job[task]])
        return task, a, queues

    def strict(self, model, state, view, key):
        task, a, queues = self.queue(model, state, view, key)
        for p in fastest(self.scenario, model, a):
            units = places(self.scenario, model, state, a, p)
            if units:
                limit = self.scenario.applications[a].max_consolidated
                is_first = queues[a][0] == task
                count = min(limit, len(queues[a])) if self.policy.consolidate not in (False, "no") and is_first else 1
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
        usable = [p for p in nodes if len(nodes[p]) >= application.gang_size]
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

    def deadline_consolidation(self, model, state, view):
        best = None
        for tasks in pieces(self.scenario, model, state, view).values():
            task, a = tasks[0], int(self.scenario.workload.application[model.task_job[tasks[0]]])
            due, fastest_us = self.due(model, task), self.shortest(model, task)
            if view.now_us + fastest_us > due:
                return "drop", task
            for p in fastest(self.scenario, model, a):
                units = places(self.scenario, model, state, a, p)
                limit = min(self.scenario.applications[a].max_consolidated, len(tasks)) if units else 0
                fits = [k for k in range(1, limit + 1) if self.as_one_us(model, state, tasks[:k], a, p, units[0], True)
                        <= due - view.now_us]  # fmt: skip
                if fits:
                    if best is None or (due - fastest_us, a) < best[0]:
                        best = (due - fastest_us, a), (task, max(fits), units[0])
                    break
        return None if best is None else best[1]

    def as_one_us(self, model, state, tasks, a, p, unit, with_others):
        """True time, but for noise, of requests that start together."""
        alone = model.overhead_us[p, a] + sum(model.task_operations[t] / model.affinity[p, a] for t in tasks)
        return alone * (self.slowdown_with_others(model, state, unit) if with_others else 1.0)

    def slowdown_with_others(self, model, state, unit):
        """How much slower a task is that joins a unit."""
        return max(1.0, (len(state.running[unit]) + 1) / model.unit_parallelism[unit])

    def learn(self, model, state, view, task, size):
        """Learn from a completion."""
        unit, a = view.unit, int(self.scenario.workload.application[model.task_job[task]])
        took = view.now_us - state.task_init_us[task]
        if self.policy.contention:
            took /= (
                self.slowdown[task] + self.slowdown_with_others(model, state, unit)
            ) / 2  # when it began, and when it ended
        sizes, times = self.seen.setdefault((a, int(model.unit_type[unit])), ([], []))
        sizes.append(size)
        times.append(took)

    def predicted(self, a, p, size):
        """Least squares through the last observations, by NumPy; 0 without any."""
        sizes, times = (np.array(v[-self.policy.window :]) for v in self.seen.get((a, p), ([], [])))
        if not len(sizes):
            return 0.0
        if len(set(sizes)) == 1:
            return times.mean()
        slope, base = np.polyfit(sizes, times, 1)
        return max(0.0, slope * size + base if slope > 0 else times.mean())

    def estimated(self, model, a, p, size):
        """The same, or without any the longest of the other types, if so wished."""
        if (a, p) in self.seen or self.policy.prior == "zero":
            return self.predicted(a, p, size)
        return max(self.predicted(a, other, size) for other in fastest(self.scenario, model, a))

    def consolidated(self, model, tasks, a, p, room, slowdown):
        """How many of the requests start together."""
        most = min(self.scenario.applications[a].max_consolidated, len(tasks))
        if not self.policy.trim or (a, p) not in self.seen:
            return most
        sizes = np.cumsum([model.task_operations[t] for t in tasks[:most]])
        fits = [k + 1 for k, size in enumerate(sizes) if self.predicted(a, p, size) * slowdown <= room + 1e-9]
        return max(fits, default=most)

    def mean_load(self, a, n, now):
        tau = self.policy.load_tau_us
        if not tau:
            return n
        mean, last, then = self.loads.get(a, (0.0, 0.0, 0.0))
        mean = last + (mean - last) * math.exp((then - now) / tau)
        self.loads[a] = mean, float(n), now
        return max(mean, 1e-9)

    def symphony(self, model, state, view):
        best = None
        for a, tasks in sorted(pieces(self.scenario, model, state, view).items()):
            load = self.mean_load(a, len(tasks), view.now_us) / self.scenario.applications[a].average_load
            chosen = self.resource(model, state, view, a, tasks)
            if chosen is None:
                continue
            slack, p = chosen
            value = self.urgency(slack, load)
            if best is None or value > best[0] + 1e-9 * abs(best[0]):
                best = value, a, p, tasks
        if best is None:
            return None
        _, a, p, tasks = best
        unit = places(self.scenario, model, state, a, p)[0]
        slowdown = self.slowdown_with_others(model, state, unit)
        heeded = slowdown if self.policy.contention else 1.0
        count = self.consolidated(model, tasks, a, p, self.due(model, tasks[0]) - view.now_us, heeded)
        size = sum(model.task_operations[t] for t in tasks[:count])
        self.slowdown[tasks[0]] = slowdown
        self.expected[unit] = view.now_us + self.estimated(model, a, p, size) * heeded
        if a in self.loads:
            mean, n, then = self.loads[a]
            self.loads[a] = mean, n - count, then
        return tasks[0], count, unit

    symphony_recommended = symphony

    def resource(self, model, state, view, a, tasks):
        """(slack, processor type) by equation 5; None: the application waits."""
        o, application = self.policy, self.scenario.applications[a]
        free, busy = [], []
        for p in fastest(self.scenario, model, a):
            nodes = {int(model.unit_node[u]) for u in self.allowed(model, application, p)}
            if len(nodes) < application.gang_size:
                continue
            units = places(self.scenario, model, state, a, p)
            slowdown = self.slowdown_with_others(model, state, units[0]) if units and o.contention else 1.0
            room, count = self.due(model, tasks[0]) - view.now_us, 1
            if o.estimate == "consolidated":
                count = self.consolidated(model, tasks, a, p, room, slowdown)
            size = sum(model.task_operations[t] for t in tasks[:count])
            slack = room - self.estimated(model, a, p, size) * slowdown
            if units:
                free.append((slack, p))
            elif self.may_wait(model, view, application, tasks, p, slack):
                busy.append((slack, p))
        if not free:
            return None
        most, longest = first_largest(free, lambda s: s), max((s for s, _ in busy), default=-math.inf)
        in_time = [found for found in free if found[0] >= -1e-9]
        # Rounding decides nothing: in the scenarios a slack is often 0, but for rounding.
        if (o.resource == "wait" and longest > most[0] + 1e-9) or (o.defer != "no" and most[0] < -1e-9 <= longest):
            return None
        if o.resource == "absolute":
            return first_largest(free, lambda s: -abs(s))
        if o.resource == "fit" and in_time:
            return first_largest(in_time, lambda s: -s)
        return most

    def allowed(self, model, application, p):
        """The units of a type on the application's nodes."""
        nodes = application.nodes
        return [
            u
            for u in np.flatnonzero(model.unit_type == p)
            if not nodes
            or (int(model.node_rack[model.unit_node[u]]), int(model.node_shelf[model.unit_node[u]])) in nodes
        ]

    def may_wait(self, model, view, application, tasks, p, slack):
        """Whether it is worth to wait for a type that is taken."""
        if self.policy.defer != "bounded":
            return True
        if len(tasks) > self.policy.backlog * application.max_consolidated:
            return False
        free_us = [self.expected.get(u, 0.0) for u in self.allowed(model, application, p)]
        return min(free_us) <= view.now_us + slack

    def urgency(self, slack, load):
        """Equations 2 and 4; the exponential as its logarithm, which keeps the order."""
        o = self.policy
        if o.urgency == "exponential":
            return -slack / o.slack_unit_us + (0.0 if o.load == "off" else math.log2(load))
        power = 1.0 if o.urgency == "linear" else o.power
        weight = 1.0 if o.load == "off" else 1 / load if o.load == "fixed" and slack > 0 else load
        value = -math.copysign(abs(slack) ** power, slack) * weight
        return abs(value) if o.order == "absolute" else value


def first_largest(found, key):
    """The first of the (slack, type) whose key is the largest but for rounding."""
    best = found[0]
    for one in found[1:]:
        if key(one[0]) > key(best[0]) + 1e-9 * abs(key(best[0])):
            best = one
    return best


LEARNING = ("symphony", "symphony_recommended")


@EVERY
def test_the_rule_is_its_definition(name):
    """With every value of every option, and some of them together."""
    started = 0

    def compare(policy, model, state, view, action, before):
        nonlocal started, reported
        if name in LEARNING and view.task >= 0 and view.task != reported:
            reported = view.task
            rules.learn(
                model, state, view, reported, model.task_operations[[reported, *state.followers[reported]]].sum()
            )
        is_more = state.next_finish_us() == view.now_us or state.next_arrival_us() == view.now_us
        if is_more or not state.pending:
            assert action.task == -1
            return
        expected = getattr(rules, name)(model, state, view)
        if expected is None:
            assert action.task == -1
            return
        started += 1
        task = expected[1] if expected[0] == "drop" else expected[0]
        end = int(scenario.workload.job_first[model.task_job[task] + 1])
        rules.slowdown |= dict.fromkeys(range(task + 1, end), 1.0)  # the other parts of the request
        if expected[0] == "drop":
            assert (action.task, action.n_tasks, action.unit) == (task, 0, -1)
        else:
            assert (action.task, action.n_tasks, action.unit) == expected

    choices = all_options(policies()[name])
    for seed in range(max(40, len(choices))):
        scenario = request_scenario(seed, name, choices[seed % len(choices)])
        policy = policies()[name].from_options(choices[seed % len(choices)])
        rules, reported = Rules(scenario, policy), -1
        watched(scenario, compare)
    assert started > 250


def test_a_request_without_end_lets_those_go_first_that_have_a_deadline():
    work = vs.Workload([0, 0], range(3), [0.0, 0.0], [math.inf, 4.0], *np.zeros((3, 2)), [-1, -1],
                       application=[0, 1], deadline_us=[math.inf, 10.0], task_types=(vs.TaskType("T"),))  # fmt: skip
    center = vs.Datacenter.of([("P", 0, 0)], (vs.ProcessorType("P"),))
    case = vs.Scenario(center, work, policy="deadline_consolidation", affinity=[[1.0]], horizon_us=20.0)
    assert vs.simulate(case, engine="reference").tasks["init_us"].tolist() == [4.0, 0.0]
