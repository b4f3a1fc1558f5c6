"""Figure 6: total time of group A on both systems, by heuristic, with what no schedule can go below."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vinesim.formats.study_file import read_study
from vinesim.model.time import US_PER_S
from vinesim.papers.claim import Claim, OtherReading
from vinesim.papers.criteria import Between, Each, Equal, Some
from vinesim.papers.data import Data
from vinesim.papers.item import Changes, Item
from vinesim.papers.rbss.drawing import rows
from vinesim.papers.rbss.measures import (
    ABOUT_12,
    BA,
    DEFAULT,
    EARLIEST,
    FIFO,
    LJF,
    OCL,
    OPTIMUM,
    OTHERS,
    SJF,
    SYSTEMS,
    TIME,
    MeanIs,
    gaps,
    interval,
    ocl_gains,
    with_interval,
)
from vinesim.papers.single import changed
from vinesim.studies.expand import expand, scenario_of

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("group_a.yaml")
CLOSE = 10.0  # percent above the optimum


def last_submits_s(changes: Changes) -> np.ndarray:
    """When the last job of each workload is submitted, s; [n]."""
    study = changed(replace(read_study(STUDY), axes=()), changes)
    return np.array([scenario_of(study, run).workload.arrival_us.max() / US_PER_S for run in expand(study)])


def _total_s(data: Data, study: str, scheduler: str, system: str) -> np.ndarray:
    return data.values(study, TIME, scheduler=scheduler, system=system, assumptions=DEFAULT) / 1e6


def _place_of_ba(data: Data) -> dict[str, float]:
    """Where BA's mean lies between the least (0) and the largest (1) of the three basic heuristics' means."""
    found = {}
    for system in SYSTEMS:
        basic = [float(np.mean(_total_s(data, "a", name, system))) for name in (FIFO, SJF, LJF)]
        mean = float(np.mean(_total_s(data, "a", BA, system)))
        found[system] = (mean - min(basic)) / (max(basic) - min(basic))
    return found


def _gap(data: Data, system: str, assumptions: str) -> float:
    return interval(gaps(data, system, assumptions)).estimate


def _optimum_over_last_submit(data: Data) -> dict[str, float]:
    """The least quotient of all workloads."""
    last = data.result("last submits")
    return {system: float(np.min(_total_s(data, "optimum", OPTIMUM, system) / last)) for system in SYSTEMS}


def _gains_and_is_close(data: Data) -> dict[str, bool]:
    """Under which assumptions OCL on system 1 both takes 12 % less than the best other and is close to the optimum."""
    return {
        name: ABOUT_12.holds(interval(ocl_gains(data, TIME, "S1", name)).estimate) and _gap(data, "S1", name) <= CLOSE
        for name in data.labels("a", "assumptions")
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.dots import DotsPanel, dots_figure

    last = data.result("last submits")
    panels = []
    for system in SYSTEMS:
        values = {name: _total_s(data, "a", name, system) for name in (*OTHERS, OCL)}
        values |= {name: _total_s(data, "optimum", name, system) for name in (EARLIEST, OPTIMUM)}
        panels.append(DotsPanel(f"system {system[1]}", rows(values | {"last submit": last}), "total time, s"))
    return {"rbss-fig6": dots_figure(panels)}


def _close_claim(number: int, system: str, reading: str) -> Claim:
    return Claim(
        id=f"RF6.{number}",
        source="section 5.3, Figure 6",
        statement=f"System {system[1]}: OCL is close to the optimum",
        expected=f"within {CLOSE:g} %",
        measure=lambda data: with_interval(gaps(data, system, DEFAULT)),
        judge=MeanIs(Between(0, CLOSE)),
        partly=MeanIs(Between(0, 2 * CLOSE)),
        unit="%",
        note="the more jobs wait for each device the further it is away: longest first, and a rule "
        "for moves that looks at one job, leave room",
        other_reading=OtherReading(reading, lambda data: with_interval(gaps(data, system, reading))),
    )


ITEM = Item(
    id="rbss-fig6",
    paper="rbss",
    title="Total time of group A on both systems",
    source="section 5.3, Figure 6",
    studies={"a": "group_a.yaml", "optimum": "optimum.yaml"},
    runs={"last submits": last_submits_s},
    draw=_draw,
    claims=(
        Claim(
            id="RF6.1",
            source="section 5.3, Figure 6a",
            statement="BA takes a time between the least and the largest of FIFO, SJF and LJF, on average",
            expected="from 0 (as the least) to 1 (as the largest), on both systems",
            measure=_place_of_ba,
            judge=Each(Between(0, 1)),
        ),
        _close_claim(2, "S1", "heavy tail"),
        _close_claim(3, "S2", "short jobs"),
        Claim(
            id="RF6.4",
            source="section 5.3, Figure 6a",
            statement="No schedule ends before the last job is submitted: total time of the optimum over that",
            expected="1 or more",
            measure=_optimum_over_last_submit,
            judge=Each(Between(1, 100)),
        ),
        Claim(
            id="RF6.5",
            source="section 5.3, Figures 6a and 7a",
            statement="System 1: OCL takes about 12 % less time than the best other heuristic and is close to the "
            "optimum, both at once",
            expected="both",
            measure=_gains_and_is_close,
            judge=Each(Equal(True)),
            partly=Some(Equal(True)),
            note="where few jobs wait, OCL is close to the optimum because every heuristic is; where a gain is to be "
            "had, it takes bursts of jobs of similar length for OCL to get most of it",
        ),
    ),
)
