"""How finely a run is sampled: what is too fine is refused before the run, or left out after it."""

import warnings
from typing import TYPE_CHECKING

from vinesim.formats.quantities import format_time_us
from vinesim.model.errors import InputWarning
from vinesim.model.result import Table
from vinesim.model.scenario import MAX_SAMPLES

if TYPE_CHECKING:
    from vinesim.metrics.tables import Tables


def sampled(tables: "Tables") -> Table | None:
    """The table ``utilization``; none without sampling, and none, with a warning, for too many samples.

    A scenario whose run must be so long is refused; this is for a run that nobody could have known to be.
    """
    interval_us, end_us = tables.scenario.sampling_us, tables.makespan_us
    if interval_us is None or end_us / interval_us <= MAX_SAMPLES:
        return tables.utilization()
    warnings.warn(
        f"the utilisation over time is left out: a sampling of {format_time_us(interval_us)} would give "
        f"{end_us / interval_us:,.0f} samples in a run of {format_time_us(end_us)}, more than {MAX_SAMPLES:,}; all "
        "else is there",
        InputWarning,
        stacklevel=2,
    )
    return None
