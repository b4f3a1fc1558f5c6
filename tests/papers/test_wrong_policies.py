"""The machinery of ``python -m verification.wrong_policies``: what is wrong is wrong in both engines, and only then."""

from dataclasses import replace

import pytest

import vinesim as vs
from verification.wrong_policies import __main__ as command
from verification.wrong_policies import energy
from verification.wrong_policies import vinesim as report
from verification.wrong_policies.bench import Bench, _uses
from verification.wrong_policies.wrong import Wrong
from vinesim.formats.study.file import read_study
from vinesim.reproduction.registry import items
from vinesim.reproduction.single import changed, scenario
from vinesim.studies.sweep import sweep

STUDY = items()["fig11"].study_file("main")
FEW = {"policy": "high", "arrivals.iat": 1000, "workload.options.n_jobs": 3, "workload.options.tasks_per_job": 2}
SLOWEST = next(wrong for wrong in report.WRONG if wrong.version == "the slowest idle unit for the fastest")


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_wrong_version_runs_in_both_engines_and_ends_with_its_context(engine):
    def types():
        return set(vs.simulate(scenario(STUDY, FEW), engine=engine).tasks["unit_type"].tolist())

    assert types() == {2}
    with SLOWEST.in_place():
        assert types() == {0}
    assert types() == {2}


@pytest.mark.parametrize(
    ("item", "study", "policy", "is_used"),
    [
        ("fig4", "main", "flat", True),  # an axis
        ("fig5", "main", "high", True),  # the scenario's own
        ("fig5", "main", "flat", False),
        ("fig16", "main", "pref", False),
        ("fig18-why", "main", "delay", True),  # one case of an axis
        ("fig14", "main", "high", True),
        ("fig18-why", "cliff", "high", False),  # closer_to_data in the scenario, and in all cases others
    ],
)
def test_which_policies_a_study_runs(item, study, policy, is_used):
    assert _uses(items()[item].study_file(study), policy) == is_used


def test_turned_are_the_claims_with_another_verdict():
    bench = Bench("vinesim", 1)
    bench.items = [items()["text"], items()["table2"]]
    slower = Wrong("affinity", "GPUs half as fast", "A4", changes=report.SCENARIOS[0].changes, items=("text",))
    assert bench.turned(slower) == ["A4"]
    assert bench.turned(Wrong("high", "nothing is wrong", "")) == []
    with pytest.raises(ValueError, match="A5, F99, which are no claims"):
        bench.turned(Wrong("high", "so", "A4 A5 F99"))


def test_only_the_runs_of_the_wrong_policy_are_made_again():
    """What is put together equals the whole sweep with the wrong version, and the usual sweep stays as it was."""
    item = items()["energy-text"]
    path = item.study_file("readings")
    small = {"datacenter.racks[0].count": 1, "workload.options.tasks_per_batch": 10}
    study = changed(replace(read_study(path), replications=2), small)
    bench = Bench("energy", 2)
    bench._sweeps[path] = usual = sweep(study, workers=1)
    wrong = next(wrong for wrong in energy.WRONG if wrong.of == "rr")
    before = by_reading(usual)
    with wrong.in_place():
        again, whole = bench._again(path, "rr"), sweep(study, workers=1)
    assert by_reading(again) == by_reading(whole)
    changed_readings = {reading for reading, k in before if by_reading(again)[reading, k] != before[reading, k]}
    assert changed_readings == {"RR", "RR, equation 1 for T", "RR, equation 2"}  # ten servers in turn are all of type A
    assert by_reading(usual) == before
    assert bench._again(path, "pref") is usual


def by_reading(of):
    columns = zip(*(of.table[name].tolist() for name in ("reading", "replication", "periods.energy_j")), strict=True)
    return {(reading, replication): joule for reading, replication, joule in columns}


@pytest.mark.parametrize(
    ("policy", "n_units"),
    [("rr", 2), ("llf", 1), ("bf", 2), ("dcbf", 1), ("abf", 8)],
)
def test_wrong_placements_of_the_energy_thesis(policy, n_units):
    """One batch on eight servers, A B C D in turn."""
    tiny = {"datacenter.racks[0].units": dict.fromkeys("ABCD", 2), "datacenter.racks[0].count": 1}
    batch = {"workload.options.n_batches": 1, "workload.options.tasks_per_batch": 40, "horizon": "10 s"}
    file = items()["energy-text"].study_file("order")
    wrong = next(wrong for wrong in energy.WRONG if wrong.of == policy)
    with wrong.in_place():
        units = vs.simulate(scenario(file, tiny, batch, {"policy": policy})).tasks["unit"]
    assert len(set(units.tolist())) == n_units


ROW = {"paper": "vinesim", "of": "high", "version": "slowest", "about": ["F1"], "turns": ["F1", "F2"]}


@pytest.mark.parametrize(
    ("found", "written", "reported"),
    [
        (ROW, [ROW], []),
        (ROW | {"turns": ["F2"]}, [ROW | {"turns": ["F2"]}], ["high, slowest: F1 must turn, and did not"]),
        (ROW, [ROW | {"turns": ["F1"]}], ["vinesim: wrong_policies.json says otherwise; --write renews it"]),
        (ROW, [], ["vinesim: wrong_policies.json says otherwise; --write renews it"]),
        (ROW, [ROW, ROW | {"paper": "rbss"}], []),
    ],
)
def test_what_does_not_turn_or_is_not_written_is_reported(found, written, reported):
    assert command.problems([found], written, "vinesim") == reported


def test_slowest_is_not_fastest_for_any_task_type():
    """Of units of three speeds, the wrong version takes the slowest two."""
    units = {"datacenter.racks[0].units": {"CPU_INTEL": 1, "CPU_ARM": 1, "GPU": 1}, "workload.options.n_jobs": 1}
    with SLOWEST.in_place():
        tasks = vs.simulate(scenario(STUDY, FEW, units), engine="reference").tasks
    assert tasks["unit_type"].tolist() == [1, 0]  # CPU_ARM, then CPU_INTEL
