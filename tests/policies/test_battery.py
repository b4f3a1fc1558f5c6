"""One battery for every registered policy: what it declares is what it does, and it chooses what its rule says.

A new policy gets all of this by being registered, but for its rule: write its definition into ``DEFINITIONS``.
"""

import copy
import itertools
import math
from dataclasses import fields, replace
from inspect import signature

import numpy as np
import pytest

import vinesim as vs
from tests.strategies import Limits, all_options, seeded_scenario, with_policy
from vinesim.engine.reference_run import ReferenceRun
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy
from vinesim.policies.registry import policies, resolve
from vinesim.state.build import build_model
from vinesim.state.layout import NO_EVENTS

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
EVERY = pytest.mark.parametrize("policy", policies().values(), ids=policies().keys())
PLANNED = {name for name, policy in policies().items() if issubclass(policy, OnlinePolicy) and policy.plans}
ANY = {name: policy for name, policy in policies().items() if name not in PLANNED}  # see test_optimal
ONLINE_POLICIES = {name: policy for name, policy in ANY.items() if issubclass(policy, OnlinePolicy)}
EVERYWHERE = pytest.mark.parametrize("policy", ANY.values(), ids=ANY.keys())
ELSEWHERE = {  # policies of several queues, and the tests of their rules
    **dict.fromkeys(("symphony", "symphony_recommended", "fcfs", "edf"), "test_requests"),
    **dict.fromkeys(("edf_drop", "least_laxity", "deadline_consolidation"), "test_requests"),
    **dict.fromkeys(("rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl"), "test_resource_based"),
    **dict.fromkeys(("easy_backfill", "conservative_backfill", "earliest_completion"), "test_backfill"),
    **dict.fromkeys(("random_fit", "dot_product", "gpu_clustering", "gpu_packing"), "test_scoring"),
    **dict.fromkeys(("gpu_best_fit", "fgd"), "test_scoring"),
    **dict.fromkeys(("priority", "srtf", "las"), "test_preemptive"),
    **dict.fromkeys(("least_requests", "least_tokens", "power_of_two", "prefix_aware"), "test_serving"),
    "kueue": "test_kueue",
    "drf": "test_drf",
}
ONLINE = pytest.mark.parametrize("policy", ONLINE_POLICIES.values(), ids=ONLINE_POLICIES.keys())
PAPER = Limits(demands="none", sharing=False)  # the papers' model: a unit runs one task


def limits_of(policy):
    """What shares its speed cannot be moved."""
    return Limits(slowdown=not (issubclass(policy, BatchPolicy) and policy.replaces_running))


class World:
    """A decision as the papers see it: idle units, queued tasks, not from the engine's indexes."""

    def __init__(self, scenario, model, state, view, options):
        center, work = scenario.datacenter, scenario.workload
        order = model.unit_order
        self.scenario, self.options, self.now = scenario, options, view.now_us
        self.type = center.unit_type[order]
        self.rack, self.shelf = center.rack[order], center.shelf[order]
        job = np.repeat(np.arange(work.n_jobs), np.diff(work.job_first))
        self.kind, self.arrival = work.job_task_type[job], work.arrival_us[job]
        self.work = work
        self.idle = [u for u in range(len(self.type)) if not state.running[u]]
        self.queue = sorted(state.pending)

    def speed(self, task, unit):
        return self.scenario.affinity[self.type[unit], self.kind[task]]

    def able(self, task):
        """Idle units that can run the task, in (rack, shelf) order."""
        return [u for u in self.idle if self.speed(task, u) > 0]

    def fastest(self, task):
        return max(self.able(task), key=lambda u: (self.speed(task, u), -u), default=None)

    def distance(self, task, unit):
        return abs(self.rack[unit] - self.work.data_rack[task]), abs(self.shelf[unit] - self.work.data_shelf[task])

    def tier(self, task, unit):
        h, v = self.distance(task, unit)
        return 2 if h else (1 if v else 0)

    def response(self, task, unit):
        network, size = self.scenario.network, self.work.data_bytes[task]
        tier = self.tier(task, unit)
        transfer = network.tier_latency_us[tier] + size / network.tier_bandwidth[tier] if size else 0.0
        extra = self.scenario.overhead_us
        overhead = 0.0 if extra is None else extra[self.type[unit], self.kind[task]]
        times = self.work.times_us
        computing = self.work.operations[task] / self.speed(task, unit)
        return transfer + (overhead + (computing if times is None else times[task, self.type[unit]]))

    def first(self, units, key=lambda unit: 0):
        return min(units, key=lambda u: (key(u), u), default=None)


def define_high(world, task):
    return world.fastest(task)


def define_flat(world, task):
    able = world.able(task)
    return set(able) if world.options["order"] == "per_task" else world.first(able)


