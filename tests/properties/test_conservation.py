"""What must hold of every task table, whoever scheduled: checked from the table alone, by a sweep over its times."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vinesim as vs
from tests.demands import demands_of, takes
from tests.properties.equivalence import LIMITS, every_policy, options_of
from tests.strategies import Limits, scenarios, seeded_scenario
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.registry import resolve

SLACK = 1e-9
pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
POLICIES = pytest.mark.parametrize("policy", every_policy().values(), ids=every_policy().keys())


class Facts:
    """A result's table beside what the scenario says of each task and unit."""

    def __init__(self, scenario: vs.Scenario, result: vs.Result, may_drop: bool = False):
        self.may_drop = may_drop
        center, work = scenario.datacenter, scenario.workload
        order = np.lexsort((center.shelf, center.rack))
        self.unit_type = center.unit_type[order]
        types = center.processor_types
        self.capacity = np.array([p.capacity for p in types])[self.unit_type]
        self.is_shared = np.array([p.is_shared for p in types])[self.unit_type]
        self.job = np.repeat(np.arange(work.n_jobs), np.diff(work.job_first))
        self.kind = work.job_task_type[self.job]
        self.arrival = work.arrival_us[self.job]
        self.demand = demands_of(work)
        self.speed = scenario.affinity[self.unit_type][:, self.kind]  # [U, N]
        self.place = center.rack[order], center.shelf[order]
        self.scenario, self.result = scenario, result
        for name in ("unit", "init_us", "start_us", "finish_us"):
            setattr(self, name, result.tasks[name])
        self.started = self.unit >= 0

    def needs(self, unit):
        """[N] what each task takes of a unit."""
        return takes(self.demand, self.capacity[unit])

    def times(self):
        """Every time at which something happened."""
        stamps = np.concatenate([self.arrival, self.init_us, self.finish_us])
        return np.unique(stamps[np.isfinite(stamps) & (stamps <= self.result.outcome.end_us)])

    def running_at(self, time):
        """[N] whether each task is on its unit right after a time."""
        return self.started & (self.init_us <= time) & ~(self.finish_us <= time)

    def load_at(self, time):
        """[U] demand of the tasks on each unit; tasks that were consolidated count as one."""
        running = self.running_at(time)
        where = self.unit[running]
        if self.result.outcome.shares_units and self.scenario.workload.demand is None:
            return np.where(np.bincount(where, minlength=len(self.capacity)) > 0, self.capacity, 0.0)
        return np.bincount(
            where, self.needs(np.where(self.started, self.unit, 0))[running], minlength=len(self.capacity)
        )

    def response_alone(self):
        """[N] transfer + overhead + execution of each task on its unit, alone on it; from the scenario."""
        work, network = self.scenario.workload, self.scenario.network
        where = np.where(self.started, self.unit, 0)
        rack, shelf = self.place[0][where], self.place[1][where]
        tier = np.where(rack != work.data_rack, 2, np.where(shelf != work.data_shelf, 1, 0))
        transfer = np.array(network.tier_latency_us)[tier] + work.data_bytes / np.array(network.tier_bandwidth)[tier]
        transfer = np.where(work.data_bytes > 0, transfer, 0.0)
        overhead = self.scenario.overhead_us
        extra = 0.0 if overhead is None else overhead[self.unit_type[where], self.kind]
        tasks = np.arange(len(where))
        with np.errstate(divide="ignore", invalid="ignore"):
            computing = work.operations / self.speed[where, tasks]
        if work.times_us is not None:
            computing = work.times_us[tasks, self.unit_type[where]]
        factor = 1.0 if work.time_factor is None else work.time_factor
        return transfer, (extra + computing) * factor


# Which tasks were consolidated shows in the table only where nothing else can run beside them.
EXCLUSIVE = Limits(demands="none", sharing=False)


