"""The utilisation over time of a run whose sampling turned out to be too fine."""

import warnings
from typing import TYPE_CHECKING

from vinesim.model.errors import InputError, InputWarning
from vinesim.model.result import Table

if TYPE_CHECKING:
    from vinesim.metrics.tables import Tables


def sampled(tables: "Tables") -> Table | None:
    """The table ``utilization``; none without sampling, and none, with a warning, for too many samples.

    A scenario whose run must be so long is refused; this is for a run that nobody could have known to be.
    """
    try:
        return tables.utilization()
    except InputError as wrong:
        text = f"the utilisation over time is left out, all else is there: {wrong}"
        warnings.warn(text, InputWarning, stacklevel=2)
        return None
