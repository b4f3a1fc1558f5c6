"""The section ``datacenter`` of a scenario file: which units stand where."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from vinesim.formats.scenario.declared import part_of
from vinesim.formats.scenario.values import Amount, Count, CountOrNone, FileName, Index, Name, Positive, Power, Size
from vinesim.formats.slurm.values import hosts
from vinesim.formats.source.parts import Part, one_of, schema_one_of, wrong
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.datacenter import Datacenter


class _Sized(Part):
    """Units that may have their own capacity."""

    cores: Positive | None = Field(None, description="Cores of each, if it is a CPU: its capacity.")
    capacity: Amount | None = Field(
        None, description="What the tasks of each share; default: the capacity of its type."
    )

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if self.cores is not None and self.capacity is not None:
            raise wrong("cores or capacity", "both", "Keep one.")
        return self

    @property
    def size(self) -> float | None:
        """The capacity of each unit; None: the type's capacity."""
        return self.capacity if self.cores is None else self.cores


class UnitsPart(_Sized):
    """Units of one type, where a number is not enough: {cores: 96}, or {count: 2, cores: 48}."""

    count: CountOrNone = Field(1, description="How many of them.")


def _counted(value: Any) -> Any:
    """Convert a number of units to a mapping."""
    return value if isinstance(value, dict | UnitsPart) else {"count": value}


Units = Annotated[
    dict[str, Annotated[UnitsPart, BeforeValidator(_counted, json_schema_input_type=CountOrNone | UnitsPart)]],
    Field(min_length=1),
]


class UnitPart(_Sized):
    """Units of one type at one place."""

    type: Name = Field(description="Processor type.")
    rack: Index = Field(description="Rack, from 0.")
    shelf: Index = Field(description="Shelf, from 0 at the bottom.")
    count: CountOrNone = Field(1, description="How many of them.")


def _listed(value: Any) -> Any:
    """Convert names in Slurm's notation, such as ``gpu[01-08],login``, to a list."""
    if not isinstance(value, str):
        return value
    try:
        return hosts(value)
    except ValueError as error:
        raise wrong("names of nodes, such as gpu[01-08] or [a1, a2]", repr(value)[:60], f"{error}") from None


NodeNames = Annotated[list[Name], BeforeValidator(_listed, json_schema_input_type=str | list[str])]


class NodePart(Part):
    """Nodes of one kind, one per shelf: {count: 16, units: {CPU: {cores: 96}, A100: 8}, memory: 512 GiB}."""

    units: Units = Field(description="Units of each node: {CPU_INTEL: 2, GPU: 4}.")
    memory: Size | None = Field(None, description="Memory of each node, which the tasks on it share.")
    resources: dict[str, Amount] = Field(
        default_factory=dict,
        description="What else each node has and runs nothing: {licences: 4, nic: 25 GB/s}. Each is one unit, of a "
        "processor type with that name.",
    )
    count: CountOrNone = Field(1, description="How many such nodes, on consecutive shelves.")
    group: Name | None = Field(None, description="A name for these nodes, for partitions to refer to.")
    names: NodeNames | None = Field(
        None,
        description="What people call these nodes, in their order: gpu[01-08], or a list. Nodes beyond them have no "
        "name; names beyond the nodes are not used.",
    )

    @model_validator(mode="after")
    def _memory_once(self) -> "NodePart":
        if self.memory is not None and MEMORY in self.resources:
            raise wrong("memory once", "memory and resources.memory", "Keep one.")
        return self

    @property
    def amounts(self) -> dict[str, float]:
        """What each node has of each resource."""
        return ({} if self.memory is None else {MEMORY: self.memory}) | self.resources


class RackPart(Part):
    """Racks of one kind, filled from shelf 0 up: with ``units`` counted by type, or with ``nodes``."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("units", "nodes"))

    units: Units | None = Field(None, description="Units of the rack by type: {CPU_INTEL: 20, GPU: 20}.")
    nodes: Annotated[list[NodePart], Field(min_length=1)] | None = Field(
        None, description="Nodes of the rack, one per shelf."
    )
    per_shelf: Count = Field(1, description="With units: how many stand on one shelf.")
    layout: Literal["blocks", "alternate"] = Field(
        "blocks",
        description="With units: all of the first type, then all of the next (blocks), or one of each in turn.",
    )
    count: CountOrNone = Field(1, description="How many such racks, one after another.")
    power_cap: Power | None = Field(
        None, description="The most that each of these racks may draw: tasks wait that would exceed it."
    )

    _one = one_of("units", "nodes")

    @model_validator(mode="after")
    def _units_only(self) -> "RackPart":
        extra = sorted({"per_shelf", "layout"} & self.model_fields_set)
        if self.nodes is not None and extra:
            raise wrong("per_shelf and layout only with units", " and ".join(extra), "Each node is one shelf.")
        return self


class PlacePart(Part):
    """The place of a node, or of a storage unit."""

    rack: Index = Field(description="Rack, from 0.")
    shelf: Index = Field(description="Shelf, from 0.")


class _Units(Part):
    model_config = ConfigDict(json_schema_extra=schema_one_of("racks", "units", "file"))

    racks: Annotated[list[RackPart], Field(min_length=1)] | None = Field(
        None, description="The racks in order, each with counted units."
    )
    units: Annotated[list[UnitPart], Field(min_length=1)] | None = Field(None, description="The units one by one.")
    file: FileName | None = Field(
        None,
        description="A deployment file (lines `type x y`), or a table (.csv, .parquet) of servers: type, and "
        "optionally name, count, rack, shelf, cores or capacity, memory, units.TYPE, and the powers of the type.",
    )
    storage: list[PlacePart] | None = Field(
        None, description="Storage units, which hold generated data; without any, all nodes with a unit do."
    )

    _one = one_of("racks", "units", "file")


_OfDatacenter: Any = part_of(  # mypy takes no call as a base class
    Datacenter, _Units, n_racks=Count | None, n_shelves=Count | None, power_cap=Power | None
)


class DatacenterPart(_OfDatacenter):
    """Which units stand where: counted by rack, listed, or in a deployment file."""

    @property
    def resources(self) -> list[str]:
        """The resources of the nodes, in the order of their first use."""
        nodes = [node for rack in self.racks or [] for node in rack.nodes or []]
        return list(dict.fromkeys(name for node in nodes for name in node.amounts))
