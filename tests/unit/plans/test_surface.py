"""Kriging: what was missed at points is expected at points like them, with a deviation that grows with the distance."""

import numpy as np

from vinesim.plans.surface import kriged


def test_known_places_have_their_values_and_distance_brings_doubt():
    places = np.linspace(0, 1, 9)[:, None]
    missed = np.column_stack([np.sin(5 * places[:, 0]), np.zeros(9)])
    found, off = kriged(places, missed, places)
    assert np.allclose(found, missed, atol=0.02)
    assert off.max() < 0.1
    between = np.array([[0.3], [3.0]])
    found, off = kriged(places, missed, between)
    assert abs(found[0, 0] - np.sin(1.5)) < 0.02
    assert abs(found[1, 0]) < 0.02  # nothing is known so far away
    assert off[1, 0] > 10 * off[0, 0] > 0
    assert not found[:, 1].any()
    assert not off[:, 1].any()


def test_two_runs_at_one_place_do_no_harm():
    found, _ = kriged(np.zeros((2, 1)), np.array([[1.0], [3.0]]), np.zeros((1, 1)))
    assert abs(found[0, 0] - 2.0) < 0.01
