"""Figure 9: copying versus computing on a GPU, by how much a kernel computes on each number that is copied.

The report measured kernels on a real GPU and does not say what they compute. Here they run on the GPU of its Table 1,
behind its link; the x axis is the number of passes of a kernel over its data.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.reproduction.claim import Claim, OtherReading
from vinesim.reproduction.criteria import About, Between, Each, Some
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig9.yaml")
NUMBERS = 16_000_000  # copied, 4 bytes each
ONE_PASS = (1, 2, 5, 10, 20, 50)  # operations per number: one pass over the data
ITERATING = (1e3, 1e4, 1e5, 1e6)  # many passes, like MonteCarlo
CPU = {"datacenter.racks[0].units": {"CPU_INTEL": 1}, "network": "none"}  # its data is in its memory
Times = dict[float, dict[str, float]]  # operations per number -> what -> us


def times_us(changes: Changes) -> Times:
    """Return the times of the copy and the run of each kernel on a GPU, and of its run on a CPU."""
    found = {}
    for per_number in ONE_PASS + ITERATING:
        work = {"workload.options.operations": per_number * NUMBERS}
        on_gpu = run(STUDY, work, changes).tasks
        on_cpu = run(STUDY, work, CPU, _without_network(changes)).tasks
        found[per_number] = {
            "copy": float(on_gpu["start_us"][0] - on_gpu["init_us"][0]),
            "run": float(on_gpu["finish_us"][0] - on_gpu["start_us"][0]),
            "CPU": float(on_cpu["finish_us"][0] - on_cpu["init_us"][0]),
        }
    return found


def _without_network(changes: Changes) -> Mapping[str, Any]:
    return {key: value for key, value in changes.items() if not key.startswith("network")}


def _copy_over_run(data: Data) -> dict[str, float]:
    times = data.result("times")
    return {f"{n:g} operations": times[n]["copy"] / times[n]["run"] for n in ONE_PASS}


def _speed_ups(data: Data, per_number: tuple[float, ...], *, copied: bool = True) -> dict[str, float]:
    """How many times as fast as on a CPU, with or without the copy."""
    times = data.result("times")
    return {
        f"{n:g} operations": times[n]["CPU"] / (times[n]["run"] + (times[n]["copy"] if copied else 0))
        for n in per_number
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.bars import Bars, bar_figure

    times = data.result("times")
    bars = [Bars(what, [times[n][what] / 1000 for n in times]) for what in ("copy", "run")]
    label = "operations of the kernel for each number that is copied"
    return {"fig9": bar_figure([f"{n:,.0f}" for n in times], bars, label, "time, ms", scale="log")}


TWENTY = (
    "with Table 1 a GPU runs a task at most 20 times as fast as a CPU; the CPU that the report measured must have been "
    "slower against its GPU than that of its Table 1"
)

ITEM = Item(
    id="fig9",
    title="Copying and computing on a GPU",
    source="section 7.6, Figure 9",
    runs={"times": times_us},
    draw=_draw,
    claims=(
        Claim(
            id="F9.1",
            source="section 7.6, Fig. 9",
            statement="For many kernels the copy takes one to two orders of magnitude longer than the run",
            expected="copy / run from 10 to 100, for kernels of one pass",
            measure=_copy_over_run,
            judge=Each(Between(10, 100)),
            partly=Some(Between(10, 100)),
            note="With a link of 8 GByte/s and the GPU of Table 1 it does for 6 to 60 operations a number. The report "
            "does not say what its kernels compute; fewer operations are possible, and give more than two orders.",
        ),
        Claim(
            id="F9.2",
            source="section 7.6",
            statement="Despite the copy a GPU is 8 to 34 times as fast as a CPU for these kernels",
            expected="8 to 34",
            measure=lambda data: _speed_ups(data, ONE_PASS),
            judge=Each(Between(8, 34)),
            partly=Some(Between(8, 34)),
            note=f"Not together with the statement before: {TWENTY}. A copy of ten times the run leaves less than 2.",
            other_reading=OtherReading("without the copy", lambda data: _speed_ups(data, ONE_PASS, copied=False)),
        ),
        Claim(
            id="F9.3",
            source="section 7.6",
            statement="For a kernel that iterates over its data many times, MonteCarlo, it is 4000 times",
            expected="about 4000",
            measure=lambda data: _speed_ups(data, ITERATING),
            judge=Some(About(4000)),
            note=f"The copy then no longer counts, but {TWENTY}.",
        ),
    ),
)
