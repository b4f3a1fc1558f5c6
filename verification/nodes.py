"""Random scenarios of real nodes: ``python -m verification.nodes [N] [--policy NAME]``.

Tasks that hold several units, gangs, partitions and quotas, speed curves, preemption, limits, withdrawals, checkpoints,
outages and failures, under every policy that takes them, one after another. Each runs on both engines; their results
must be equal bit for bit, and every rule of ``tests.invariants`` must hold.
"""

import sys

from tests.partitions import partition_scenario
from tests.properties.equivalence import Checked, checked
from verification import each_policy
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import policies


def shares(n: int) -> dict[str, int]:
    """Return how many of n scenarios each policy that supports nodes and gangs gets: an equal number."""
    names = [
        name
        for name, policy in policies().items()
        if issubclass(policy, OnlinePolicy)
        and policy.supports_multi_unit_tasks
        and policy.takes_gangs
        and not policy.plans
    ]
    return dict.fromkeys(names, -(-n // len(names)))


def check(seed: int, name: str) -> Checked:
    """Run the scenario of a seed on both engines, compare them, and check what they tell; every second one ends
    early."""
    return checked(partition_scenario(seed, name, early=seed % 2 == 1, has_rates=True), {})


def main(arguments: list[str] | None = None) -> int:
    return each_policy.main(__doc__, check, shares, arguments)


if __name__ == "__main__":
    sys.exit(main())
