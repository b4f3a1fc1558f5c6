"""Sections of the scenario file about types: processors, affinity, power, overhead, prices."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from vinesim.formats.scenario.step_parts import StepRow
from vinesim.formats.scenario.values import CurveRow, FileName, Name, Number, NumberRow, Positive, Time, TimeRow
from vinesim.formats.scenario.values import Size as Bytes
from vinesim.formats.source.parts import Part, wrong
from vinesim.model.catalog import MOST_AHEAD
from vinesim.model.consolidation import MOST_SIZES
from vinesim.model.speed_curves import ANY_TASK

Tokens = Annotated[int, Field(ge=1, lt=2**31)]


class BatchingPart(Part):
    """Continuous batching: a unit of the type is a serving engine of a language model, such as vLLM on its devices.

    It runs one step after another. A step computes tokens of prompts and one token for each sequence that decodes.
    """

    max_sequences: Tokens = Field(description="The most sequences in a step (vLLM: max_num_seqs).")
    max_batched_tokens: Tokens = Field(
        description="The most tokens that a step computes, at least max_sequences (vLLM: max_num_batched_tokens)."
    )
    memory_tokens: Tokens = Field(description="Tokens that fit into the memory of the engine (its KV cache).")
    block_tokens: Tokens = Field(16, description="Memory is allocated in blocks of this number of tokens.")
    when_full: Literal["recompute", "resume"] = Field(
        "recompute",
        description="What a sequence does that was put back because the memory was full: it computes its prompt and "
        "its answer so far again, or it goes on (its memory was copied out and back, which takes no time here).",
    )
    prefix_caching: bool = Field(
        False,
        description="Requests with the same prefix find its blocks that others computed and that were not used since; "
        "so does a sequence that was put back.",
    )
    role: Literal["both", "prefill", "decode"] = Field(
        "both",
        description="A request leaves an engine for prefill with its first token, and goes on on one for decode "
        "or both, as soon as the network has sent its cache there. The policy chooses both engines.",
    )
    token_bytes: Bytes | None = Field(
        None, description="Size of the cache for each token of a prompt; an engine for prefill sends it."
    )
    step: StepRow = Field(
        description="How long a step takes; for all task types, or by task type. All that run on one engine need the "
        "same."
    )


class ProcessorTypePart(Part):
    """A kind of processing unit: a new one, or a built-in one with other values."""

    name: Name = Field(description="Its name; a built-in name replaces the built-in type.")
    price: Number | None = Field(None, description="Cost of purchase of one unit, in any currency.")
    idle_power: Number = Field(0.0, description="Power of a unit that is awake and runs nothing, W.")
    dynamic_power: Number | None = Field(
        None,
        description="W added per unit of demand (linear power model), instead of the table power: of a CPU with cores, "
        "for each core that works.",
    )
    sleep_power: Number | None = Field(
        None, description="Power of a unit asleep, W. With it, units without tasks sleep; without it, they never do."
    )
    power_curve: Annotated[list[Number], Field(min_length=11, max_length=11)] | None = Field(
        None, description="W at 0 %, 10 % ... 100 % utilisation (as in SPECpower); replaces idle_power and power."
    )
    capacity: Positive = Field(1.0, description="What the unit's tasks share; a task without a demand takes 1 of it.")
    parallelism: Positive | None = Field(
        None, description="Sum of demands up to which tasks run at full speed; above it they share. Default: capacity."
    )
    rates: CurveRow | None = Field(
        None,
        description="Instead of parallelism: the speed of each of 1, 2, 3 ... tasks on a unit, relative to one alone: "
        "[1, 0.95, 0.8]. Linear between whole loads; beyond its end the tasks share what the last number allows. "
        'Or by task type, "*" for all others: {"*": [1, 0.95], SPMV: [1, 0.6]}. Without "*" these never slow down.',
    )
    batching: BatchingPart | None = Field(
        None, description="A unit is a serving engine, which takes any number of requests; without capacity and rates."
    )
    ahead: Annotated[int, Field(ge=0, le=MOST_AHEAD)] = Field(
        0,
        description="How many further tasks a unit takes while it computes one: their data comes in the meantime. Each "
        "task then takes the whole unit.",
    )
    attributes: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=dict, description="Other numbers of the type, such as cores, sms, memory_bytes."
    )

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
    """Turn times by size for all task types into a row by task type."""
    if isinstance(value, dict) and value and all(str(key).isdigit() for key in value):
        return {ANY_TASK: value}
    return value


def _whole(key: Any) -> Any:
    """Return a key of a YAML mapping, which is text, as the number that it writes."""
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
