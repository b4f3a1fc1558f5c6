"""Any scenarios under every policy: ``python -m verification.scenarios [N] [--policy NAME]``.

Each runs on both engines; their results must be equal bit for bit, and every rule of ``tests.invariants`` must hold.
"""

import sys

from tests.properties.equivalence import Checked, check, every_policy, shares
from verification import each_policy


def check_named(seed: int, name: str) -> Checked:
    """Check any scenario of a seed under the policy of a name."""
    return check(seed, every_policy()[name])


def main(arguments: list[str] | None = None) -> int:
    return each_policy.main(__doc__, check_named, shares, arguments)


if __name__ == "__main__":
    sys.exit(main())
