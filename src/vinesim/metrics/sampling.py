"""The table of utilisation over time; a sampling that turned out too fine gives a warning instead."""

import warnings
from typing import TYPE_CHECKING

from vinesim.formats.results.table import Table
from vinesim.model.errors import InputError, InputWarning

if TYPE_CHECKING:
    from vinesim.metrics.tables import Tables


def sampled(tables: "Tables") -> Table | None:
    """Return the table ``utilization``; None without sampling, or, with a warning, if there are too many samples.

    A scenario whose length is known in advance is rejected instead.
    """
    try:
        return tables.utilization()
    except InputError as wrong:
        text = f"the utilisation over time is left out, the rest of the result is complete: {wrong}"
        warnings.warn(text, InputWarning, stacklevel=2)
        return None
