"""The keys of a plan file, each declared once with its default and meaning.

Checks, the JSON Schema for editors and the reference page come from these declarations.
"""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from vinesim.formats.scenario.run_parts import EnergyPart
from vinesim.formats.scenario.values import Name, Number, Positive, PositiveTime
from vinesim.formats.source.parts import Part, wrong
from vinesim.formats.study.document import FORMS, WarmUp
from vinesim.model.plan import LOOKS, MAX_POINTS
from vinesim.model.python_file import split_file

_MOST = 100_000_000


def _share(value: Any) -> Any:
    """Convert a number or a percentage such as "1 %" to a share."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return float(value.strip()[:-1]) / 100
        except ValueError:
            raise wrong('a share, such as 0.01 or "1 %"', repr(value)[:60]) from None
    return value


Share = Annotated[
    float,
    BeforeValidator(_share),
    Field(ge=0, lt=1),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"type": "string"}]}),
]
OpenShare = Annotated[float, Field(gt=0, lt=1)]
Label = Annotated[str, Field(min_length=1, max_length=100)]
When = Annotated[dict[str, Any], Field(min_length=1)]


class ChoicePart(Part):
    """What a choice of any form may have."""

    label: Label | None = Field(
        None, description="What the answer calls the choice, such as nodes with 8 GPUs; default: its key."
    )
    when: When | None = Field(None, description="Made only if other choices have one of these labels: {policy: delay}.")


class _Spacing(ChoicePart):
    """Numbers from one value to another, both included."""

    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="Distance of values; default: 1."
    )
    n: Annotated[int, Field(ge=2, le=MAX_POINTS)] | None = Field(None, description="Number of values, instead of step.")
    log: bool = Field(False, description="With n: evenly spaced on a logarithmic scale.")

    @model_validator(mode="after")
    def _one_way(self) -> "_Spacing":
        if self.n is not None and self.step is not None:
            raise wrong("step or n", "both", "Keep one.")
        if self.log and self.n is None:
            raise wrong("log with n, the number of values", "log alone", "Add n:.")
        return self


_ENDS: Any = {
    "from": (Any, Field(description="First value, with or without a unit.")),
    "to": (Any, Field(description="Last value.")),
}
RangePart = create_model("RangePart", __base__=_Spacing, __doc__=_Spacing.__doc__, **_ENDS)  # `from` is a keyword


class ValuesPart(ChoicePart):
    """A list of values, if it needs a label or a condition."""

    values: Annotated[list[Any], Field(min_length=1)] = Field(description="The values.")


class LimitPart(Part):
    """A limit on a number, for the mean over runs or for a share of runs."""

    below: Any = Field(None, description="It must be at most this: a number, or with a unit (1300 us, 1 %).")
    above: Any = Field(None, description="It must be at least this.")
    mean_with_confidence: OpenShare | None = Field(
        None, description="The mean over runs keeps the limit with this confidence (the default, with 0.95)."
    )
    share_of_runs: OpenShare | None = Field(None, description="At least this share of runs keeps the limit.")
    confidence: OpenShare | None = Field(None, description="Confidence of share_of_runs; default: 0.95.")

    @model_validator(mode="after")
    def _one_kind(self) -> "LimitPart":
        if self.below is None and self.above is None:
            raise wrong("below or above", "neither")
        if self.mean_with_confidence is not None and self.share_of_runs is not None:
            raise wrong("mean_with_confidence or share_of_runs", "both", "Keep one.")
        if self.confidence is not None and self.share_of_runs is None:
            raise wrong("confidence with share_of_runs", "confidence alone", "Write mean_with_confidence instead.")
        return self


class CostPart(Part):
    """What is paid, for the numbers cost.purchase, cost.rent, cost.electricity, cost.carbon, cost.total and
    cost.per_million_tokens."""

    years: Positive = Field(1.0, description="How long the datacenter is used; a year has 8,766 hours.")
    electricity: EnergyPart | None = Field(
        None, description="Price and carbon intensity, constant or series, and PUE: the section energy of a scenario."
    )
    carbon_per_tonne: Number = Field(0.0, description="Price of a tonne of CO2.")
    rent_per_hour: dict[str, Number] = Field(
        default_factory=dict, description="Price of an hour of a unit, by type; these units are not bought."
    )


class BudgetPart(Part):
    """When the search ends, at the latest."""

    runs: Annotated[int, Field(ge=1, le=_MOST)] = Field(2000, description="Runs, without those that confirm.")
    time: PositiveTime | None = Field(None, description="Time of this machine: 10 min.")
    gap: Share = Field(0.0, description="End when no point can be better by more than this share: 1 %.")


class ConfirmPart(Part):
    """How the recommendation is run again."""

    replications: Annotated[int, Field(ge=0, le=100_000)] = Field(
        200, description="Runs with seeds that the search did not use; 0: none."
    )
    horizon: Annotated[float, Field(ge=1, le=1000)] = Field(
        4.0, description="How many times as long the workload is in further runs; 1: no such runs."
    )
    longer: dict[str, Any] = Field(
        default_factory=dict,
        description="Scenario keys and values that make the workload longer by that factor; default: the count of the "
        "workload's generator.",
    )


class UtilityPart(Part):
    """An expression of numbers, such as cost.purchase + 20 * jobs.latency_us.p99."""

    utility: Name = Field(description="Numbers of a run with + - * / **, min, max, abs, sqrt, log, exp.")


def _objective_schema() -> WithJsonSchema:
    names = {"type": "array", "minItems": 1, "items": {"type": "string"}}
    return WithJsonSchema({"anyOf": [{"type": "string"}, names, UtilityPart.model_json_schema()]})


class WhatIfPart(Part):
    """What the recommendation is asked besides the plan's own question."""

    load: Annotated[list[Positive], Field(min_length=1, max_length=20)] = Field(
        description="Times the load of the workload: [0.9, 1.1]. The recommendation is run with each, and where it "
        "misses a limit, points with a worse objective until one keeps them all."
    )


