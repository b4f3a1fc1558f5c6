"""``python -m verification``: the closed forms. ``python -m verification.run_equivalence``: the two engines."""

import sys

from verification.queues import main

sys.exit(main())
