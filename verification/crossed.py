"""Random scenarios of many features at once: ``python -m verification.crossed [N] [--policy NAME]``.

Gangs, partitions, caps, reservations, dependencies, priorities, outages, serving engines, units that take tasks ahead
and more, of which each goes with the others and with the policy, under every policy. Each runs on both engines; their
results must be equal bit for bit, and every rule of ``tests.invariants`` must hold. The compiled engine is interpreted
(``tests/interpreted.py``): nearly every scenario needs a loop of its own, which would take half a minute to compile.
"""

import sys

from tests.crossed import crossed_scenario
from tests.interpreted import interpreted
from tests.properties.equivalence import LIMITS, Checked, checked, options_of, shares, without_plans
from tests.strategies import Limits
from verification import each_policy


def shares_without_plans(n: int) -> dict[str, int]:
    """Return how many of n scenarios each policy that does not plan gets."""
    return {name: share for name, share in shares(n).items() if name in without_plans()}


def check(seed: int, name: str) -> Checked:
    """Check the scenario of a seed under the policy of a name."""
    policy = without_plans()[name]
    choices = options_of(policy)
    options = choices[seed % len(choices)]
    with interpreted():
        return checked(crossed_scenario(seed, policy, options, LIMITS.get(policy, Limits())), options)


def main(arguments: list[str] | None = None) -> int:
    return each_policy.main(__doc__, check, shares_without_plans, arguments)


if __name__ == "__main__":
    sys.exit(main())
