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


def test_the_ranking_knows_which_types_are_as_fast_as_the_next():
    types = tuple(vs.ProcessorType(name) for name in "ABCDE")
    work = vs.Workload(*([0], [0, 1], [0.0], [1.0], [0.0], [0], [0], [-1]), task_types=(vs.TaskType("T"),))
    center = vs.Datacenter.of([(name, 0, 0) for name in "ABCD"], types)  # no unit is an E
    case = vs.Scenario(center, work, affinity=np.array([[2.0], [3.0], [0.0], [3.0], [3.0]]))
    model = build_model(case)
    assert model.ranking.tolist() == [[1, 3, 0, -1, -1]]
    assert model.is_tied.tolist() == [[True, False, False, False, False]]
    result = vs.simulate(replace(case, policy="high"), engine="compiled")
    assert result.outcome.task_unit.tolist() == [1]
