"""Jobs from distributions, users and sessions; mixes of kinds."""

import numpy as np
import pytest
from scipy import stats

from vinesim.model.catalog import TASK_TYPES
from vinesim.model.errors import InputError
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import Constant, Exponential, Lognormal, Uniform
from vinesim.workloads.job_mix import JobKind
from vinesim.workloads.registry import generator

N = 20_000


def jobs(seed=0, **options):
    return generator("jobs").generate({"n_jobs": N, "sizes": Lognormal(5e3, 2)} | options, seed=seed)


def mix(*kinds, n_jobs=N, seed=0, **more):
    return generator("job_mix").generate({"n_jobs": n_jobs, "kinds": list(kinds)}, seed=seed, **more)


WEB = JobKind("web", Arrivals("poisson", 10.0), {"sizes": Exponential(5.0)})
BATCH = JobKind(
    "batch",
    Arrivals("gamma", 40.0, cv=2.0),
    {"sizes": 100, "tasks_per_job": 8, "task_type": "INT", "demand": 4, "n_users": 2},
)


def test_sizes_follow_their_distribution_and_are_equal_within_a_job():
    work = jobs(tasks_per_job=Uniform(0, 3))
    counts = np.diff(work.job_first)
    assert set(counts) == {1, 2, 3}
    assert (np.bincount(counts)[1:] / N == pytest.approx(1 / 3, abs=0.02)) is True
    size = work.operations[work.job_first[:-1]]
    assert np.array_equal(work.operations, np.repeat(size, counts))
    assert stats.kstest(size, Lognormal(5e3, 2).scipy().cdf).pvalue > 1e-3


def test_every_other_option():
    work = jobs(task_type="INT", preferred="GPU", demand=Constant(2), data_bytes=8)
    assert {TASK_TYPES[code].name for code in work.job_task_type} == {"INT"}
    assert set(work.demand) == {2}
    assert set(work.data_bytes) == {8}
    assert jobs().demand is None
    assert set(jobs().job_task_type) == {0}
    assert len(set(work.preferred_type)) == 1
    assert work.preferred_type[0] >= 0


def test_a_change_in_one_thing_leaves_the_others():
    one = jobs(n_users=5)
    for other in (
        jobs(n_users=5, arrivals=Arrivals("gamma", 5.0, cv=3.0)),
        jobs(n_users=5, demand=Uniform(0, 1)),
        jobs(n_users=5, tasks_per_job=Uniform(0, 9)),
        jobs(n_users=9),
    ):
        assert np.array_equal(other.operations[other.job_first[:-1]], one.operations)
    assert np.array_equal(jobs(sizes=Exponential(1), n_users=5).application, one.application)
    poisson = Arrivals("poisson", 5.0)
    assert np.array_equal(jobs(arrivals=poisson).arrival_us, jobs(arrivals=poisson, sizes=Exponential(1)).arrival_us)
    same = jobs(sizes=Lognormal(5e3, 3)).operations
    assert stats.spearmanr(same, one.operations).statistic == pytest.approx(1)  # common random numbers


def test_users_have_their_shares():
    work = jobs(n_users=4, user_skew=1.0)
    assert work.application_names == ("U1", "U2", "U3", "U4")
    shares = np.array([12, 6, 4, 3]) / 25
    assert np.bincount(work.application) / N == pytest.approx(shares, abs=0.015)
    assert jobs().application is None


def test_sizes_of_a_user_are_alike_and_the_distribution_stays():
    work = jobs(n_users=400, user_correlation=0.5)
    assert stats.kstest(work.operations, Lognormal(5e3, 2).scipy().cdf).statistic < 0.1  # 400 independent users
    score = stats.norm.ppf(stats.rankdata(work.operations) / (N + 1))
    means = np.bincount(work.application, score) / np.bincount(work.application)
    assert means.var() == pytest.approx(0.5 + 0.5 / 50, abs=0.1)
    apart = stats.norm.ppf(stats.rankdata(jobs(n_users=400).operations) / (N + 1))
    assert (np.bincount(work.application, apart) / np.bincount(work.application)).var() < 0.05


