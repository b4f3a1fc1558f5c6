"""Table 1: the nodes of system 1."""

from functools import partial

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Equal, Parts
from vinesim.reproduction.item import Item
from vinesim_papers.rbss.nodes import ROWS, SYSTEM_1, cores, table

ITEM = Item(
    id="rbss-table1",
    title="Nodes of system 1",
    source="section 5.1, Table 1",
    runs={"nodes": partial(table, SYSTEM_1), "cores": partial(cores, SYSTEM_1)},
    claims=(
        Claim(
            id="RT1.1",
            kind=Kind.GIVEN,
            source="section 5.1, Table 1",
            statement="24 nodes of three kinds, each with a CPU and two GPUs",
            expected="; ".join(f"{row}: {devices}" for row, devices in ROWS.items()),
            measure=lambda data: data.result("nodes"),
            judge=Equal(ROWS),
        ),
        Claim(
            id="RT1.2",
            kind=Kind.GIVEN,
            source="section 5.1, Table 1",
            statement="Cores of the CPUs, as schedulers see them",
            expected="6, 12, 16",
            measure=lambda data: data.result("cores"),
            judge=Parts(Equal(6), Equal(12), Equal(16)),
        ),
    ),
)
