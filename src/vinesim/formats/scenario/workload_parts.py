"""The sections of a scenario file about the work: workload, arrivals, applications."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from vinesim.formats.scenario.datacenter_parts import PlacePart
from vinesim.formats.scenario.declared import declared_by, part_of
from vinesim.formats.scenario.values import (
    Count,
    FileName,
    Name,
    Number,
    Positive,
    PositiveTime,
    PositiveTimeRow,
    Time,
)
from vinesim.formats.source.files import is_table
from vinesim.formats.source.parts import Part, one_of, schema_one_of, wrong
from vinesim.model.application import Application
from vinesim.workloads.arrivals import BY_CV


class ResamplePart(Part):
    """Each seed draws blocks of the file's jobs with replacement, so that replications differ."""

    block: PositiveTime = Field(description="Length of a block, such as 1 d or 7 d for logs with such a cycle.")
    session_gap: Time = Field(
        0.0, description="Jobs of one application that follow each other within this time stay together; default: none."
    )


class RepeatPart(Part):
    """The file's jobs, and after them blocks of them, drawn with replacement for each seed, to make the log longer."""

    times: Annotated[float, Field(ge=1, le=1000)] = Field(description="How many times as long as the file.")
    block: PositiveTime = Field(description="Length of a block, such as 1 d or 7 d for logs with such a cycle.")
    session_gap: Time = Field(
        0.0, description="Jobs of one application that follow each other within this time stay together; default: none."
    )


