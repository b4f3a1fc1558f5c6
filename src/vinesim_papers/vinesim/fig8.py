"""Figure 8: job latency of brain-simulation kernels on three accelerators, and on all of them together."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Below, Each, Equal, Parts, Some, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig8.yaml")
DEPLOYMENTS = ("30 DFE", "30 PHI", "30 GPU", "10 of each")
MIXED = DEPLOYMENTS[-1]
LATENCY, IAT = "jobs.latency_us.mean", "arrivals.iat"
ALONE = 10_000  # inter-arrival time, us, at which each job runs alone


def _curve(data: Data, deployment: str) -> np.ndarray:
    return data.curve("main", LATENCY, along=IAT, deployment=deployment).mean


def _order(data: Data) -> dict[str, float]:
    dfe, phi, gpu = (_curve(data, deployment) for deployment in DEPLOYMENTS[:3])
    return {"PHI / DFE, least": float((phi / dfe).min()), "GPU / PHI, least": float((gpu / phi).min())}


def _mixed_against_best(data: Data) -> dict[str, float]:
    """Latency on the mixed deployment divided by that on the best other deployment, at every load."""
    best = np.min([_curve(data, deployment) for deployment in DEPLOYMENTS[:3]], axis=0)
    iats = np.unique(data.values("main", IAT)).tolist()
    return {f"{iat:g} us": float(ratio) for iat, ratio in zip(iats, _curve(data, MIXED) / best, strict=True)}


def _kernels(changes: Changes) -> dict[str, float]:
    """Latency of each kernel on each accelerator, us, jobs running alone: "SGJ on GPU" and so on."""
    found = {}
    for accelerator in ("PHI", "DFE", "GPU"):
        units = {"datacenter.racks[0].units": {accelerator: 30}, "arrivals": {"iat": f"{ALONE} us"}}
        jobs = run(STUDY, changes, units).jobs
        for code, kernel in enumerate(("SGJ", "RGJ", "NGJ")):
            found[f"{kernel} on {accelerator}"] = float(jobs["latency_us"][jobs["task_type"] == code].mean())
    return found


def _gpu_best_and_worst(data: Data) -> dict[str, float]:
    kernels = data.result("kernels")
    others = ("PHI", "DFE")
    return {
        "SGJ, others / GPU": min(kernels[f"SGJ on {other}"] for other in others) / kernels["SGJ on GPU"],
        "RGJ, GPU / others": kernels["RGJ on GPU"] / max(kernels[f"RGJ on {other}"] for other in others),
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    latency, used = [], []
    for deployment in DEPLOYMENTS:
        curve = data.curve("main", LATENCY, along=IAT, deployment=deployment)
        latency.append(Line(deployment, curve.x, curve.mean, curve.low, curve.high))
        share = data.curve("main", "utilization.overall", along=IAT, deployment=deployment)
        percent = [100 * part for part in (share.mean, share.low, share.high)]
        used.append(Line(deployment, share.x, *percent))
    x = Axis("inter-arrival time, us", "log0")
    panels = [Panel("(a) job latency", latency), Panel("(b) utilisation of the accelerators", used)]
    ys = [Axis("mean job latency, us", "log"), Axis("utilisation, %")]
    return {"fig8": line_figure(panels, x, ys, columns=2)}


ITEM = Item(
    id="fig8",
    title="Brain-simulation kernels on three accelerators, and on all of them together",
    source="section 7.5, Figure 8",
    studies={"main": STUDY.name},
    runs={"kernels": _kernels},
    draw=_draw,
    claims=(
        Claim(
            id="F8.1",
            source="section 7.5, Fig. 8(a)",
            statement="With one kind of accelerator, DFEs give the lowest latency, then PHIs, then GPUs",
            expected="both ratios above 1, at every inter-arrival time",
            measure=_order,
            judge=Each(Above(1)),
        ),
        Claim(
            id="F8.2",
            source="section 7.5, Fig. 8(a)",
            statement="The deployment with all kinds of accelerators gives the lowest latency of all",
            expected="below 1 times the best of the others, at every load",
            measure=_mixed_against_best,
            judge=Each(Below(1)),
            partly=Some(Below(1)),
            note="True at low and medium load. At high load, inter-arrival times up to about 13 us, DFEs alone win: "
            "they do 111 kernels a ms, the mix at best 106, and about 70 under a policy that leaves no unit idle.",
        ),
        Claim(
            id="F8.3",
            kind=Kind.GIVEN,
            source="section 7.5, Table 3",
            statement="GPUs beat the other accelerators on kernel SGJ and are far behind on RGJ",
            expected="0.3 / 0.1 = 3 times faster; 2.4 / 0.75 = 3.2 times slower",
            measure=_gpu_best_and_worst,
            judge=Parts(Within(3, 0.01), Within(3.2, 0.01)),
        ),
        Claim(
            id="F8.4",
            kind=Kind.GIVEN,
            source="section 7.5",
            statement="CPUs coordinate and run no kernel",
            expected="utilisation 0",
            measure=lambda data: float(data.table("main")["utilization.by_type.CPU"].max()),
            judge=Equal(0),
        ),
    ),
)
