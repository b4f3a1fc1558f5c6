"""Columns that a policy does not look at are reported, once, and only those that the user wrote."""

import json
import warnings

import pytest

import vinesim as vs
from vinesim.model.errors import InputWarning
from vinesim.policies.columns import READ_BY, reads_column
from vinesim.policies.registry import find, policies

SCENARIO = {
    "extends": "none",
    "processor_types": [{"name": "CPU"}],
    "network": "none",
    "datacenter": {"racks": [{"nodes": [{"units": {"CPU": {"cores": 4}}}]}]},
    "workload": {"file": "w.csv"},
    "policy": "easy_backfill",
}
OWN = """
from dataclasses import dataclass
from vinesim.policies import OnlinePolicy, nothing, oldest_pending, priority

def urgent(model, state, task):
    return priority(model, state, task) > 1

class ByQuery(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        return nothing() if urgent(model, state, oldest_pending(model, state)) else nothing()

class ByArray(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        return nothing() if model.job_priority[0] > 1 else nothing()

class ByGroup(OnlinePolicy):
    groups = ("priority",)

    @staticmethod
    def decide(model, state, view):
        return nothing()

class Declared(OnlinePolicy):
    reads = ("priority",)

    @staticmethod
    def decide(model, state, view):
        return nothing()

class Blind(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        return nothing()
"""


@pytest.fixture
def reported(tmp_path):
    """The warnings about a scenario whose table has this column, with these values."""

    def of(column: str, values: list[object], **changes: object) -> list[str]:
        name = str(changes.pop("file", "w.csv"))
        rows = [f"{i},1,1,{value}" for i, value in enumerate(values)]
        (tmp_path / "w.csv").write_text("\n".join([f"arrival_s,time_s,cores,{column}", *rows]))
        (tmp_path / "p.py").write_text(OWN)
        document = {**SCENARIO, "workload": {"file": name}, **changes}
        (tmp_path / "s.yaml").write_text(json.dumps(document))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vs.read_scenario(tmp_path / "s.yaml", check_policy=lambda *_: None)
        return [str(one.message) for one in caught if issubclass(one.category, InputWarning)]

    return of


@pytest.mark.parametrize(
    ("column", "values", "others"),
    [
        ("priority", [1, 2], "priority, kueue."),
        ("user", ["ann", "bob"], "drf, slurm."),
        ("deadline_s", [9, 9], "edf, edf_drop, least_laxity, deadline_consolidation. Missed deadlines are counted"),
    ],
)
def test_a_column_without_effect_is_named_with_the_policies_that_use_it(reported, column, values, others):
    (text,) = reported(column, values)
    name = column.removesuffix("_s")
    assert text.startswith(f"the policy easy_backfill does not look at the column {name} of the workload")
    assert others in text


@pytest.mark.parametrize(("column", "policy"), [("priority", "priority"), ("user", "drf"), ("deadline_s", "edf")])
def test_a_column_that_the_policy_uses_is_not(reported, column, policy):
    assert reported(column, [1, 2], policy=policy) == []


def test_equal_values_and_quotas_of_users_are_not(reported):
    assert reported("priority", [3, 3]) == []
    quotas = [{"name": "all", "user_quota": {"CPU": 4}}]
    assert reported("user,partition", ["ann,all", "bob,all"], partitions=quotas) == []


@pytest.mark.parametrize("name", ["ByQuery", "ByArray", "ByGroup", "Declared"])
def test_policies_of_files_are_understood(reported, name):
    assert reported("priority", [1, 2], policy=f"p.py:{name}") == []
    assert len(reported("priority", [1, 2], policy="p.py:Blind")) == 1


def test_columns_of_generated_tables_are_not(tmp_path, reported):
    from vinesim.formats.scenario.workload_writer import write_workload

    reported("user", ["ann", "bob"])
    work = vs.read_scenario(tmp_path / "s.yaml", ["policy=drf"]).workload
    write_workload(
        tmp_path / "w.parquet", work, vs.read_scenario(tmp_path / "s.yaml", ["policy=drf"]).datacenter.processor_types
    )
    assert reported("user", ["ann", "bob"], file="w.parquet") == []


@pytest.mark.parametrize(("column", "is_named"), [("user", False), ("priority", True)])
def test_users_in_a_log_are_not(reported, column, is_named):
    workload = {"file": "w.csv", "columns": {"who": column}}
    assert bool(reported("who", [1, 2], workload=workload)) == is_named


def test_it_is_said_once_for_a_study_with_its_points(tmp_path, reported):
    from vinesim.formats.study.file import read_study
    from vinesim.studies.check import check_points

    reported("priority", [1, 2])
    axes = {"policy": ["fcfs", "priority", "easy_backfill"], "horizon": ["5 s", "9 s"]}
    (tmp_path / "t.yaml").write_text(json.dumps({"scenario": "s.yaml", "axes": axes}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_points(read_study(tmp_path / "t.yaml"))
    texts = [str(one.message) for one in caught]
    assert len(texts) == 2
    assert all("policy=" in text and "does not look at the column priority" in text for text in texts)


def test_each_column_has_a_policy_that_looks_at_it():
    found = {column: [name for name, kind in policies().items() if reads_column(kind, column)] for column in READ_BY}
    assert found["priority"] == ["priority", "kueue"]
    assert found["user"] == ["drf", "slurm"]
    assert {"edf", "edf_drop", "least_laxity", "symphony"} <= set(found["deadline"])
    assert not any(reads_column(find("fcfs"), column) for column in READ_BY)