def _function(name: str) -> str:
    file, rest = split_file(name)
    if not file or not rest.removeprefix(":"):
        raise wrong("a function of a result, file.py:function", repr(name)[:60])
    return name


def _looks(values: list[int]) -> list[int]:
    if sorted(set(values)) != values or not values or values[0] < 1 or values[-1] > 1000:
        raise wrong("increasing numbers of replications, from 1 to 1000", f"{values}")
    return values


def _choose_schema() -> WithJsonSchema:
    values = {"type": "array", "minItems": 1}
    kinds: tuple[type[Part], ...] = (RangePart, ValuesPart, *FORMS.values())
    forms = [kind.model_json_schema() for kind in kinds]
    for form in forms:
        form["properties"] |= ChoicePart.model_json_schema()["properties"]
    return WithJsonSchema({"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [values, *forms]}})


def _limits_schema() -> WithJsonSchema:
    return WithJsonSchema({"type": "object", "additionalProperties": LimitPart.model_json_schema()})


class PlanDocument(Part):
    """A VineSim plan: a scenario, what may be chosen in it, what is to be best, and the limits that must hold."""

    model_config = ConfigDict(title="VineSim plan", json_schema_extra={"required": ["scenario", "choose"]})

    description: str | None = Field(None, description="What this plan is for; VineSim does not use it.")
    folder: Name = Field(".", description="Folder that file names are relative to, itself relative to this file.")
    scenario: Any = Field(None, description="The scenario: a file name, or the contents of a scenario file.")
    choose: Annotated[dict[str, Any], Field(min_length=1), _choose_schema()] = Field(
        default_factory=dict,
        description="What may be chosen, by key of the scenario: a list, {from: 0, to: 24}, {from: 1, to: 100, n: 9, "
        "log: true}, {values: [...]}, {cases: {label: {key: value}}}, {zip: {key: values}}; each may have a label, "
        "label: nodes with 8 GPUs, and a condition, when: {name: label}.",
    )
    minimize: Annotated[Any, _objective_schema()] = Field(
        None, description="A number of a run, several (a Pareto front), or {utility: expression}."
    )
    maximize: Annotated[Any, _objective_schema()] = Field(None, description="The same, the more the better.")
    limits: Annotated[dict[str, Any], _limits_schema()] = Field(
        default_factory=dict, description="Limits by number: {jobs.latency_us.p99: {below: 1300 us}}."
    )
    record: list[Annotated[Name, AfterValidator(_function)]] = Field(
        default_factory=list,
        description="Functions of a result, as file.py:function, whose numbers objectives and limits may name: "
        "fairness for my.py:fairness, or fairness.worst if it returns several.",
    )
    what_if: WhatIfPart | None = Field(None, description="Other loads for the recommendation.")
    cost: CostPart | None = Field(None, description="How costs are added up.")
    budget: BudgetPart = Field(default_factory=lambda: BudgetPart(), description="When the search ends.")  # type: ignore[call-arg]
    confirm: ConfirmPart = Field(default_factory=lambda: ConfirmPart(), description="How the winner is run again.")  # type: ignore[call-arg]
    looks: Annotated[list[int], AfterValidator(_looks)] = Field(
        default_factory=lambda: list(LOOKS), description="Replications after which the limits of a point are judged."
    )
    screen: bool = Field(
        True, description="Leave out points whose load is at or above their capacity, without running them."
    )
    more_is_better: list[Name] = Field(
        default_factory=list,
        description="Choices for which a higher value never breaks a limit: then a failed point rules out smaller "
        "ones. This does not hold for greedy policies.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**63 - _MOST)] | None = Field(
        None, description="Seed of the first replication; default: the scenario's."
    )
    warm_up: WarmUp = Field(None, description="What to exclude at the beginning of each run.")


REQUIRED = ("scenario", "choose")
