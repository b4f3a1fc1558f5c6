"""Table 2: the part of Table 1 that the experiments use."""

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Equal, Parts
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.vinesim.table1 import speeds


def _of_the_experiments(data: Data) -> dict[str, float]:
    found = data.result("speeds")
    return {
        "GPU FP-GOOD": found["GPU"]["FP_GOOD"],
        "GPU FP-BAD": found["GPU"]["FP_BAD"],
        "CPU FP-GOOD": found["CPU_INTEL"]["FP_GOOD"],
        "CPU FP-BAD": found["CPU_INTEL"]["FP_BAD"],
        "CPU MEM": found["CPU_INTEL"]["MEM"],
    }


ITEM = Item(
    id="table2",
    title="Affinities that the experiments use",
    source="section 6, Table 2",
    runs={"speeds": speeds},
    claims=(
        Claim(
            id="A1",
            kind=Kind.GIVEN,
            source="section 6, Table 2",
            statement="Floating-point speed of GPU and CPU, and memory speed of the CPU, in operations per us",
            expected="1,200,000; 12,000; 60,000; 60,000; 10,000",
            measure=_of_the_experiments,
            judge=Parts(Equal(1_200_000), Equal(12_000), Equal(60_000), Equal(60_000), Equal(10_000)),
        ),
    ),
)
