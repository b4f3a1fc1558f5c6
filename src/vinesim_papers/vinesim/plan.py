"""The utility function as plans: the best deployment, the best policy, both; each compared with every point run.

What a plan recommends is compared with the best of all points of its space that are not overloaded, each run with the
same seeds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from vinesim.formats.plan.file import plan as plan_of
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.plan import Plan
from vinesim.plans.answer import Answer
from vinesim.plans.runs import Runs
from vinesim.plans.screen import screened
from vinesim.plans.solve import plan
from vinesim.plans.space import Space
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Between, Each, Equal, Within
from vinesim.reproduction.item import Item

HERE = Path(__file__).parent
QUESTIONS = ("deployment", "policy", "both", "energy")
REPLICATIONS = 8  # of each point whose runs depend on the seed
IN_PROCESS = ("loky", 1, None)
GPUS = "datacenter.racks[0].units.GPU"


@dataclass(frozen=True)
class Answered:
    """A plan's answer, and the objective of every point that keeps the limits, of all that were run."""

    answer: Answer
    every: dict[int, float]

    @property
    def regret_pct(self) -> float:
        """How much worse the recommendation is than the best of all points, %; NaN if it does not keep the limits."""
        row = self.answer.recommended
        if row is None or row.point not in self.every:
            return np.nan
        best = min(self.every.values())
        return 100 * (self.every[row.point] - best) / abs(best)

    @property
    def choice(self) -> dict[str, Any]:
        """What is recommended."""
        assert self.answer.recommended is not None
        return self.answer.recommended.choice

    @property
    def best(self) -> list[dict[str, Any]]:
        """The choices of the points with the best objective of all."""
        space, least = Space(self.answer.plan), min(self.every.values(), default=np.nan)
        return [space.label(point) for point, value in self.every.items() if value == least]

    def ratio(self, name: str, label: Any) -> float:
        """Return the best objective with a label of a choice, as a multiple of the best of all."""
        space = Space(self.answer.plan)
        with_label = [value for point, value in self.every.items() if space.label(point)[name] == label]
        return min(with_label, default=np.nan) / min(self.every.values())


def question(name: str, changes: Mapping[str, Any]) -> Plan:
    """Return the plan of a question, with changes to its scenario."""
    mapping = YamlSource(HERE / f"plan_{name}.yaml", what="a plan").data
    scenario = mapping["scenario"]
    source = YamlSource(HERE / scenario) if isinstance(scenario, str) else YamlSource.of(scenario)
    return plan_of({**mapping, "scenario": source.changed(changes).data}, HERE)


def ask(name: str, changes: Mapping[str, Any]) -> Answered:
    """Answer a question, and run every point of its space."""
    asked = question(name, changes)
    return Answered(plan(asked, workers=1), every_point(asked))


def every_point(asked: Plan) -> dict[int, float]:
    """Return the mean objective of each point that keeps all limits in the mean and finishes its jobs, all run."""
    space = Space(asked)
    known = screened(asked, space)
    left = [int(point) for point in known.left]
    found = {}
    with TemporaryDirectory() as folder, Runs(asked, space, known, Path(folder), IN_PROCESS, in_memory=True) as runs:
        replications = range(REPLICATIONS if known.is_random[left].any() else 1)
        runs.ask((point, replications) for point in left)
        for point in left:
            if runs.why(point, replications):
                continue
            values = runs.values(point, replications, asked.names)
            if all(limit.margin(values[limit.number].mean()) >= 0 for limit in asked.limits):
                found[point] = float(np.mean(asked.objectives[0].expression.value(values)))
    return found


def _run(name: str) -> Callable[[Mapping[str, Any]], Answered]:
    return partial(ask, name)


def units(choice: Mapping[str, Any]) -> str:
    """Return the units that are chosen in words."""
    counts = ((name.rpartition(".")[2], n) for name, n in choice.items() if ".units." in name)
    return ", ".join(f"{n} {name}" for name, n in counts)


ITEM = Item(
    id="vinesim-plan",
    title="The utility function as plans: the best deployment, the best policy, both, and the least energy",
    source="sections 4.6 and 5",
    runs={name: _run(name) for name in QUESTIONS},
    claims=(
        Claim(
            id="VP.1",
            kind=Kind.FINDING,
            source="section 4.6, which asks the questions and leaves open how to answer them",
            statement="What a plan recommends is the best of all points of its space that are not overloaded",
            expected="0 % worse",
            measure=lambda data: {name: data.result(name).regret_pct for name in QUESTIONS},
            judge=Each(Between(0, 1)),
            unit="%",
            note="every point is run, with the same seeds; prices, powers and limits are examples",
        ),
        Claim(
            id="VP.2",
            kind=Kind.FINDING,
            source="section 4.6, the best deployment for a policy",
            statement="The cheapest deployment for HIGH at an IAT of 7 us has GPUs only: slow CPUs add to the latency",
            expected="0 CPU_INTEL, 18 GPU",
            measure=lambda data: units(data.result("deployment").choice),
            judge=Equal("0 CPU_INTEL, 18 GPU"),
            note="5 tasks of 25 us every 7 us need 17.9 GPUs",
        ),
        Claim(
            id="VP.3",
            kind=Kind.FINDING,
            source="section 4.6, the best policy for a deployment",
            statement="Under random arrivals a policy that waits for a fast unit beats one that starts at once",
            expected="above 1.5 times as fast as HIGH",
            measure=lambda data: data.result("policy").ratio("policy", "high"),
            judge=Above(1.5),
        ),
        Claim(
            id="VP.4",
            kind=Kind.FINDING,
            source="section 4.6, both",
            statement="Where the deployment may be chosen too, the policy matters no more: HIGH is among the best",
            expected="1",
            measure=lambda data: data.result("both").ratio("policy", "high"),
            judge=Within(1, 0.001),
        ),
        Claim(
            id="VP.5",
            kind=Kind.FINDING,
            source="section 7.5, Table 3",
            statement="With example powers, DFEs alone run the kernels with the least energy within 2 ms",
            expected="no GPU",
            measure=lambda data: data.result("energy").choice[GPUS],
            judge=Equal(0),
        ),
    ),
)
