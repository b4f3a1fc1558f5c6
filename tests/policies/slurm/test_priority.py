import pytest

from vinesim.policies.slurm.priority import (
    LARGE,
    RELATIVE,
    SMALL,
    age,
    of_largest,
    of_resource,
    size,
    total,
    whole_minutes,
)  # fmt: skip


def test_age_counts_up_to_whole_minutes():
    assert whole_minutes(1000.0) == 1020.0
    assert whole_minutes(1020.0) == 1020.0
    assert age(40.0, 1020.0) == pytest.approx(40 / 1020)
    assert age(5000.0, 1020.0) == 1.0
    assert age(-1.0, 1020.0) == age(1.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("nodes", "cpus", "favours", "expected"),
    [(2, 32, LARGE, 0.5), (1, 1, LARGE, 0.1328125), (1, 4, SMALL, 0.84375), (2, 32, RELATIVE, 2 / 3 / 4)],
)
def test_size_on_four_nodes_of_16_cpus(nodes, cpus, favours, expected):
    assert size(nodes, cpus, 3.0, 4, 64, favours) == pytest.approx(expected)


def test_parts():
    assert of_largest(20.0, 100.0) == 0.2
    assert of_largest(20.0, 0.0) == 0.0
    assert of_resource(4.0, 32.0) == 0.125
    assert of_resource(4.0, 0.0) == 0.0


def test_nice_is_subtracted_from_the_whole_number_and_1_is_the_least():
    # weights of 1000, but 3000 for GPUs: age 155.2, size 156.25, partition 200, QOS 500, cpu 62.5, mem 3.1, gpu 375
    weighted = 155.2 + 156.25 + 200 + 500 + 62.5 + 3.1 + 375
    assert total(weighted, 0.0) == 1452.0
    assert total(weighted, 52.0) == 1400.0
    assert total(weighted, -100.0) == 1552.0
    assert total(weighted, 3000.0) == 1.0
