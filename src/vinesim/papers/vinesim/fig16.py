"""Figure 16: three schedulers and what data transfers cost, where CPUs and GPUs are equally far from the data."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.papers.claim import Claim, Kind
from vinesim.papers.criteria import Above, Below, Each, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.single import run
from vinesim.papers.vinesim.direct import transfer_us

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig16.yaml")
LATENCY, ALL = "jobs.latency_us.mean", "utilization.overall"
CPU, GPU = "utilization.by_type.CPU_INTEL", "utilization.by_type.GPU"
SIZES = ("8 KB", "64 KB", "1 MB")
HIGH, FLAT, CLOSER = "high", "flat", "closer_to_data"
POLICIES = {HIGH: "HIGH", FLAT: "FLAT", CLOSER: "CLOSER_TO_DATA"}
LOW_LOAD_US = 2000
CPU_TASK_US = 500.0


def _mean(data: Data, size: str, policy: str, iat_us: float, column: str = LATENCY) -> float:
    return data.mean("main", column, size=size, policy=policy, **{"arrivals.iat": iat_us})


def _ratios(data: Data, size: str, iat_us: float, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Latency of the first policy of each pair over that of the second."""
    return {
        f"{POLICIES[a]} / {POLICIES[b]}": _mean(data, size, a, iat_us) / _mean(data, size, b, iat_us) for a, b in pairs
    }


def _spread(data: Data, size: str, iats_us: tuple[float, ...]) -> dict[str, float]:
    """The highest of the three latencies over the lowest."""
    found = {}
    for iat in iats_us:
        latencies = [_mean(data, size, policy, iat) for policy in POLICIES]
        found[f"{iat} us"] = max(latencies) / min(latencies)
    return found


def _medium(data: Data) -> dict[str, float]:
    """64 KB: CLOSER_TO_DATA over HIGH where the GPUs are taken, then HIGH over FLAT."""
    closer = {f"CLOSER_TO_DATA / HIGH at {iat} us": _ratio(data, CLOSER, HIGH, iat) for iat in (75, 50)}
    return closer | {f"HIGH / FLAT at {iat} us": _ratio(data, HIGH, FLAT, iat) for iat in (50, 20)}


def _ratio(data: Data, first: str, second: str, iat_us: float) -> float:
    return _mean(data, "64 KB", first, iat_us) / _mean(data, "64 KB", second, iat_us)


def _all_busy(data: Data) -> dict[str, float]:
    """1 MB: utilisation with CLOSER_TO_DATA above and below 150 us; of all and spread of latency at 100 us."""
    use = {f"CLOSER_TO_DATA at {iat} us": _mean(data, "1 MB", CLOSER, iat, ALL) for iat in (200, 140)}
    least = min(_mean(data, "1 MB", policy, 100, ALL) for policy in POLICIES)
    spread = _spread(data, "1 MB", (100,))["100 us"]
    return {**use, "any at 100 us, least": least, "highest / lowest latency at 100 us": spread}


def _far(data: Data) -> dict[str, float]:
    """1 MB across racks: over the transfer within a rack, and over the execution on a CPU."""
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
    paper="vinesim",
    title="Data transfers in two equal racks: three schedulers, three sizes of data",
    source="section 8.8.1, Figure 16",
    studies={"main": "fig16.yaml"},
    runs={"1 MB": partial(run, STUDY, {"policy": FLAT, "workload.options.data_bytes": "1 MiB"})},
    draw=_draw,
    claims=(
        Claim(
            id="F16.1",
            source="section 8.8.1, Fig. 16(a)",
            statement="8 KB, low load: HIGH is best, CLOSER_TO_DATA much like FLAT",
            expected="HIGH / FLAT well below 1, CLOSER_TO_DATA / FLAT about 1",
            measure=lambda data: _ratios(data, "8 KB", LOW_LOAD_US, [(HIGH, FLAT), (CLOSER, FLAT)]),
            judge=Parts(Below(0.5), Within(1, 0.15)),
        ),
        Claim(
            id="F16.2",
            source="section 8.8.1, Fig. 16(a)",
            statement="8 KB, high load: the three schedulers have the same latency",
            expected="highest / lowest: 1",
            measure=lambda data: _spread(data, "8 KB", (1, 5, 10)),
            judge=Each(Within(1, 0.1)),
        ),
        Claim(
            id="F16.3",
            source="section 8.8.1, Fig. 16(b)",
            statement="64 KB, low load: CLOSER_TO_DATA has about the latency of HIGH",
            expected="1",
            measure=lambda data: _ratios(data, "64 KB", LOW_LOAD_US, [(CLOSER, HIGH)]),
            judge=Each(Within(1, 0.1)),
        ),
        Claim(
            id="F16.4",
            source="section 8.8.1, Fig. 16(b)",
            statement="64 KB, more load: CLOSER_TO_DATA beats HIGH, which becomes the same as FLAT",
            expected="well below 1 twice, then about 1",
            measure=_medium,
            judge=Parts(Below(0.8), Below(0.5), Within(1, 0.15), Within(1, 0.1)),
        ),
        Claim(
            id="F16.5",
            source="section 8.8.1, Fig. 16(c)",
            statement="1 MB: CLOSER_TO_DATA is far better than the others",
            expected="others several times higher",
            measure=lambda data: _ratios(data, "1 MB", LOW_LOAD_US, [(HIGH, CLOSER), (FLAT, CLOSER)]),
            judge=Each(Above(5)),
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
            expected="far from 1 above, about 1 below; latencies alike",
            measure=_all_busy,
            judge=Parts(Below(0.5), Above(0.95), Above(0.95), Within(1, 0.1)),
        ),
        Claim(
            id="F16.8",
            source="section 8.8.1, Fig. 16(e, h)",
            statement="64 KB, 75 us: HIGH has used up the GPUs while CLOSER_TO_DATA has units of both kinds to spare",
            expected="high; low; low",
            measure=lambda data: {
                "HIGH, GPUs": _mean(data, "64 KB", HIGH, 75, GPU),
                "CLOSER_TO_DATA, GPUs": _mean(data, "64 KB", CLOSER, 75, GPU),
                "CLOSER_TO_DATA, CPUs": _mean(data, "64 KB", CLOSER, 75, CPU),
            },
            judge=Parts(Above(0.75), Below(0.2), Below(0.7)),
        ),
    ),
)
