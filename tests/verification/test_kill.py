"""What is compared of a plan that was killed and one that was not."""

import vinesim as vs
from verification import kill

PLAN = {
    "scenario": {**kill.PLAN["scenario"], "policy": "high"},
    "choose": {f"{kill.UNITS}.GPU": {"from": 20, "to": 22}},
    "minimize": "cost.purchase",
    "limits": {"jobs.latency_us.p99": {"below": "10 s"}},
    "confirm": {"replications": 0, "horizon": 1},
}


def test_a_plan_that_found_its_runs_is_the_same_as_one_that_did_them(tmp_path):
    done = vs.plan(PLAN, tmp_path / "out", workers=1)
    made = kill.TARGETS["plan"].made(tmp_path / "out")
    found = vs.plan(PLAN, tmp_path / "out", workers=1)
    assert found.counts != done.counts
    assert kill.TARGETS["plan"].made(tmp_path / "out") == made
