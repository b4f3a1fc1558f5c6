"""The generators: what each makes, that the seed decides, and that wrong options are refused by name."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError
from vinesim.model.workload import NO_PREFERENCE
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import Exponential
from vinesim.workloads.job_mix import JobKind
from vinesim.workloads.placement import distinct_nodes, nodes_of
from vinesim.workloads.registry import GENERATORS, generator

NEEDED = {
    "identical": {"n_jobs": 20},
    "mix": {"shares": {"FP_GOOD": 70, "FP_BAD": 30}},
    "jobs": {"n_jobs": 20, "sizes": Exponential(30e6)},
    "job_mix": {"n_jobs": 20, "kinds": [JobKind("web", Arrivals(), {"sizes": Exponential(30e6)})]},
}


def make(name, seed=0, nodes=((0, 0),), **options):
    return generator(name).generate(NEEDED.get(name, {}) | options, seed=seed, nodes=nodes)


def code(name):
    return [t.name for t in TASK_TYPES].index(name)


def test_500jobs():
    work = make("500jobs")
    assert (work.n_jobs, work.n_tasks) == (500, 2500)
    assert set(np.diff(work.job_first)) == {5}
    assert set(work.operations) == {30e6}
    assert set(work.job_task_type) == {code("FP_GOOD")}
    assert {PROCESSOR_TYPES[p].name for p in work.preferred_type} == {"GPU"}
    assert np.array_equal(work.arrival_us, np.arange(500) * 7.0)
    assert not work.data_bytes.any()


def test_identical():
    work = make("identical", n_jobs=3, tasks_per_job=2, task_type="IO", operations=5)
    assert work.job_first.tolist() == [0, 2, 4, 6]
    assert set(work.preferred_type) == {NO_PREFERENCE}
    assert set(work.job_task_type) == {code("IO")}


def test_mix_is_exact_by_job_and_shuffled():
    work = make("mix", n_jobs=500, seed=4)
    assert np.bincount(work.job_task_type)[[code("FP_BAD"), code("FP_GOOD")]].tolist() == [150, 350]
    assert (np.diff(work.job_task_type) != 0).sum() > 50


@settings(max_examples=100)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any), st.integers(1, 99))
def test_mix_gives_every_type_its_share_within_one_job(shares, n_jobs):
    named = {TASK_TYPES[i].name: float(share) for i, share in enumerate(shares)}
    counts = np.bincount(make("mix", shares=named, n_jobs=n_jobs, tasks_per_job=1).job_task_type, minlength=7)
    exact = np.array(shares + [0] * (7 - len(shares))) / sum(shares) * n_jobs
    assert (np.abs(counts - exact) <= 1).all()


def test_sized_follows_the_distribution():
    work = make("sized", seed=1)
    size = np.sort(np.diff(work.job_first))
    assert (work.n_jobs, work.n_tasks) == (500, 25_000)
    assert size[449] <= 20 < size[450]
    assert size[489] <= 200 < size[490]
    assert len(set(size[:450])) == 20


def test_neurasmus_inverts_table_3():
    spec = generator("neurasmus")
    work = make("neurasmus", seed=2)
    assert (work.n_jobs, work.n_tasks) == (2500, 2500)
    assert (np.abs(np.bincount(work.job_task_type) - 2500 / 3) < 100).all()
    affinity = spec.affinity()
    assert affinity.shape == (len(spec.processor_types), len(spec.task_types))
    assert affinity[1, 2] == 1 / 10
    assert not affinity[3].any()


@pytest.mark.parametrize("name", [name for name, spec in GENERATORS.items() if not spec.own_arrivals])
def test_the_seed_decides_and_streams_are_apart(name):
    nodes = [(r, s) for r in range(3) for s in range(4)]
    options = {"arrivals": "poisson", "iat_us": 3.0, "data_bytes": 8192.0}
    one, again, other = (make(name, seed, nodes, **options) for seed in (5, 5, 6))
    for item in dataclasses.fields(one):
        a, b = getattr(one, item.name), getattr(again, item.name)
        assert a == b if a is None or isinstance(a, tuple) else np.array_equal(a, b)
    assert not np.array_equal(one.arrival_us, other.arrival_us)
    constant = make(name, 5, nodes, data_bytes=8192.0)
    assert np.array_equal(one.data_shelf, constant.data_shelf)
    assert np.array_equal(one.job_task_type, constant.job_task_type)


def test_poisson_has_its_mean():
    times = make("identical", n_jobs=20_000, arrivals="poisson", iat_us=5.0).arrival_us
    assert times[0] == 0
    assert times[-1] / 19_999 == pytest.approx(5, rel=0.03)


def test_listed_arrivals():
    assert make("identical", n_jobs=3, arrivals="list", arrival_us=[1, 4, 4]).arrival_us.tolist() == [1, 4, 4]
    with pytest.raises(InputError, match="3 times"):
        make("identical", n_jobs=3, arrivals="list", arrival_us=[1])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5))))
def test_nodes_are_each_there_once_in_order(places):
    rack, shelf = np.array(places, np.int32).reshape(-1, 2).T
    assert list(map(tuple, distinct_nodes(rack, shelf).tolist())) == sorted(set(places))


def test_placement_over_nodes_or_one_rack():
    center = Datacenter.of([("GPU", r, s) for r in range(2) for s in range(3)] + [("GPU", 0, 0)])
    nodes = nodes_of(center)
    assert len(nodes) == 6
    work = make("500jobs", nodes=nodes, data_bytes=8192.0)
    counts = np.bincount(work.data_rack * 3 + work.data_shelf)
    assert (np.abs(counts - 2500 / 6) < 100).all()
    work = make("500jobs", nodes=nodes, data_rack=1)
    assert set(work.data_rack) == {1}
    with pytest.raises(InputError, match="rack"):
        make("500jobs", nodes=nodes, data_rack=2)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("500jobs", {"jobs": 3}, "'jobs'"),
        ("500jobs", {"n_jobs": "many"}, "n_jobs: expected a whole number, found 'many'"),
        ("500jobs", {"n_jobs": 2.5}, "n_jobs"),
        ("500jobs", {"n_jobs": True}, "n_jobs"),
        ("500jobs", {"n_jobs": 0}, "n_jobs"),
        ("500jobs", {"n_jobs": 10**15}, "n_jobs"),
        ("500jobs", {"n_jobs": 10**8, "tasks_per_job": 10**8}, "tasks"),
        ("500jobs", {"operations": -1}, "operations"),
        ("500jobs", {"operations": float("nan")}, "operations"),
        ("500jobs", {"operations": 10**320}, "operations"),
        ("500jobs", {"task_type": "KNIT"}, "INT, FP_BAD"),
        ("500jobs", {"preferred": "ABACUS"}, "CPU_INTEL"),
        ("500jobs", {"arrivals": "tuesdays"}, "one of constant, poisson, gamma"),
        ("500jobs", {"iat_us": -1}, "iat_us"),
        ("500jobs", {"data_bytes": -1}, "data_bytes"),
        ("identical", {"n_jobs": None}, "n_jobs"),
        ("mix", {"shares": [70, 30]}, "a mapping"),
        ("mix", {"shares": {}}, "shares"),
        ("mix", {"shares": {"INT": -1}}, "shares"),
        ("mix", {"shares": {"KNIT": 1}}, "KNIT"),
        ("sized", {"n_tasks": 100}, "at least"),
        ("sized", {"small_share": 1.0, "medium_share": 0.5}, "small_share"),
    ],
)
def test_wrong_options_are_refused(name, options, says):
    with pytest.raises(InputError, match=says):
        make(name, **options)


def test_missing_options_wrong_names_and_seeds():
    with pytest.raises(InputError, match="n_jobs: expected a whole number, found nothing"):
        generator("identical").generate()
    with pytest.raises(InputError, match="500jobs, identical"):
        generator("nonesuch")
    with pytest.raises(InputError, match="seed"):
        make("500jobs", seed=-1)
    assert all(spec.summary for spec in GENERATORS.values())
