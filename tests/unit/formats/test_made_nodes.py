"""The nodes that an import makes for a log that does not say what it ran on."""

import numpy as np
import pytest

from vinesim.formats.importers.made_nodes import made_nodes
from vinesim.formats.source.quantities import size_bytes
from vinesim.model.errors import InputError
from vinesim.model.workload import ANYWHERE, NODE, Workload


def nodes(time_us=(0.7, 0.7), **columns):
    """The nodes for jobs of one task each that arrive 1 us apart, or as ``columns`` say."""
    n = len(time_us)
    given = {"job_first": np.arange(n + 1), "arrival_us": np.arange(n), "demand": np.ones(n)} | columns
    zeros, n_jobs = np.zeros(n), len(given["arrival_us"])
    work = Workload(
        job_task_type=np.zeros(n_jobs), operations=zeros + 1, data_bytes=zeros, data_rack=zeros, data_shelf=zeros,
        preferred_type=zeros - 1, **given
    )  # fmt: skip
    return made_nodes(work, ["CPU", "GPU", "memory"], np.array(time_us))


@pytest.mark.parametrize(("time_us", "count"), [((0.35, 0.35), 1), ((0.35, 0.3501), 2), ((7, 7), 20), ((0.7, 0.7), 2)])
def test_as_many_as_make_the_load(time_us, count):
    assert [one["count"] for one in nodes(time_us)] == [count]


@pytest.mark.parametrize("size", [1, 3, 2**10, 2**10 + 1, 3e9, 2.0**50, 2.0**50 + 1, 9_999 * 2.0**40, 3e16])
def test_memory_is_never_less_than_the_largest_job_has(size):
    ((made),) = nodes(companions={"memory": np.array([1, size])})
    assert size <= size_bytes(made["memory"]) < 2 * size
    assert np.log2(size_bytes(made["memory"])) % 1 == 0


def test_shares_of_gpus_are_what_they_take():
    gpus = {"lead_types": np.zeros(2), "lead_sets": (("GPU",),)}
    ((made),) = nodes((7, 7), demand=np.array([0.25, 0.25]), **gpus)
    assert (made["count"], made["units"]["GPU"]) == (5, 1)
    ((made),) = nodes((6, 6), units=np.array([2, 4]), demand=np.array([np.inf, np.inf]), **gpus)
    assert (made["count"], made["units"]["GPU"]) == (13, 4)


def test_a_node_holds_what_a_gang_has_there():
    gang = {"job_first": np.array([0, 4]), "arrival_us": np.zeros(1), "demand": np.full(4, 3.0)}
    cases = (ANYWHERE, 2, 6, 2), (ANYWHERE, 3, 9, 2), (NODE, 0, 12, 1), (ANYWHERE, 9, 12, 1)
    for within, per_node, cores, count in cases:
        ((made),) = nodes([1.0] * 4, **gang, gang_within=np.array([within]), tasks_per_node=np.array([per_node]))
        assert (made["units"]["CPU"]["cores"], made["count"]) == (cores, count)


def test_the_widest_job_is_one_that_says_how_many_of_its_tasks_are_at_a_node():
    jobs = {"job_first": np.array([0, 3, 7]), "arrival_us": np.zeros(2), "demand": np.ones(7)}
    gang = {"gang_within": np.array([ANYWHERE] * 2), "tasks_per_node": np.array([0, 2])}
    assert [one["count"] for one in nodes([1.0] * 7, **jobs, **gang)] == [2]


def test_more_units_than_a_scenario_may_have_are_an_error():
    assert nodes((3.5e6, 3.5e6))[0]["count"] == 10_000_000
    with pytest.raises(InputError, match="at most 10,000,000 units in all"):
        nodes((3.5e6, 3.5e6 + 1))


@pytest.mark.parametrize(
    ("cores", "count"), [([16.0, 16.0], 2), ([8.0, 8.0], 2), ([16.0, 8.0, 8.0], 2), ([16.0] * 5, 5)]
)
def test_a_gang_has_nodes_for_all_its_tasks_however_little_it_works(cores, count):
    """Its tasks are alike, or one fills a node and the others share one."""
    gang = {"job_first": np.array([0, len(cores)]), "arrival_us": np.zeros(1), "demand": np.array(cores)}
    ((made),) = nodes([1e-9] * len(cores), **gang, gang_within=np.array([ANYWHERE]))
    assert made["count"] == count
