"""Small plans whose runs are short on the reference engine."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import vinesim as vs
from vinesim.plans.answer import Answer

MIX = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
    "workload": {
        "generator": "mix",
        "options": {"n_jobs": 20, "tasks_per_job": 3, "operations": 5e6, "shares": {"INT": 1, "MEM": 2}},
    },
    "arrivals": {"poisson": {"mean": 300}},
    "prices": {"CPU_INTEL": 2000, "GPU": 3000},
    "power": {"CPU_INTEL": 120, "GPU": 250},
}
CPUS, GPUS = "datacenter.racks[0].units.CPU_INTEL", "datacenter.racks[0].units.GPU"


def little_plan() -> dict[str, Any]:
    """A plan: 0 to 7 CPUs, 0 to 2 GPUs, and two policies; the cheapest for a latency limit."""
    return {
        "scenario": deepcopy(MIX),
        "choose": {CPUS: {"from": 0, "to": 7}, GPUS: {"from": 0, "to": 2}, "policy": ["high", "flat"]},
        "minimize": "cost.purchase",
        "limits": {"jobs.latency_us.mean": {"below": "450 us"}},
        "confirm": {"replications": 40, "horizon": 1},
        "budget": {"runs": 4000},
    }


@pytest.fixture
def mapping() -> dict[str, Any]:
    """Return a copy of the plan for a test to change."""
    return little_plan()


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    """Return the answer to the unchanged plan, and its folder."""
    folder = tmp_path_factory.mktemp("planned") / "out"
    return vs.plan(little_plan(), folder, workers=1), folder
