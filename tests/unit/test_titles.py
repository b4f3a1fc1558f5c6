"""What axes of a study are called."""

from typing import Annotated, get_args, get_origin

import pytest
from pydantic import BaseModel

from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.values import Bandwidth, Power, Size, Time
from vinesim.model.titles import axis_title

WORDS = {
    "datacenter.racks[0].nodes[0].count": "nodes of rack 0",
    "datacenter.racks[1].nodes[2].count": "nodes of kind 2 of rack 1",
    "datacenter.racks[0].count": "racks",
    "datacenter.racks[0].nodes[0].memory": "memory in a node of rack 0",
    "datacenter.racks[0].nodes[1].units.CPU.cores": "CPU cores in a node of kind 1 of rack 0",
    "datacenter.racks[0].units.MIG.capacity": "MIG capacity of rack 0",
    "datacenter.racks[0].nodes[1].units.A100": "A100 units in a node of kind 1 of rack 0",
    "datacenter.racks[0].nodes[0].units.A100.count": "A100 units in a node of rack 0",
    "partitions[0].user_quota.A100": "quota of A100 of a user in partition 0",
    "partitions[1].quota.A100|T4": "quota of A100|T4 in partition 1",
    "partitions[1].borrowing_limit.A100": "borrowing limit of A100 in partition 1",
    "partitions[1].lending_limit.A100": "lending limit of A100 in partition 1",
    "partitions[1].weight": "weight of partition 1",
    "partitions[1].name": "name",
    "arrivals.on_off.mean": "mean time between jobs",
    "reservations[0].start": "start of reservation 0",
}


@pytest.mark.parametrize("key", WORDS)
def test_axes_of_real_nodes_have_words(key):
    assert axis_title(key).words == WORDS[key]


UNITS = {  # of what a value of the document is read with
    Time.__metadata__[0]: "us",
    Bandwidth.__metadata__[0]: "MB/s",
    Size.__metadata__[0]: "bytes",
    Power.__metadata__[0]: "W",
}


def _quantities(annotation, key="", metadata=(), above=()):
    """Yield the keys of all times, sizes, bandwidths and powers below an annotation, and their units."""
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        metadata = (*metadata, *more)
    if found := [UNITS[reader] for reader in metadata if reader in UNITS]:
        yield key, found[0]
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items() if annotation not in above else ():
            below = f"{key}.{name}".lstrip(".")
            yield from _quantities(field.annotation, below, tuple(field.metadata), (*above, annotation))
    else:
        step = {list: "[0]", dict: ".X"}.get(get_origin(annotation), "")
        for inner in get_args(annotation)[-1:] if step else get_args(annotation):
            yield from _quantities(inner, f"{key}{step}", (), above)


QUANTITIES = dict(_quantities(ScenarioDocument))


@pytest.mark.parametrize("key", QUANTITIES)
def test_axes_of_quantities_have_their_unit(key):
    assert axis_title(key).unit == QUANTITIES[key]


def test_the_document_has_quantities_of_each_kind():
    assert set(QUANTITIES.values()) == set(UNITS.values())
