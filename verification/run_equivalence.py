"""Compare the two engines on many random scenarios: ``python -m verification.run_equivalence [N] [--per-policy]``."""

import argparse
import sys
import time
import warnings
from collections import Counter

from tests.properties.equivalence import run
from vinesim import InputWarning


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=10_000, help="scenarios (default 10000)")
    parser.add_argument("--first-seed", type=int, default=1_000_000)
    parser.add_argument("--per-policy", action="store_true", help="n for each policy, not in all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", InputWarning)  # ill-ordered networks are meant
    begun, counts, wrong = time.perf_counter(), Counter[str](), 0
    for _seed, policy, found in run(arguments.n, arguments.first_seed, arguments.per_policy):
        counts[policy] += 1
        wrong += bool(found)
        for text in found:
            print(text)
    for policy, n in counts.items():
        print(f"{policy:24} {n:7} scenarios")
    print(f"{sum(counts.values())} scenarios in {time.perf_counter() - begun:.0f} s: {wrong} with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
