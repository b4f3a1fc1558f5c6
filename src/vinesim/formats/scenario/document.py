"""The scenario file's document, declared once: its keys, with units, defaults and meaning.

Checks, the JSON Schema for editors and the reference page come from these declarations. Names that refer to something
else in the document (a processor type, a generator's option) are checked by ``file``, ``tables`` and ``workload``.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)

from vinesim.formats.source import quantities
from vinesim.formats.source.parts import Part, one_of, schema_one_of, wrong
from vinesim.model.accounting import EnergyReading, SlavReading
from vinesim.model.errors import InputError
from vinesim.model.network import PRESETS
from vinesim.model.outage import Running
from vinesim.model.scenario import PERIOD_US

MAX_UNITS = 10_000_000
ANY_TASK = "*"  # as a task type in a row: every type that the row does not name


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


Time = Annotated[float, BeforeValidator(_with_unit(quantities.time_us)), _schema("25 us", "30 s")]
PositiveTime = Annotated[Time, AfterValidator(_positive)]
Bandwidth = Annotated[
    float,
    BeforeValidator(_with_unit(quantities.bandwidth)),
    AfterValidator(_positive),
    _schema("10 Gb/s", "125 MB/s"),
]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=MAX_UNITS)]
Index = Annotated[int, Field(ge=0, lt=2**31 - 1)]
Name = Annotated[str, Field(min_length=1)]
FileName = Annotated[str, Field(min_length=1, description="A file, relative to the scenario file.")]


def _spread(value: Any) -> Any:
    """Turn a single value for all task types into a row."""
    return value if isinstance(value, dict | list | None) else {ANY_TASK: value}


def _row_schema(value_type: Any) -> WithJsonSchema:
    schema = TypeAdapter(value_type).json_schema()
    return WithJsonSchema({"anyOf": [schema, {"type": "object", "additionalProperties": schema}]})


NumberRow = Annotated[dict[str, Number], BeforeValidator(_spread), _row_schema(Number)]
TimeRow = Annotated[dict[str, Time], BeforeValidator(_spread), _row_schema(Time)]


class ProcessorTypePart(Part):
    """A kind of processing unit: a new one, or a built-in one with other values."""

    name: Name = Field(description="Its name; a built-in name replaces the built-in type.")
    price: Number | None = Field(None, description="Cost of purchase of one unit, in any currency.")
    idle_power: Number = Field(0.0, description="Power of a unit that is awake and runs nothing, W.")
    dynamic_power: Number | None = Field(
        None, description="W added per unit of demand (linear power model), instead of the table power."
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


class PricesPart(_RowsOrFile):
    """Purchase cost of one unit of each type: {GPU: 3000}; or {file: prices.txt}."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number]


