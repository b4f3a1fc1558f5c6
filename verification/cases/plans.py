"""Reported faults of plans: what counts as missed, logs that end, ends without an answer, and neighbours."""

import json
from pathlib import Path

from verification.cases.case import case, vinesim, write

BATCH = """
extends: none
processor_types: [{name: CPU}]
prices: {CPU: 5}
network: none
datacenter: {racks: [{nodes: [{count: 1, units: {CPU: {cores: 1}}}]}]}
workload: {file: jobs.csv}
policy: fcfs
"""
DROPS = """
datacenter:
  racks: [{nodes: [{units: {E5620x2: 1, C2050: 2}, count: 5}]}]
workload:
  generator: requests
  options: {duration_us: 15 s, spikes: 0, process: batch_poisson, burst: 3.5, scale: 2}
policy: deadline_consolidation
seed: 0
"""
QUEUE = """
extends: none
processor_types: [{name: S, price: 1.0}]
task_types: [J]
affinity: {absolute: {S: {J: 1}}}
datacenter: {racks: [{units: {S: 20}}]}
network: none
workload: {generator: identical, options: {n_jobs: 1000, task_type: J, operations: 100}}
arrivals: {poisson: {mean: 5 us}}
policy: flat
seed: 0
"""


def _plan(folder: Path, scenario: str, plan: str) -> tuple[str, dict[str, object]]:
    """Run a plan; what it printed in one line, and its answer."""
    write(folder, scenario_yaml=scenario, plan_yaml=f"scenario: scenario.yaml\n{plan}")
    done = vinesim(folder, "plan", "plan.yaml", "--out", "out", "--workers", "1")
    return " ".join(done.stdout.split()), json.loads((folder / "out" / "plan.json").read_text())


def _words(answer: dict[str, object]) -> str:
    row = answer["recommended"]
    return "none" if row is None else ", ".join(f"{value}" for value in row["choice"].values())


@case("oracle-plan-drops", "recommended: 5 nodes", seconds=180)
def drops_may_be_recommended(folder: Path) -> str:
    """A request that the policy drops is missed, as the limit counts it; it is no job that did not finish."""
    plan = """
choose: {"datacenter.racks[0].nodes[0].count": [5, 6]}
minimize: units.count
limits: {applications.mean.missed_pct: {below: 5 %}}
looks: [8]
confirm: {replications: 0, horizon: 1}
"""
    _, answer = _plan(folder, DROPS, plan)
    return f"recommended: {_words(answer)} nodes"


@case("plan-batch", "5 nodes of 10", seconds=180)
def a_log_that_ends_is_no_rate(folder: Path) -> str:
    """10 jobs of 100 s, one a second: 5 nodes do them in two rounds, within 210 s."""
    plan = """
choose: {"datacenter.racks[0].nodes[0].count": {from: 1, to: 10}}
minimize: cost.purchase
limits: {jobs.latency_us.max: {below: 210 s}}
confirm: {horizon: 1}
"""
    write(folder, jobs_csv="arrival_s,time_s,cores\n" + "".join(f"{i},100,1\n" for i in range(10)))
    _, answer = _plan(folder, BATCH, plan)
    return f"{_words(answer)} nodes of 10"


NONE_PLAN = """
choose: {"datacenter.racks[0].units.S": {from: 15, to: 45}}
minimize: cost.purchase
limits: {jobs.wait_us.p99: {below: LIMIT}}
budget: {runs: RUNS}
confirm: {replications: 0, horizon: 1}
"""


@case("oracle-plan-none", "found within 12 runs: True; said within 2: True", seconds=180)
def ends_without_an_answer(folder: Path) -> str:
    """A small budget finds a point that holds; one that is too small says so, and not that there is none."""
    _, found = _plan(folder, QUEUE, NONE_PLAN.replace("LIMIT", "50 us").replace("RUNS", "12"))
    (folder / "less").mkdir()
    text, _ = _plan(folder / "less", QUEUE, NONE_PLAN.replace("LIMIT", "0.002 us").replace("RUNS", "2"))
    said = "No candidate that keeps all limits was found"
    return f"found within 12 runs: {found['recommended'] is not None}; said within 2: {said in text}"


@case("ux-plan-neighbour", "a neighbour that is better holds: False", seconds=180)
def neighbours_come_before_the_answer(folder: Path) -> str:
    """No point next to the recommended one is both better and known to hold."""
    _, answer = _plan(folder, QUEUE, NONE_PLAN.replace("LIMIT", "50 us").replace("RUNS", "40"))
    best = answer["recommended"]["objectives"][0]["estimate"]
    better = [
        one
        for one in answer["neighbors"]
        if one["row"]["verdict"] == "holds" and one["row"]["objectives"][0]["estimate"] < best
    ]
    return f"a neighbour that is better holds: {bool(better)}"


@case("ux-plan-chart", "workload, prices, choices, policy, limits", seconds=180)
def the_page_states_its_question(folder: Path) -> str:
    """The page says what was asked, before what was found."""
    plan = NONE_PLAN.replace("LIMIT", "50 us").replace("RUNS", "40")
    _plan(folder, QUEUE, plan)
    html = (folder / "out" / "plan.html").read_text()
    question = html[html.index('id="question"') :]
    question = question[: question.index("<section")].lower()
    words = ("workload", "prices", "choices", "policy", "limits")
    return ", ".join(word for word in words if word.rstrip("s") in question)
