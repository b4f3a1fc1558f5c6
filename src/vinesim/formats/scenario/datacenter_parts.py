"""The scenario file's section about the datacenter: which units stand where."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from vinesim.formats.scenario.values import Count, FileName, Index, Name
from vinesim.formats.source.parts import Part, one_of, schema_one_of, wrong


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