class NetworkPart(Part):
    """The network: a preset's name, or its values; missing values come from the preset."""

    model_config = ConfigDict(json_schema_extra={"type": "object"})

    preset: Literal["paper", "table4", "none"] = Field(
        "paper", description="paper: free, 10 Gb/s, 1 Gb/s, 200 ns per hop; table4: as in Table 4; none: all is free."
    )
    local: Bandwidth | None = Field(None, description="B_L: to data at the unit's own node; null: free.")
    intra_rack: Bandwidth | None = Field(None, description="B_R: to data in the same rack; null: free.")
    inter_rack: Bandwidth | None = Field(None, description="B_I: to data in another rack; null: free.")
    hop_latency: Time | None = Field(None, description="Latency of each hop.")
    hops_intra: Annotated[int, Field(ge=0, le=1000)] | None = Field(None, description="Hops within a rack.")
    hops_inter: Annotated[int, Field(ge=0, le=1000)] | None = Field(None, description="Hops between racks.")
    file: FileName | None = Field(None, description="A network file with these keys, in place of them.")

    @model_validator(mode="before")
    @classmethod
    def _name(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in PRESETS:
                raise wrong(
                    "one of " + ", ".join(PRESETS) + ", or a mapping of values",
                    repr(value)[:60],
                    "Give a file as {file: network.yaml}.",
                )
            return {"preset": value}
        return value

    @model_validator(mode="after")
    def _file_alone(self) -> "NetworkPart":
        others = sorted(self.model_fields_set - {"file"})
        if self.file is not None and others:
            raise wrong("a file, or values", "file and " + ", ".join(others), "Keep one.")
        return self


class UnitPart(Part):
    """Units of one type at one place."""

    type: Name = Field(description="Processor type.")
    rack: Index = Field(description="Rack, from 0.")
    shelf: Index = Field(description="Shelf, from 0 at the bottom.")
    count: Count = Field(1, description="How many of them.")


class NodePart(Part):
    """Nodes of one kind, one per shelf."""

    units: dict[str, Count] = Field(min_length=1, description="Units of each node: {CPU_INTEL: 2, GPU: 4}.")
    count: Count = Field(1, description="How many such nodes, on consecutive shelves.")


class RackPart(Part):
    """Racks of one kind, filled from shelf 0 up: with ``units`` counted by type, or with ``nodes``."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("units", "nodes"))

    units: Annotated[dict[str, Count], Field(min_length=1)] | None = Field(
        None, description="Units of the rack by type: {CPU_INTEL: 20, GPU: 20}."
    )
    nodes: Annotated[list[NodePart], Field(min_length=1)] | None = Field(
        None, description="Nodes of the rack, one per shelf."
    )
    per_shelf: Count = Field(1, description="With units: how many stand on one shelf.")
    layout: Literal["blocks", "alternate"] = Field(
        "blocks",
        description="With units: all of the first type, then all of the next (blocks), or one of each in turn.",
    )
    count: Count = Field(1, description="How many such racks, one after another.")

    _one = one_of("units", "nodes")

    @model_validator(mode="after")
    def _units_only(self) -> "RackPart":
        extra = sorted({"per_shelf", "layout"} & self.model_fields_set)
        if self.nodes is not None and extra:
            raise wrong("per_shelf and layout only with units", " and ".join(extra), "Each node is one shelf.")
        return self


class StoragePart(Part):
    """A storage unit."""

    rack: Index = Field(description="Rack, from 0.")
    shelf: Index = Field(description="Shelf, from 0.")


class DatacenterPart(Part):
    """Which units stand where: counted by rack, listed, or in a deployment file."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("racks", "units", "file"))

    racks: Annotated[list[RackPart], Field(min_length=1)] | None = Field(
        None, description="The racks in order, each with counted units."
    )
    units: Annotated[list[UnitPart], Field(min_length=1)] | None = Field(None, description="The units one by one.")
    file: FileName | None = Field(
        None, description="A deployment file (lines `type x y`), or a table (.csv, .parquet) with a column type."
    )
    storage: list[StoragePart] | None = Field(
        None, description="Storage units, which hold generated data; without any, all nodes with a unit do."
    )
    n_racks: Count | None = Field(None, description="Number of racks; default: up to the highest in use.")
    n_shelves: Count | None = Field(None, description="Shelves per rack; default: up to the highest in use.")

    _one = one_of("racks", "units", "file")


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


class OutagePart(Part):
    """A time during which a node is down."""

    rack: Index = Field(description="Rack of the node.")
    shelf: Index = Field(description="Shelf of the node.")
    down: Time = Field(description="When it goes down; 0 for a node that joins later.")
    up: Time | None = Field(None, description="When it comes back; by default never.")
    running: Running = Field(
        "requeue", description="Tasks running there: lost and pending again (requeue), or allowed to end (finish)."
    )


class AccountingPart(Part):
    """How the periods of a batch policy are accounted for."""

    energy: EnergyReading = Field("run_time", description="How the thesis' energy is read; see the how-to page.")
    slav: SlavReading = Field("incremental", description="How its demand beyond capacity is read.")
    wake_up: Number = Field(0.0, description="Energy for waking a sleeping unit, J; applies to all policies.")
    migration: Number = Field(0.0, description="Energy for moving a running task, J.")
    optimum: bool = Field(
        False, description="Prove the least energy of each period's tasks within capacity, in small cases (OR-Tools)."
    )


class EnergyPart(Part):
    """What the run's electricity costs and emits."""

    price_per_kwh: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None, description="Price of a kWh, in any currency."
    )
    price_file: FileName | None = Field(
        None, description="Variable prices: a CSV file with hour or timestamp, and the price of a kWh."
    )
    carbon_g_per_kwh: Number | None = Field(None, description="Carbon intensity, g of CO2 per kWh.")
    carbon_file: FileName | None = Field(
        None, description="Variable carbon intensity: a CSV file with hour or timestamp, and g per kWh."
    )
    pue: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        1.0, description="Power usage effectiveness: energy from the grid / energy of the units."
    )
    start: Annotated[str, BeforeValidator(str), WithJsonSchema({"type": ["string", "number"]})] | None = Field(
        None, description="When the run begins: an hour or timestamp of the files; default: their first."
    )

    @model_validator(mode="after")
    def _one_each(self) -> "EnergyPart":
        for value, file in (("price_per_kwh", "price_file"), ("carbon_g_per_kwh", "carbon_file")):
            if getattr(self, value) is not None and getattr(self, file) is not None:
                raise wrong(f"{value} or {file}", "both", "Keep one.")
        if self.start is not None and self.price_file is None and self.carbon_file is None:
            raise wrong("start only with a price_file or a carbon_file", "neither", "Remove start.")
        return self


