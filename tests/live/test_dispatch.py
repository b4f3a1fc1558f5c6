"""Dispatches are drawn from those of requests that were alike."""

import numpy as np
import pytest

from vinesim.live.dispatch import Dispatches, waiting_at

N = 400
NUMBER = np.arange(N)


def dispatches(took_us, **more):
    columns = {"application": np.zeros(N, int), "unit_type": np.zeros(N, int), "size": np.ones(N)}
    columns |= {"n_waiting": np.zeros(N, int), **more}
    return Dispatches(**columns, took_us=np.asarray(took_us, float))


def drawn(one, n_types=1, seed=0):
    return one.draw(n_types, np.random.default_rng(seed))


@pytest.mark.parametrize("what", ["application", "size", "n_waiting"])
def test_a_draw_is_what_a_request_like_it_took(what):
    """Those with 0 of it took 100 us and those with 1 took 900 us, give or take one."""
    of = NUMBER % 2
    found = drawn(dispatches(np.where(of, 900.0, 100.0) + NUMBER % 3, **{what: of}))[:, 0]
    assert (abs(found - np.where(of, 901.0, 101.0)) <= 1.0).all()
    assert len(np.unique(found)) > 4


def test_a_draw_is_for_a_type():
    kind = NUMBER % 2
    found = drawn(dispatches(np.where(kind, 900.0, 100.0), unit_type=kind), n_types=3)
    assert (found[:, 0] == 100.0).all()
    assert (found[:, 1] == 900.0).all()
    assert set(found[:, 2]) == {100.0, 900.0}  # nothing ran there: any of the application


def test_a_few_that_are_alike_are_not_enough():
    rare = NUMBER < 5
    found = drawn(dispatches(np.where(rare, 900.0, 100.0), n_waiting=np.where(rare, 50, 0)))[:, 0]
    assert set(found[rare]) == {100.0, 900.0} or set(found[rare]) == {100.0}
    assert (found[~rare] == 100.0).all()
    alone = drawn(dispatches(np.where(rare, 900.0, 100.0), application=rare.astype(int)), seed=1)[:, 0]
    assert (alone[~rare] == 100.0).all()


def test_draws_have_the_measured_mean_and_differ_from_draw_to_draw():
    took_us = np.random.default_rng(3).lognormal(5.0, 1.0, N)
    one = dispatches(took_us, n_waiting=NUMBER % 7, size=1.0 + NUMBER % 5)
    means = [drawn(one, seed=seed).mean() for seed in range(50)]
    assert np.mean(means) == pytest.approx(took_us.mean(), rel=0.05)
    assert len(set(means)) == 50


def test_how_many_wait_when_each_is_issued():
    arrival_us, issued_us = np.array([0.0, 1.0, 1.0, 5.0]), np.array([1.0, 2.0, 6.0, 6.0])
    assert waiting_at(issued_us, arrival_us).tolist() == [2, 1, 0, 0]
