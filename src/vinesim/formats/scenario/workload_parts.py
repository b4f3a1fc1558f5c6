"""Sections of the scenario file about the work: workload, arrivals, applications."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from vinesim.formats.scenario.values import Count, FileName, Index, Name, Number, Positive, PositiveTime, Time
from vinesim.formats.source.parts import Part, one_of, schema_one_of, wrong


class WorkloadPart(Part):
    """The jobs and their tasks: a file, or a generator."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("file", "generator"))

    file: FileName | None = Field(None, description="A trace (text, as in the papers) or a workload (.parquet).")
    generator: Name | None = Field(None, description="Name of a generator; `vinesim generate` lists them.")
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the generator; times and sizes may have units."
    )
    estimate_error: Number = Field(
        0.0, description="Error of the estimates: standard deviation of the logarithm of estimate / true time."
    )

    _one = one_of("file", "generator")

    @model_validator(mode="after")
    def _no_options(self) -> "WorkloadPart":
        if self.file is not None and self.options:
            raise wrong("options only with a generator", "options with a file", "Remove the options.")
        return self


class PoissonPart(Part):
    """A Poisson process; the first job arrives at 0."""

    mean: Time = Field(description="Mean time between arrivals.")


class ArrivalsPart(Part):
    """When the jobs arrive."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("iat", "poisson", "times", "file"))

    iat: Time | None = Field(None, description="Constant inter-arrival time; the first job arrives at 0.")
    poisson: PoissonPart | None = Field(None, description="Random arrivals, drawn from the seed.")
    times: list[Time] | None = Field(None, description="The time of each job, not decreasing.")
    file: FileName | None = Field(None, description="An arrivals file: one time in us per line.")

    _one = one_of("iat", "poisson", "times", "file")


class NodePlace(Part):
    """A node."""

    rack: Index = Field(description="Rack, from 0.")
    shelf: Index = Field(description="Shelf, from 0.")


class ApplicationPart(Part):
    """A client-server application as it registers with the scheduler; its requests are the jobs of that name."""

    name: Name = Field(description="Its name in the workload.")
    relative_deadline: PositiveTime = Field(description="A request is due this long after its arrival.")
    per_size: bool = Field(False, description="Whether relative_deadline is per unit of size (operations).")
    average_load: Positive = Field(1.0, description="Requests per second that it expects.")
    max_consolidated: Count = Field(1, description="Requests that it can consolidate: MAX_A.")
    nodes: Annotated[list[NodePlace], Field(min_length=1)] | None = Field(
        None, description="Nodes that hold its data; by default all."
    )
    gang_size: Count = Field(
        1, description="Nodes that a request needs at once: it has this many tasks, on one processor type."
    )
