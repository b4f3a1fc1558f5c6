"""One policy in place of another: its options, and the period that is the scenario's."""

import json
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.placement.best_fit import BestFit
from vinesim.policies.registry import policies, resolve

SCENARIO = {
    "datacenter": {"racks": [{"units": {"A": 3, "D": 3}, "layout": "alternate"}]},
    "workload": {"generator": "batches", "options": {"n_batches": 3, "tasks_per_batch": 4}},
    "arrivals": {"iat": "20 s"},
    "period": "20 s",
    "horizon": "60 s",
    "policy": "bf",
    "options": {"cost": "marginal", "realloc": "new"},
}
MINE = """
from dataclasses import dataclass
import numpy as np
from vinesim.policies import BatchPolicy

@dataclass(frozen=True)
class Mine(BatchPolicy):
    realloc: str = "all"
    def place(self, tasks, servers):
        return np.zeros(len(tasks.task), np.int64)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(SCENARIO))
    (tmp_path / "mine.py").write_text(MINE)
    return path


def read(path, *overrides, **more):
    """The scenario, and the warnings that came with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = vs.read_scenario(path, overrides, **more)
    return found, [str(warning.message) for warning in caught]


def without(*names, **more):
    return {name: value for name, value in {**SCENARIO, **more}.items() if name not in names}


# --- options ---


def test_options_that_the_new_policy_knows_stay_and_one_warning_names_the_others(file):
    found, reported = read(file, "policy=rr", check_policy=resolve)
    assert found.options == {"realloc": "new"}
    assert reported == ["ignored an option of policy bf that rr does not have: cost"]
    found, reported = read(file, "policy=abf", check_policy=resolve)
    assert (found.options, reported) == (SCENARIO["options"], [])
    found, reported = read(file, "policy=high", check_policy=resolve)
    assert found.options == {}
    assert reported == ["ignored options of policy bf that high does not have: cost, realloc"]


def test_what_is_given_with_the_new_policy_is_never_left_out(file):
    with pytest.raises(vs.InputError, match=r"--set options.cots=fitted: options.cots: .*Did you mean cost\?"):
        read(file, "policy=bfd", "options.cots=fitted", check_policy=resolve)
    with pytest.raises(vs.InputError, match=r"options\.cost: expected one of"):
        read(file, "policy=rr", "options={cost: fitted}", check_policy=resolve)
    with pytest.raises(vs.InputError, match=r"options\.penalty"):
        read(file, settings={"policy": "rr", "options.penalty": 3}, check_policy=resolve)


def test_a_misspelt_option_of_the_file_itself_stays_an_error(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(without(options={"cots": "fitted"})))
    for overrides in ((), ("policy=rr",), ("policy=bf",)):
        with pytest.raises(vs.InputError, match="cots"):
            read(path, *overrides, check_policy=resolve)


def test_a_policy_of_a_file_keeps_what_it_knows(file):
    found, reported = read(file, "policy=mine.py:Mine", check_policy=resolve)
    assert found.options == {"realloc": "new"}
    assert reported == ["ignored an option of policy bf that mine.py:Mine does not have: cost"]


def test_changed_in_python_keeps_what_the_new_policy_knows(file):
    scenario, _ = read(file)
    with pytest.warns(vs.InputWarning, match="ignored an option of policy bf that rr does not have: cost"):
        assert vs.changed(scenario, policy="rr").options == {"realloc": "new"}
    with pytest.warns(vs.InputWarning, match="ignored options of policy bf that bf does not have: cost, realloc"):
        assert vs.changed(scenario, policy=BestFit()).options == {}
    assert vs.changed(scenario, policy="bfd").options == SCENARIO["options"]
    assert vs.changed(scenario, policy="rr", options={"cost": 1}).options == {"cost": 1}  # the check's to refuse
    assert vs.changed(scenario, seed=3).options == SCENARIO["options"]


