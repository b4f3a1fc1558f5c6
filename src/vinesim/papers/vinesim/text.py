"""Statements of the text that belong to no figure."""

from vinesim.papers.claim import Claim, Kind, OtherReading
from vinesim.papers.criteria import Above, Alike, Below, Equal, Parts
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.vinesim.table1 import speeds


def _mean_and_median(data: Data) -> dict[str, float]:
    """Job latency of 500Jobs at an inter-arrival time of 6 us."""
    at = {"arrivals.iat": 6}
    return {name: data.mean("500jobs", f"jobs.latency_us.{name}", **at) for name in ("mean", "p50")}


def _speeds(data: Data, task_type: str) -> dict[str, float]:
    found = data.result("speeds")
    return {"CPU": found["CPU_INTEL"][task_type], "GPU": found["GPU"][task_type]}


def _few_gpus(data: Data) -> dict[str, float]:
    """With all jobs at once: how much of the gain of GPUs alone 20 % bring, and few strong against many weak ones."""
    latency = {
        d: data.mean("few gpus", "jobs.latency_us.mean", deployment=d) for d in data.labels("few gpus", "deployment")
    }
    none, few, only = latency["no GPUs"], latency["20 % GPUs"], latency["GPUs only"]
    return {
        "share of the gain, %": 100 * (none - few) / (none - only),
        "strong / weak": latency["20 % GPUs of 15:1"] / latency["GPUs only, of 2:1"],
    }


ITEM = Item(
    id="text",
    paper="vinesim",
    title="Statements of the text",
    source="sections 5, 7 and 8",
    studies={"500jobs": "text_500jobs.yaml", "few gpus": "text_few_gpus.yaml"},
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
        Claim(
            id="G1",
            source="section 7.3 (first version)",
            statement="A few GPUs already bring most of the gain, and few strong GPUs can beat many weak ones",
            expected="most of the gain: above 50 %; strong / weak below 1",
            measure=_few_gpus,
            judge=Parts(Above(50), Below(1)),
        ),
    ),
)
