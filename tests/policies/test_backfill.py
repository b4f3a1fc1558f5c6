"""EASY and conservative backfilling against plain lists and by hand, what they promise; earliest completion by hand."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds import backfill_plain as plain
from tests.properties.equivalence import differences

RULES = {"easy_backfill": plain.easy, "conservative_backfill": plain.conservative}
BOTH = pytest.mark.parametrize("name", RULES)


def scenario(policy, jobs, n_units=1, cores=10):
    """Equal nodes of some cores; a job is a task."""
    column = {name: np.array([getattr(job, name) for job in jobs], float) for name in ("arrival", "run", "cores")}
    n, withdraw = len(jobs), np.array([job.withdrawn for job in jobs], float)
    work = vs.Workload(
        np.zeros(n, int),
        np.arange(n + 1),
        column["arrival"],
        column["run"],
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=column["cores"],
        withdraw_us=withdraw if np.isfinite(withdraw).any() else None,
        estimate_us=np.array([job.estimate for job in jobs], float),
        task_types=(vs.TaskType("T"),),
    )
    kind = vs.ProcessorType("NODE", capacity=float(cores))
    center = vs.Datacenter(np.zeros(n_units, int), np.zeros(n_units, int), np.arange(n_units), (kind,))
    return vs.Scenario(center, work, policy, affinity=[[1.0]], network=vs.Network(None, None, None, 0.0))


def starts(policy, jobs, n_units=1, cores=10):
    return vs.simulate(scenario(policy, jobs, n_units, cores)).tasks["init_us"].tolist()


def job(cores, run, estimate=None, arrival=0):
    return plain.Job(arrival, run, run if estimate is None else estimate, cores)


def random_jobs(seed, wrong=(1.0,), equal=False):
    """Up to 40 jobs on up to 4 nodes of up to 8 cores; estimates are the times multiplied by one of ``wrong``."""
    random = np.random.default_rng(seed)
    n, n_units, cores = int(random.integers(2, 41)), int(random.integers(1, 5)), int(random.integers(1, 9))
    arrival = np.sort(random.integers(0, random.integers(2, 60), n))
    run = random.integers(1, 20, n)
    estimate = np.maximum(1, run * random.choice(wrong, n)).astype(int)
    wanted = np.full(n, cores) if equal else random.integers(1, cores + 1, n)
    jobs = [plain.Job(*map(int, row)) for row in zip(arrival, run, estimate, wanted, strict=True)]
    return jobs, n_units, cores


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("easy_backfill", (1.0,)),
        ("easy_backfill", (1.0, 2.0, 5.0)),
        ("easy_backfill", (0.3, 1.0, 3.0)),
        ("conservative_backfill", (1.0,)),
        ("conservative_backfill", (1.0, 2.0, 5.0)),
    ],
)
def test_it_schedules_as_plain_lists_do(name, wrong):
    n_moved = 0
    for seed in range(60):
        jobs, n_units, cores = random_jobs(seed, wrong)
        done = vs.simulate(scenario(name, jobs, n_units, cores)).tasks
        plain.run(jobs, n_units, cores, RULES[name])
        assert done["init_us"].tolist() == [job.start for job in jobs], seed
        assert done["unit"].tolist() == [job.unit for job in jobs], seed
        n_moved += [job.start for job in jobs] != sorted(job.start for job in jobs)
    assert n_moved > 20  # jobs overtake


@pytest.mark.parametrize(
    ("name", "wrong"), [("easy_backfill", (0.3, 1.0, 3.0)), ("conservative_backfill", (1.0, 2.0, 5.0))]
)
def test_jobs_that_are_withdrawn_give_up_what_they_hold_and_have_reserved(name, wrong):
    """Half of them, before they start and after; both engines."""
    n_before, n_after = 0, 0
    for seed in range(80):
        jobs, n_units, cores = random_jobs(seed, wrong)
        random = np.random.default_rng(1000 + seed)
        for one in jobs:
            one.withdrawn = one.arrival + int(random.integers(0, 40)) if random.integers(0, 2) else np.inf
        plain.run(jobs, n_units, cores, RULES[name])
        started = [one.start >= 0 for one in jobs]
        for engine in ("reference", "compiled"):
            done = vs.simulate(scenario(name, jobs, n_units, cores), engine=engine)
            assert done.exit_reason == "ALL_DONE"
            assert (~np.isnan(done.tasks["init_us"])).tolist() == started, seed
            assert done.tasks["init_us"][started].tolist() == [one.start for one in jobs if one.start >= 0], seed
            assert done.tasks["unit"][started].tolist() == [one.unit for one in jobs if one.start >= 0], seed
        n_before += started.count(False)
        n_after += sum(one.start >= 0 and one.withdrawn < one.start + one.run for one in jobs)
    assert n_before > 50
    assert n_after > 50


@pytest.mark.parametrize(("name", "wrong"), [("easy_backfill", (0.3, 3.0)), ("conservative_backfill", (1.0, 5.0))])
def test_a_job_is_expected_to_end_at_its_limit_at_the_latest(name, wrong):
    """As if the job, and its estimate, were as long as the limit; both engines."""
    n_other = 0
    for seed in range(40):
        jobs, n_units, cores = random_jobs(seed, wrong)
        case = scenario(name, jobs, n_units, cores)
        limit = np.random.default_rng(seed).integers(1, 30, len(jobs))
        limited = replace(case, workload=replace(case.workload, limit_us=limit.astype(float)))
        n_other += starts(name, jobs, n_units, cores) != vs.simulate(limited).tasks["init_us"].tolist()
        for one, most in zip(jobs, limit.tolist(), strict=True):
            one.run, one.estimate = min(one.run, most), min(one.estimate, most)
        plain.run(jobs, n_units, cores, RULES[name])
        for engine in ("compiled", "reference") if seed < 8 else ("compiled",):
            done = vs.simulate(limited, engine=engine).tasks
            assert done["init_us"].tolist() == [one.start for one in jobs], seed
            assert done["unit"].tolist() == [one.unit for one in jobs], seed
    assert n_other > 20


@BOTH
@pytest.mark.parametrize(("limit", "begins"), [(10.0, [0.0, 0.0, 10.0, 0.0]), (11.0, [0.0, 0.0, 10.0, 15.0])])
def test_a_limit_counts_the_transfer_and_ends_what_never_ends(name, limit, begins):
    """One that never ends has a limit of 9; one of 4, with a transfer of 8, one of 10. The third waits for both, and
    the fourth, which is expected to take 20, begins before it if its limit lets it end by then."""
    n = 4
    work = vs.Workload(
        np.zeros(n, int), np.arange(n + 1), np.zeros(n), [np.inf, 4.0, 5.0, 3.0], [0.0, 40.0, 0.0, 0.0],
        *np.zeros((2, n)), np.full(n, -1), demand=[5.0, 3.0, 9.0, 2.0], estimate_us=[50.0, 4.0, 5.0, 20.0],
        limit_us=[9.0, 10.0, np.inf, limit], task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    kind = vs.ProcessorType("NODE", capacity=10.0)
    center = vs.Datacenter([0], [0], [1], (kind,))
    case = vs.Scenario(center, work, name, affinity=[[1.0]], network=vs.Network(None, 5.0, 4.0, 0.0))
    for engine in ("reference", "compiled"):
        assert vs.simulate(case, engine=engine).tasks["init_us"].tolist() == begins


@BOTH
def test_no_job_starts_after_its_first_reservation_when_estimates_are_exact(name):
    n_promised = 0
    for seed in range(300, 340):
        jobs, n_units, cores = random_jobs(seed)
        done = starts(name, jobs, n_units, cores)
        for one, start in zip(plain.run(jobs, n_units, cores, RULES[name]), done, strict=True):
            if one.promised is not None:
                n_promised += 1
                assert start <= one.promised, seed
    assert n_promised > 200


def test_conservative_keeps_its_promises_when_jobs_end_early():
    n_earlier = 0
    for seed in range(40):
        jobs, n_units, cores = random_jobs(seed, (1.0, 3.0))
        done = starts("conservative_backfill", jobs, n_units, cores)
        plain.run(jobs, n_units, cores, plain.conservative)
        assert all(start <= one.promised for one, start in zip(jobs, done, strict=True)), seed
        n_earlier += sum(start < one.promised for one, start in zip(jobs, done, strict=True))
    assert n_earlier > 200


@BOTH
def test_equal_requests_are_first_in_first_out(name):
    for seed in range(24):
        jobs, n_units, cores = random_jobs(seed, equal=True)
        assert starts(name, jobs, n_units, cores) == starts("high", jobs, n_units, cores), seed


@BOTH
@pytest.mark.parametrize("wrong", [(1.0,), (0.3, 1.0, 3.0)])
def test_both_engines_agree_and_all_jobs_end(name, wrong):
    for seed in range(16):
        case = scenario(name, *random_jobs(seed, wrong))
        assert differences(case) == [], seed
        assert vs.simulate(case).exit_reason == "ALL_DONE"


@BOTH
def test_no_job_overtakes_one_that_is_expected_to_take_no_time(name):
    """The second job needs the whole node from 50 on; the third one would hold half of it until 100."""
    assert starts(name, [job(5, 50), job(10, 7, 0), job(5, 100)]) == [0, 50, 57]
    late = [replace(each, arrival=2**40) for each in (job(5, 50), job(10, 7, 1e-9), job(5, 100))]  # lost in rounding
    assert starts(name, late) == [2**40, 2**40 + 50, 2**40 + 57]
    assert starts(name, [job(10, 50), job(10, 7), job(10, 5, 0)]) == [0, 50, 57]


def test_easy_with_estimates_of_nothing_schedules_as_plain_lists_do():
    for seed in range(60):
        jobs, n_units, cores = random_jobs(seed)
        random = np.random.default_rng(seed)
        jobs = [replace(each, estimate=random.choice([0, each.run])) for each in jobs]
        done = vs.simulate(scenario("easy_backfill", jobs, n_units, cores), engine="reference").tasks
        plain.run(
            jobs := [replace(each, estimate=max(1e-9, each.estimate)) for each in jobs], n_units, cores, plain.easy
        )
        assert done["init_us"].tolist() == [each.start for each in jobs], seed


def test_easy_by_hand():
    """10 cores. The head needs 8 when 4 are free: its shadow time is 10, and 2 cores are extra then."""
    running, head = job(6, 10), job(8, 10)
    assert starts("easy_backfill", [running, head, job(4, 10)]) == [0, 10, 0]  # ends by the shadow time
    assert starts("easy_backfill", [running, head, job(4, 11)]) == [0, 10, 20]  # does not
    assert starts("easy_backfill", [running, head, job(2, 99)]) == [0, 10, 0]  # takes the extra cores
    assert starts("easy_backfill", [running, head, job(2, 99), job(2, 99)]) == [0, 10, 0, 20]  # which are used up
    assert starts("easy_backfill", [running, head, job(2, 99), job(2, 10)]) == [0, 10, 0, 0]
    assert starts("easy_backfill", [running, head, job(4, 11)], n_units=2) == [0, 0, 0]
    assert starts("easy_backfill", [running, job(10, 9), head, job(4, 30)], n_units=2) == [0, 0, 9, 0]  # the other node


def test_easy_delays_the_second_in_line_and_conservative_does_not():
    jobs = [job(6, 10), job(8, 10), job(9, 5), job(2, 25)]
    assert starts("easy_backfill", jobs) == [0, 10, 25, 0]
    assert starts("conservative_backfill", jobs) == [0, 10, 20, 25]


def test_conservative_moves_up_in_order_when_a_job_ends_early():
    jobs = [job(10, 4, estimate=10), job(10, 3), job(10, 2), job(10, 1)]
    assert starts("conservative_backfill", jobs) == [0, 4, 7, 9]


@BOTH
def test_what_runs_beyond_its_estimate_counts_as_ending_now(name):
    jobs = [job(10, 20, estimate=5), job(10, 1), job(10, 1, arrival=6)]
    assert starts(name, jobs) == [0, 20, 21]
    assert starts(name, [*jobs, job(10, 9)][:3], n_units=2) == [0, 0, 6]


def test_a_job_that_waits_for_a_late_one_starts_elsewhere():
    """Unit 0 is promised for 5, and late; unit 1 is free at 7."""
    jobs = [job(10, 20, estimate=5), job(10, 7), job(10, 1)]
    assert starts("conservative_backfill", jobs, n_units=2) == [0, 0, 7]


def test_conservative_jobs_behind_a_late_one_are_not_lost():
    for seed in range(24):
        jobs, n_units, cores = random_jobs(seed, (0.2, 0.5, 1.0, 2.0))
        assert np.isfinite(starts("conservative_backfill", jobs, n_units, cores)).all()


def two_speeds(policy, n, **more):
    """A fast and a slow unit: jobs of 4 take 4 or 12."""
    work = vs.Workload(np.zeros(n, int), np.arange(n + 1), np.zeros(n), np.full(n, 4.0), *np.zeros((3, n)),
                       np.full(n, -1), task_types=(vs.TaskType("T"),), **more)  # fmt: skip
    center = vs.Datacenter([0, 1], [0, 0], [0, 1], (vs.ProcessorType("FAST"), vs.ProcessorType("SLOW")))
    return vs.Scenario(center, work, policy, affinity=[[1.0], [1 / 3]], network=vs.Network(None, None, None, 0.0))


@BOTH
def test_of_units_that_are_free_at_one_time_the_one_that_ends_first_is_reserved(name):
    """Both are free at 10. The third task needs all of one and takes 12 or 4: the last one, for 20, keeps off its."""
    times = np.array([[10.0, 10.0], [10.0, 10.0], [12.0, 4.0], [20.0, 20.0]])
    case = two_speeds(name, 4, times_us=times, demand=np.array([0.6, 0.6, 1.0, 0.4]))
    done = vs.simulate(case, engine="reference").tasks
    assert done["unit"].tolist() == [0, 1, 1, 0]
    assert done["init_us"].tolist() == [0, 0, 10, 0]


def test_earliest_completion_waits_for_the_fast_unit_while_that_pays():
    done = vs.simulate(two_speeds("earliest_completion", 4)).tasks
    assert done["unit"].tolist() == [0, 0, 0, 1]  # the third ends at 12 on either, and the first unit is taken
    assert done["init_us"].tolist() == [0, 4, 8, 0]
    done = vs.simulate(two_speeds("earliest_finish", 4)).tasks
    assert done["unit"].tolist() == [0, 1, 0, 0]  # takes what is idle


def test_earliest_completion_and_finish_know_measured_times():
    times = np.array([[9.0, 2.0], [9.0, 2.0], [1.0, 2.0]])  # the affinity says the opposite
    done = vs.simulate(two_speeds("earliest_completion", 3, times_us=times)).tasks
    assert done["unit"].tolist() == [1, 1, 0]
    assert done["finish_us"].tolist() == [2, 4, 1]
    done = vs.simulate(two_speeds("earliest_finish", 3, times_us=times)).tasks
    assert done["unit"].tolist() == [1, 0, 1]
    assert done["finish_us"].tolist() == [2, 9, 4]


def test_an_estimate_is_shared_out_by_speed():
    """Estimates of 80 for 8 in the mean: 40 on the fast unit, 120 on the slow one."""
    case = two_speeds("earliest_completion", 4, estimate_us=np.array([80.0, 8.0, 8.0, 8.0]))
    done = vs.simulate(case).tasks
    assert done["unit"].tolist() == [0, 1, 1, 1]  # 40 + 4 > 12; 24; 36
    assert done["init_us"].tolist() == [0, 0, 12, 24]


def test_a_commitment_is_kept():
    case = two_speeds("earliest_completion", 2, estimate_us=np.array([2.0, 8.0]), time_factor=np.array([10.0, 1.0]))
    done = vs.simulate(case).tasks
    assert done["unit"].tolist() == [0, 0]
    assert done["init_us"].tolist() == [0, 40]  # it was thought to be 1


def test_earliest_completion_counts_transfers():
    case = two_speeds("earliest_completion", 1)
    work = replace(case.workload, data_bytes=np.array([100.0]), data_shelf=np.array([1]))
    slow_net = vs.Network(None, 5.0, 4.0, 0.0)
    assert vs.simulate(replace(case, workload=work, network=slow_net)).tasks["unit"].tolist() == [1]  # 12 < 20 + 4


@pytest.mark.parametrize("name", ["earliest_completion", *RULES])
def test_requests_are_met(name):
    case = two_speeds(name, 2, requests={"sms": np.array([8.0, 0.0])})
    kinds = (vs.ProcessorType("FAST", attributes={"sms": 4}), vs.ProcessorType("SLOW", attributes={"sms": 8}))
    case = replace(case, datacenter=replace(case.datacenter, processor_types=kinds))
    assert vs.simulate(case).tasks["unit"].tolist() == [1, 0]