def test_an_axis_of_policies_keeps_what_each_knows_and_tells_it_once(tmp_path):
    study = vs.study({"scenario": SCENARIO, "axes": {"policy": ["bf", "rr", "llf"]}, "replications": 2})
    with pytest.warns(vs.InputWarning) as caught:
        done = vs.sweep(study, tmp_path / "out", workers=1)
    assert [str(warning.message) for warning in caught] == [
        "policy=rr: ignored an option of policy bf that rr does not have: cost",
        "policy=llf: ignored an option of policy bf that llf does not have: cost",
    ]
    assert done.failures == ()
    by_hand = vs.simulate(vs.read_scenario(_written(tmp_path, without(policy="rr", options={"realloc": "new"}))))
    row = [p == "rr" and s == 0 for p, s in zip(done.table["policy"], done.table["seed"], strict=True)].index(True)
    assert done.table["energy_j"][row] == by_hand.summary["energy_j"]
    with pytest.warns(vs.InputWarning):
        again = vs.sweep(study, tmp_path / "out", workers=1)
    assert again.n_found == again.n_runs == 6


def test_an_option_on_an_axis_is_never_left_out():
    study = vs.study({"scenario": SCENARIO, "axes": {"policy": ["bf", "rr"], "options.cost": ["fitted", "marginal"]}})
    with pytest.raises(vs.InputError, match=r"policy=rr.*options.cost"):
        vs.sweep(study, workers=1)


def _written(folder, document):
    path = folder / "own.yaml"
    path.write_text(json.dumps(document))
    return path


# --- the period ---


@pytest.mark.parametrize("policy", [name for name, kind in policies().items() if issubclass(kind, BatchPolicy)])
def test_every_batch_policy_is_asked_at_the_scenarios_period(policy, file):
    assert "period_us" not in resolve(policy).__dict__
    scenario, _ = read(file, f"policy={policy}", "options={}")
    assert vs.simulate(scenario, engine="reference").periods["period"].tolist() == [0, 1, 2]
    half, _ = read(file, f"policy={policy}", "options={}", "period=10 s", "horizon=55 s")
    result = vs.simulate(half, engine="reference")
    assert result.periods["period"].tolist() == [0, 1, 2, 3, 4, 5]
    assert result.provenance["period_us"] == 10e6


def test_the_default_period_is_ten_seconds(tmp_path):
    scenario, reported = read(_written(tmp_path, without("period")))
    assert scenario.period_us == 10e6
    assert reported == [
        "a batch of tasks arrives every 20.0 s (arrivals.iat), but is placed every 10.0 s (period, by default): "
        "did you mean period: 20 s?"
    ]


def test_batches_at_another_interval_than_the_period_are_reported_for_batch_policies_only(file):
    assert read(file)[1] == []
    (reported,) = read(file, "period=5 s")[1]
    assert reported.startswith(
        "a batch of tasks arrives every 20.0 s (arrivals.iat), but is placed every 5.00 s (period)"
    )
    assert read(file, "period=5 s", "policy=high", "options={}")[1] == []
    study = vs.study({"scenario": without("period", "options"), "axes": {"policy": ["bf", "high"]}})
    with pytest.warns(vs.InputWarning, match="policy=bf: a batch of tasks arrives every 20"):
        vs.sweep(study, workers=1)


@pytest.mark.parametrize(
    ("document", "overrides"),
    [
        (without("period", options={"period_us": "5 s"}), ()),
        (without(options={"period_us": "5 s"}), ("period=5 s",)),
        (SCENARIO, ("options.period_us=5 s",)),
        (without(policy="rr", options={"period_us": 5e6}, period=None), ()),
        (without("period", options={"period_us": "9 s"}), ("options.period_us=5e6",)),
    ],
)
def test_a_period_among_the_options_is_understood_and_its_new_place_reported(tmp_path, document, overrides):
    found, reported = read(_written(tmp_path, document), *overrides, check_policy=resolve)
    assert found.period_us == 5e6
    assert "period_us" not in found.options
    assert sum("options.period_us is now a key of the scenario: write period: 5" in text for text in reported) == 1


