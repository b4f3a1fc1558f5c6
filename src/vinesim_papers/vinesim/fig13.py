"""Figure 13: utilisation of CPUs and GPUs over time with the best-available scheduler, at three loads."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Between, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run
from vinesim_papers.vinesim.direct import over_time
from vinesim_papers.vinesim.fig11 import HIGH

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig13.yaml")
IATS = ("7", "6", "0")  # us
CPU, GPU = "CPU_INTEL", "GPU"
RAMP_US = 200  # at 6 us between jobs every fifth job spills over, until all CPUs are busy
LAST_ARRIVAL_US = 499 * 6


def _highest_cpu(data: Data) -> dict[str, float]:
    """The highest utilisation of the CPUs: in any interval at 7 us, and over all runs with at least that much time."""
    table = data.table("loads")
    light = data.rows("loads", scheduler=HIGH) & (table["arrivals.iat"] >= 7)
    in_time = float(over_time(data.result("iat 7"), CPU)[1].max())
    return {
        "at 7 us, in any interval": in_time,
        "from 7 us on": float(table[f"utilization.by_type.{CPU}"][light].max()),
    }


def _after_the_ramp(data: Data) -> dict[str, float]:
    """Mean utilisation from 200 us to the last arrival, at 6 us between jobs."""
    found = {}
    for name, group in (("CPUs", CPU), ("GPUs", GPU)):
        edges, share = over_time(data.result("iat 6"), group)
        found[name] = float(share[(edges[:-1] >= RAMP_US) & (edges[1:] <= LAST_ARRIVAL_US)].mean())
    return found


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.series import Series, SeriesPanel, series_figure

    panels = []
    for letter, iat in zip("abc", ("7", "6", "0"), strict=True):
        result = data.result(f"iat {iat}")
        series = []
        for name, group in (("GPUs", GPU), ("CPUs", CPU)):
            edges, share = over_time(result, group)
            series.append(Series(name, edges / 1000, 100 * share))
        panels.append(SeriesPanel(f"({letter}) inter-arrival time {iat} us", series))
    return {"fig13": series_figure(panels, "time, ms", "utilisation, %", limits=(-3, 103))}


ITEM = Item(
    id="fig13",
    title="Utilisation over time with best-available scheduling, at three inter-arrival times",
    source="section 8.6, Figure 13",
    studies={"loads": "fig11.yaml"},
    runs={f"iat {iat}": partial(run, STUDY, {"arrivals.iat": float(iat)}) for iat in IATS}
    | {"GPUs only": partial(run, STUDY, {"policy": "pref", "arrivals.iat": 0})},
    draw=_draw,
    claims=(
        Claim(
            id="F13.1",
            source="section 8.6, Fig. 13(a)",
            statement="From 7 us between jobs on the GPUs keep up and the CPUs idle",
            expected="CPU utilisation 0",
            measure=_highest_cpu,
            judge=Parts(Equal(0), Equal(0)),
        ),
        Claim(
            id="F13.2",
            source="section 8.6, Fig. 13(b)",
            statement="At 6 us, one sixth more load, all CPUs are at work",
            expected="CPU utilisation about 1",
            measure=_after_the_ramp,
            judge=Parts(Within(1, 0.01), Within(1, 0.01)),
        ),
        Claim(
            id="F13.3",
            source="section 8.6, Fig. 13(c)",
            statement="When all jobs come at once they are done after about 3 ms",
            expected="3000 us",
            measure=lambda data: data.result("iat 0").summary["makespan_us"],
            judge=Between(2900, 3100),
            unit="us",
        ),
        Claim(
            id="F13.5",
            source="section 8.6, Fig. 13(c)",
            statement="The CPUs help little then: the time is slightly smaller than that of the GPUs alone",
            expected="quotient slightly below 1",
            measure=lambda data: (
                data.result("iat 0").summary["makespan_us"] / data.result("GPUs only").summary["makespan_us"]
            ),
            judge=Between(0.9, 0.999),
        ),
        Claim(
            id="F13.4",
            kind=Kind.GIVEN,
            source="section 8.6",
            statement="40 GPUs would need 1.562 ms, so 20 GPUs without the CPUs need twice that, 3.24 ms",
            expected="3240 us",
            measure=lambda data: data.result("GPUs only").summary["makespan_us"],
            judge=Within(3240, 0.01),
            unit="us",
            note="a slip of arithmetic: 2 x 1.5625 ms = 3.125 ms, which is what the GPUs alone need",
        ),
    ),
)
