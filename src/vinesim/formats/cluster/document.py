"""The keys of a cluster file: those of a scenario for types, applications and policy, and those of a live cluster."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from vinesim.formats.scenario.type_parts import AffinityPart, OverheadPart, ProcessorTypePart
from vinesim.formats.scenario.values import Count, Index, Name, Positive, PositiveTime
from vinesim.formats.scenario.workload_parts import ApplicationPart
from vinesim.formats.source.parts import Part

NODE_NAME = r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"  # valid as a label in Ray and as the name of a folder
NODE_NAME_IN_WORDS = "1 to 63 letters, digits, '.', '_' and '-', the first and the last a letter or digit"
UnitCount = Annotated[int, Field(ge=1, le=4096)]  # each of them is a process


class NodePart(Part):
    """A node of the cluster."""

    name: Name = Field(
        description=f"Its name, in messages, labels and files: {NODE_NAME_IN_WORDS}.",
        json_schema_extra={"pattern": NODE_NAME},
    )
    units: Annotated[dict[str, UnitCount], Field(min_length=1)] = Field(description="Number of units of each type.")
    gpus: dict[str, list[int | Name]] = Field(
        default_factory=dict,
        description="By type, CUDA_VISIBLE_DEVICES of each unit's processes: a GPU's number, or a MIG slice's name.",
    )
    rack: Index = Field(0, description="Rack, from 0.")
    shelf: Index | None = Field(None, description="Shelf; default: the node's place in the list.")
    removed: bool = Field(False, description="It was removed: its units keep their numbers, and get no work.")


class LiveApplicationPart(ApplicationPart):
    """An application that the cluster serves: as in a scenario, and its kernel."""

    kernel: Name | None = Field(None, description="The kernel of its requests; default: the name in lower case.")
    task_type: Name | None = Field(None, description="Its column of the affinity; default: its name.")
    demand: Positive | Literal["whole"] = Field(1.0, description="What a request takes of a unit's capacity.")


class LimitsPart(Part):
    """What the manager accepts, and how long things may take."""

    payload: int | str | None = Field(None, description="Largest request and result; default 16 MiB.")
    pending: Count | None = Field(None, description="Requests and jobs that may wait; default 10,000.")
    attempts: Count | None = Field(None, description="Times that work is started if its devices die; default 3.")
    kernel: PositiveTime | None = Field(None, description="Longest time of a kernel; default 60 s.")


class ClusterDocument(Part):
    """A live VineSim cluster: which units there are, what they run, and which policy decides."""

    model_config = ConfigDict(title="VineSim cluster")

    description: str | None = Field(None, description="What this cluster is for; VineSim does not use it.")
    processor_types: Annotated[list[ProcessorTypePart], Field(min_length=1)] | None = Field(
        None, description="The types of the units."
    )
    task_types: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The columns of affinity and overhead; default: the names of the applications."
    )
    affinity: AffinityPart | None = Field(None, description="How fast each processor type runs each task type.")
    overhead: OverheadPart | None = Field(None, description="Time before each task computes.")
    nodes: Annotated[list[NodePart], Field(min_length=1)] | None = Field(None, description="The nodes.")
    kernels: Name | None = Field(None, description="Python file or module with the kernels.")
    applications: list[LiveApplicationPart] = Field(default_factory=list, description="What it serves from the start.")
    policy: Name = Field("symphony", description="A policy's name, or my_policy.py:MyPolicy.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the policy.")
    engine: Literal["auto", "compiled", "reference"] = Field(
        "auto", description="How the manager runs the policy; auto: compiled if the policy allows it."
    )
    limits: LimitsPart = Field(default_factory=lambda: LimitsPart.model_validate({}), description="What is accepted.")
    lease: PositiveTime = Field(
        10e6, description="A device that has not heard from the manager for this long ends itself. Default 10 s."
    )
    grace: PositiveTime = Field(2e6, description="How long a unit rests after a lease that ended. Default 2 s.")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="Seed of the policy's random numbers.")
    host: Name = Field("127.0.0.1", description="Address on which the manager listens.")
    address: str = Field("", description="A running Ray cluster to use, as host:port; default: start one here.")


REQUIRED = ("processor_types", "affinity", "nodes")


def cluster_schema() -> dict[str, Any]:
    """Return the JSON Schema of cluster files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ClusterDocument.model_json_schema()}
