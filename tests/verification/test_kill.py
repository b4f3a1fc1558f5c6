"""What is compared of a plan that was killed and one that was not."""

from pathlib import Path

import vinesim as vs
from verification.kill import TARGETS

PLAN = {
    "scenario": str(Path(__file__).parents[2] / "examples" / "quickstart.yaml"),
    "choose": {"datacenter.racks[0].units.GPU": {"from": 20, "to": 22}},
    "minimize": "cost.purchase",
    "limits": {"jobs.latency_us.p99": {"below": "10 s"}},
    "confirm": {"replications": 0, "horizon": 1},
}


def test_a_plan_that_found_its_runs_is_the_same_as_one_that_did_them(tmp_path):
    done = vs.plan(PLAN, tmp_path / "out", workers=1)
    made = TARGETS["plan"].made(tmp_path / "out")
    found = vs.plan(PLAN, tmp_path / "out", workers=1)
    assert found.counts != done.counts
    assert TARGETS["plan"].made(tmp_path / "out") == made
