"""The arrays of a model have the same types whatever their numbers: a loop is compiled again for others."""

from dataclasses import replace

import numpy as np

import vinesim as vs
from tests.real_nodes import real_scenario
from vinesim.state.build import build_model
from vinesim.state.model import ROWS


def kinds(case):
    arrays = build_model(case).arrays(ROWS)._asdict()
    return {name: (array.dtype, array.flags.c_contiguous) for name, array in arrays.items()}


def test_overheads_of_tasks_that_hold_several_units_are_in_the_usual_order():
    cases = (real_scenario(seed, "high") for seed in range(50))
    case = next(one for one in cases if one.workload.has_vectors)
    overheads = np.arange(case.affinity.size, dtype=float).reshape(case.affinity.shape)
    assert case.affinity.shape[0] > 1
    assert kinds(replace(case, overhead_us=overheads)) == kinds(replace(case, overhead_us=None))


def test_attributes_that_are_whole_are_numbers_as_others():
    def case(cores):
        types = (vs.ProcessorType("CPU", attributes={"cores": cores}),)
        work = vs.Workload(
            *([0], [0, 1], [0.0], [1.0], [0.0], [0], [0], [-1]),
            requests={"cores": [1.0]},
            task_types=(vs.TaskType("T"),),
        )
        return vs.Scenario(vs.Datacenter.of([("CPU", 0, 0)], types), work, affinity=np.ones((1, 1)))

    assert kinds(case(4)) == kinds(case(4.5))
