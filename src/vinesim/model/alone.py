"""How long tasks take alone on a unit at full speed, for arrays; for one task see the query ``execution_us``."""

from typing import Any

import numpy as np


def alone_us(operations: Any, speed: Any, measured_us: Any = None) -> Any:
    """Return the time in us without the overhead: the measured time if there is one, else operations / speed.

    The arrays broadcast; speed is in operations per us. Where it is 0 the task cannot run, and callers leave the value
    out.
    """
    if measured_us is not None:
        return measured_us
    with np.errstate(divide="ignore", invalid="ignore"):
        return operations / speed
