"""The tree over the nodes: the numbers of its rows, and searches on trees of several levels."""

from itertools import pairwise

import numpy as np
import pytest

import vinesim as vs
from tests.kernels import with_kernels
from tests.properties.equivalence import unlike
from vinesim.core import node_tree
from vinesim.state.layout import FAN, ROOT

TYPES = (vs.ProcessorType("CPU", capacity=16.0), vs.ProcessorType("GPU"), vs.ProcessorType("MEMORY", capacity=64.0))


@with_kernels
def around(n_rows, node, row):
    height = node_tree.highest(n_rows, node)
    return node_tree.leaf(n_rows, node), height[0], height[1], node_tree.above(row), node_tree.below(row)


@pytest.mark.parametrize("n_levels", [2, 3, 4, 6])
def test_rows_are_numbered_level_by_level(n_levels):
    levels, begin = [], ROOT
    for level in range(n_levels):
        levels.append(np.arange(begin, begin + FAN**level))
        begin += FAN**level
    n_leaves = len(levels[-1])
    for upper, lower in pairwise(levels):
        for i, row in enumerate(upper):
            first = lower[FAN * i]
            assert around(begin, 0, row)[4] == first
            assert {around(begin, 0, first + k)[3] for k in range(FAN)} == {row}
            assert first % FAN == 0
    for node in range(n_leaves):
        leaf, row, shift, _, _ = around(begin, node, ROOT)
        assert leaf == levels[-1][node]
        first_there = [(rows, n_leaves // len(rows)) for rows in levels[1:] if node % (n_leaves // len(rows)) == 0]
        rows, below = first_there[0]
        assert (row, 1 << shift) == (rows[node // below], below)


def scenario(n_nodes: int, policy: str, options: dict[str, str], n_tasks: int = 400) -> vs.Scenario:
    """Nodes of a CPU, 2 GPUs and memory, on which tasks of three shapes often wait. Racks of 10 begin within rows of
    the tree."""
    random = np.random.default_rng(n_nodes)
    node = np.repeat(np.arange(n_nodes), 4)
    center = vs.Datacenter(np.tile([0, 1, 1, 2], n_nodes), node // 10, node % 10, TYPES)
    shape, near = random.integers(0, 3, n_tasks), random.integers(0, n_nodes, n_tasks)
    nothing = np.zeros(n_tasks)
    work = vs.Workload(
        job_task_type=nothing,
        job_first=np.arange(n_tasks + 1),
        arrival_us=np.cumsum(random.exponential(12.0 / n_nodes, n_tasks)),
        operations=random.exponential(20.0, n_tasks),
        data_bytes=nothing,
        data_rack=near // 10,
        data_shelf=near % 10,
        preferred_type=nothing - 1,
        demand=np.array([1.0, 0.5, 1.0])[shape],
        units=np.array([1, 1, 2])[shape],
        companions={"CPU": np.array([4.0, 1.0, 16.0])[shape], "MEMORY": np.array([8.0, 40.0, 24.0])[shape]},
        lead_types=nothing,
        lead_sets=(("GPU",),),
        task_types=(vs.TaskType("POD"),),
    )
    return vs.Scenario(center, work, policy, options, affinity=np.array([[0.0], [1.0], [0.0]]))


@pytest.mark.parametrize("n_nodes", [1, 4, 5, 16, 17, 70])
@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("flat", {"order": "xy"}),
        ("high", {}),
        ("closer_to_data", {"distance": "tiers"}),
        ("closer_to_data", {"distance": "coordinates"}),
    ],
    ids=["flat", "high", "tiers", "coordinates"],
)
def test_searches_find_the_unit_that_a_scan_finds(n_nodes, policy, options):
    case = scenario(n_nodes, policy, options)
    compiled = vs.simulate(case, engine="compiled")
    waits = compiled.outcome.task_init_us - case.workload.arrival_us
    assert 0.05 < (waits > 0).mean() < 0.99
    assert unlike(compiled, vs.simulate(case, engine="reference")) == []
