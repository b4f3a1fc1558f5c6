"""Plans with a known answer, and how often verdicts are wrong: ``python -m verification.plans``.

M/M/c: the smallest number of servers for a 99th percentile of the wait, from Erlang's formula, must be what a plan
recommends. Verdicts: at the very border of a limit either verdict is wrong whenever it is given; all looks together may
give it in at most the stated share of cases, for values as skewed as latencies are. Exit code 1 when one does not hold.
"""

import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import vinesim as vs
from verification.queues import erlang_c
from vinesim.formats.plan.file import plan as plan_of
from vinesim.model.plan import LOOKS, Limit
from vinesim.plans.verdicts import Verdict, judged

SERVICE_US, N_JOBS = 100.0, 20_000
MOST_SERVERS = 40
COUNT = "datacenter.racks[0].units.SERVER"
CONFIDENCE = 0.95


def p99_wait_us(c: int, load: float) -> float:
    """The 99th percentile of the wait in an M/M/c queue: P(W > t) = C(c, a) exp(-(c - a) t / service)."""
    waits = erlang_c(c, load)
    return 0.0 if waits <= 0.01 else math.log(waits / 0.01) * SERVICE_US / (c - load)


def smallest(load: float, limit_us: float) -> int:
    """Return the fewest servers whose 99th percentile is within the limit."""
    return next(c for c in range(math.floor(load) + 1, MOST_SERVERS) if p99_wait_us(c, load) <= limit_us)


def planned(load: float, limit_us: float, folder: Path) -> int | None:
    """Return what a plan recommends, from runs with random arrivals and exponential sizes."""
    sizes = np.random.default_rng(7).exponential(SERVICE_US, N_JOBS)
    rows = "".join(f"{i},{size:.6g}\n" for i, size in enumerate(sizes))
    (folder / "sizes.csv").write_text("arrival_us,operations\n" + rows)  # the plan replaces the arrivals
    scenario = {
        "extends": "none",
        "processor_types": [{"name": "SERVER", "price": 1.0}],
        "task_types": ["TASK"],
        "affinity": {"absolute": {"SERVER": {"TASK": 1.0}}},
        "datacenter": {"racks": [{"units": {"SERVER": 1}}]},
        "network": "none",
        "workload": {"file": "sizes.csv"},
        "arrivals": {"poisson": {"mean": SERVICE_US / load}},
        "policy": "high",
    }
    found = vs.plan(
        plan_of(
            {
                "scenario": scenario,
                "choose": {COUNT: {"from": 1, "to": MOST_SERVERS}},
                "minimize": "units.count",
                "limits": {"tasks.wait_us.p99": {"below": limit_us}},
                "warm_up": {"share": 0.1},
                "confirm": {"replications": 40, "horizon": 1},
            },
            folder,
        ),
        workers=1,
    )
    return None if found.recommended is None else int(found.recommended.choice[COUNT])


def wrong_share(draw: Callable[[np.random.Generator, int], np.ndarray], mean: float, cases: int) -> tuple[float, float]:
    """How often the looks say *holds*, and *fails*, of a limit that is exactly at the mean."""
    random, limit = np.random.default_rng(11), Limit("x", "below", mean, CONFIDENCE)
    said = dict.fromkeys(Verdict, 0)
    for _ in range(cases):
        values = draw(random, LOOKS[-1])
        verdict = Verdict.UNDECIDED
        for n in LOOKS:
            verdict = judged(limit, values[:n], len(LOOKS)).verdict
            if verdict is not Verdict.UNDECIDED:
                break
        said[verdict] += 1
    return said[Verdict.HOLDS] / cases, said[Verdict.FAILS] / cases


def main() -> int:
    failed = 0
    for load, servers in ((8.0, 11), (8.0, 13), (2.5, 5), (15.0, 19)):
        limit = math.sqrt(p99_wait_us(servers, load) * p99_wait_us(servers - 1, load))
        expected = smallest(load, limit)
        with tempfile.TemporaryDirectory() as folder:
            found = planned(load, limit, Path(folder))
        failed += found != expected
        print(f"M/M/c, {load:g} Erlang, p99 wait below {limit:6.1f} us: {expected} servers, planned {found}")
    print(f"\nhow often a limit exactly at the mean is judged, {len(LOOKS)} looks, at most {1 - CONFIDENCE:.0%} each")
    cases = 4000
    for name, draw, mean in (
        ("normal", lambda random, n: random.standard_normal(n), 0.0),
        ("gamma, cv 0.3", lambda random, n: random.gamma(11.1, 1 / 11.1, n), 1.0),
        ("gamma, cv 0.7", lambda random, n: random.gamma(2.04, 1 / 2.04, n), 1.0),
        ("exponential", lambda random, n: random.exponential(1.0, n), 1.0),
    ):
        holds, fails = wrong_share(draw, mean, cases)
        is_true = max(holds, fails) <= 1 - CONFIDENCE + 3 * math.sqrt(0.05 * 0.95 / cases)
        failed += not is_true
        print(f"{name:16} holds {holds:6.2%}  fails {fails:6.2%}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