def test_a_period_twice_in_one_place_or_a_wrong_one_is_an_error_where_it_stands(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("policy: bf\noptions: {period_us: 5 s}\nperiod: 6 s\n" + _rest())
    with pytest.raises(vs.InputError, match=r"s.yaml:2:\d+: options.period_us: expected the period once"):
        vs.read_scenario(path)
    path.write_text("policy: bf\noptions:\n  period_us: soon\n" + _rest())
    with pytest.raises(vs.InputError, match=r"s.yaml:3:14: period: expected"):
        vs.read_scenario(path)
    with pytest.raises(vs.InputError, match="period"):
        vs.read_scenario(_written(tmp_path, {**SCENARIO, "period": 0}))


def _rest():
    return "".join(f"{key}: {json.dumps(SCENARIO[key])}\n" for key in ("datacenter", "workload", "arrivals"))


def test_a_study_may_have_it_among_the_options_too(tmp_path):
    axes = {"T": {"cases": {"5": {"options.period_us": "5 s", "arrivals.iat": "5 s"}, "20": {"period": "20 s"}}}}
    study = vs.study({"scenario": {**SCENARIO, "horizon": "40 s"}, "axes": axes, "record": ["periods.count"]})
    with pytest.warns(vs.InputWarning, match="write period: 5 s"):
        done = vs.sweep(study, tmp_path / "out", workers=1)
    assert done.table["periods.count"].tolist() == [8, 2]
    both = {"a": {"cases": {"x": {"options.period_us": 1}}}, "period": [1, 2]}
    with pytest.raises(vs.InputError, match="no other axis sets"):
        vs.study({"scenario": SCENARIO, "axes": both})


def test_in_python_the_option_becomes_the_scenarios_period(file):
    scenario, _ = read(file)
    with pytest.warns(vs.InputWarning, match="period_us=5e\\+06"):
        found = vs.Scenario(scenario.datacenter, scenario.workload, "bf", {"period_us": 5e6}, scenario.affinity)
    assert (found.period_us, found.options) == (5e6, {})
    for wrong in ({"period_us": "5 s"}, {"period_us": True}):
        with pytest.raises(vs.InputError, match="period_us of the scenario"):
            vs.Scenario(scenario.datacenter, scenario.workload, "bf", wrong, scenario.affinity)


def test_a_policy_cannot_have_a_period_of_its_own():
    @dataclass(frozen=True)
    class Own(BatchPolicy):
        name: ClassVar[str] = "own"
        period_us: float = 5.0

        def place(self, tasks, servers):
            return np.zeros(len(tasks.task), np.int64)

    with pytest.raises(vs.InputError, match=r"policy own: expected no option period_us.*servers\.period_us"):
        resolve(Own)


def test_place_gets_the_period(file):
    seen = []

    @dataclass(frozen=True)
    class Curious(BatchPolicy):
        name: ClassVar[str] = "curious"
        may_overcommit: ClassVar[bool] = True

        def place(self, tasks, servers):
            seen.append(servers.period_us)
            return np.zeros(len(tasks.task), np.int64)

    with pytest.warns(vs.InputWarning, match="ignored options"):
        case = vs.changed(read(file)[0], policy=Curious)
    for period_us in (7e6, 20e6):
        vs.simulate(vs.changed(case, period_us=period_us), engine="reference")
        assert set(seen) == {period_us}
        seen.clear()


# --- preemption ---


def test_what_a_preempted_task_keeps_is_reported_as_without_effect_if_the_policy_preempts_none(file):
    (reported,) = read(file, "policy=high", "options={}", "preemption=restart")[1]
    assert reported.startswith("preemption: restart has no effect: the policy high never preempts or moves a task.")
    (batch,) = read(file, "preemption=checkpoint")[1]
    assert batch.startswith("preemption: checkpoint has no effect")
    assert read(file, "policy=priority", "options={}", "preemption=restart")[1] == []
    assert read(file, "policy=high", "options={}")[1] == []
