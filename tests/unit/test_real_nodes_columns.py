"""The columns of real nodes and real jobs: capacities of units, leads and companions of tasks."""

from dataclasses import replace

import numpy as np
import pytest

from vinesim import Datacenter, Scenario, Workload
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError
from vinesim.model.workload import ANY_LEAD
from vinesim.policies.identity import content_id

TYPES = (ProcessorType("CPU", capacity=8.0), ProcessorType("GPU"), ProcessorType("MEMORY", capacity=64.0))
UNITS = [("CPU", 0, 0), ("GPU", 0, 0), ("GPU", 0, 0), ("MEMORY", 0, 0)]
AFFINITY = np.array([[1.0], [2.0], [0.0]])


def workload(n: int = 2, **columns) -> Workload:
    zeros = np.zeros(n)
    return Workload(
        job_task_type=np.zeros(n),
        job_first=np.arange(n + 1),
        arrival_us=zeros,
        operations=zeros + 10,
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=zeros - 1,
        task_types=(TaskType("T"),),
        **columns,
    )


def scenario(datacenter: Datacenter | None = None, **columns) -> Scenario:
    return Scenario(datacenter or Datacenter.of(UNITS, TYPES), workload(**columns), "flat", affinity=AFFINITY)


def test_a_unit_has_its_own_capacity_or_that_of_its_type():
    center = Datacenter.of(UNITS, TYPES)
    assert center.unit_capacity.tolist() == [8, 1, 1, 64]
    assert replace(center, capacity=[96, 1, 1, 512]).unit_capacity.tolist() == [96, 1, 1, 512]


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_a_capacity_is_above_0(wrong):
    with pytest.raises(InputError, match=r"datacenter.capacity\[1\]: expected a finite number above 0"):
        replace(Datacenter.of(UNITS, TYPES), capacity=[8, wrong, 1, 64])


def test_columns_that_ask_for_nothing_new_leave_the_scenario_as_it_was():
    plain = scenario()
    center = replace(plain.datacenter, capacity=[8, 1, 1, 64])
    trivial = scenario(
        center, units=[1, 1], companions={"CPU": [0.0, 0.0]}, lead_types=[ANY_LEAD, ANY_LEAD], lead_sets=[["GPU"]]
    )
    assert not plain.workload.has_vectors
    assert not trivial.workload.has_vectors
    assert trivial.datacenter.capacity is None
    assert content_id(trivial) == content_id(plain)


CHANGES = [
    {"units": [1, 2]},
    {"companions": {"CPU": [0.0, 2.0]}},
    {"lead_types": [ANY_LEAD, 0], "lead_sets": (("GPU",),)},
]


@pytest.mark.parametrize("columns", CHANGES)
def test_what_a_task_demands_counts_for_the_id(columns):
    changed = scenario(**columns)
    assert changed.workload.has_vectors
    assert content_id(changed) != content_id(scenario())


def test_a_capacity_counts_for_the_id():
    center = replace(Datacenter.of(UNITS, TYPES), capacity=[9, 1, 1, 64])
    assert content_id(scenario(center)) != content_id(scenario())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"units": [1, 0]}, r"workload.units\[1\]: expected 1 or more units, found 0"),
        ({"units": [1, 1.5]}, r"workload.units\[1\]: expected a whole number"),
        ({"companions": {"CPU": [0, -1]}}, r"workload.companions.CPU\[1\]: expected a finite number, 0 or more"),
        ({"companions": {"CPU": [1]}}, r"workload.companions.CPU: expected 2 values"),
        ({"companions": {"TPU": [0, 1]}}, r"workload.companions.TPU: expected a processor type, one of CPU, GPU"),
        ({"lead_types": [0, 1], "lead_sets": (("GPU",),)}, r"workload.lead_types\[1\]: expected -1 for any type"),
        ({"lead_types": [0, 0], "lead_sets": ((),)}, r"workload.lead_sets\[0\]: expected at least one processor type"),
        ({"lead_types": [0, 0], "lead_sets": (("TPU",),)}, r"workload.lead_sets\[0\]: expected a processor type"),
    ],
)
def test_wrong_columns_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        scenario(**columns)


def test_a_demand_is_compared_with_the_units_own_capacities():
    center = replace(Datacenter.of(UNITS, TYPES), capacity=[96, 1, 1, 64])
    scenario(center, demand=[90.0, 1.0])
    with pytest.raises(InputError, match=r"workload.demand\[0\]: expected at most the capacity .*\(8\)"):
        scenario(demand=[90.0, 1.0])
