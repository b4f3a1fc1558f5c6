"""Table IV: requests that miss their deadline with three schedulers, on 3 and on 7 nodes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Between, Each, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.symphony.drawing import bars
from vinesim_papers.symphony.measures import (
    APPLICATIONS,
    CALIBRATED,
    EDF,
    FCFS,
    NODES,
    SCHEDULERS,
    SYMPHONY,
    by_application,
    by_scheduler,
    missed,
    order,
)

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

PRINTED = {  # %, in the order of APPLICATIONS
    (3, FCFS): (24.1, 27.2, 21.8, 25.9),
    (3, EDF): (20.2, 21.6, 14.7, 20.9),
    (3, SYMPHONY): (3.0, 3.3, 2.8, 3.2),
    (7, FCFS): (2.9, 3.2, 2.6, 3.1),
    (7, EDF): (1.2, 1.3, 1.1, 1.4),
    (7, SYMPHONY): (0.05, 0.05, 0.04, 0.05),
}
VIDEO_WAITS = (
    "video has the most time to its deadline, 500 ms/MB, so it can often still use a CPU, or wait for one; the others "
    "agree"
)
VIDEO_ALONE = "video, which is never consolidated, misses most; in the paper all four are alike"
EDF_IS_FCFS = (
    "EDF's order matters only while requests wait, and while CPUs have room none do: all the same it sends a request "
    "to a CPU that is too slow for it"
)


def _times_fewer(data: Data) -> dict[str, float]:
    found = {n: by_scheduler(data, "clusters", nodes=n) for n in NODES}
    return {f"{name}, {n} nodes": of[name] / of[SYMPHONY] for n, of in found.items() for name in (FCFS, EDF)}


def _baselines_at_7(data: Data) -> dict[str, float]:
    """What a baseline misses on 7 nodes, divided by what Symphony misses on 3."""
    goal = missed(data, "clusters", scheduler=SYMPHONY, nodes=3)
    return {name: missed(data, "clusters", scheduler=name, nodes=7) / goal for name in (FCFS, EDF)}


def _draw(data: Data) -> dict[str, "Figure"]:
    groups = [{"nodes": n} for n in NODES]
    return {"symphony-table4": bars(data, "clusters", [f"{n} nodes" for n in NODES], groups, SCHEDULERS, "log")}


def _cells(number: int, nodes: int, scheduler: str, note: str) -> Claim:
    printed: Sequence[float] = PRINTED[nodes, scheduler]
    return Claim(
        id=f"ST4.{number}",
        source="section V-D, Table IV",
        statement=f"{nodes} nodes, {scheduler}: {', '.join(APPLICATIONS)}",
        expected=", ".join(f"{value:g}" for value in printed) + " %",
        measure=lambda data: by_application(data, "clusters", nodes=nodes, scheduler=scheduler),
        judge=Parts(*(Within(value, 0.25) for value in printed)),
        partly=Parts(*(Within(value, 0.5) for value in printed)),
        unit="%",
        note=note,
    )


ITEM = Item(
    id="symphony-table4",
    title="Requests that miss their deadline on 3, 5 and 7 nodes (40 minutes, 12 times)",
    source="section V-D, Table IV",
    studies={"clusters": "clusters.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="ST4.1",
            source="section V, Table IV and Figure 3",
            statement="FCFS misses more than EDF, EDF more than Symphony, on clusters of every size",
            expected="FCFS > EDF > Symphony",
            measure=lambda data: {f"{n} nodes": order(by_scheduler(data, "clusters", nodes=n)) for n in NODES},
            judge=Each(Equal(" > ".join(SCHEDULERS))),
        ),
        Claim(
            id="ST4.2",
            source="section V-D",
            statement="3 nodes: FCFS and EDF miss 14 to 27 %, Symphony around 3 %",
            expected="14 to 27, 14 to 27, 3 %",
            measure=lambda data: by_scheduler(data, "clusters", nodes=3),
            judge=Parts(Between(14, 27), Between(14, 27), Within(3, 0.5)),
            unit="%",
            note=CALIBRATED,
        ),
        Claim(
            id="ST4.3",
            source="abstract; section VI",
            statement="Symphony misses 2 to 20 times fewer than the others",
            expected="2 to 20",
            measure=_times_fewer,
            judge=Each(Between(2, 20)),
        ),
        Claim(
            id="ST4.4",
            source="section V-D",
            statement="FCFS and EDF miss on 7 nodes what Symphony misses on 3: quotients",
            expected="1, 1",
            measure=_baselines_at_7,
            judge=Each(Within(1, 0.5)),
            note=CALIBRATED,
        ),
        _cells(6, 3, FCFS, VIDEO_WAITS),
        _cells(7, 3, EDF, f"{EDF_IS_FCFS}; {VIDEO_WAITS}"),
        _cells(8, 3, SYMPHONY, VIDEO_ALONE),
        _cells(9, 7, FCFS, VIDEO_WAITS),
        _cells(10, 7, EDF, EDF_IS_FCFS),
    ),
)
