"""Table IV's full 24 hours: what Symphony misses on 7 nodes, which is too rare for shorter runs."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from vinesim.formats.study.file import read_study
from vinesim.reproduction.claim import Claim, OtherReading
from vinesim.reproduction.criteria import About, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run
from vinesim_papers.symphony.measures import APPLICATIONS, SYMPHONY
from vinesim_papers.symphony.table4 import PRINTED

STUDY = Path(__file__).with_name("full_day.yaml")
LITERAL, DEFERRING = "literal", "deferring"
FLOOR = (
    "in 24 hours, as in the paper; in 40 minutes it is 0.24 %, a quarter of it first trials of CPUs, which are made "
    "once. What remains are bursts that hold all GPUs, so that requests go to CPUs too slow for them: one by one, none "
    "misses"
)


def whole_day(defer: str, changes: Mapping[str, Any]) -> dict[str, float]:
    """Return what Symphony misses on 7 nodes in the paper's 24 hours, percent by application and their mean."""
    nodes = read_study(STUDY).axes[0]
    (of_7,) = (setting for (n,), setting in zip(nodes.labels, nodes.settings, strict=True) if n == 7)
    found = run(STUDY, {**of_7, "policy": "symphony", "options.defer": defer}, changes).summary["applications"]
    return {name: float(found[name]["missed_pct"]) for name in ("mean", *APPLICATIONS)}


def _by_application(data: Data) -> dict[str, float]:
    return {name: data.result(LITERAL)[name] for name in APPLICATIONS}


ITEM = Item(
    id="symphony-table4-day",
    title="What Symphony misses on 7 nodes in 24 hours (two runs, half a minute and 4.6 GiB each)",
    source="section V-D, Table IV",
    runs={LITERAL: partial(whole_day, "no"), DEFERRING: partial(whole_day, "yes")},
    claims=(
        Claim(
            id="ST4.5",
            source="section V-D",
            statement="7 nodes: Symphony misses 0.05 %",
            expected="0.05 %",
            measure=lambda data: data.result(LITERAL)["mean"],
            judge=Within(0.05, 0.5),
            partly=About(0.05),
            unit="%",
            note=FLOOR,
            other_reading=OtherReading(
                "requests are deferred, as section I says",
                lambda data: data.result(DEFERRING)["mean"],
            ),
        ),
        Claim(
            id="ST4.11",
            source="section V-D, Table IV",
            statement=f"7 nodes, {SYMPHONY}: {', '.join(APPLICATIONS)}",
            expected=", ".join(f"{value:g}" for value in PRINTED[7, SYMPHONY]) + " %",
            measure=_by_application,
            judge=Parts(*(Within(value, 0.25) for value in PRINTED[7, SYMPHONY])),
            partly=Parts(*(Within(value, 0.5) for value in PRINTED[7, SYMPHONY])),
            unit="%",
            note=FLOOR,
        ),
    ),
)
