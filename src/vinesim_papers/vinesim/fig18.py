"""Figure 18: three schedulers with CPUs in one rack and GPUs in the other, and the data near one or near both."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Below, Each, Share, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run
from vinesim_papers.vinesim.fig16 import ALL, CLOSER, HIGH, LATENCY, POLICIES, SIZES

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

PLACES = EVERYWHERE, CPU_RACK = "on all nodes", "in the CPU rack"  # Figure 17(a) and (b)
BUSY = 0.93  # utilisation over the whole run, including its start and end
STUDY = Path(__file__).with_name("fig18.yaml")
AT_ONCE_1_MB = {"policy": HIGH, "arrivals.iat": 0, "workload.options.data_bytes": "1 MiB"}
RACKS = {"all": None, "CPUs": 0, "GPUs": 1}  # of the data


def _latency(data: Data, placed: str, size: str, policy: str, iat_us: float) -> float:
    return data.mean("main", LATENCY, data=placed, size=size, policy=policy, **{"arrivals.iat": iat_us})


def _points(data: Data, size: str, is_overload: bool) -> list[tuple[str, float]]:
    """Return placement and inter-arrival time of the points at which all units are busy under every policy, or of the
    other points."""

    def is_busy(placed: str, iat_us: float) -> bool:
        at = {"data": placed, "size": size, "arrivals.iat": iat_us}
        return min(data.mean("main", ALL, policy=policy, **at) for policy in POLICIES) > BUSY

    points = [(placed, iat) for placed in PLACES for iat in sorted(data.labels("main", "arrivals.iat"))]
    return [point for point in points if is_busy(*point) == is_overload]


def _to_best_other(data: Data, size: str, policy: str) -> dict[str, float]:
    """Latency divided by that of the best other policy, where not all units are busy."""
    found = {}
    for placed, iat in _points(data, size, is_overload=False):
        others = [_latency(data, placed, size, other, iat) for other in POLICIES if other != policy]
        found[f"{placed}, {iat:g} us"] = _latency(data, placed, size, policy, iat) / min(others)
    return found


def _spread(data: Data) -> dict[str, float]:
    """The highest of the three latencies divided by the lowest, where all units are busy."""
    found = {}
    for size in SIZES:
        for placed, iat in _points(data, size, is_overload=True):
            latencies = [_latency(data, placed, size, policy, iat) for policy in POLICIES]
            found[f"{size} {placed}, {iat:g} us"] = max(latencies) / min(latencies)
    return found


def _c_to_f(data: Data) -> dict[str, float]:
    """1 MB: latency with the data on all nodes divided by that with the data in the CPU rack, for each policy and
    load."""
    found = {}
    for policy, name in POLICIES.items():
        for iat in sorted(data.labels("main", "arrivals.iat")):
            everywhere, one_rack = (_latency(data, placed, "1 MB", policy, iat) for placed in PLACES)
            found[f"{name} {iat:g} us"] = everywhere / one_rack
    return found


def _which_rack(data: Data) -> dict[str, float]:
    """1 MB, all jobs at once, HIGH: latency with the data on all nodes divided by that with the data in one rack."""
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
    title="Data transfers with CPUs and GPUs in their own racks: data on all nodes, or near the CPUs only",
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
            statement="Low and medium load: HIGH is best for small data, wherever the data is",
            expected="8 KB: HIGH / the best other below 1, wherever not all units are busy",
            measure=lambda data: _to_best_other(data, "8 KB", HIGH),
            judge=Each(Below(1)),
            partly=Share(0.75, Below(1)),
            note="But for 15 us between jobs and data on all nodes, just above the 13.8 us with which HIGH keeps up: "
            "CLOSER_TO_DATA moves less and is a fifth lower.",
        ),
        Claim(
            id="F18.5",
            source="section 8.8.2, Fig. 18",
            statement="Low and medium load: CLOSER_TO_DATA is best for large data, wherever the data is",
            expected="1 MB: CLOSER_TO_DATA / the best other below 1, wherever not all units are busy",
            measure=lambda data: _to_best_other(data, "1 MB", CLOSER),
            judge=Each(Below(1)),
            partly=Share(0.75, Below(1)),
            note="But for 300 us and data in the CPU rack, just above the 281 us with which any of them keeps up: "
            "there HIGH is lower by an eighth.",
        ),
        Claim(
            id="F18.2",
            source="section 8.8.2, Fig. 18",
            statement="High load: the queue decides, and the schedulers do not differ visibly",
            expected="highest / lowest latency: about 1, wherever all units are busy",
            measure=_spread,
            judge=Each(Within(1, 0.1)),
            partly=Share(0.75, Within(1, 0.1)),
            note="But at two points, at which the queue of one scheduler only begins to grow. Busy: utilisation above "
            "93 % of the run, with its start and its end.",
        ),
        Claim(
            id="F18.3",
            source="section 8.8.2, Fig. 18(c, f)",
            statement="1 MB: data near the CPUs only gives much lower latency than data on both racks",
            expected="(c) / (f) well above 1",
            measure=_c_to_f,
            judge=Each(Above(1.5)),
            partly=Share(0.5, Above(1.5)),
            note="For HIGH up to 1 ms between jobs and for FLAT up to 0.6 ms; with less load a task goes where it "
            "would go anyway. For CLOSER_TO_DATA it is the reverse from 200 us on, where it keeps up in (c). "
            "The findings W18.1 to W18.12 say why.",
        ),
        Claim(
            id="F18.4",
            kind=Kind.FINDING,
            source="section 8.8.2, Fig. 17(b)",
            statement="Whichever of the two racks alone has the data, (f) is below (c)",
            expected="(c) / (f) above 1 for both racks",
            measure=_which_rack,
            judge=Each(Above(1.5)),
            note="so the figure does not tell which rack its rack 1 is; the text says that the data is close to the "
            "CPUs, which makes it the model's rack 0",
        ),
    ),
)
