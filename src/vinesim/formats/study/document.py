"""The keys of a study file, each declared once with its default and meaning.

Checks, the JSON Schema for editors and the reference page come from these declarations. The axes are built by ``axes``,
which knows the scenario's keys.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, WithJsonSchema

from vinesim.formats.scenario.values import Name
from vinesim.formats.source.parts import Part, one_of, wrong
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.yaml_source import shown
from vinesim.model.python_file import split_file
from vinesim.model.run_numbers import NUMBERS, is_number_or_part
from vinesim.model.study import MAX_RUNS


def _two(values: list[Any]) -> list[Any]:
    if len(values) != 2:
        raise wrong("two values: the first and the last", f"{len(values)}")
    return values


Ends = Annotated[
    list[Any], AfterValidator(_two), WithJsonSchema({"type": "array", "minItems": 2, "maxItems": 2, "items": {}})
]


def _number(name: str) -> str:
    if split_file(name)[0]:
        return name  # a function in a file
    if not is_number_or_part(name):
        raise wrong("a number of a run: " + ", ".join(NUMBERS), repr(name)[:60], did_you_mean(name, NUMBERS))
    return name


def is_number(name: str) -> bool:
    """Whether a name can be that of a single number of a run."""
    return name != "exit_reason" and any(f"{name}.".startswith(f"{kind}.") for kind in NUMBERS)


def _one_number(name: str) -> str:
    if not is_number(name):
        expected = "a number of a run, such as jobs.latency_us.mean or utilization.overall"
        raise wrong(expected, repr(name)[:60], did_you_mean(name, [*NUMBERS, "jobs.latency_us.mean"]))
    return name


class UntilPart(Part):
    """Add replications of each point until a number is known precisely enough."""

    ci_width: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        description="Half the width of the confidence interval / the mean: 0.05 means 5 % either side."
    )
    of: Annotated[Name, AfterValidator(_one_number)] = Field(description="The number, such as jobs.latency_us.mean.")
    confidence: Annotated[float, Field(gt=0, lt=1)] = Field(0.95, description="Confidence of the interval.")
    at_most: Annotated[int, Field(ge=1, le=MAX_RUNS)] = Field(1000, description="Maximum replications per point.")


class WarmUpPart(Part):
    """What to exclude at the beginning of each run."""

    jobs: Annotated[int, Field(ge=0)] | None = Field(None, description="This many jobs.")
    share: Annotated[float, Field(ge=0, lt=1)] | None = Field(None, description="A share of the jobs.")

    _one = one_of("jobs", "share")


def _warm_up(value: Any) -> Any:
    if value == "none":
        return None
    if value is not None and value != "mser5" and not isinstance(value, dict):
        remedy = did_you_mean(str(value), ("none", "mser5"))
        raise wrong("none, mser5, {jobs: N} or {share: x}", shown(value), remedy)
    return value


WarmUp = Annotated[
    Any,
    AfterValidator(_warm_up),
    WithJsonSchema({"anyOf": [{"enum": ["none", "mser5"]}, WarmUpPart.model_json_schema()]}),
]


class LogPart(Part):
    """Values evenly spaced on a logarithmic axis, both ends included."""

    log: Ends = Field(description="First and last value, above 0, with or without units.")
    n: Annotated[int, Field(ge=2, le=MAX_RUNS)] = Field(description="Number of values.")


class LinearPart(Part):
    """Values evenly spaced, both ends included."""

    linear: Ends = Field(description="First and last value, with or without units.")
    n: Annotated[int, Field(ge=2, le=MAX_RUNS)] = Field(description="Number of values.")


class ZipPart(Part):
    """Keys that change together: the first value of each, then the second, and so on."""

    zip: Annotated[dict[str, Any], Field(min_length=1)] = Field(
        description="Lists of equal length by scenario key; each key is a column."
    )
    labels: dict[str, list[Any]] = Field(
        default_factory=dict, description="Labels of a key's values in the rows, by key; default: the values."
    )


class CasesPart(Part):
    """Named cases, each with the keys that it sets; the column has the axis's name."""

    cases: Annotated[dict[str, dict[str, Any]], Field(min_length=1)] = Field(
        description="Scenario keys and values by label; labels that are all numbers make a column of numbers."
    )


FORMS: dict[str, type[Part]] = {"log": LogPart, "linear": LinearPart, "zip": ZipPart, "cases": CasesPart}


def _axes_schema() -> dict[str, Any]:
    values = {"type": "array", "minItems": 1, "description": "The values of a scenario key."}
    forms = [TypeAdapter(form).json_schema() for form in FORMS.values()]
    for form in forms:
        form.pop("$defs", None)
    return {"type": "object", "additionalProperties": {"anyOf": [values, *forms]}}


class StudyDocument(Part):
    """A VineSim study: a scenario, the axes along which it changes, and how often each point is repeated."""

    model_config = ConfigDict(title="VineSim study", json_schema_extra={"required": ["scenario"]})

    description: str | None = Field(None, description="What this study is for; VineSim does not use it.")
    folder: Name = Field(".", description="Folder that file names are relative to, itself relative to this file.")
    scenario: Any = Field(None, description="The scenario: a file name, or the contents of a scenario file.")
    axes: Annotated[dict[str, Any], WithJsonSchema(_axes_schema())] = Field(
        default_factory=dict,
        description="The points are all combinations of the axes, the first outermost. An axis is named by a key of "
        "the scenario, as in --set, and has a list of values, or {log: [from, to], n: N}, {linear: [from, to], n: N}, "
        "{zip: {key: values}} or {cases: {label: {key: value}}}.",
    )
    replications: Annotated[int, Field(ge=1, le=MAX_RUNS)] = Field(
        1, description="Runs per point; replication r has the seed seed + r, the same at every point."
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        None, description="Seed of the first replication; default: the scenario's."
    )
    until: UntilPart | None = Field(None, description="Add replications until a number is known precisely enough.")
    warm_up: WarmUp = Field(
        None, description="What to exclude at the beginning of each run: none, mser5, {jobs: N} or {share: x}."
    )
    record: list[Annotated[Name, AfterValidator(_number)]] = Field(
        default_factory=list,
        description="The numbers to keep, by the start of their names; default: all. And your own numbers, as "
        "file.py:function: a function of a result that returns a number, a mapping of numbers, or a table. And "
        "by.user, by.hour ...: the numbers of the jobs of each user, hour of arrival, and so on.",
    )


REQUIRED = ("scenario",)
