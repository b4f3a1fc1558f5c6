"""Random scenarios of one kind under one policy after another, each on both engines: what scenarios.py, nodes.py and
crossed.py share."""

import argparse
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple
from unittest.mock import patch

from tests.properties.equivalence import Checked
from vinesim import InputWarning
from vinesim.core import code

FIRST_SEED = 1_000_000
MOST_SHOWN = 10  # of each policy

Check = Callable[[int, str], Checked]  # of the scenario of a seed, under a policy of that name


class Found(NamedTuple):
    """The findings about the scenarios of one policy."""

    policy: str
    ends: Counter[str]  # how the runs ended; "refused" for those that have no result
    n_different: int
    n_violating: int
    texts: list[str]
    took_s: float


def look_at(check: Check, name: str, n: int, first_seed: int) -> Found:
    """Check n scenarios of one policy, in a process that compiles it once for each kind of loop: the first half in the
    loop that all policies share, the others inlined."""
    warnings.simplefilter("ignore", InputWarning)  # ill-ordered networks are meant
    begun = time.perf_counter()
    ends: Counter[str] = Counter()
    different, violating, texts = 0, 0, []
    for seed in range(first_seed, first_seed + n):
        is_inlined = seed - first_seed >= (n + 1) // 2
        try:
            with patch.object(code, "INLINED_FROM", 0 if is_inlined else code.INLINED_FROM):
                checked = check(seed, name)
        except Exception as wrong:  # of the package, of a policy, or of a rule that cannot read the result
            where = traceback.extract_tb(wrong.__traceback__)[-1]
            text = f"{type(wrong).__name__}: {wrong} ({where.filename}:{where.lineno})"
            checked = Checked({}, "crashed", [], [text])
        ends[checked.end] += 1
        different += bool(checked.differences)
        violating += bool(checked.violations)
        texts += [f"seed {seed}, {name} {checked.options}: {text}" for text in checked.all]
    return Found(name, ends, different, violating, texts, time.perf_counter() - begun)


def main(
    description: str | None, check: Check, shares: Callable[[int], Mapping[str, int]], arguments: list[str] | None
) -> int:
    """Check scenarios of the policies, as many of each as ``shares`` of their number in all says, and print what was
    found. Returns 1 if anything is wrong, else 0."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("n", nargs="?", type=int, default=10_000, help="scenarios in all (default 10000)")
    parser.add_argument("--policy", choices=list(shares(1)), help="only this one, with all of them")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    wanted = {given.policy: given.n} if given.policy else shares(given.n)
    begun, found = time.perf_counter(), []
    with ProcessPoolExecutor(given.workers, max_tasks_per_child=1) as team:  # gigabytes of machine code go with each
        tasks = [team.submit(look_at, check, name, n, given.first_seed) for name, n in wanted.items()]
        for done in as_completed(tasks):
            one = done.result()
            found.append(one)
            ends = ", ".join(f"{n} {end}" for end, n in sorted(one.ends.items()))
            print(f"{one.policy:24} {one.ends.total():6} scenarios in {one.took_s:5.0f} s: {ends}", flush=True)
            for text in one.texts[:MOST_SHOWN]:
                print(f"  {text[:1000]}", flush=True)
    different, violating = (sum(getattr(one, name) for one in found) for name in ("n_different", "n_violating"))
    n = sum(one.ends.total() for one in found)
    print(f"{n} scenarios of {len(found)} policies in {time.perf_counter() - begun:.0f} s: the engines differ in "
          f"{different}, a rule is broken in {violating}")  # fmt: skip
    return 1 if different or violating else 0
