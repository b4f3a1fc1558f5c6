"""Groups of tasks that a policy tells apart."""

import numpy as np

import vinesim as vs
from vinesim.state.build import build_model


def groups_of(keys, **columns):
    """The group of each of the tasks, each its own job, by what the policy distinguishes."""
    n = len(next(iter(columns.values())))
    names = tuple(f"U{i}" for i in range(n)) if "user" in columns else ()
    work = vs.Workload([0] * n, range(n + 1), [0.0] * n, [1.0] * n, *np.zeros((3, n)), [-1] * n,
                       task_types=(vs.TaskType("T"),), user_names=names, **columns)  # fmt: skip
    center = vs.Datacenter.of([("P", 0, 0)], (vs.ProcessorType("P"),))
    return build_model(vs.Scenario(center, work, affinity=[[1.0]]), keys)


def test_groups_differ_by_what_the_policy_names_and_chain_their_tasks_in_order():
    columns = {"priority": [2.0, 0.5, 2.0, 0.5], "user": [0, 0, 1, 0]}
    model = groups_of(("priority",), **columns)
    assert (model.task_group.tolist(), model.task_next.tolist()) == ([1, 0, 1, 0], [2, 3, 4, 4])
    assert groups_of(("priority", "user"), **columns).task_group.tolist() == [1, 0, 2, 0]
    assert groups_of((), **columns).task_group.tolist() == []  # all are alike


def test_columns_of_many_values_need_no_table_of_all_combinations():
    n = 3000
    columns = {"priority": np.arange(n) * 0.5, "user": np.arange(n), "requests": {"cores": np.arange(n) % 2999 * 1.0}}
    model = groups_of(("requests", "priority", "user"), **columns)
    assert model.task_group[:2999].tolist() == [0, *range(2, 3000)]  # the last task asks for what the first one does
    assert model.task_group[2999] == 1
