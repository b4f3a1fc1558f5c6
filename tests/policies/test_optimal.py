"""The optimal policy: nothing is better, checked by trying all schedules of small cases."""

import itertools
import math
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import vinesim as vs
from tests.demands import demands_of, takes
from tests.properties.equivalence import differences
from tests.strategies import Limits, seeded_scenario, with_policy
from vinesim.engine.many import simulate_many
from vinesim.engine.reference_state import ReferenceState
from vinesim.policies.optimal.cuts import may_run
from vinesim.policies.optimal.instance import Instance, WholeTimes, meets_on_types, times_on_types
from vinesim.policies.optimal.policy import Optimal
from vinesim.policies.optimal.schedule import in_order
from vinesim.policies.optimal.schedule_model import ScheduleModel
from vinesim.policies.optimal.search import Search
from vinesim.policies.optimal.solver import cp_sat, new_solver, prove, set_by_ctrl_c, solve
from vinesim.state import queries
from vinesim.state.build import build_model

pytest.importorskip("ortools")
pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
SMALL = Limits(units=4, jobs=4, tasks_of_job=2, demands="none", sharing=False, horizons=False)
FAST = {"workers": 1, "time_limit_s": 20.0}


def instance_of(release, times, counts, job=None):
    ends = np.cumsum(counts)
    units = tuple(np.arange(end - n, end) for end, n in zip(ends, counts, strict=True))
    return Instance(np.array(release, float), np.arange(len(release)) if job is None else job, np.array(times), units)


def random_instance(seed, n_tasks, n_units):
    """Units as one class each where nothing is alike, and pools of like ones; whole times above 0."""
    random = np.random.default_rng(seed)
    counts = [n_units] if seed % 3 == 0 else [1] * n_units if seed % 3 == 1 else [n_units - 1, 1]
    times = random.integers(1, 9, (n_tasks, len(counts))).astype(float)
    times[random.random(times.shape) < 0.15] = np.inf
    times[:, 0] = np.where(np.isfinite(times).any(axis=1), times[:, 0], 3.0)
    release = np.sort(random.integers(0, 8, n_tasks)).astype(float)
    job = np.arange(n_tasks) if seed % 2 else np.cumsum(random.integers(0, 2, n_tasks)) * (np.arange(n_tasks) > 0)
    return instance_of(release, times, counts, job.astype(int))


def best_by_subsets(instance):
    """The least makespan: C[i][S] of unit i alone with the tasks S, in order of release, then all ways to share."""
    n = instance.n_tasks
    rows = [c for c, count in enumerate(instance.count) for _ in range(count)]
    order = np.argsort(instance.release_us, kind="stable")

    def alone(c, members):
        clock = 0.0
        for task in order:
            if members >> int(task) & 1:
                clock = max(clock, instance.release_us[task]) + instance.times_us[task, c]
        return clock

    reach = {0: 0.0}
    for c in rows:
        ends = [alone(c, members) for members in range(1 << n)]
        following: dict[int, float] = {}
        for done, value in reach.items():
            rest = ((1 << n) - 1) & ~done
            members = rest
            while True:
                if ends[members] < math.inf:
                    both = max(value, ends[members])
                    if both < following.get(done | members, math.inf):
                        following[done | members] = both
                if members == 0:
                    break
                members = (members - 1) & rest
        reach = following
    return reach[(1 << n) - 1]


