"""The kinds of values in a scenario file: numbers, quantities with units, names, and rows of them by task type."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, WithJsonSchema

from vinesim.formats.source import clock, quantities
from vinesim.formats.source.parts import wrong
from vinesim.model.errors import InputError
from vinesim.model.speed_curves import ANY_TASK

MAX_UNITS = 10_000_000


def _with_unit(read: Callable[[Any, str], float]) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        try:
            return read(value, "")
        except InputError as error:
            problem = error.problems[0]
            raise wrong(problem.expected, problem.found, problem.remedy) from None

    return convert


def _schema(*examples: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}], "examples": list(examples)})


def _positive(value: float) -> float:
    if value <= 0:
        raise wrong("a value above 0", f"{value:g}")
    return value


def _date(value: Any) -> datetime:
    try:
        return clock.date_of(value, "")
    except InputError as error:
        problem = error.problems[0]
        raise wrong(problem.expected, problem.found, problem.remedy) from None


Time = Annotated[float, BeforeValidator(_with_unit(quantities.time_us)), _schema("25 us", "30 s")]
PositiveTime = Annotated[Time, AfterValidator(_positive)]
Bandwidth = Annotated[
    float,
    BeforeValidator(_with_unit(quantities.bandwidth)),
    AfterValidator(_positive),
    _schema("10 Gb/s", "125 MB/s"),
]
Size = Annotated[
    float,
    BeforeValidator(_with_unit(quantities.size_bytes)),
    AfterValidator(_positive),
    _schema("512 GiB", "64 GB"),
]
AmountOrNone = Annotated[
    float, BeforeValidator(_with_unit(quantities.amount)), _schema("4", "512 GiB", "25 GB/s")
]  # 0 is also an amount
Amount = Annotated[AmountOrNone, AfterValidator(_positive)]
Power = Annotated[
    float,
    BeforeValidator(_with_unit(quantities.power_w)),
    AfterValidator(_positive),
    _schema("400 kW", "1.5 MW"),
]
Date = Annotated[datetime, BeforeValidator(_date), WithJsonSchema({"type": "string"})]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=MAX_UNITS)]
CountOrNone = Annotated[int, Field(ge=0, le=MAX_UNITS)]  # of datacenter parts; 0 lets a plan leave a kind out
Index = Annotated[int, Field(ge=0, lt=2**31 - 1)]
Name = Annotated[str, Field(min_length=1)]
FileName = Annotated[str, Field(min_length=1, description="A file, relative to the scenario file.")]


def _spread(value: Any) -> Any:
    """Convert a single value for all task types to a row."""
    return value if isinstance(value, dict | list | None) else {ANY_TASK: value}


def _spread_list(value: Any) -> Any:
    """Convert a single list for all task types to a row."""
    if not isinstance(value, dict | list | None):
        raise wrong("a list, or a list for each of some task types", f"{value}")
    return {ANY_TASK: value} if isinstance(value, list) else value


def _row_schema(value_type: Any) -> WithJsonSchema:
    schema = TypeAdapter(value_type).json_schema()
    return WithJsonSchema({"anyOf": [schema, {"type": "object", "additionalProperties": schema}]})


NumberRow = Annotated[dict[str, Number], BeforeValidator(_spread), _row_schema(Number)]
PositiveTimeRow = Annotated[dict[str, PositiveTime], BeforeValidator(_spread), _row_schema(PositiveTime)]
TimeRow = Annotated[dict[str, Time], BeforeValidator(_spread), _row_schema(Time)]
Curve = Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1)]
CurveRow = Annotated[dict[str, Curve], BeforeValidator(_spread_list), _row_schema(Curve)]
