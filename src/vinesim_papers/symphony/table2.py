"""Tables II and IV: the four applications, as they are generated."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Between, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import scenario
from vinesim_papers.symphony.measures import APPLICATIONS

STUDY = Path(__file__).with_name("day.yaml")
HOURS = 4
REQUESTS = {"SEARCH": 17.2e6, "VIDEO": 52e3, "SQL": 576e3, "OPTION": 108e3}
RESPONSE_MS = {"SEARCH": 5.0, "VIDEO": 500.0, "SQL": 150.0, "OPTION": 800.0}  # for video, per MB
LATENCY_S = 45.0  # video, in Table IV

Drawn = dict[str, dict[str, float]]


def drawn(changes: Mapping[str, Any]) -> Drawn:
    """Return for each application: requests in 24 hours without spikes, the mean time to the deadline in ms, that per
    unit of size, and the smallest and largest size."""
    options = {"workload.options.duration_us": f"{HOURS} h", "workload.options.spikes": 0}
    work = scenario(STUDY, options, changes).workload
    assert work.application is not None
    assert work.deadline_us is not None
    found = {}
    for code, name in enumerate(APPLICATIONS):
        mine = np.flatnonzero(work.application == code)
        due_ms, size = (work.deadline_us - work.arrival_us)[mine] / 1e3, work.operations[mine]
        found[name] = {
            "requests": 24 / HOURS * len(mine),
            "due_ms": float(due_ms.mean()),
            "of_size_ms": float((due_ms / size).mean()),
            "least": float(size.min()),
            "greatest": float(size.max()),
        }
    return found


def _each(data: Data, what: str) -> dict[str, float]:
    return {name: of[what] for name, of in data.result("drawn").items()}


ITEM = Item(
    id="symphony-table2",
    title="The four applications",
    source="section V-A, Tables II and IV",
    runs={"drawn": drawn},
    claims=(
        Claim(
            id="ST2.1",
            kind=Kind.GIVEN,
            source="Table IV",
            statement="Requests in 24 hours: " + ", ".join(APPLICATIONS),
            expected="17.2 M, 52 K, 576 K, 108 K",
            measure=lambda data: _each(data, "requests"),
            judge=Parts(*(Within(n, 0.15) for n in REQUESTS.values())),
        ),
        Claim(
            id="ST2.2",
            kind=Kind.GIVEN,
            source="Table II",
            statement="Response time for a query, or a MB of video",
            expected="5, 500, 150, 800 ms",
            measure=lambda data: _each(data, "of_size_ms"),
            judge=Parts(*(Within(ms, 1e-6) for ms in RESPONSE_MS.values())),
            unit="ms",
        ),
        Claim(
            id="ST2.3",
            kind=Kind.GIVEN,
            source="Table II",
            statement="Videos have 4 to 45 MB: the least and the greatest",
            expected="4, 45 MB",
            measure=lambda data: [data.result("drawn")["VIDEO"][size] for size in ("least", "greatest")],
            judge=Parts(Between(4, 4.5), Between(44.5, 45)),
            unit="MB",
        ),
        Claim(
            id="ST2.4",
            kind=Kind.GIVEN,
            source="Table IV",
            statement="The desired latency of a video is 45 s on average",
            expected="45 s",
            measure=lambda data: data.result("drawn")["VIDEO"]["due_ms"] / 1e3,
            judge=Within(LATENCY_S, 0.1),
            unit="s",
            note="Table II contradicts it: 500 ms/MB for 4 to 45 MB is 2 to 22.5 s. Deadlines are those of Table II",
        ),
    ),
)