def define_pref(world, task):
    preferred = world.work.preferred_type[task]
    if preferred < 0:
        return world.fastest(task)
    matching = world.first([u for u in world.able(task) if world.type[u] == preferred])
    return world.fastest(task) if matching is None and world.options["mode"] == "first" else matching


def define_closer_to_data(world, task):
    far = world.tier if world.options["distance"] == "tiers" else world.distance
    return world.first(world.able(task), key=lambda u: far(task, u))


def define_earliest_finish(world, task):
    return world.first(world.able(task), key=lambda u: world.response(task, u))


def define_delay(world, task):
    if world.now >= world.arrival[task] + world.options["wait_us"]:
        return world.fastest(task)
    good = {
        "type": lambda u: world.work.preferred_type[task] in (-1, world.type[u]),
        "node": lambda u: world.tier(task, u) == 0,
        "rack": lambda u: world.tier(task, u) <= 1,
    }[world.options["wait_for"]]
    near = [u for u in world.able(task) if good(u)]
    if world.options["wait_for"] == "type":
        return world.first(near)
    return world.first(near, key=lambda u: world.tier(task, u))


DEFINITIONS = {
    "flat": define_flat,
    "high": define_high,
    "pref": define_pref,
    "closer_to_data": define_closer_to_data,
    "delay": define_delay,
    "earliest_finish": define_earliest_finish,
}


def expected_choice(world, define):
    """(task, unit or set of units) by the rule: FIFO, a task that finds no unit is skipped unless in order."""
    for task in world.queue:
        unit = define(world, task)
        if unit is not None and unit != set():
            return task, unit
        if world.options.get("in_order"):
            break
    return None


def watched(scenario, on_decision):
    """Run the reference engine and call on_decision at each decision, which gets what the policy can change as it was
    before if it takes it. Returns how many there were."""
    keeps = "before" in signature(on_decision).parameters
    policy = resolve(scenario.policy, scenario.options)
    order = policy.unit_order(scenario.datacenter.n_units, np.random.default_rng(scenario.seed))
    model = build_model(scenario, policy.groups, order)
    run = ReferenceRun(scenario, model, policy, policy, scenario.seed)
    decisions = 0

    def decide(model, state, view):
        nonlocal decisions
        before = {"before": copy.deepcopy((state.random_state, view.scratch))} if keeps else {}
        action = policy.decide(model, state, view)
        on_decision(policy, model, state, view, action, **before)
        decisions += 1
        return action

    run.decide = decide
    while run.advance(math.inf, math.inf, 1000) != NO_EVENTS:
        pass
    return decisions


@ONLINE
def test_the_rule_is_its_definition(policy):
    """At every decision the policy starts the task on the unit that a direct reading of the paper names."""
    if policy.name in ELSEWHERE:
        pytest.skip(f"its rule is tested in {ELSEWHERE[policy.name]}")
    define = DEFINITIONS[policy.name]
    started = 0

    def compare(policy, model, state, view, action):
        nonlocal started
        options = {item.name: getattr(policy, item.name) for item in fields(policy)}
        world = World(scenario, model, state, view, options)
        expected = expected_choice(world, define)
        if expected is None:
            assert action.task == -1
            return
        task, unit = expected
        started += 1
        assert action.task == task
        assert action.n_tasks == 1
        assert action.unit in unit if isinstance(unit, set) else action.unit == unit

    choices = all_options(policy)
    for seed in range(10 * len(choices)):
        scenario = seeded_scenario(seed, policy, choices[seed % len(choices)], PAPER)
        watched(scenario, compare)
    assert started > 50


def test_delay_asks_again_when_the_first_wait_is_over():
    def compare(policy, model, state, view, action):
        if action.task >= 0:
            return
        world = World(scenario, model, state, view, {})
        expiry = {task: world.arrival[task] + policy.wait_us for task in state.pending}
        needed = [time for task, time in expiry.items() if time > view.now_us and world.able(task)]
        assert action.until_us <= min(needed, default=math.inf)
        assert action.until_us in [*expiry.values(), math.inf]

    for seed in range(30):
        scenario = seeded_scenario(seed, "delay", {"wait_us": 7.5, "wait_for": "rack"}, PAPER)
        watched(scenario, compare)


def test_flat_draws_every_idle_unit_as_often():
    """10,000 single tasks, far apart, on 8 units: each count is within 5 standard deviations of 1,250."""
    n = 10_000
    work = vs.Workload(
        np.full(n, 2), np.arange(n + 1), np.arange(n) * 1e4, np.full(n, 3e6), *np.zeros((3, n)), [-1] * n
    )
    center = vs.Datacenter(np.array([0, 2] * 4), np.zeros(8), np.arange(8))
    counts = np.bincount(vs.simulate(vs.Scenario(center, work, policy="flat", seed=3)).tasks["unit"], minlength=8)
    assert abs(counts - n / 8).max() < 5 * math.sqrt(n * (1 / 8) * (7 / 8))