class WorkloadPart(Part):
    """The jobs and their tasks: a file, or a generator."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("file", "generator"))

    file: FileName | None = Field(None, description="A trace (text, as in the papers) or a workload (.parquet).")
    generator: Name | None = Field(
        None, description="A generator's name (`vinesim generate` lists them), or my_jobs.py:function."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the generator; times and sizes may have units."
    )
    estimate_error: Number = Field(
        0.0, description="Error of the estimates: standard deviation of the logarithm of estimate / true time."
    )

    columns: dict[str, str] | None = Field(
        None,
        description="What columns of a .csv or .parquet file are: {duration: time_s, notes: ignore}.",
    )
    resample: ResamplePart | None = Field(
        None,
        description="Draw blocks of the file's jobs for each seed; without it every replication has the same jobs.",
    )

    repeat: RepeatPart | None = Field(
        None, description="Make the file's log longer, with blocks of it that are drawn for each seed."
    )
    first_token_within: PositiveTimeRow | None = Field(
        None,
        description="The longest from the arrival of a request to its first token, in place of the table's column: "
        '1 s, or by application, "*" for all others: {chat: 1 s, "*": 5 s}.',
    )
    token_within: PositiveTimeRow | None = Field(
        None, description="The longest time per output token after the first, in place of the table's column: as above."
    )
    load: Positive = Field(
        1.0,
        description="Factor on the load: the same jobs arrive in 1/load of the time, as every arrival time is divided "
        "by it. Deadlines and withdrawals move with the arrivals.",
    )

    _one = one_of("file", "generator")

    @model_validator(mode="after")
    def _no_options(self) -> "WorkloadPart":
        if self.file is not None and self.options:
            raise wrong("options only with a generator", "options with a file", "Remove the options.")
        if self.columns is not None and (self.file is None or not is_table(self.file)):
            found = "columns with a generator" if self.file is None else "columns with a trace"
            raise wrong("columns only with a .csv or .parquet file", found, "Remove the columns.")
        if self.generator is not None and self.resample is not None:
            raise wrong("resample only with a file", "resample with a generator", "Its seed already draws the jobs.")
        if self.generator is not None and self.repeat is not None:
            raise wrong("repeat only with a file", "repeat with a generator", "Its options say how long it is.")
        if self.repeat is not None and self.resample is not None:
            raise wrong("repeat or resample", "both", "Keep one: repeat draws blocks beyond the file's own length.")
        return self


class TokenLogPart(Part):
    """A log of requests from which tokens are drawn, each time those of one whole request."""

    file: FileName = Field(description="A log with columns input_tokens and output_tokens: CSV, JSON Lines or Parquet.")


class PoissonPart(Part):
    """A Poisson process; the first job arrives at 0."""

    mean: Time = Field(description="Mean time between arrivals.")


class RenewalPart(Part):
    """Independent times between arrivals; the first job arrives at 0."""

    mean: PositiveTime = Field(description="Mean time between arrivals.")
    cv: Positive = Field(description="Their coefficient of variation; a Poisson process has 1.")


class OnOffPart(Part):
    """A Poisson process that is on and off in turn, each for an exponential time."""

    mean: PositiveTime = Field(description="Mean time between arrivals, in the long run.")
    on: PositiveTime = Field(description="Mean time that it is on.")
    off: PositiveTime = Field(description="Mean time that it is off.")


class MmppPart(Part):
    """A Poisson process whose rate depends on a state that changes at random (Markov-modulated)."""

    mean: PositiveTime = Field(description="Mean time between arrivals, in the long run.")
    rates: list[Number] = Field(description="The rate in each state, relative to the others.")
    stay: list[PositiveTime] = Field(description="Mean time in each state; then another one follows, each as likely.")


class SeriesPart(Part):
    """Arrivals that follow a series of counts, which repeats."""

    file: FileName = Field(description="CSV lines: a time (seconds or a date), and the arrivals until the next time.")
    scale: Positive = Field(1.0, description="Factor on the counts.")
    cv: Positive = Field(1.0, description="Coefficient of variation of the times between arrivals at a steady rate.")


OF_ARRIVALS = ("arrivals", "iat_us", "arrival_us")  # options of generators that the section `arrivals` sets
NOT_OF_A_KIND = ("n_jobs", *OF_ARRIVALS)  # options of `jobs` that a kind of job_mix does not have
ARRIVALS = ("iat", "poisson", *BY_CV, "on_off", "mmpp", "series", "times", "file")
_WITHOUT_CYCLE = ("series", "times", "file")


class ArrivalsPart(Part):
    """When the jobs arrive."""

    model_config = ConfigDict(json_schema_extra=schema_one_of(*ARRIVALS))

    iat: Time | None = Field(None, description="Constant inter-arrival time; the first job arrives at 0.")
    poisson: PoissonPart | None = Field(None, description="Random arrivals, drawn from the seed.")
    gamma: RenewalPart | None = Field(None, description="Gamma-distributed times between arrivals.")
    weibull: RenewalPart | None = Field(None, description="Weibull-distributed times between arrivals.")
    lognormal: RenewalPart | None = Field(None, description="Lognormal times between arrivals.")
    hyperexponential: RenewalPart | None = Field(
        None, description="Exponential times between arrivals with one of two means; cv of 1 or more."
    )
    on_off: OnOffPart | None = Field(None, description="Bursts, with nothing in between.")
    mmpp: MmppPart | None = Field(None, description="A rate that changes at random between states.")
    series: SeriesPart | None = Field(None, description="A rate that follows a series of counts.")
    times: list[Time] | None = Field(None, description="The time of each job, not decreasing.")
    file: FileName | None = Field(None, description="An arrivals file: one time in us per line.")
    daily: Annotated[list[Number], Field(min_length=2, max_length=1440)] | None = Field(
        None, description="Relative rates over equal parts of the day, such as 24 for the hours; the mean stays."
    )
    weekly: Annotated[list[Number], Field(min_length=7, max_length=7)] | None = Field(
        None, description="Relative rates of the seven days of the week; the mean stays."
    )
    start: Time | None = Field(None, description="Where in the day or week the first job arrives; default 0.")

    _one = one_of(*ARRIVALS)

    @model_validator(mode="after")
    def _cycle(self) -> "ArrivalsPart":
        kind = next(name for name in ARRIVALS if getattr(self, name) is not None)
        has_cycle = self.daily is not None or self.weekly is not None
        if has_cycle and kind in _WITHOUT_CYCLE:
            raise wrong(f"no daily or weekly with {kind}", "one", f"{kind} has its own times.")
        if self.start is not None and not has_cycle:
            raise wrong("daily or weekly with start", "neither", "start says where in the day or week it begins.")
        return self


_OfApplication: Any = part_of(  # mypy takes no call as a base class
    Application,
    name=Name,
    relative_deadline=PositiveTime,
    average_load=Positive,
    max_consolidated=Count,
    nodes=Annotated[list[PlacePart], Field(min_length=1)] | None,
    gang_size=Count,
)


class ApplicationPart(_OfApplication):
    """A client-server application as it registers with the scheduler; its requests are the jobs of that name."""

    def application(self) -> Application:
        """Return the application. Raises :class:`InputError` with a problem for each invalid value."""
        nodes = tuple((node.rack, node.shelf) for node in self.nodes or [])
        return Application(**declared_by(self, Application) | {"nodes": nodes})
