"""Random scenarios of many features at once: ``python -m verification.crossed [N] [--policy NAME]``.

Gangs, partitions, caps, reservations, dependencies, priorities, outages, serving engines, units that take tasks ahead
and more, of which each goes with the others and with the policy, under every policy. Each runs on both engines; their
results must be equal bit for bit, every rule of ``tests.invariants`` must hold, and a warm-up must cut the numbers of
the run, of applications and of labels alike. The compiled engine is interpreted (``tests/interpreted.py``): nearly
every scenario needs a loop of its own, which would take half a minute to compile.
"""

import sys

from tests.crossed import crossed_scenario
from tests.interpreted import interpreted
from tests.properties.equivalence import LIMITS, Checked, Refused, checked, options_of, run, shares, without_plans
from tests.properties.test_crossed_outputs import wrong_in_warm_up
from tests.strategies import Limits
from verification import each_policy


def shares_without_plans(n: int) -> dict[str, int]:
    """How many of n scenarios each policy gets that does not plan."""
    return {name: share for name, share in shares(n).items() if name in without_plans()}


def check(seed: int, name: str) -> Checked:
    """Check the scenario of a seed under the policy of a name."""
    policy = without_plans()[name]
    choices = options_of(policy)
    options = choices[seed % len(choices)]
    case = crossed_scenario(seed, policy, options, LIMITS.get(policy, Limits()))
    with interpreted():
        found = checked(case, options)
    result = run(case, "reference")
    if isinstance(result, Refused):
        return found
    rules = ({"share": 0.4}, {"jobs": case.workload.n_jobs - 1}, "mser5")
    more = (text for rule in rules for text in wrong_in_warm_up(case, result, rule))
    return found._replace(violations=[*found.violations, *more])


def main(arguments: list[str] | None = None) -> int:
    return each_policy.main(__doc__, check, shares_without_plans, arguments)


if __name__ == "__main__":
    sys.exit(main())
