"""The scenario file's keys, each declared once with its unit, default and meaning.

Checks, the JSON Schema for editors and the reference page follow from these declarations. The sections are declared in
``type_parts``, ``datacenter_parts`` and so on. Names that refer to another part of the file (a processor type, an
option of a generator) are checked by ``file``, ``tables`` and ``workload``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from vinesim.formats.scenario.datacenter_parts import DatacenterPart
from vinesim.formats.scenario.distribution_parts import DistributionPart
from vinesim.formats.scenario.network import NetworkPart
from vinesim.formats.scenario.partition_parts import PartitionPart, ReservationPart
from vinesim.formats.scenario.run_parts import AccountingPart, EnergyPart, FailurePart, OutagePart
from vinesim.formats.scenario.type_parts import (
    AffinityPart,
    ConsolidatedTimesPart,
    OverheadPart,
    PowerPart,
    PricesPart,
    ProcessorTypePart,
)
from vinesim.formats.scenario.values import Date, Name, PositiveTime
from vinesim.formats.scenario.workload_parts import NOT_OF_A_KIND, ApplicationPart, ArrivalsPart, WorkloadPart
from vinesim.formats.source.parts import Part
from vinesim.model.network import PRESETS
from vinesim.model.scenario import PERIOD_US


def _or_file(schema: dict[str, Any]) -> None:
    """Make editors also accept the name of a file. The file's content is merged in before the document is checked."""
    words = {key: schema.pop(key) for key in ("enum", "type") if key in schema}
    schema["anyOf"] = [words, {"type": "string", "pattern": r"\.ya?ml$"}]


