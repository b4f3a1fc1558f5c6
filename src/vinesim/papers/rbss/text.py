"""What the text of RBSS says beside its figures: requests, submit times, repeated runs, and the ILP."""

from functools import partial

import numpy as np

from vinesim.papers.claim import Claim, Kind, OtherReading
from vinesim.papers.criteria import Above, Between, Each, Equal, Some
from vinesim.papers.data import Data
from vinesim.papers.item import Changes, Item
from vinesim.papers.rbss.measures import OPTIMUM
from vinesim.papers.rbss.nodes import SYSTEM_1, SYSTEM_2, provided, requested
from vinesim.papers.single import run, scenario

HEURISTICS = {"FIFO": "rb_fifo", "SJF": "rb_sjf", "LJF": "rb_ljf", "BA": "rb_ljf_ba", "OCL": "rb_ljf_ocl"}
JITTER = 0.05  # standard deviation of the logarithm of the true times


def _over_provided(data: Data, group: str) -> dict[str, float]:
    """What the jobs of a group request over what it should be."""
    asked, has = data.result(f"requested {group}"), data.result(f"provided {group}")
    return {name: asked[name] / has[name] for name in has}


def submits(changes: Changes) -> dict[str, bool]:
    """Of a hundred times as many submits as the paper has: are they whole seconds, in order, and of a Gaussian?"""
    from scipy.stats import skew

    many = {"workload.options.copies": 100, "workload.options.mean_s": 600, "workload.options.sd_s": 100}
    seconds = np.asarray(scenario(SYSTEM_1, changes, many).workload.arrival_us) / 1e6
    within = float(np.mean(np.abs(seconds - seconds.mean()) < seconds.std()))  # 68.3 % of a Gaussian
    return {
        "integers": bool(np.array_equal(seconds, np.rint(seconds))),
        "ascending": bool((np.diff(seconds) >= 0).all()),
        "Gaussian": abs(float(skew(seconds))) < 0.1 and abs(within - 0.683) < 0.02,
    }


def again(changes: Changes, jitter: float) -> dict[str, float]:
    """Percent by which the total times of two runs of each heuristic on one workload differ."""
    found = {}
    for name, policy in HEURISTICS.items():
        first, second = (
            run(SYSTEM_1, {"policy": policy}, changes, {"workload.options.jitter": spread}).summary["makespan_us"]
            for spread in (0.0, jitter)
        )
        found[name] = 100 * abs(second - first) / min(first, second)
    return found


def _unproven(data: Data) -> float:
    """Percent of the workloads, over all systems and assumptions, whose optimum was not proven in the time limit."""
    status = data.values("optimum", "bound.status", scheduler=OPTIMUM)
    return float(100 * np.mean(status != "OPTIMAL"))


def _largest_gap(data: Data) -> float:
    return float(np.max(data.values("optimum", "bound.gap_pct", scheduler=OPTIMUM)))


def _requests_claim(number: int, group: str, node: str) -> Claim:
    return Claim(
        id=f"RTX.{number}",
        source="section 5.2",
        statement=f"The jobs of group {group} request what the node with the {node} resources has: quotient",
        expected="1",
        measure=lambda data: _over_provided(data, group),
        judge=Each(Equal(1)),
    )


ITEM = Item(
    id="rbss-text",
    paper="rbss",
    title="Requests, submit times, repeated runs, and the exact schedule",
    source="sections 4 and 5",
    studies={"optimum": "optimum.yaml"},
    runs={
        "requested A": partial(requested, SYSTEM_1),
        "requested B": partial(requested, SYSTEM_2),
        "provided A": partial(provided, SYSTEM_1, most=False),
        "provided B": partial(provided, SYSTEM_2, most=True),
        "submits": submits,
        "again": partial(again, jitter=0.0),
        "again, jitter": partial(again, jitter=JITTER),
    },
    claims=(
        _requests_claim(1, "A", "least"),
        _requests_claim(2, "B", "highest"),
        Claim(
            id="RTX.3",
            kind=Kind.GIVEN,
            source="section 5.2",
            statement="Submit times are integers from a Gaussian distribution, in ascending order",
            expected="all three",
            measure=lambda data: data.result("submits"),
            judge=Each(Equal(True)),
        ),
        Claim(
            id="RTX.4",
            source="section 5.3",
            statement="Two runs of the same heuristic on the same workload differ by up to 7.2 %",
            expected="up to 7.2 %",
            measure=lambda data: data.result("again"),
            judge=Some(Between(3.6, 10.8)),
            unit="%",
            note="real machines vary; a simulated run is the same each time, unless true times are drawn",
            other_reading=OtherReading(
                f"true times off by {100 * JITTER:g} %, which no scheduler sees",
                lambda data: data.result("again, jitter"),
            ),
        ),
        Claim(
            id="RTX.5",
            source="section 5.3",
            statement="Where the optimum is not proven, best bound and best solution are at most 15 % apart",
            expected="at most 15 %",
            measure=_largest_gap,
            judge=Between(0, 15),
            unit="%",
        ),
        Claim(
            id="RTX.6",
            source="section 5.3",
            statement="Exact schedules take so long, even for small problems, that decisions cannot wait for them: "
            "workloads not solved in 20 s, where they run for minutes",
            expected="most",
            measure=_unproven,
            judge=Above(50),
            unit="%",
            note="with alike devices pooled, and assignments to classes instead of orders on devices, a solver of "
            "today proves the paper's size in seconds. What remains is that it knows all jobs beforehand",
        ),
    ),
)
