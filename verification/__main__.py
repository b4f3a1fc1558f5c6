"""``python -m verification``: the closed forms, and how often the intervals hold them.

``python -m verification.run_equivalence``: the two engines. ``python -m verification.kill``: sweeps that are killed.
``python -m verification.bitflips``: files that are damaged.
"""

import sys

from verification import coverage, queues, requests

sys.exit(max(queues.main(), requests.main([]), coverage.main([])))
