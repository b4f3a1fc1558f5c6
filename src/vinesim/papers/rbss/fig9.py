"""Figure 9: group B, whose jobs all request the strongest node: bottleneck avoidance against FIFO."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Between
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.rbss.drawing import rows
from vinesim.papers.rbss.measures import (
    DEFAULT,
    OCL,
    OTHERS,
    TIME,
    IntervalAbove,
    ba_gains,
    with_interval,
)

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

PRINTED = 50.0  # percent, the most
SETTINGS = {  # assumptions of group_b.yaml -> in words
    "default": "default times (40 s fixed cost an execution, durations x 3, submits with sd 20 s)",
    "short jobs": "durations a third of the default",
    "burst": "submits with sd 5 s",
    "burst, short jobs": "submits with sd 5 s, durations a third of the default",
    "heavy tail": "1 s fixed cost, durations x 10",
}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.dots import DotsPanel, dots_figure

    times = {name: data.values("b", TIME, scheduler=name, assumptions=DEFAULT) / 1e6 for name in (*OTHERS, OCL)}
    saved = {name: ba_gains(data, name) for name in data.labels("b", "assumptions")}
    return {
        "rbss-fig9": dots_figure(
            [
                DotsPanel("default assumptions", rows(times), "total time, s"),
                DotsPanel("by assumptions", rows(saved), "time saved by BA, %", {"the paper's most": PRINTED}),
            ]
        )
    }


def _claim(number: int, assumptions: str) -> Claim:
    return Claim(
        id=f"RF9.{number}",
        source="section 5.3, Figure 9",
        statement=f"System 2, {SETTINGS[assumptions]}: BA takes up to 50 % less time than FIFO",
        expected="50 % at the most",
        measure=lambda data: (
            {"most": float(np.max(ba_gains(data, assumptions)))} | with_interval(ba_gains(data, assumptions))
        ),
        judge=_MostAndAbove(),
        partly=IntervalAbove(0),
        unit="%",
        note=NOTES[assumptions],
    )


class _MostAndAbove:
    """The most is about 50 %, and there is a gain on average."""

    most = Between(0.75 * PRINTED, 1.25 * PRINTED)

    def holds(self, measured: dict[str, float]) -> bool:
        return self.most.holds(measured["most"]) and IntervalAbove(0).holds(measured)

    def __str__(self) -> str:
        return f"most {self.most}, interval above 0"


NOTES = {
    "default": "",
    "short jobs": "jobs come over 80 s and take about 40 s: FIFO's queue at the strongest nodes is short",
    "burst": "more than the paper's: relaxed requests open 32 GPUs instead of 8, and nothing else limits a burst",
    "burst, short jobs": "",
    "heavy tail": "BA is slower: it relaxes the request of the longest job, which then ends up on a weak GPU",
}

ITEM = Item(
    id="rbss-fig9",
    paper="rbss",
    title="Bottleneck avoidance in group B on system 2",
    source="section 5.3, Figure 9",
    studies={"b": "group_b.yaml"},
    draw=_draw,
    claims=tuple(_claim(number, assumptions) for number, assumptions in enumerate(SETTINGS, 1)),
)
