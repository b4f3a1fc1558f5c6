"""How figures show times of a run: as dates if they are known."""

from vinesim.formats.source.clock import Clock
from vinesim.formats.source.units import UNITS, Display, displayed
from vinesim.model.titles import Title


def times_of_runs(
    clock: Clock, since_us: float, until_us: float, unit: str | None, where: str, label: str | None = None
) -> Display:
    """Return how an axis shows the times of a run: as dates if they are known and no unit is wanted."""
    if clock.start_s is None or unit is not None:
        return displayed(Title("time", "us"), [until_us - since_us], unit, where, label)
    day_us = UNITS["us"]["d"]
    words = f"from {clock.at(since_us)} on" if label is None else label
    return Display(words, "", day_us, clock.start_s * 1e6 / day_us, has_dates=True)
