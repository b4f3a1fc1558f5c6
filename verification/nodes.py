"""Random scenarios of real nodes: ``python -m verification.nodes [N] [--policy NAME]``.

Tasks that hold several units, gangs, partitions and quotas, preemption, limits, withdrawals, checkpoints, outages and
failures, under every policy that takes them, one after another. Each runs on both engines; their results must be equal
bit for bit, and every rule of ``tests.invariants`` must hold.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.invariants import violations
from tests.partitions import partition_scenario
from tests.properties.equivalence import Checked, Refused, run, unlike
from verification.scenarios import FIRST_SEED, MOST_TOLD, Found
from vinesim import InputWarning
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import policies, resolve


def names() -> list[str]:
    """The policies that take nodes and gangs."""
    return [
        name
        for name, policy in policies().items()
        if issubclass(policy, OnlinePolicy) and policy.takes_vectors and policy.takes_gangs and not policy.plans
    ]


def check(seed: int, name: str) -> Checked:
    """Run the scenario of a seed on both engines, compare them, and check what they tell; every second one ends
    early."""
    case = partition_scenario(seed, name, early=seed % 2 == 1)
    compiled, reference = run(case, "compiled"), run(case, "reference")
    differ = unlike(compiled, reference)
    if isinstance(compiled, Refused):
        return Checked({}, "refused", differ, [])
    return Checked({}, str(compiled.exit_reason), differ, violations(case, compiled, resolve(name, {})))


def look_at(name: str, n: int, first_seed: int) -> Found:
    """Run n scenarios of one policy, in a process that compiles it once for each kind of loop."""
    warnings.simplefilter("ignore", InputWarning)  # ill-ordered networks are meant
    begun, ends, different, violating, texts = time.perf_counter(), Counter[str](), 0, 0, []
    for seed in range(first_seed, first_seed + n):
        checked = check(seed, name)
        ends[checked.end] += 1
        different += bool(checked.differences)
        violating += bool(checked.violations)
        texts += [f"seed {seed}, {name}: {text}" for text in checked.all]
    return Found(name, ends, different, violating, texts, time.perf_counter() - begun)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=10_000, help="scenarios in all (default 10000)")
    parser.add_argument("--policy", choices=names(), help="only this one, with all of them")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    chosen = [given.policy] if given.policy else names()
    found = []
    with ProcessPoolExecutor(given.workers) as team:
        each = -(-given.n // len(chosen))
        for done in as_completed(team.submit(look_at, name, each, given.first_seed) for name in chosen):
            one = done.result()
            found.append(one)
            ends = ", ".join(f"{n} {end}" for end, n in sorted(one.ends.items()))
            print(f"{one.policy:24} {one.ends.total():6} scenarios in {one.took_s:5.0f} s: {ends}", flush=True)
            for text in one.texts[:MOST_TOLD]:
                print(f"  {text[:1000]}", flush=True)
    different, violating = (sum(getattr(one, name) for one in found) for name in ("n_different", "n_violating"))
    n = sum(one.ends.total() for one in found)
    print(f"{n} scenarios of {len(found)} policies: the engines differ in {different}, a rule is broken in {violating}")
    return 1 if different or violating else 0


if __name__ == "__main__":
    sys.exit(main())
