"""The fluid load: against one linear program per datacenter, closed forms, and its power bound."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.plans.fluid import Loads, least_watts
from vinesim.plans.hardware import Hardware
from vinesim.plans.work import Work


def work(units, watts=0.0):
    """Work whose tasks hold whole units of the type that they run on, of capacity 1, and nothing else."""
    units = np.array(units, float)
    n_types = units.shape[1]
    held = np.where(np.isinf(units), np.inf, 0.0)[:, :, None] * np.ones(n_types)
    held = np.where(np.isnan(held), 0.0, held)
    whole, watts = np.where(np.isinf(units), 0.0, units), np.zeros_like(units) + watts
    return Work(held, whole, watts, np.ones(n_types), True)


def loads_of(units, counts):
    units = np.array(units, float)
    return Loads(work(units), np.ones(units.shape[1])).of(np.array(counts, float))


def test_one_task_type_has_a_closed_form():
    found = loads_of([[4.0, 2.0]], [[4, 0], [0, 2], [4, 2], [0, 0]])
    assert found.tolist() == [1.0, 1.0, 0.5, np.inf]


def test_a_type_that_cannot_run_anything_does_not_help():
    found = loads_of([[4.0, np.inf], [np.inf, 2.0]], [[8, 1], [4, 4], [4, 0]])
    assert found.tolist() == [2.0, 1.0, np.inf]


def test_what_tasks_hold_next_to_their_lead_counts_too():
    held = np.array([[[2.0, 0.0, 8.0], [0.0, 1.0, 8.0], [np.inf] * 3]])  # 2 of type 0 or 1 of type 1, 8 of type 2
    own = Work(held, np.zeros((1, 3)), np.zeros((1, 3)), np.ones(3), True)
    capacity = np.array([[4.0, 2.0, 80.0], [4.0, 2.0, 10.0], [4.0, 0.0, 16.0], [4.0, 2.0, 0.0], [0.0, 0.0, 9.0]])
    assert Loads(own, np.ones(3)).of(capacity).tolist() == [0.25, 0.8, 0.5, np.inf, np.inf]


def test_a_whole_unit_is_the_capacity_of_the_smallest():
    own = work([[3.0]])
    assert Loads(own, np.array([20.0])).of(np.array([[240.0]])).tolist() == [0.25]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_many_at_once_are_never_above_one_by_one(seed):
    random = np.random.default_rng(seed)
    n_tasks, n_types = random.integers(1, 4, 2)
    held = random.uniform(0.1, 5, (n_tasks, n_types, n_types)) * (random.random((n_tasks, n_types, n_types)) < 0.6)
    held[random.random((n_tasks, n_types)) < 0.3] = np.inf
    own = Work(held, random.uniform(0.1, 1, (n_tasks, n_types)), np.zeros((n_tasks, n_types)), np.ones(n_types), True)
    counts = random.integers(0, 6, (40, n_types)).astype(float)
    many = Loads(own, np.ones(n_types)).of(counts)
    single = np.array([Loads(own, np.ones(n_types)).of(count[None])[0] for count in counts])
    assert (many <= single * (1 + 1e-6)).all()
    assert np.isclose(many, single, rtol=1e-6).mean() > 0.7
    assert np.array_equal(np.isinf(many), np.isinf(single))


def test_the_least_power_is_idling_and_the_cheapest_place_of_each_task():
    own, idle_w = work(np.ones((1, 2)), [[30.0, 10.0]]), np.array([5.0, 7.0])
    assert least_watts(own, hardware([2, 1], [1.0, 1.0]), idle_w) == 27.0
    assert least_watts(own, hardware([2, 0], [1.0, 1.0]), idle_w) == 40.0
    assert least_watts(own, hardware([2, 0], [3.0, 1.0]), idle_w) == 20.0  # the same share of a larger unit


def hardware(count, largest):
    count, largest = np.array(count), np.array(largest)
    return Hardware(count, count[None], (count * largest)[None], largest, largest)
