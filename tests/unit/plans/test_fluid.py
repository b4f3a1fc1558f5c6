"""The fluid load: against one linear program per datacenter, closed forms, and its power bound."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.plans.fluid import Loads, Work, least_watts


def work(units):
    units = np.array(units, float)
    return Work(units, np.zeros_like(units), True)


def test_one_task_type_has_a_closed_form():
    found = Loads(work([[4.0, 2.0]])).of(np.array([[4, 0], [0, 2], [4, 2], [0, 0]]))
    assert found.tolist() == [1.0, 1.0, 0.5, np.inf]


def test_a_type_that_cannot_run_anything_does_not_help():
    loads = Loads(work([[4.0, np.inf], [np.inf, 2.0]]))
    assert loads.of(np.array([[8, 1], [4, 4], [4, 0]])).tolist() == [2.0, 1.0, np.inf]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_many_at_once_are_never_above_one_by_one(seed):
    random = np.random.default_rng(seed)
    n_tasks, n_types = random.integers(1, 4, 2)
    units = random.uniform(0.1, 5, (n_tasks, n_types))
    units[random.random((n_tasks, n_types)) < 0.3] = np.inf
    counts = random.integers(0, 6, (40, n_types))
    many = Loads(work(units)).of(counts)
    single = np.array([Loads(work(units)).of(count[None])[0] for count in counts])
    assert (many <= single * (1 + 1e-6)).all()
    assert np.isclose(many, single, rtol=1e-6).mean() > 0.7
    assert np.array_equal(np.isinf(many), np.isinf(single))


def test_the_least_power_is_idling_and_the_cheapest_place_of_each_task():
    own = Work(np.ones((1, 2)), np.array([[30.0, 10.0]]), True)
    assert least_watts(own, np.array([2, 1]), np.array([5.0, 7.0])) == 27.0
    assert least_watts(own, np.array([2, 0]), np.array([5.0, 7.0])) == 40.0