class ScenarioDocument(Part):
    """A VineSim scenario: what to simulate. Times, bandwidths, sizes may have units; plain numbers are us, B/us, B."""

    model_config = ConfigDict(title="VineSim scenario", json_schema_extra={"required": ["datacenter", "workload"]})

    description: str | None = Field(None, description="What this scenario is for; VineSim does not use it.")
    extends: Literal["builtin", "servers", "none"] = Field(
        "builtin",
        description="What processor_types and task_types are added to: the papers' types, the four servers A to D of "
        "the energy paper with the task type TASK, or nothing.",
    )
    processor_types: Annotated[list[ProcessorTypePart], Field(min_length=1)] | None = Field(
        None, description="Processor types to add to CPU_INTEL, CPU_ARM, GPU, FPGA, CPU_MULTICORE, UNSPECIFIED."
    )
    task_types: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="Task types to add to INT, FP_BAD, FP_GOOD, MEM, IO, ARB, UNSPEC_TASK."
    )
    affinity: AffinityPart | None = Field(None, description="How fast each processor type runs each task type.")
    overhead: OverheadPart | None = Field(None, description="Time before each task computes.")
    power: PowerPart | None = Field(None, description="Power while a task runs, W; without it no energy is reported.")
    prices: PricesPart | None = Field(None, description="Purchase cost of one unit of each type.")
    network: NetworkPart | None = Field(None, description="Bandwidths and hops; default: the preset paper.")
    datacenter: DatacenterPart | None = Field(None, description="Which units stand where.")
    workload: WorkloadPart | None = Field(None, description="The jobs and their tasks.")
    arrivals: ArrivalsPart | None = Field(
        None,
        description="When the jobs arrive; a .parquet or .csv workload and the generator requests have their own.",
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
    period: PositiveTime = Field(
        PERIOD_US,
        description="Batch policies (rr, bf and others) place tasks at multiples of this time; default 10 s. Other "
        "policies ignore it.",
        examples=["10 s"],
    )
    horizon: PositiveTime | None = Field(None, description="Simulated time at which the run ends at the latest.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="Seed of all random streams.")


REQUIRED = ("datacenter", "workload")


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors and for the reference page."""
    from vinesim.workloads.registry import GENERATORS

    schema = ScenarioDocument.model_json_schema()
    parts = schema["$defs"]
    parts["WorkloadPart"]["properties"]["generator"]["examples"] = list(GENERATORS)
    network = parts["NetworkPart"]
    parts["NetworkPart"] = {
        "anyOf": [{"type": "string", "enum": list(PRESETS)}, network],
        "description": network.pop("description"),
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
