"""Figure 16: three schedulers and the cost of data transfers, where CPUs and GPUs are equally far from the data."""

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Below, Between, Each, Parts, Share, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run
from vinesim_papers.vinesim.direct import transfer_us

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig16.yaml")
LATENCY, ALL = "jobs.latency_us.mean", "utilization.overall"
CPU, GPU = "utilization.by_type.CPU_INTEL", "utilization.by_type.GPU"
SIZES = ("8 KB", "64 KB", "1 MB")
HIGH, FLAT, CLOSER = "high", "flat", "closer_to_data"
POLICIES = {HIGH: "HIGH", FLAT: "FLAT", CLOSER: "CLOSER_TO_DATA"}
LOW_LOAD_US = 500  # and more: jobs do not overlap when 8 or 64 KB are moved
GPUS_SHORT_US = 15.4  # below this, GPUs alone cannot keep up with tasks of 8 KB, 61 us each with the transfer
KEEPS_UP_US = 30  # and more: CLOSER_TO_DATA keeps up with 64 KB
ALL_BUSY_US = 150
CPU_TASK_US = 500.0


def _mean(data: Data, size: str, policy: str, iat_us: float, column: str = LATENCY) -> float:
    return data.mean("main", column, size=size, policy=policy, **{"arrivals.iat": iat_us})


def _iats(data: Data, from_us: float = 0, below_us: float = math.inf) -> list[float]:
    """Return the study's inter-arrival times from one value up to below another."""
    return [iat for iat in sorted(data.labels("main", "arrivals.iat")) if from_us <= iat < below_us]


def _ratios(data: Data, size: str, of: str, by: tuple[str, ...], iats_us: list[float]) -> dict[str, float]:
    """Latency of a policy divided by the lowest of others, at each load."""
    lowest = {iat: min(_mean(data, size, other, iat) for other in by) for iat in iats_us}
    return {f"{iat:g} us": _mean(data, size, of, iat) / lowest[iat] for iat in iats_us}


def _spread(data: Data, size: str, iats_us: list[float]) -> dict[str, float]:
    """The highest of the three latencies divided by the lowest, at each load."""
    found = {}
    for iat in iats_us:
        latencies = [_mean(data, size, policy, iat) for policy in POLICIES]
        found[f"{iat:g} us"] = max(latencies) / min(latencies)
    return found


def _gpus_used_up(data: Data) -> list[float]:
    """The inter-arrival times at which HIGH uses all GPUs for 64 KB."""
    return [iat for iat in _iats(data) if _mean(data, "64 KB", HIGH, iat, GPU) > 0.95]


def _to_spare(data: Data) -> dict[str, float]:
    """64 KB: the share of units that CLOSER_TO_DATA leaves idle at loads where HIGH uses most of the GPUs."""
    iats = [iat for iat in _iats(data, KEEPS_UP_US) if _mean(data, "64 KB", HIGH, iat, GPU) > 0.75]
    return {f"{iat:g} us": 1 - _mean(data, "64 KB", CLOSER, iat, ALL) for iat in iats}


def _busy(data: Data) -> dict[str, float]:
    """1 MB: utilisation below 150 us between jobs, with each policy."""
    return {
        f"{name} {iat:g} us": _mean(data, "1 MB", policy, iat, ALL)
        for policy, name in POLICIES.items()
        for iat in _iats(data, below_us=ALL_BUSY_US)
    }


def _busy_from_us(data: Data) -> dict[str, float]:
    """1 MB: the longest inter-arrival time at which all units are busy."""
    found = {}
    for policy, name in POLICIES.items():
        busy = [iat for iat in _iats(data) if _mean(data, "1 MB", policy, iat, ALL) > 0.95]
        found[name] = max(busy, default=math.nan)
    return found


def _far(data: Data) -> dict[str, float]:
    """1 MB across racks: divided by the transfer within a rack, and by the execution on a CPU."""
    _, intra, inter = transfer_us(data.result("1 MB"))
    return {"within a rack": inter / intra, "execution on a CPU": inter / CPU_TASK_US}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    def panels(letters: str, what: str, column: str, scale: float = 1) -> list[Panel]:
        found = []
        for letter, size in zip(letters, SIZES, strict=True):
            lines = []
            for policy, name in POLICIES.items():
                curve = data.curve("main", column, along="arrivals.iat", size=size, policy=policy)
                lines.append(Line(name, curve.x, scale * curve.mean, scale * curve.low, scale * curve.high))
            found.append(Panel(f"({letter}) {what}, {size} a task", lines))
        return found

    x, share = Axis("inter-arrival time, us", "log"), Axis("utilisation, %", limits=(-3, 103))
    return {
        "fig16_abc": line_figure(panels("abc", "latency", LATENCY), x, Axis("mean job latency, us", "log")),
        "fig16_def": line_figure(panels("def", "GPUs", GPU, 100), x, share),
        "fig16_ghi": line_figure(panels("ghi", "CPUs", CPU, 100), x, share),
    }


