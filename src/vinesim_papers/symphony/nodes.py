"""How many nodes each scheduler needs: the smallest cluster on which at most a target share of the requests miss."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.plan.file import plan as plan_of
from vinesim.formats.study.file import read_study, scenario_source
from vinesim.plans.solve import plan
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Each, Equal, Share, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.studies.statistics import Interval, mean_interval
from vinesim.studies.sweep import read_sweep
from vinesim_papers.symphony.drawing import MISSED_LABEL
from vinesim_papers.symphony.measures import CALIBRATED, EDF, FCFS, SYMPHONY

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("day.yaml")
TARGETS_PCT = (10.0, 5.0, 3.0, 1.0)
PAPERS_PCT = 3.0
FEWEST, MOST = 1, 12
LOOKS = [3, 6, 12, 40]  # replications after which a size is judged
NODES, MISSED = "datacenter.racks[0].nodes[0].count", "applications.mean.missed_pct"
LOWEST_SHOWN_PCT = 0.1
FCFS_CONSOLIDATING, DEFERRING = "FCFS, consolidating", "Symphony, deferring"
POLICIES: dict[str, dict[str, Any]] = {
    FCFS: {"policy": "fcfs"},
    EDF: {"policy": "edf"},
    FCFS_CONSOLIDATING: {"policy": "fcfs", "options.consolidate": "yes"},
    SYMPHONY: {"policy": "symphony"},
    DEFERRING: {"policy": "symphony", "options.defer": "yes"},
}


@dataclass(frozen=True)
class Smallest:
    """The smallest cluster that a plan found; None: not even the largest keeps the target.

    ``is_certain``: all smaller ones were shown to miss it; else the runs do not tell for some of them. ``missed_pct``
    holds the intervals of the sizes that were run.
    """

    size: int | None
    is_certain: bool
    missed_pct: dict[int, Interval]


Searched = dict[float, dict[str, Smallest]]  # by target, then by policy


def search(changes: Mapping[str, Any]) -> Searched:
    """Return the smallest cluster of each policy for each target; the plans of a policy share their runs."""
    found: Searched = {target: {} for target in TARGETS_PCT}
    base = scenario_source(read_study(STUDY))
    for name, setting in POLICIES.items():
        scenario = base.changed({**setting, **changes}).data
        with TemporaryDirectory(prefix="vinesim-nodes-") as folder:
            for target in TARGETS_PCT:
                mapping = question(scenario, target)
                answer = plan(plan_of(mapping, STUDY.parent), folder, workers=1)
                size = None if answer.recommended is None else answer.recommended.choice[NODES]
                table = read_sweep(folder).table
                of_size = {n: table[MISSED][table[NODES] == n] for n in np.unique(table[NODES]).tolist()}
                intervals = {n: mean_interval(values) for n, values in of_size.items()}
                found[target][name] = Smallest(size, answer.is_proved, intervals)
    return found


def question(scenario: Mapping[str, Any], target_pct: float) -> dict[str, Any]:
    """Return the plan: the fewest nodes with which at most ``target_pct`` percent are missed, as mean over the runs."""
    return {
        "scenario": scenario,
        "choose": {NODES: {"from": FEWEST, "to": MOST}},
        "minimize": "units.count",
        "limits": {MISSED: {"below": target_pct}},
        "looks": LOOKS,
        "confirm": {"replications": 0, "horizon": 1},
    }


def _against(data: Data, names: tuple[str, ...]) -> dict[str, float]:
    """How many times as many nodes as Symphony the others need, by target."""
    found: Searched = data.result("smallest")
    return {
        f"{name}, {target:g} %: {_words(of[name], of[SYMPHONY])}": _size(of[name]) / _size(of[SYMPHONY])
        for name in names
        for target, of in found.items()
    }


def _size(found: Smallest) -> float:
    return np.nan if found.size is None else found.size


def _words(one: Smallest, other: Smallest) -> str:
    unsure = "" if one.is_certain and other.is_certain else ", at most"
    return f"{one.size} nodes against {other.size}{unsure}"


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    lines = []
    for name in POLICIES:
        tried = {size: i for of in data.result("smallest").values() for size, i in of[name].missed_pct.items()}
        x = np.array(sorted(tried))
        mean, low, high = (np.array([getattr(tried[n], part) for n in x]) for part in ("estimate", "low", "high"))
        lines.append(Line(name, x, mean, np.maximum(low, mean / 10), high))
    lines.append(Line(f"{PAPERS_PCT:g} %", np.array([FEWEST, MOST]), np.array([PAPERS_PCT] * 2)))
    x_axis = Axis("nodes", ticks=range(FEWEST, MOST + 1))
    return {
        "symphony-nodes": line_figure(
            [Panel("", lines)],
            x_axis,
            Axis(MISSED_LABEL, "log", limits=(LOWEST_SHOWN_PCT, None), ticks=(0.1, 0.3, 1, 3, 10)),
        )
    }


ITEM = Item(
    id="symphony-nodes",
    title="The smallest cluster for 10, 5, 3 and 1 % of missed requests (by plans, 40 minutes, 3 to 40 times each)",
    source="abstract; section V-D",
    runs={"smallest": search},
    draw=_draw,
    claims=(
        Claim(
            id="SN.1",
            source="abstract; section V-D",
            statement="For as few misses as Symphony other schedulers need twice as many nodes, whatever the target",
            expected="2 (at 3 % 7 nodes against 3)",
            measure=lambda data: _against(data, (FCFS, EDF)),
            judge=Each(Within(2, 0.25)),
            partly=Share(0.5, Within(2, 0.25)),
            note=CALIBRATED,
        ),
        Claim(
            id="SN.2",
            kind=Kind.FINDING,
            source="not in the paper, which does not say whether FCFS consolidates",
            statement="FCFS that consolidates needs no more nodes than Symphony",
            expected="1",
            measure=lambda data: _against(data, (FCFS_CONSOLIDATING,)),
            judge=Each(Equal(1)),
            note="nodes are saved by consolidation, in whichever order requests start",
        ),
    ),
)
