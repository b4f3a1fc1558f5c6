"""The sections of a scenario file about types: processors, affinity, power, overhead, prices."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from vinesim.formats.scenario.declared import part_of
from vinesim.formats.scenario.step_parts import StepRow
from vinesim.formats.scenario.values import CurveRow, FileName, Name, Number, NumberRow, Time, TimeRow
from vinesim.formats.scenario.values import Size as Bytes
from vinesim.formats.source.parts import Part, wrong
from vinesim.model.batching import Batching
from vinesim.model.catalog import CURVE_SHARES, ProcessorType
from vinesim.model.consolidation import MOST_SIZES
from vinesim.model.speed_curves import ANY_TASK

_OfBatching: Any = part_of(Batching, step=StepRow, token_bytes=Bytes | None)  # mypy takes no call as a base class


class BatchingPart(_OfBatching):
    """Continuous batching: a unit of the type is a serving engine of a language model, such as vLLM on its devices.

    It runs one step after another. A step computes tokens of prompts and one token for each sequence that decodes.
    """


_Powers = Annotated[list[Number], Field(min_length=len(CURVE_SHARES), max_length=len(CURVE_SHARES))]
_Numbers = dict[str, Annotated[float, Field(allow_inf_nan=False)]]


_OfProcessorType: Any = part_of(
    ProcessorType,
    name=Name,
    power_curve=_Powers | None,
    attributes=_Numbers,
    rates=CurveRow | None,
    batching=BatchingPart | None,
)


class ProcessorTypePart(_OfProcessorType):
    """A kind of processing unit: a new one, or a built-in one with other values."""

    @model_validator(mode="after")
    def _one_power(self) -> "ProcessorTypePart":
        others = sorted({"idle_power", "dynamic_power"} & self.model_fields_set)
        if self.power_curve is not None and others:
            raise wrong("a power_curve alone", "it and " + ", ".join(others), "Keep one of them.")
        return self


class AffinityPart(Part):
    """Operations per us of each processor type for each task type.

    Give rows under ``absolute``, ``peak`` and ``times``, each processor type under one of them. A task type missing
    from a row cannot run. Built-in types without a row come from ``table``. Or give a ``file``.
    """

    table: Literal["table1", "none"] | None = Field(
        None, description="Source of built-in types without a row: the paper's Table 1 (default), or none."
    )
    absolute: dict[str, NumberRow] | None = Field(None, description="Operations per us: {GPU: {INT: 360000}}.")
    peak: dict[str, NumberRow] | None = Field(
        None,
        description="As in Table 1: operations per us for the first task type, then factors of it: "
        "{CPU_INTEL: {INT: 100000, FP_GOOD: 0.6}}.",
    )
    times: dict[str, TimeRow] | None = Field(
        None, description='Measured time of one operation; its inverse is used: {GPU: {SGJ: "100 us"}}. 0: cannot run.'
    )
    file: FileName | None = Field(None, description="An affinity file: peak and factors, one row per processor type.")

    @model_validator(mode="after")
    def _file_alone(self) -> "AffinityPart":
        others = [name for name in ("table", "absolute", "peak", "times") if getattr(self, name) is not None]
        if self.file is not None and others:
            raise wrong("a file, or rows and a table", "file and " + ", ".join(others), "Keep one.")
        return self


class _RowsOrFile(Part):
    """Rows by processor type, or a file."""

    file: FileName | None = Field(None, description="A file instead of the rows.")

    @model_validator(mode="after")
    def _one(self) -> "_RowsOrFile":
        rows = list(self.rows)
        if self.file is not None and rows:
            raise wrong("a file, or one row per type", "file and " + ", ".join(rows), "Keep one.")
        return self

    @property
    def rows(self) -> dict[str, Any]:
        """The rows by processor type."""
        return self.__pydantic_extra__ or {}


class PowerPart(_RowsOrFile):
    """Power while a task runs, W: {GPU: 300}, or by task type {GPU: {INT: 250, "*": 300}}; or {file: power.txt}."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, NumberRow]


class OverheadPart(_RowsOrFile):
    """Time before each task computes, such as a kernel launch: {GPU: "5 us"}, or by task type."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, TimeRow]
    file: FileName | None = Field(None, description="A file instead; rows and columns as in affinity, in us.")


def _by_task(value: Any) -> Any:
    """Convert times by size for all task types to a row by task type."""
    if isinstance(value, dict) and value and all(str(key).isdigit() for key in value):
        return {ANY_TASK: value}
    return value


def _whole(key: Any) -> Any:
    """Convert a key of a YAML mapping, which is text, to a number."""
    return int(key) if isinstance(key, str) and key.isdigit() else key


Size = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=MOST_SIZES)]
Sizes = Annotated[dict[Size, Time], Field(min_length=1)]


class ConsolidatedTimesPart(Part):
    """Time of several tasks that start as one, by their number: {GPU: {1: "30 ms", 8: "44 ms"}}, or by task type {GPU:
    {CHAT: {1: "30 ms"}}}.

    It replaces operations / affinity of these tasks; the overhead is paid once, before it. More tasks than the largest
    number run in rounds of it.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[dict[str, Sizes], BeforeValidator(_by_task)]]
    between: Literal["steps", "linear"] = Field(
        "steps", description="A number between two: the time of the next larger one (steps), or on the line (linear)."
    )

    @property
    def rows(self) -> dict[str, dict[str, dict[int, float]]]:
        """Times by processor type, task type and number of tasks."""
        return self.__pydantic_extra__ or {}


class PricesPart(_RowsOrFile):
    """Purchase cost of one unit of each type: {GPU: 3000}; or {file: prices.txt}."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number]
