"""Figure 4: job latency against the share of GPUs, for five mixes of work, at low and high load."""

from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Below, Each, Equal, Falling, Parts, Rising, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SHARES = (0, 20, 33, 50, 66, 80, 100)  # % of the 40 units that are GPUs
MIXES = (
    "FP-BAD exclusive",
    "70 FP-BAD 30 FP-GOOD",
    "50 FP-BAD 50 FP-GOOD",
    "30 FP-BAD 70 FP-GOOD",
    "FP-GOOD exclusive",
)
GOOD, BAD = MIXES[-1], MIXES[0]
LATENCY = "jobs.latency_us.mean"


def _latency(data: Data, mix: str, gpus: int, load: str, policy: str = "high") -> float:
    return data.mean("main", LATENCY, mix=mix, gpus=gpus, load=load, policy=policy)


def _along(data: Data, mix: str, load: str) -> dict[str, float]:
    return {f"{gpus} %": _latency(data, mix, gpus, load) for gpus in SHARES}


def _times_cpus_only(data: Data, mix: str) -> dict[str, float]:
    """Latency at low load divided by that without GPUs."""
    base = _latency(data, mix, 0, "low")
    return {share: latency / base for share, latency in _along(data, mix, "low").items()}


def _gpus(data: Data) -> dict[str, float]:
    """How many units are GPUs, counted by their price of 1."""
    return {f"{gpus} %": data.mean("main", "cost.purchase", gpus=gpus) for gpus in SHARES[1:]}


def _alone(data: Data) -> dict[str, float]:
    """Mean wait of a task at low load, and a mix's latency divided by that of its parts; the largest of all points."""
    low = {"policy": "high", "load": "low"}
    waits, ratios = [], []
    for gpus in SHARES:
        bad, good = (_latency(data, mix, gpus, "low") for mix in (BAD, GOOD))
        for mix, share in zip(MIXES, (1, 0.7, 0.5, 0.3, 0), strict=True):
            in_all = data.mean("main", "tasks.latency_us.mean", mix=mix, gpus=gpus, **low)
            waits.append(in_all - data.mean("main", "tasks.response_us.mean", mix=mix, gpus=gpus, **low))
            ratios.append(_latency(data, mix, gpus, "low") / (share * bad + (1 - share) * good))
    return {"wait, us": max(waits), "mix / its parts": max(ratios, key=lambda ratio: abs(ratio - 1))}


def _flat_over_high(data: Data) -> dict[str, float]:
    """Latency of flat divided by that of high at high load, for every mix and share."""
    return {
        f"{mix}, {gpus} %": _latency(data, mix, gpus, "high", "flat") / _latency(data, mix, gpus, "high")
        for mix in MIXES
        for gpus in SHARES
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    panels = []
    for load, title in (("low", "(a) low load"), ("high", "(b) high load: all jobs at once")):
        lines = []
        for mix in MIXES:
            curve = data.curve("main", LATENCY, along="gpus", mix=mix, load=load, policy="high")
            lines.append(Line(mix, curve.x, curve.mean, curve.low, curve.high))
        panels.append(Panel(title, lines))
    x = Axis("GPUs among the 40 units, %", ticks=SHARES)
    return {"fig4": line_figure(panels, x, Axis("mean job latency, us", "log"), columns=2, share_y=False)}


SAME, FIVE_TIMES, A_20TH = Within(1, 0.01), Within(5, 0.01), Within(1 / 20, 0.05)

ITEM = Item(
    id="fig4",
    title="Job latency against the share of GPUs",
    source="section 7.1, Figure 4",
    studies={"main": "fig4.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="F4.1",
            kind=Kind.GIVEN,
            source="section 7.1",
            statement="20, 33, 50, 66, 80 and 100 % of the 40 units are GPUs",
            expected="8, 13.2, 20, 26.4, 32 and 40 GPUs",
            measure=_gpus,
            judge=Parts(Equal(8), Within(13.2, 0.05), Equal(20), Within(26.4, 0.05), Equal(32), Equal(40)),
        ),
        Claim(
            id="F4.2",
            kind=Kind.GIVEN,
            source="section 7.1, Fig. 4(a)",
            statement="An FP-GOOD task is 20 times faster on a GPU than on a CPU",
            expected="20",
            measure=lambda data: _latency(data, GOOD, 0, "low") / _latency(data, GOOD, 100, "low"),
            judge=Within(20, 0.01),
        ),
        Claim(
            id="F4.3",
            source="section 7.1, Fig. 4(a)",
            statement="Low load: FP-GOOD latency is that of a CPU below 30 GPUs, and falls 20-fold at 80 %",
            expected="1 up to 66 %, then 1/20, of the latency without GPUs",
            measure=lambda data: _times_cpus_only(data, GOOD),
            judge=Parts(*[SAME] * 5, A_20TH, A_20TH),
        ),
        Claim(
            id="F4.4",
            kind=Kind.GIVEN,
            source="section 7.1, Fig. 4(a)",
            statement="An FP-BAD task is 5 times faster on a CPU than on a GPU",
            expected="5",
            measure=lambda data: _latency(data, BAD, 100, "low") / _latency(data, BAD, 0, "low"),
            judge=Within(5, 0.01),
        ),
        Claim(
            id="F4.5",
            source="section 7.1, Fig. 4(a)",
            statement="Low load: FP-BAD latency rises fivefold as soon as there are fewer than 30 CPUs, at 33 % GPUs",
            expected="1 up to 20 %, then 5 times the latency without GPUs",
            measure=lambda data: _times_cpus_only(data, BAD),
            judge=Parts(SAME, SAME, *[FIVE_TIMES] * 5),
        ),
        Claim(
            id="F4.6",
            source="section 7.1, Fig. 4(a)",
            statement="Low load: no task waits, so the slowest unit used gives a job's latency, in mixes as alone",
            expected="wait 0; 1",
            measure=_alone,
            judge=Parts(Below(1e-6), Equal(1.0)),
        ),
        Claim(
            id="F4.7",
            source="section 7.1, Fig. 4(b)",
            statement="High load: FP-GOOD latency falls with every further share of GPUs",
            expected="falls",
            measure=lambda data: _along(data, GOOD, "high"),
            judge=Falling(),
            unit="us",
        ),
        Claim(
            id="F4.8",
            source="section 7.1, Fig. 4(b)",
            statement="High load: FP-BAD latency rises with every further share of GPUs",
            expected="rises",
            measure=lambda data: _along(data, BAD, "high"),
            judge=Rising(),
            unit="us",
        ),
        Claim(
            id="F4.9",
            source="section 7.1, Fig. 4(b)",
            statement="High load: which policy schedules makes no difference",
            expected="flat / high: 1, for every mix and share",
            measure=_flat_over_high,
            judge=Each(Within(1, 0.05)),
            note="At two of the 35 points they are 2 and 3 % apart, as means of three orders of the jobs; single "
            "orders by up to 8 %, either way.",
        ),
    ),
)