def test_flat_once_keeps_one_order_and_another_seed_another():
    n = 20
    work = vs.Workload(
        np.full(n, 2), np.arange(n + 1), np.arange(n) * 1e4, np.full(n, 3e6), *np.zeros((3, n)), [-1] * n
    )
    center = vs.Datacenter(np.full(50, 2), np.zeros(50), np.arange(50))
    used = [
        set(vs.simulate(vs.Scenario(center, work, policy="flat", options={"order": "once"}, seed=s)).tasks["unit"])
        for s in range(5)
    ]
    assert all(len(units) == 1 for units in used)
    assert len(set.union(*used)) > 1


@EVERY
def test_it_has_a_name_a_source_and_says_its_ties_and_cost(policy):
    assert policies()[policy.name] is policy
    assert policy.source
    text = "".join(base.__doc__ or "" for base in policy.__mro__ if issubclass(base, Policy))  # with its family's
    assert "Ties:" in text or "order in which the units are tried" in text
    assert "Cost per decision:" in text
    for item in fields(policy):
        assert f"``{item.name}``" in text, f"the docstring does not explain the option {item.name}"


@EVERYWHERE
def test_deterministic_means_that_the_seed_does_not_matter(policy):
    def table(scenario, seed):
        tasks = vs.simulate(replace(scenario, seed=seed)).tasks
        return tasks["unit"].tobytes() + tasks["finish_us"].tobytes()

    choices = all_options(policy)
    some = [options for options in choices if {item.name: item.default for item in fields(policy)} == options]
    some += choices[:: -(-len(choices) // 8)] if policy.deterministic else []  # others need not be random
    for options in some:
        scenarios = (seeded_scenario(seed, policy, options, limits_of(policy)) for seed in range(12))
        if policy.deterministic:
            assert not any(table(case, 1) != table(case, 2) for case in itertools.islice(scenarios, 4))
        else:
            assert any(table(case, 1) != table(case, 2) for case in scenarios)
    assert some


@EVERYWHERE
def test_a_run_can_be_repeated(policy):
    for seed in range(8):
        scenario = seeded_scenario(seed, policy, limits=limits_of(policy))
        first, second = (vs.simulate(scenario).tasks for _ in range(2))
        assert all(first[name].tobytes() == second[name].tobytes() for name in first)


@ONLINE
def test_needs_estimates_says_whether_times_matter(policy):
    """Ask again with other operations, data sizes, overheads and bandwidths: only a policy that needs estimates may
    answer differently (and one that says so must, at least once)."""
    random = np.random.default_rng(1)
    changed = 0

    def ask_again(policy, model, state, view, action, before):
        nonlocal changed
        other = model.replaced(
            task_operations=random.uniform(0, 50, len(model.task_operations)),
            task_data_bytes=random.uniform(0, 5000, len(model.task_data_bytes)),
            overhead_us=random.uniform(0, 9, model.overhead_us.shape),
            tier_bandwidth=random.uniform(1, 9, 3),
            tier_latency_us=random.uniform(0, 9, 3),
        )
        after = state.random_state
        state.random_state = before[0]
        changed += policy.decide(other, state, view._replace(scratch=before[1])) != action
        state.random_state = after

    choices = all_options(policy)
    for seed in range(min(8 * len(choices), 200)):
        watched(seeded_scenario(seed, policy, choices[seed * 7919 % len(choices)]), ask_again)
        if changed and policy.needs_estimates:
            break
    assert (changed > 0) == policy.needs_estimates


@ONLINE
def test_no_decision_changes_anything_but_scratch(policy):
    seen = 0

    def compare(policy, model, state, view, action):
        nonlocal seen
        seen += 1
        assert [getattr(state, name) for name in names] == snapshots.pop()

    names = ("pending", "task_unit", "unit_load", "running", "n_events", "timer_us")
    snapshots = []
    original = policy.decide

    class Spy(policy):
        @staticmethod
        def decide(model, state, view):
            snapshots.append(copy.deepcopy([getattr(state, name) for name in names]))
            return original(model, state, view)

    for seed in range(8):
        watched(with_policy(seeded_scenario(seed), Spy), compare)
    assert seen > 25


@EVERY
def test_options_that_are_not_its_own_are_refused(policy):
    with pytest.raises(vs.InputError, match="no_such_option"):
        policy.from_options({"no_such_option": 1})
    for item in fields(policy):
        with pytest.raises(vs.InputError, match=item.name):
            policy.from_options({item.name: "no such value"})


def test_every_registered_online_policy_is_compiled_and_has_a_definition():
    assert all(policy.compiled for policy in ONLINE_POLICIES.values())
    assert set(DEFINITIONS) | set(ELSEWHERE) >= set(ONLINE_POLICIES)
