"""The utilisation over time, for a run whose sampling turned out to be too fine."""

import warnings
from typing import TYPE_CHECKING

from vinesim.formats.results.table import Table
from vinesim.model.errors import InputError, InputWarning

if TYPE_CHECKING:
    from vinesim.metrics.tables import Tables


def sampled(tables: "Tables") -> Table | None:
    """Return the table ``utilization``; None without sampling, and None, with a warning, if there are too many samples.

    A scenario that is known to run too long for its sampling is refused; here the length was not known in advance.
    """
    try:
        return tables.utilization()
    except InputError as wrong:
        text = f"the utilisation over time is left out, the rest of the result is complete: {wrong}"
        warnings.warn(text, InputWarning, stacklevel=2)
        return None