def test_sizes_of_a_session_are_alike():
    work = jobs(jobs_per_session=10.0, session_correlation=0.8)
    score = stats.norm.ppf(stats.rankdata(work.operations) / (N + 1))
    for lag in (1, 3):  # two jobs are of one session with probability 0.9 per step
        assert np.corrcoef(score[lag:], score[:-lag])[0, 1] == pytest.approx(0.8 * 0.9**lag, abs=0.05)
    assert stats.kstest(work.operations, Lognormal(5e3, 2).scipy().cdf).statistic < 0.04


def test_kinds_arrive_side_by_side_each_with_its_own():
    work = mix(WEB, BATCH)
    names = np.array(work.application_names)[work.application]
    assert work.application_names == ("web", "batch.U1", "batch.U2")
    is_web = names == "web"
    assert is_web.mean() == pytest.approx(0.8, abs=0.02)
    assert np.diff(work.arrival_us[is_web]).mean() == pytest.approx(10, rel=0.05)
    assert np.diff(work.arrival_us[~is_web]).mean() == pytest.approx(40, rel=0.1)
    counts = np.diff(work.job_first)
    assert set(counts[is_web]) == {1}
    assert set(counts[~is_web]) == {8}
    of_web = np.repeat(is_web, counts)
    assert set(work.operations[~of_web]) == {100}
    assert work.operations[of_web].mean() == pytest.approx(5, rel=0.05)
    assert np.isnan(work.demand[of_web]).all()
    assert set(work.demand[~of_web]) == {4}
    assert {TASK_TYPES[code].name for code in work.job_task_type[~is_web]} == {"INT"}


def test_a_kind_does_not_change_with_the_others():
    alone, mixed = mix(WEB, n_jobs=1000), mix(BATCH, WEB, n_jobs=1000)
    own = np.array(mixed.application_names)[mixed.application] == "web"
    n = int(own.sum())
    assert np.array_equal(mixed.arrival_us[own], alone.arrival_us[:n])
    assert np.array_equal(mixed.operations[np.repeat(own, np.diff(mixed.job_first))], alone.operations[:n])


def test_data_of_a_kind_lies_on_the_nodes():
    kind = JobKind("d", Arrivals(), {"sizes": 1, "data_bytes": 5.0, "data_rack": 1})
    work = mix(kind, n_jobs=50, nodes=[(0, 0), (1, 0), (1, 1)])
    assert set(work.data_rack) == {1}
    assert set(work.data_shelf) == {0, 1}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sizes": "big"}, "a distribution such as"),
        ({"n_users": 0}, "n_users"),
        ({"n_users": 2, "user_skew": -1}, "user_skew"),
        ({"user_skew": 1.0}, "several users"),
        ({"jobs_per_session": 0.5}, "jobs_per_session"),
        ({"session_correlation": 0.5}, "sessions of several jobs"),
        ({"user_correlation": 1.5}, "user_correlation"),
        ({"user_correlation": 0.6, "session_correlation": 0.6, "jobs_per_session": 2.0}, "at most 1"),
        ({"tasks_per_job": Constant(1e9)}, "tasks in all"),
        ({"task_type": "KNIT"}, "INT"),
    ],
)
def test_wrong_options_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        jobs(**options)


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ([WEB, WEB], "web twice"),
        ([JobKind("a", Arrivals(), {"size": 1})], "kinds.a.jobs.option"),
        ([JobKind("a", Arrivals("list", times_us=[1, 2]), {"sizes": 1})], "at most the 2 jobs"),
        ([], "a list of kinds"),
    ],
)
def test_wrong_kinds_are_refused(kinds, says):
    with pytest.raises(InputError, match=says):
        mix(*kinds)
