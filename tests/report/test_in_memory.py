"""The series of a run in memory are those of the stored run."""

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.consolidate import Consolidate
from tests.report.conftest import EXAMPLES, stalled, transfers
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.metrics.activity import activity_of, stored_activity
from vinesim.metrics.queue import mean_queues, queues_of
from vinesim.metrics.tables import Tables
from vinesim.policies.documents import read_scenario
from vinesim.report.distributions import distributions, distributions_of
from vinesim.report.racks import racks_of
from vinesim.report.usage import usage_of


def interrupted_together():
    """Up to three tasks run as one on a unit; the only node is down until 1 and from 3.5 to 4.5, which ends all."""
    types = (vs.ProcessorType("A"), vs.ProcessorType("B", capacity=4.0))
    center = vs.Datacenter([1, 0, 0, 0, 0], np.zeros(5, int), np.zeros(5, int), types)
    work = vs.Workload([0, 0, 0], [0, 2, 6, 8], np.zeros(3), np.full(8, 4.0), *np.zeros((3, 8)), np.full(8, -1),
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    outages = (vs.Outage(0, 0, 0.0, 1.0), vs.Outage(0, 0, 3.5, 4.5))
    return vs.Scenario(center, work, Consolidate, affinity=np.ones((2, 1)), outages=outages)


OUTAGES = "[{rack: 0, shelf: 25, down: 100 us, up: 900 us}]"
SCENARIOS = {
    "one rack": lambda: read_scenario(EXAMPLES / "quickstart.yaml", ["arrivals.iat=6"]),
    "data to move": transfers,
    "several units a task": lambda: read_scenario(EXAMPLES / "gpu_cluster.yaml"),
    "interrupted": lambda: read_scenario(EXAMPLES / "quickstart.yaml", [f"outages={OUTAGES}", "arrivals.iat=5"]),
    "preempted": lambda: read_scenario(EXAMPLES / "gpu_cluster.yaml", ["policy=srtf"]),
    "moved": lambda: read_scenario(
        EXAMPLES / "energy.yaml",
        [
            "datacenter.racks[0].units={A: 20, B: 20, C: 20, D: 20}",
            "workload.options={n_batches: 8, tasks_per_batch: 9}",
        ],
    ),
    "cut off": lambda: read_scenario(EXAMPLES / "quickstart.yaml", ["arrivals.iat=4", "horizon=1 ms"]),
    "never started": stalled,
    "interrupted together": interrupted_together,
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_are_equal(name, tmp_path):
    scenario = SCENARIOS[name]()
    result = vs.simulate(scenario, engine="reference")
    write_result(tmp_path / "run", result)
    tables = Tables(scenario, result.outcome)
    activity = activity_of(tables)
    with open_result(tmp_path / "run") as stored:
        own = stored_activity(stored)
        names = stored.processor_types
        order = {code: place for place, code in enumerate(names)}
        type_of_unit = np.array([order[code] for code in tables.unit_type.tolist()])
        assert distributions_of(tables) == distributions(stored)
        if activity.end_us > 0:
            mine, theirs = (usage_of(run, list(names.values()), type_of_unit, 50) for run in (activity, own))
            assert mine == theirs
            assert racks_of(activity, order, stored.place_names) == racks_of(own, order, stored.place_names)
            wanted = [None, *stored.task_types]
            edges = np.linspace(0.0, activity.end_us, 81)
            for mine, queue in zip(mean_queues(tables, wanted, 80), queues_of(stored, wanted), strict=True):
                np.testing.assert_allclose(mine, queue.means(edges), atol=1e-6 + 1e-9 * queue.length.max())