class ScenarioDocument(Part):
    """A VineSim scenario: what to simulate. Times, bandwidths, sizes may have units; plain numbers are us, B/us, B."""

    model_config = ConfigDict(title="VineSim scenario", json_schema_extra={"required": ["datacenter", "workload"]})

    description: str | None = Field(None, description="What this scenario is for; VineSim does not use it.")
    extends: Literal["builtin", "servers", "none"] = Field(
        "builtin",
        description="What processor_types and task_types are added to: the papers' types, the four servers A to D of "
        "the energy paper with the task type TASK, or nothing. Or a scenario file, into which this one is merged.",
        json_schema_extra=_or_file,
    )
    processor_types: Annotated[list[ProcessorTypePart], Field(min_length=1)] | None = Field(
        None, description="Processor types to add to CPU_INTEL, CPU_ARM, GPU, FPGA, CPU_MULTICORE, UNSPECIFIED."
    )
    task_types: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="Task types to add to INT, FP_BAD, FP_GOOD, MEM, IO, ARB, UNSPEC_TASK."
    )
    affinity: AffinityPart | None = Field(None, description="How fast each processor type runs each task type.")
    overhead: OverheadPart | None = Field(None, description="Time before each task computes.")
    consolidated_times: ConsolidatedTimesPart | None = Field(
        None, description="Time of consolidated tasks by their number, instead of the sum of their times."
    )
    power: PowerPart | None = Field(None, description="Power while a task runs, W; without it no energy is reported.")
    prices: PricesPart | None = Field(None, description="Purchase cost of one unit of each type.")
    network: NetworkPart | None = Field(None, description="Bandwidths and hops; default: the preset paper.")
    datacenter: DatacenterPart | None = Field(None, description="Which units stand where.")
    workload: WorkloadPart | None = Field(None, description="The jobs and their tasks.")
    arrivals: ArrivalsPart | None = Field(
        None,
        description="When the jobs arrive; a .parquet or .csv workload and the generator requests have their own. In "
        "place of a table's, deadlines and withdrawals move with them.",
    )
    policy: Name = Field(
        "high",
        description="A policy's name (`vinesim policies` lists them), or my_policy.py:MyPolicy.",
        examples=["high", "flat", "pref", "closer_to_data", "my_policy.py:MyPolicy"],
    )
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the policy.")
    applications: Annotated[list[ApplicationPart], Field(min_length=1)] | None = Field(
        None, description="Client-server applications: they set deadlines for their requests; for symphony, edf, fcfs."
    )
    accounting: AccountingPart | None = Field(None, description="How the periods of a batch policy are accounted for.")
    energy: EnergyPart | None = Field(None, description="Price and carbon intensity of the electricity, and PUE.")
    sampling: PositiveTime | None = Field(
        None, description="Sampling interval of the utilisation; without it there is no time series."
    )
    outages: list[OutagePart] | None = Field(None, description="Nodes that go down and come up during the run.")
    failures: list[FailurePart] | None = Field(None, description="Nodes that fail at random during the run.")
    partitions: Annotated[list[PartitionPart], Field(min_length=1)] | None = Field(
        None, description="Sets of nodes for certain jobs, with quotas; the workload's column partition names them."
    )
    reservations: Annotated[list[ReservationPart], Field(min_length=1)] | None = Field(
        None,
        description="Times, known before they begin, when nodes are for the jobs of certain users, or for none: "
        "maintenance.",
    )
    preemption: Literal["resume", "checkpoint", "restart"] = Field(
        "resume", description="What a task keeps of its work when a policy preempts or moves it."
    )
    period: PositiveTime = Field(
        PERIOD_US,
        description="Batch policies (rr, bf and others) place tasks at multiples of this time; default 10 s. Other "
        "policies ignore it.",
        examples=["10 s"],
    )
    horizon: PositiveTime | None = Field(None, description="Simulated time at which the run ends at the latest.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="Seed of all random streams.")
    start_date: Date | None = Field(
        None,
        description="When time 0 was: explanations, reports, timelines and figures then show dates. It changes nothing "
        "else.",
        examples=["2024-05-06 00:06:46"],
    )


REQUIRED = ("datacenter", "workload")


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors and for the reference page."""
    from vinesim.workloads.registry import GENERATORS

    schema = ScenarioDocument.model_json_schema()
    parts = schema["$defs"]
    parts["WorkloadPart"]["properties"]["generator"]["examples"] = list(GENERATORS)
    _add_options(parts, {name: option for spec in GENERATORS.values() for name, option in spec.options.items()})
    network = parts["NetworkPart"]
    parts["NetworkPart"] = {
        "anyOf": [{"type": "string", "enum": list(PRESETS)}, network],
        "description": network.pop("description"),
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_around_scenario(document: type[Part]) -> dict[str, Any]:
    """Return the JSON Schema of a file whose ``scenario`` is a file's name or a scenario in place."""
    schema = document.model_json_schema()
    scenario = scenario_schema()
    schema["$defs"] = {**scenario.pop("$defs"), **schema.get("$defs", {})}
    scenario.pop("$schema")
    schema["$defs"]["Scenario"] = scenario
    schema["properties"]["scenario"]["anyOf"] = [{"type": "string"}, {"$ref": "#/$defs/Scenario"}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _add_options(parts: dict[str, Any], options: Mapping[str, Any]) -> None:
    """Add the schemas of generators' options that are more than a number or a word: distributions, kinds of jobs."""
    from vinesim.workloads.registry import GENERATORS

    distribution = DistributionPart.model_json_schema(ref_template="#/$defs/{model}")
    parts.update(distribution.pop("$defs"))
    parts["DistributionPart"] = distribution
    given: dict[str, Any] = {
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}, {"$ref": "#/$defs/DistributionPart"}],
        "description": "A distribution, or a number: always this one.",
    }
    known = {name: given for name, option in options.items() if option.is_distribution}
    other = {"description": "As the option of the generator jobs."}
    of_kind = {name: known.get(name, other) for name in GENERATORS["jobs"].options if name not in NOT_OF_A_KIND}
    kind = {
        "type": "object",
        "description": "A kind of jobs of the generator job_mix.",
        "properties": {
            "name": {"type": "string", "description": "Its name."},
            "arrivals": {"$ref": "#/$defs/ArrivalsPart", "description": "When its jobs arrive."},
            **of_kind,
        },
        "required": ["name", "arrivals", "sizes"],
        "additionalProperties": False,
    }
    parts["JobKind"] = kind
    items = {"$ref": "#/$defs/JobKind"}
    known["kinds"] = {"type": "array", "minItems": 1, "items": items, "description": "The kinds of jobs of job_mix."}
    parts["WorkloadPart"]["properties"]["options"]["properties"] = known
