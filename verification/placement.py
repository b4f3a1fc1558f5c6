"""Indexed against brute-force best fit, many instances and full size: ``python -m verification.placement [N]``."""

import argparse
import sys

from benchmarks.placement import question as full_size
from tests.properties.test_placement import question
from vinesim.policies.placement.best_fit import BestFit

VARIANTS = ("fitted", "literal", "fitfirst", "marginal")
PENALTIES = (1000.0, 1.0, 0.0, 20.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=10_000, help="random instances (default 10000)")
    n = parser.parse_args().n
    wrong = 0
    for seed in range(n):
        tasks, servers = question(1_000_000 + seed, n_servers=60, n_tasks=120)
        cost, penalty = VARIANTS[seed % 4], PENALTIES[seed // 4 % 4]
        one, other = (BestFit(cost=cost, penalty=penalty, method=m).place(tasks, servers) for m in ("indexed", "scan"))
        if one.tolist() != other.tolist():
            wrong += 1
            print(f"seed {1_000_000 + seed}, {cost}, penalty {penalty}: they differ")
    tasks, servers = full_size(200_000, 20_000)
    same = bool((BestFit().place(tasks, servers) == BestFit(method="scan").place(tasks, servers)).all())
    print(f"{n} instances: {wrong} differ; 20,000 tasks on 200,000 servers: {'the same' if same else 'they differ'}")
    return 0 if same and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