def best_by_orders(instance):
    """The least sum of the jobs' finish times: every choice of classes, every order."""
    n = instance.n_tasks
    able = [np.flatnonzero(np.isfinite(row)) for row in instance.times_us]
    return min(
        in_order(instance, order, np.array(chosen)).value_us(instance, "sum_finish")
        for chosen in itertools.product(*able)
        for order in itertools.permutations(range(n))
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_schedule_has_a_smaller_makespan(seed):
    instance = random_instance(seed, n_tasks=7, n_units=3)
    found = Search(instance, "makespan", 20.0, 1, None).run()
    assert found.value_us == found.bound_us == best_by_subsets(instance)
    assert found.is_optimal


@pytest.mark.parametrize("seed", range(8))
def test_no_schedule_has_a_smaller_sum_of_finish_times(seed):
    instance = random_instance(seed, n_tasks=5, n_units=2)
    found = Search(instance, "sum_finish", 20.0, 1, None).run()
    assert found.value_us == found.bound_us == best_by_orders(instance)
    assert found.is_optimal


def test_greedy_alone_is_not_optimal():
    """Without this the tests above could be passed by the hint."""
    gaps = 0
    for seed in range(12):
        instance = random_instance(seed, n_tasks=7, n_units=3)
        found = Search(instance, "makespan", 0.0, 1, None).run()
        assert found.bound_us <= best_by_subsets(instance) <= found.value_us
        gaps += best_by_subsets(instance) < found.value_us
    assert gaps > 0


def test_the_destructive_bound_is_below_every_schedule_and_above_the_simple_one():
    raised = 0
    for seed in range(12):
        instance = random_instance(seed, n_tasks=7, n_units=3)
        search = Search(instance, "makespan", 20.0, 1, None)
        simple = search.bound
        search._raise_bound(20.0)
        assert simple <= search.bound <= best_by_subsets(instance) / search.whole.step_us
        raised += search.bound > simple
    assert raised > 0


def test_the_run_is_the_schedule_and_no_worse_than_any_other_policy():
    """On scenarios with transfers, overheads, measured times, hidden factors: the run's own value is at the bound."""
    reached = better = 0
    for seed in range(40):
        scenario = with_policy(seeded_scenario(seed, limits=SMALL), "optimal", {"requests": "relaxed", **FAST})
        result = vs.simulate(scenario, engine="reference")
        assert result.exit_reason == "ALL_DONE"
        bound = result.summary["bound"]
        assert bound["value_us"] == result.summary["makespan_us"] >= bound["bound_us"] * (1 - 1e-12)
        assert (result.tasks["init_us"] >= result.tasks["arrival_us"]).all()
        reached += bound["status"] == "OPTIMAL"
        for other in ("high", "earliest_finish"):
            makespan = vs.simulate(with_policy(scenario, other), engine="reference").summary["makespan_us"]
            assert makespan >= bound["bound_us"] * (1 - 1e-12)
            better += makespan > bound["value_us"] * (1 + 1e-9)
    assert reached >= 35  # the others ended at the time limit, on a busy machine
    assert better > 5


def test_the_engines_agree(monkeypatch):
    """On the same plan; the solver is called once for each scenario."""
    plans, plan = {}, Optimal.plan

    def once(self, model, on_message):
        if seed not in plans:
            plans[seed] = plan(self, model, on_message)
        return plans[seed]

    monkeypatch.setattr(Optimal, "plan", once)
    for seed in range(60):
        objective = "makespan" if seed % 2 else "sum_finish"
        options = {"requests": "relaxed", "objective": objective, "workers": 1, "time_limit_s": float(seed % 4 == 0)}
        assert differences(with_policy(seeded_scenario(seed, limits=SMALL), "optimal", options)) == []


def test_one_worker_finds_the_same_again():
    instance = random_instance(4, n_tasks=7, n_units=3)
    first, second = (Search(instance, "makespan", 60.0, 1, None).run() for _ in range(2))
    assert first.is_optimal
    assert np.array_equal(first.schedule.unit, second.schedule.unit)
    assert np.array_equal(first.schedule.start_us, second.schedule.start_us)


@contextmanager
def ctrl_c_while_solving():
    """Ctrl-C half a second after a search has begun. Afterwards it does again what it did before."""
    before, is_over = signal.getsignal(signal.SIGINT), threading.Event()

    def press():
        while signal.getsignal(signal.SIGINT) is before:
            is_over.wait(0.05)
        if not is_over.wait(0.5):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    hand = threading.Thread(target=press)
    hand.start()
    try:
        yield
    finally:
        is_over.set()
        hand.join()
    assert signal.getsignal(signal.SIGINT) is before


def hard_instance(n_tasks):
    """No search is done with it within a minute."""
    random = np.random.default_rng(1)
    return instance_of(np.zeros(n_tasks), random.uniform(1, 9, (n_tasks, 12)), [1] * 12)


@pytest.mark.parametrize("objective", ["makespan", "sum_finish"])
def test_ctrl_c_ends_the_search_with_the_best_schedule_so_far(objective):
    search = Search(hard_instance(150), objective, 120.0, 1, None)
    begun = time.monotonic()
    with ctrl_c_while_solving():
        found = search.run()
    assert time.monotonic() - begun < 60
    assert found.bound_us <= found.value_us == found.schedule.value_us(search.instance, objective)
    assert not found.is_optimal


def test_ctrl_c_ends_a_proof_without_an_answer():
    model, begun = ScheduleModel(*of_search(hard_instance(150))), time.monotonic()
    with pytest.raises(KeyboardInterrupt), ctrl_c_while_solving():
        prove(new_solver(120.0, 1), model.cp)
    assert time.monotonic() - begun < 60


def test_where_ctrl_c_is_ignored_it_stays_so():
    event, before = threading.Event(), signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with set_by_ctrl_c(event):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not event.is_set()


def of_search(instance):
    search = Search(instance, "sum_finish", 0.0, 1, None)
    return instance, search.whole, "sum_finish", search.best, search.bound, search._end()


def test_a_search_that_ends_early_by_itself_goes_on(monkeypatch):
    """The solver keeps a distance from its limit as long as the longest stall of the machine so far."""
    instance, n_asked = random_instance(2, n_tasks=7, n_units=3), 0

    def stalled(*given):
        nonlocal n_asked
        n_asked += 1
        return cp_sat().UNKNOWN if n_asked <= 6 else solve(*given)

    monkeypatch.setattr("vinesim.policies.optimal.search.solve", stalled)
    found = Search(instance, "sum_finish", 20.0, 1, None).run()
    assert n_asked > 6
    assert found.is_optimal


def test_times_are_those_of_the_queries():
    """The arrays against the policies' own queries, unit by unit, which are the meaning."""
    for seed in range(60):
        scenario = seeded_scenario(seed, limits=SMALL)
        model = build_model(scenario)
        state = ReferenceState(model, 0)
        instance = Instance.of(model, "relaxed")
        by_type, met = times_on_types(model), meets_on_types(model)
        class_of = {int(unit): c for c, units in enumerate(instance.units) for unit in units}
        for task, unit in itertools.product(range(len(model.task_operations)), range(len(model.unit_type))):
            factor = model.task_factor[task] if len(model.task_factor) else 1.0
            execution = queries.execution_us(model, state, task, unit) * factor
            expected = queries.transfer_us(model, state, task, unit) + execution
            found = instance.times_us[task, class_of[unit]] if unit in class_of else math.inf
            assert found == expected
            assert by_type[task, model.unit_type[unit]] == execution
            assert met[task, model.unit_type[unit]] == queries.meets(model, state, task, unit)


def test_rounding_down_keeps_the_bound_below():
    random = np.random.default_rng(5)
    instance = instance_of(np.sort(random.uniform(0, 5, 6)), random.uniform(1, 9, (6, 2)), [2, 1])
    found = Search(instance, "makespan", 20.0, 1, None).run()
    whole = WholeTimes.of(instance, 20.0)
    assert whole.is_rounded
    assert (whole.times * whole.step_us <= instance.times_us).all()
    assert found.bound_us <= best_by_subsets(instance) <= found.value_us
    assert found.value_us == pytest.approx(found.bound_us, rel=1e-5)
    assert may_run(whole, int(found.value_us / whole.step_us) + 7).any(axis=1).all()


def requesting(cores, **options):
    types = (
        vs.ProcessorType("SMALL", attributes={"cores": 6.0}),
        vs.ProcessorType("LARGE", attributes={"cores": 12.0}),
    )
    center = vs.Datacenter.of([("SMALL", 0, 0), ("LARGE", 0, 1)], types)
    n = len(cores)
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.zeros(n),
        np.full(n, 10.0),
        *np.zeros((3, n)),
        np.full(n, -1),
        requests={"cores": np.array(cores)},
        task_types=(vs.TaskType("T"),),
    )
    return vs.Scenario(center, work, policy="optimal", options={**FAST, **options}, affinity=np.ones((2, 1)))


