"""The section of a scenario file that says how long a step of a serving engine takes."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from vinesim.formats.scenario.values import Count, CountOrNone, FileName, Time
from vinesim.formats.source.parts import Part, wrong
from vinesim.model.speed_curves import ANY_TASK


class ExchangePart(Part):
    """What several devices of one engine exchange in each step, such as two all-reduces a layer."""

    base: Time = Field(0.0, description="Time of one exchange, whatever its size.")
    token: Time = Field(0.0, description="Time that each token of the step adds to one exchange.")
    times: Count = Field(1, description="Exchanges in a step.")


class StepProfilePart(Part):
    """Profiled times of the kernels of a step, us, as CSV files with a header line, plain or gzip."""

    dense_file: FileName | None = Field(
        None, description="Columns layer, tokens, time_us: of each layer, by the tokens in a step."
    )
    per_sequence_file: FileName | None = Field(
        None, description="Columns layer, sequences, time_us: of each layer, by the sequences in a step."
    )
    attention_file: FileName | None = Field(
        None,
        description="Columns prefill_chunk, kv_prefill, n_decode, kv_decode, time_us: of one attention, by the tokens "
        "of prompts in a step, the mean tokens that their sequences have in memory, the number of sequences that "
        "decode, and the mean tokens that these have in memory.",
    )
    layers: Count = Field(description="How often each layer of dense_file, and attention, runs in a step.")
    repeats: dict[str, CountOrNone] = Field(
        default_factory=dict,
        description="How often some layers run instead: {layernorm: 64, embedding: 1, attention: 32}. Those of "
        "per_sequence_file run once unless they are listed.",
    )

    @model_validator(mode="after")
    def _some_file(self) -> "StepProfilePart":
        names = ("dense_file", "per_sequence_file", "attention_file")
        if all(getattr(self, name) is None for name in names):
            raise wrong("at least one of " + ", ".join(names), "none of them")
        return self


class StepPart(Part):
    """How long a step of a serving engine takes: the sum of all that is given here."""

    base: Time = Field(0.0, description="Time of any step.")
    prefill_token: Time = Field(0.0, description="Time for each token of prompts that the step computes.")
    sequence: Time = Field(0.0, description="Time for each sequence that decodes.")
    memory_token: Time = Field(0.0, description="Time for each token in memory of the sequences in the step.")
    profile: StepProfilePart | None = Field(None, description="Profiled times of kernels.")
    exchange: ExchangePart | None = Field(None, description="What several devices of one engine exchange.")

    @model_validator(mode="after")
    def _takes_time(self) -> "StepPart":
        numbers = [self.base, self.prefill_token, self.sequence, self.memory_token]
        if self.exchange is not None:
            numbers += [self.exchange.base, self.exchange.token]
        if self.profile is None and not any(numbers):
            raise wrong("a time above 0, or a profile", "none", "Give base, prefill_token, sequence and memory_token.")
        return self


def _by_task(value: Any) -> Any:
    """Convert a value for all task types to a row by task type."""
    is_row = isinstance(value, dict) and not value.keys() & StepPart.model_fields.keys()
    return value if is_row and all(isinstance(one, dict) for one in value.values()) else {ANY_TASK: value}


def _or_one(schema: dict[str, Any]) -> None:
    """Make editors also accept one value for all task types."""
    by_task = {key: schema.pop(key) for key in ("type", "additionalProperties", "minProperties")}
    schema["anyOf"] = [by_task["additionalProperties"], by_task]


StepRow = Annotated[dict[str, StepPart], Field(min_length=1, json_schema_extra=_or_one), BeforeValidator(_by_task)]