def seeds_of(policy, n):
    """Batch policies are slow: Python is asked every period."""
    return range(n // 6 if issubclass(policy, BatchPolicy) else n)


def run(seed, policy, limits=None):
    if policy.name == "test_consolidate":
        limits = EXCLUSIVE
    choices = options_of(policy)
    options = choices[seed % len(choices)]
    scenario = seeded_scenario(seed, policy, options, limits or LIMITS.get(policy, Limits()))
    return Facts(scenario, vs.simulate(scenario), policy.may_drop)


def check_causality(facts):
    """Every task once, after its arrival, on a unit that can run it; times in order; the end is what it says."""
    started, finished = facts.started, np.isfinite(facts.finish_us)
    assert len(facts.unit) == facts.scenario.workload.n_tasks
    assert (started == np.isfinite(facts.init_us)).all()
    assert not (finished & ~started).any()
    assert (facts.init_us[started] >= facts.arrival[started]).all()
    assert (facts.speed[facts.unit[started], np.flatnonzero(started)] > 0).all()
    assert (facts.start_us[finished] >= facts.init_us[finished]).all()
    end_us, reason = facts.result.outcome.end_us, facts.result.exit_reason
    assert (facts.init_us[started] <= end_us).all()
    assert (facts.finish_us[finished] <= end_us).all()
    if reason is vs.ExitReason.ALL_DONE:
        assert finished[started].all()
        assert started.all() or facts.may_drop
        if started.all():
            assert facts.result.summary["makespan_us"] == facts.finish_us.max()
    elif reason is vs.ExitReason.HORIZON:
        assert not finished.all()
        assert end_us == facts.scenario.horizon_us
    else:
        assert reason is vs.ExitReason.STALLED
        assert (started == finished).all()  # nothing runs
        assert not started.all()
        assert (facts.arrival <= end_us).all()  # nothing is to come
        assert facts.result.provenance["reason"]


def check_capacity(facts):
    """No unit is loaded beyond its capacity, at any time."""
    for time in facts.times():
        load = facts.load_at(time)
        assert (load <= facts.capacity + SLACK).all(), (time, load)


def check_durations(facts):
    """A task alone on its unit, or on one that does not share its speed, takes transfer + execution, to the bit."""
    transfer, execution = facts.response_alone()
    finished = np.isfinite(facts.finish_us)
    exact = finished & ~facts.is_shared[np.where(facts.started, facts.unit, 0)]
    assert (facts.start_us[exact] == facts.init_us[exact] + transfer[exact]).all()
    assert (facts.finish_us[exact] == (facts.init_us + transfer + execution)[exact]).all()
    shared = finished & ~exact
    assert (facts.finish_us[shared] >= (facts.init_us + transfer + execution)[shared] * (1 - 1e-12) - SLACK).all()


def check_no_idling(facts):
    """While a task is pending, no unit has room for it: from the loads and queues right after every event."""
    stamps = facts.times()
    for time in stamps:
        if time == facts.scenario.horizon_us:
            continue  # what was to come then was cut off
        load = facts.load_at(time)
        pending = np.flatnonzero((facts.arrival <= time) & ~(facts.started & (facts.init_us <= time)))
        for t in pending:
            needs = takes(facts.demand[t], facts.capacity)
            room = (load + needs <= facts.capacity - SLACK) & (load < facts.capacity - SLACK)
            room |= (load < SLACK) & (needs <= facts.capacity)
            idle = np.flatnonzero(room & (facts.speed[:, t] > 0))
            assert not len(idle), f"at {time} task {t} waits while units {idle} have room"


@POLICIES
def test_every_task_runs_once_after_its_arrival(policy):
    for seed in seeds_of(policy, 120):
        check_causality(run(seed, policy))


@POLICIES
def test_no_unit_is_loaded_beyond_its_capacity(policy):
    if policy.may_overcommit:
        pytest.skip("over-committing is what it is for")
    for seed in seeds_of(policy, 120):
        facts = run(seed, policy)
        if policy.name == "test_repack":  # the table has the last unit of a task only
            assert (facts.result.periods["slav"] <= SLACK).all()
        else:
            check_capacity(facts)


@pytest.mark.parametrize("name", ["test_pile", "test_pile_in_batches"])
def test_a_policy_that_may_overcommit_does(name):
    facts = [run(seed, every_policy()[name]) for seed in range(40)]
    assert any((f.load_at(t) > f.capacity + SLACK).any() for f in facts for t in f.times())


@POLICIES
def test_a_task_takes_transfer_plus_execution(policy):
    if policy.name in ("test_consolidate", "test_repack"):
        pytest.skip("its tasks are joined, or moved")
    checked = 0
    for seed in seeds_of(policy, 120):
        facts = run(seed, policy)
        bound = resolve(facts.scenario.policy, facts.scenario.options)
        if not getattr(bound, "replaces_running", False):  # a moved task does not run in one piece
            check_durations(facts)
            checked += 1
    assert checked


@POLICIES
@pytest.mark.parametrize("demands", ["none", "equal"])
def test_no_unit_idles_while_a_task_it_may_run_waits(policy, demands):
    if not policy.work_conserving or issubclass(policy, BatchPolicy):
        pytest.skip("it does not promise to")
    checked = 0
    for seed in range(160):
        facts = run(seed, policy, Limits(demands=demands, slowdown=False))
        if resolve(policy, facts.scenario.options).work_conserving:
            checked += 1
            check_no_idling(facts)
    assert checked > 50


@POLICIES
def test_in_order_starts_tasks_in_the_order_of_arrival(policy):
    choices = [options for options in options_of(policy) if resolve(policy, options).starts_in_order]
    if not choices:
        pytest.skip("it does not promise to")
    overtaken = 0
    for seed in range(200):
        scenario = seeded_scenario(seed, policy, choices[seed % len(choices)])
        facts = Facts(scenario, vs.simulate(scenario))
        n_started = facts.started.sum()
        assert facts.started[:n_started].all()
        assert (np.diff(facts.init_us[:n_started]) >= 0).all()
        free = seeded_scenario(seed, policy, {})
        inits = vs.simulate(free).tasks["init_us"]
        overtaken += not (np.diff(inits[np.isfinite(inits)]) >= 0).all()
    assert overtaken or resolve(policy, {}).starts_in_order, (
        "no scenario lets a task overtake another: the test could not fail"
    )


@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_drawn_scenarios_conserve(data):
    policy = data.draw(st.sampled_from(["flat", "high", "pref", "closer_to_data", "earliest_finish", "delay"]))
    scenario = data.draw(scenarios(policy, limits=Limits(demands="none", sharing=False)))
    facts = Facts(scenario, vs.simulate(scenario))
    check_causality(facts)
    check_capacity(facts)
    check_durations(facts)
    if every_policy()[policy].work_conserving:
        check_no_idling(facts)


def shared_unit(n_tasks, **more):
    """One unit on which n equal tasks of 10 us share the speed of one."""
    return vs.Scenario(
        vs.Datacenter.of([("CPU", 0, 0)], (vs.ProcessorType("CPU", capacity=8.0, parallelism=1.0),)),
        vs.Workload(
            np.zeros(1),
            [0, n_tasks],
            np.zeros(1),
            np.full(n_tasks, 10.0),
            *np.zeros((3, n_tasks)),
            np.full(n_tasks, -1),
            demand=np.ones(n_tasks),
            task_types=(vs.TaskType("T"),),
        ),
        affinity=np.ones((1, 1)),
        **more,
    )


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_task_that_shares_a_unit_has_no_finish_before_it_is_done(engine):
    """At the horizon, alone a task would be done; in company it is not."""
    result = vs.simulate(shared_unit(4, horizon_us=30.0), engine=engine)
    assert result.exit_reason is vs.ExitReason.HORIZON
    assert np.isnan(result.tasks["finish_us"]).all()
    assert result.units["active_us"].tolist() == [30.0]
