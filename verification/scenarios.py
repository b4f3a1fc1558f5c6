"""Any scenarios under every policy: ``python -m verification.scenarios [N] [--policy NAME]``.

Each runs on both engines; their results must be equal bit for bit, and every rule of ``tests.invariants`` must hold.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple

from tests.properties.equivalence import Checked, check, every_policy, shares
from vinesim import InputWarning

FIRST_SEED = 1_000_000
MOST_TOLD = 10  # of each policy


class Found(NamedTuple):
    """What the scenarios of one policy showed."""

    policy: str
    ends: Counter[str]  # how the runs ended; "refused" for those that have no result
    n_different: int
    n_violating: int
    texts: list[str]
    took_s: float


def look_at(name: str, n: int, first_seed: int) -> Found:
    """Run n scenarios of one policy, in a process that compiles it once."""
    warnings.simplefilter("ignore", InputWarning)  # ill-ordered networks are meant
    policy, begun = every_policy()[name], time.perf_counter()
    ends: Counter[str] = Counter()
    different, violating, texts = 0, 0, []
    for seed in range(first_seed, first_seed + n):
        try:
            checked = check(seed, policy)
        except Exception as wrong:  # of the package, of a policy, or of a rule that cannot read the result
            where = traceback.extract_tb(wrong.__traceback__)[-1]
            text = f"{type(wrong).__name__}: {wrong} ({where.filename}:{where.lineno})"
            checked = Checked({}, "crashed", [], [text])
        ends[checked.end] += 1
        different += bool(checked.differences)
        violating += bool(checked.violations)
        texts += [f"seed {seed}, {name} {checked.options}: {text}" for text in checked.all]
    return Found(name, ends, different, violating, texts, time.perf_counter() - begun)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=10_000, help="scenarios in all (default 10000)")
    parser.add_argument("--policy", help="only this one, with all of them")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    wanted = {given.policy: given.n} if given.policy else shares(given.n)
    begun, found = time.perf_counter(), []
    with ProcessPoolExecutor(given.workers) as team:
        for done in as_completed(team.submit(look_at, name, n, given.first_seed) for name, n in wanted.items()):
            one = done.result()
            found.append(one)
            ends = ", ".join(f"{n} {end}" for end, n in sorted(one.ends.items()))
            print(f"{one.policy:24} {one.ends.total():6} scenarios in {one.took_s:5.0f} s: {ends}", flush=True)
            for text in one.texts[:MOST_TOLD]:
                print(f"  {text[:1000]}", flush=True)
    different, violating = (sum(getattr(one, name) for one in found) for name in ("n_different", "n_violating"))
    n = sum(one.ends.total() for one in found)
    print(f"{n} scenarios of {len(found)} policies in {time.perf_counter() - begun:.0f} s: the engines differ in "
          f"{different}, a rule is broken in {violating}")  # fmt: skip
    return 1 if different or violating else 0


if __name__ == "__main__":
    sys.exit(main())
