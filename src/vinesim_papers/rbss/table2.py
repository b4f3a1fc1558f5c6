"""Table 2: the nodes of system 2."""

from functools import partial

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Equal
from vinesim.reproduction.item import Item
from vinesim_papers.rbss.nodes import ROWS, SYSTEM_2, table

PRINTED = dict(list(ROWS.items())[:2])

ITEM = Item(
    id="rbss-table2",
    title="Nodes of system 2",
    source="section 5.1, Table 2",
    runs={"nodes": partial(table, SYSTEM_2)},
    claims=(
        Claim(
            id="RT2.1",
            kind=Kind.GIVEN,
            source="section 5.1, Table 2",
            statement="16 nodes of two kinds, the first 16 of system 1",
            expected="; ".join(f"{row}: {devices}" for row, devices in PRINTED.items()),
            measure=lambda data: data.result("nodes"),
            judge=Equal(PRINTED),
        ),
    ),
)
