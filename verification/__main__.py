"""``python -m verification``: closed forms, how often intervals hold them, plans with a known answer, wrong policies.

``python -m verification.scenarios``: any scenarios under every policy; ``python -m verification.nodes``: real nodes and
gangs; ``python -m verification.crossed``: many features at once. ``python -m verification.kill``: sweeps or plans that
are killed. ``python -m verification.bitflips``: files that are damaged. ``python -m verification.serving``: measured
runs of serving engines. ``python -m verification.mutations``: small changes of meaning, each of which the tests must
notice.
"""

import sys

from verification import coverage, early_ends, generators, plans, queues, requests
from verification.wrong_policies import __main__ as wrong_policies

PARTS = (requests, early_ends, coverage, generators, wrong_policies)

sys.exit(max(queues.main(), plans.main(), *(part.main([]) for part in PARTS)))
