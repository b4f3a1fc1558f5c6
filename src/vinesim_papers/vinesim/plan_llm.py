"""The smallest number of GPUs for a log of language-model requests as a plan, compared with every point run."""

from pathlib import Path
from tempfile import TemporaryDirectory

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Between, Equal
from vinesim.reproduction.inputs import Input
from vinesim.reproduction.item import Changes, Item
from vinesim_papers.vinesim.llm_requests import write_requests
from vinesim_papers.vinesim.plan import Answered, ask, units


def _ask(given: Changes) -> Answered:
    with TemporaryDirectory() as folder:
        workload = Path(folder) / "requests.csv"
        write_requests(given["requests"], workload)
        return ask("llm", {"workload": {"file": str(workload)}})


ITEM = Item(
    id="vinesim-plan-llm",
    title="The utility function as a plan: the smallest number of GPUs for a log of language-model requests",
    source="sections 4.6 and 5",
    inputs=(
        Input(
            "requests",
            "a log of language-model requests, CSV with TIMESTAMP and GeneratedTokens",
            "It is not part of VineSim: download the log of code of 2023 from github.com/Azure/AzurePublicDataset.",
        ),
    ),
    runs={"answer": _ask},
    claims=(
        Claim(
            id="VP.6",
            kind=Kind.FINDING,
            source="section 4.6, which asks the question and leaves open how to answer it",
            statement="The number of GPUs that the plan recommends is the least of all points of its space",
            expected="0 % more",
            measure=lambda data: data.result("answer").regret_pct,
            judge=Between(0, 0),
            unit="%",
            note="every point that is not overloaded is run; the times by batch size are examples",
        ),
        Claim(
            id="VP.7",
            kind=Kind.FINDING,
            source="section 4.6, the best deployment for a workload",
            statement="No mix answers 99 % of the requests for code in time with as few GPUs as LARGE ones alone",
            expected="3 LARGE, 0 SMALL",
            measure=lambda data: "; ".join(dict.fromkeys(map(units, data.result("answer").best))),
            judge=Equal("3 LARGE, 0 SMALL"),
            note="for Azure's log of requests for code of 2023; times by batch size and deadlines are examples",
        ),
    ),
)
