"""Figure 18: three schedulers with CPUs in one rack and GPUs in the other, and the data near one or near both."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Above, Below, Each, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.single import run
from vinesim.papers.vinesim.fig16 import CLOSER, HIGH, LATENCY, LOW_LOAD_US, POLICIES, SIZES

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

EVERYWHERE, CPU_RACK = "on all nodes", "in the CPU rack"  # Figure 17(a) and (b)
STUDY = Path(__file__).with_name("fig18.yaml")
AT_ONCE_1_MB = {"policy": HIGH, "arrivals.iat": 0, "workload.options.data_bytes": "1 MiB"}
RACKS = {"all": None, "CPUs": 0, "GPUs": 1}  # of the data


def _latency(data: Data, placed: str, size: str, policy: str, iat_us: float) -> float:
    return data.mean("main", LATENCY, data=placed, size=size, policy=policy, **{"arrivals.iat": iat_us})


def _to_best_other(data: Data, placed: str, size: str, policy: str) -> float:
    """Latency at low load over that of the best other policy."""
    others = [_latency(data, placed, size, other, LOW_LOAD_US) for other in POLICIES if other != policy]
    return _latency(data, placed, size, policy, LOW_LOAD_US) / min(others)


def _best(data: Data) -> dict[str, float]:
    small = {f"HIGH, 8 KB {placed}": _to_best_other(data, placed, "8 KB", HIGH) for placed in (EVERYWHERE, CPU_RACK)}
    large = {f"CLOSER_TO_DATA, 1 MB {p}": _to_best_other(data, p, "1 MB", CLOSER) for p in (EVERYWHERE, CPU_RACK)}
    return small | large


def _spread(data: Data) -> dict[str, float]:
    """All jobs at once: the highest of the three latencies over the lowest; the larger of the two placements."""
    found = {}
    for size in SIZES:
        ratios = []
        for placed in (EVERYWHERE, CPU_RACK):
            latencies = [_latency(data, placed, size, policy, 0) for policy in POLICIES]
            ratios.append(max(latencies) / min(latencies))
        found[size] = max(ratios)
    return found


def _c_to_f(data: Data) -> dict[str, float]:
    """1 MB: HIGH's latency with the data on all nodes over that with the data in the CPU rack."""
    found = {}
    for iat in (0, 100, 250, 400):
        everywhere, one_rack = (_latency(data, placed, "1 MB", HIGH, iat) for placed in (EVERYWHERE, CPU_RACK))
        found[f"{iat} us"] = everywhere / one_rack
    return found


def _which_rack(data: Data) -> dict[str, float]:
    """1 MB, all jobs at once, HIGH: latency with the data on all nodes over that with the data in one rack."""
    mean = {name: data.result(name).summary["jobs"]["latency_us"]["mean"] for name in RACKS}
    return {"rack of the CPUs": mean["all"] / mean["CPUs"], "rack of the GPUs": mean["all"] / mean["GPUs"]}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    def panels(letters: str, placed: str) -> list[Panel]:
        found = []
        for letter, size in zip(letters, SIZES, strict=True):
            lines = []
            for policy, name in POLICIES.items():
                curve = data.curve("main", LATENCY, along="arrivals.iat", data=placed, size=size, policy=policy)
                lines.append(Line(name, curve.x, curve.mean, curve.low, curve.high))
            found.append(Panel(f"({letter}) {size} a task, {placed}", lines))
        return found

    x, y = Axis("inter-arrival time, us", "log0"), Axis("mean job latency, us", "log")
    return {"fig18": line_figure([*panels("abc", EVERYWHERE), *panels("def", CPU_RACK)], x, y)}


ITEM = Item(
    id="fig18",
    paper="vinesim",
    title="Data transfers with CPUs and GPUs in racks of their own: data on all nodes, or near the CPUs only",
    source="section 8.8.2, Figure 18",
    studies={"main": "fig18.yaml"},
    runs={
        name: partial(run, STUDY, {**AT_ONCE_1_MB, "workload.options.data_rack": rack}) for name, rack in RACKS.items()
    },
    draw=_draw,
    claims=(
        Claim(
            id="F18.1",
            source="section 8.8.2, Fig. 18",
            statement="Low load: HIGH is best for small data, CLOSER_TO_DATA for large data, wherever the data is",
            expected="below 1: latency over that of the best other scheduler",
            measure=_best,
            judge=Each(Below(1)),
        ),
        Claim(
            id="F18.2",
            source="section 8.8.2, Fig. 18",
            statement="All jobs at once: the queue decides, and the schedulers differ little",
            expected="highest / lowest: about 1",
            measure=_spread,
            judge=Each(Within(1, 0.05)),
        ),
        Claim(
            id="F18.3",
            source="section 8.8.2, Fig. 18(c, f)",
            statement="1 MB: data near the CPUs only gives much lower latency than data on both racks",
            expected="(c) / (f) well above 1",
            measure=_c_to_f,
            judge=Each(Above(1.5)),
        ),
        Claim(
            id="F18.4",
            source="section 8.8.2, Fig. 17(b)",
            statement="Rack 1, which alone has data in Figure 17(b), is that of the CPUs: only so is (f) below (c)",
            expected="(c) / (f) above 1 for the rack of the CPUs only",
            measure=_which_rack,
            judge=Parts(Above(1), Below(1)),
            partly=Parts(Above(1), Above(1)),
            note="with either rack (f) is below (c), so the figure does not tell; the text says that the data is close "
            "to the CPUs, which makes the figure's rack 1 the model's rack 0",
        ),
    ),
)
