"""Table 3: the time of each brain-simulation kernel on each accelerator."""

from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("table3.yaml")
KERNELS, ACCELERATORS = ("SGJ", "RGJ", "NGJ"), ("PHI", "DFE", "GPU")
PRINTED_US = {"PHI": (500, 750, 100), "DFE": (300, 500, 10), "GPU": (100, 2400, 60)}


def times_us(changes: Changes) -> dict[str, float]:
    """Return the time of each kernel on each accelerator, us, by "SGJ on PHI" and so on."""
    found = {}
    for accelerator in ACCELERATORS:
        jobs = run(STUDY, changes, {"datacenter.racks[0].units": {accelerator: 1}}).jobs
        for code, kernel in enumerate(KERNELS):
            found[f"{kernel} on {accelerator}"] = float(jobs["latency_us"][jobs["task_type"] == code].mean())
    return found


def _times_as_affinity(changes: Changes) -> dict[str, float]:
    """The same if the times themselves, in us, are used as operations per us."""
    rows = {name: dict(zip(KERNELS, times, strict=True)) for name, times in PRINTED_US.items()}
    return times_us({"affinity": {"absolute": rows}} | dict(changes))


def _of_sgj(times: dict[str, float]) -> dict[str, float]:
    return {accelerator: times[f"SGJ on {accelerator}"] for accelerator in ACCELERATORS}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.bars import Bars, bar_figure

    found = data.result("times")
    bars = [Bars(name, [found[f"{kernel} on {name}"] for kernel in KERNELS]) for name in ACCELERATORS]
    return {"table3": bar_figure(KERNELS, bars, "kernel", "execution time, us", scale="log")}


AS_PRINTED = Parts(*(Within(time, 0.001) for name in ACCELERATORS for time in PRINTED_US[name]))

ITEM = Item(
    id="table3",
    title="Execution times of the brain-simulation kernels",
    source="section 7.5, Table 3",
    runs={"times": times_us, "times as affinity": _times_as_affinity},
    draw=_draw,
    claims=(
        Claim(
            id="T3.1",
            kind=Kind.GIVEN,
            source="section 7.5, Table 3",
            statement="Times of SGJ, RGJ and NGJ on PHI, DFE and GPU",
            expected="500, 750, 100; 300, 500, 10; 100, 2400, 60 us",
            measure=lambda data: data.result("times"),
            judge=AS_PRINTED,
            unit="us",
        ),
        Claim(
            id="A3",
            kind=Kind.GIVEN,
            source="section 5.3.1",
            statement="The affinity of a task measured as one operation is its execution time",
            expected="SGJ takes 500, 300 and 100 us",
            measure=lambda data: _of_sgj(data.result("times as affinity")),
            judge=Parts(*(Within(PRINTED_US[name][0], 0.001) for name in ACCELERATORS)),
            unit="us",
            note="Affinity is a speed, so it is 1 / time. With the times themselves a slow accelerator counts as a "
            "fast one, and the ranking of Figure 8 turns round.",
            other_reading=OtherReading("affinity 1 / time", lambda data: _of_sgj(data.result("times"))),
        ),
    ),
)
