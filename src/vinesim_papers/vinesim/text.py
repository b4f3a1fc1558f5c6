"""Statements of the text that are not about a figure."""

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import Alike, Equal, Parts
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.vinesim.table1 import speeds


def _mean_and_median(data: Data) -> dict[str, float]:
    """Job latency of 500Jobs at an inter-arrival time of 6 us."""
    at = {"arrivals.iat": 6}
    return {name: data.mean("500jobs", f"jobs.latency_us.{name}", **at) for name in ("mean", "p50")}


def _speeds(data: Data, task_type: str) -> dict[str, float]:
    found = data.result("speeds")
    return {"CPU": found["CPU_INTEL"][task_type], "GPU": found["GPU"][task_type]}


ITEM = Item(
    id="text",
    title="Statements of the text",
    source="sections 5, 7 and 8",
    studies={"500jobs": "text_500jobs.yaml"},
    runs={"speeds": speeds},
    claims=(
        Claim(
            id="A4",
            source="section 5.2.2",
            statement="The 50th percentile of the latency is its average",
            expected="median = mean",
            measure=_mean_and_median,
            judge=Alike(0.05),
            unit="us",
            note="The median is not the mean: with 500Jobs at an inter-arrival time of 6 us a few jobs wait long. "
            "VineSim gives both; the figures show the mean.",
        ),
        Claim(
            id="A5",
            kind=Kind.GIVEN,
            source="section 8.4",
            statement="For the tasks of 500Jobs a CPU does 60 GFLOPS and a GPU 1.2 TFLOPS",
            expected="60,000 and 1,200,000 operations/us",
            measure=lambda data: _speeds(data, "FP_GOOD"),
            judge=Parts(Equal(60_000), Equal(1_200_000)),
            unit="operations/us",
            other_reading=OtherReading("tasks of type INT instead of FP-GOOD", lambda data: _speeds(data, "INT")),
        ),
    ),
)