ITEM = Item(
    id="fig16",
    title="Data transfers in two equal racks: three schedulers, three sizes of data",
    source="section 8.8.1, Figure 16",
    studies={"main": "fig16.yaml"},
    runs={"1 MB": partial(run, STUDY, {"policy": FLAT, "workload.options.data_bytes": "1 MiB"})},
    draw=_draw,
    claims=(
        Claim(
            id="F16.1",
            source="section 8.8.1, Fig. 16(a)",
            statement="8 KB, low load: HIGH has the lowest latency",
            expected="HIGH / the better of the others well below 1, from 500 us on",
            measure=lambda data: _ratios(data, "8 KB", HIGH, (FLAT, CLOSER), _iats(data, LOW_LOAD_US)),
            judge=Each(Below(0.5)),
        ),
        Claim(
            id="F16.9",
            source="section 8.8.1, Fig. 16(a)",
            statement="8 KB, low load: CLOSER_TO_DATA behaves much like FLAT",
            expected="CLOSER_TO_DATA / FLAT about 1, from 500 us on",
            measure=lambda data: _ratios(data, "8 KB", CLOSER, (FLAT,), _iats(data, LOW_LOAD_US)),
            judge=Each(Within(1, 0.15)),
        ),
        Claim(
            id="F16.2",
            source="section 8.8.1, Fig. 16(a)",
            statement="8 KB, once the GPUs alone cannot handle the load: the three schedulers have the same latency",
            expected="highest / lowest: 1, below 15.4 us",
            measure=lambda data: _spread(data, "8 KB", _iats(data, below_us=GPUS_SHORT_US)),
            judge=Each(Within(1, 0.1)),
            partly=Share(0.5, Within(1, 0.1)),
            note="Up to 10 us. At 12 to 15 us, where the others just do not keep up any more, CLOSER_TO_DATA does.",
        ),
        Claim(
            id="F16.3",
            source="section 8.8.1, Fig. 16(b)",
            statement="64 KB, low load: CLOSER_TO_DATA has about the latency of HIGH",
            expected="CLOSER_TO_DATA / HIGH: 1, from 500 us on",
            measure=lambda data: _ratios(data, "64 KB", CLOSER, (HIGH,), _iats(data, LOW_LOAD_US)),
            judge=Each(Within(1, 0.1)),
        ),
        Claim(
            id="F16.4",
            source="section 8.8.1, Fig. 16(b)",
            statement="64 KB, more load: CLOSER_TO_DATA outperforms HIGH",
            expected="CLOSER_TO_DATA / HIGH below 1, below 500 us",
            measure=lambda data: _ratios(data, "64 KB", CLOSER, (HIGH,), _iats(data, below_us=LOW_LOAD_US)),
            judge=Each(Below(1)),
            note="By far where only CLOSER_TO_DATA keeps up, at 30 to 75 us; by two per cent where nothing does.",
        ),
        Claim(
            id="F16.10",
            source="section 8.8.1, Fig. 16(b, e)",
            statement="64 KB, where HIGH has used up the GPUs: it has the performance of FLAT",
            expected="HIGH / FLAT: 1",
            measure=lambda data: _ratios(data, "64 KB", HIGH, (FLAT,), _gpus_used_up(data)),
            judge=Each(Within(1, 0.1)),
        ),
        Claim(
            id="F16.5",
            source="section 8.8.1, Fig. 16(c)",
            statement="1 MB: CLOSER_TO_DATA is far better than the others",
            expected="CLOSER_TO_DATA / the better of the others far below 1, above 150 us",
            measure=lambda data: _ratios(data, "1 MB", CLOSER, (HIGH, FLAT), _iats(data, ALL_BUSY_US + 1)),
            judge=Each(Below(0.2)),
        ),
        Claim(
            id="F16.6",
            kind=Kind.GIVEN,
            source="section 8.8.1",
            statement="1 MB across racks takes 10 times the transfer within a rack, 16 times the execution on a CPU",
            expected="10; 16",
            measure=_far,
            judge=Parts(Within(10, 0.05), Within(16, 0.05)),
        ),
        Claim(
            id="F16.7",
            source="section 8.8.1, Fig. 16(c, f, i)",
            statement="1 MB: below about 150 us between jobs all units are busy, whatever the scheduler",
            expected="utilisation about 1",
            measure=_busy,
            judge=Each(Above(0.95)),
        ),
        Claim(
            id="F16.11",
            source="section 8.8.1, Fig. 16(c)",
            statement="1 MB: below about 150 us the scheduler makes no difference",
            expected="highest / lowest latency: 1",
            measure=lambda data: _spread(data, "1 MB", _iats(data, below_us=ALL_BUSY_US)),
            judge=Each(Within(1, 0.1)),
            partly=Share(0.5, Within(1, 0.1)),
            note="Up to 100 us. At 125 and 140 us CLOSER_TO_DATA keeps up for a while before it collapses (W18.11).",
        ),
        Claim(
            id="F16.12",
            kind=Kind.FINDING,
            source="section 8.8.1, Fig. 16(f, i)",
            statement="1 MB: HIGH and FLAT have all units busy at four times the inter-arrival time already",
            expected="HIGH, FLAT: the 606 us of W18.4; CLOSER_TO_DATA: about 150 us",
            measure=_busy_from_us,
            judge=Parts(Between(500, 606), Between(500, 606), Between(125, 160)),
            unit="us",
        ),
        Claim(
            id="F16.8",
            source="section 8.8.1, Fig. 16(e, h)",
            statement="64 KB, where HIGH uses most of the GPUs: CLOSER_TO_DATA has many units to choose from",
            expected="a large share of the units idle, from 30 us on",
            measure=_to_spare,
            judge=Each(Above(0.4)),
            note="Below 30 us CLOSER_TO_DATA does not keep up either. Most of the GPUs: above 75 %.",
        ),
    ),
)