def test_requests_are_kept_unless_relaxed():
    strict = vs.simulate(requesting([12.0, 8.0]))
    assert strict.summary["makespan_us"] == 20.0
    assert set(strict.tasks["unit"]) == {1}
    assert vs.simulate(requesting([12.0, 8.0], requests="relaxed")).summary["makespan_us"] == 10.0


def test_what_it_does_not_model_is_refused():
    with pytest.raises(vs.InputError, match=r"requests that some unit meets.*relaxed"):
        vs.simulate(requesting([12.0, 16.0]))
    shared = Limits(units=4, jobs=4, demands="any")
    refused = 0
    for seed in range(20):
        scenario = with_policy(seeded_scenario(seed, limits=shared), "optimal", {"requests": "relaxed", **FAST})
        center = scenario.datacenter
        types = [center.processor_types[p] for p in center.unit_type]
        slows = any(p.parallelism is not None and p.parallelism < p.capacity for p in types)
        in_parts = any((takes(demands_of(scenario.workload), p.capacity) != p.capacity).any() for p in types)
        if slows or in_parts:
            refused += 1
            with pytest.raises(vs.InputError, match="for the policy optimal"):
                vs.simulate(scenario, engine="reference")
    assert refused > 5


def test_wrong_options_are_all_named():
    with pytest.raises(vs.InputError) as caught:
        vs.simulate(requesting([1.0], time_limit_s=-1.0, workers=0))
    assert {problem.where.rpartition(".")[2] for problem in caught.value.problems} == {"time_limit_s", "workers"}


def test_many_runs_are_those_of_single_ones():
    scenario = requesting([12.0, 8.0, 1.0])
    runs = simulate_many(scenario, seeds=[0, 1])
    assert runs["bound.bound_us"].tolist() == [20.0, 20.0]
    assert runs["makespan_us"].tolist() == [20.0, 20.0]


def test_without_ortools_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python", None)
    with pytest.raises(vs.InputError, match='python -m pip install "ortools>='):
        vs.simulate(requesting([1.0]))
