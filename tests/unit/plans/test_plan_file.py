"""Plan files: what they become, and one error with everything that is wrong."""

import json
from pathlib import Path

import pytest

import vinesim as vs
from tests.plans.conftest import CPUS, GPUS
from tests.plans.conftest import mapping as mapping  # a fixture
from vinesim.formats.plan.file import plan, plan_schema, read_plan
from vinesim.model.errors import InputError
from vinesim.plans.check import check_plan
from vinesim.plans.space import NOT_MADE, Space

EXAMPLES = Path(__file__).parents[3] / "examples"


def problems(mapping, *, check=False):
    try:
        found = plan(mapping)
        if check:
            check_plan(found, Space(found))
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_ranges(mapping):
    mapping["choose"] = {
        CPUS: {"from": 0, "to": 9, "step": 3},
        "arrivals.poisson.mean": {"from": "100 us", "to": "10 ms", "n": 3, "log": True},
        "workload.options.operations": {"from": 0.5, "to": 1, "step": 0.25},
    }
    found = plan(mapping).choices
    assert [choice.labels for choice in found] == [(0, 3, 6, 9), (100.0, 1000.0, 10000.0), (0.5, 0.75, 1.0)]
    assert all(choice.is_ordered for choice in found)


def test_a_condition_makes_one_axis_of_two_choices(mapping):
    mapping["choose"] = {
        CPUS: [1, 2],
        "policy": ["high", "delay"],
        "options.wait_us": {"from": 1, "to": 3, "when": {"policy": "delay"}},
    }
    found = plan(mapping)
    assert found.space.n_points == 2 * 4
    assert found.space.axes[1].labels[1] == ("delay, options.wait_us=1",)
    assert "options.wait_us" not in found.space.axes[1].settings[0]
    space = Space(found)
    assert (space.positions[:, 2] == NOT_MADE).sum() == 2
    for number in range(space.n):
        assert space.number(tuple(space.positions[number].tolist())) == number
    high = next(i for i in range(space.n) if space.label(i) == {CPUS: 1, "policy": "high"})
    changed = [space.label(i) for i in space.neighbors(high)]
    assert {CPUS: 2, "policy": "high"} in changed
    assert {CPUS: 1, "policy": "delay", "options.wait_us": 1} in changed


def test_a_choice_of_any_form_may_have_a_label(mapping):
    mapping["choose"] = {
        CPUS: {"from": 1, "to": 2, "label": "fast CPUs"},
        GPUS: [0, 1],
        "arrivals.poisson.mean": {"values": [300, 400], "label": "mean gap"},
        "policy": {"cases": {"greedy": {"policy": "high"}, "any": {"policy": "flat"}}, "label": "scheduler"},
    }
    found = plan(mapping)
    assert [choice.title for choice in found.choices] == ["fast CPUs", "", "mean gap", "scheduler"]
    assert found.space.axes[2].settings == ({"arrivals.poisson.mean": 300}, {"arrivals.poisson.mean": 400})
    mapping["choose"][CPUS]["label"] = ""
    mapping["choose"]["policy"]["label"] = 3
    assert [text.partition(": expected")[0] for text in problems(mapping)] == [
        f"choose.{CPUS}.label",
        "choose.policy.label",
    ]


def test_the_space_is_a_study_of_its_own(mapping, tmp_path):
    from vinesim.formats.study.text import to_yaml

    found = plan(mapping)
    (tmp_path / "study.yaml").write_text(to_yaml(found.space, tmp_path))
    again = vs.read_study(tmp_path / "study.yaml")
    assert [run.run_id for run in vs.expand(again)] == [run.run_id for run in vs.expand(found.space)]


def test_all_problems_of_a_file_come_at_once(mapping):
    found = problems(
        {
            "scenario": mapping["scenario"],
            "chose": {},
            "choose": {
                "datacenter.racks[0].unit.GPU": [1],
                CPUS: {"from": 5, "to": 2},
                "policy": [],
                "arrivals.iat": {"from": 1, "too": 3},
                "options.wait_us": {"values": [1], "when": {"polcy": "delay"}},
            },
            "minimize": ["jobs.latency_us.p99", "__import__('os')", "enrgy_j"],
            "limits": {
                "jobs.latncy_us.p99": {"below": 3},
                "energy_j": {"above": 5, "below": 3},
                "jobs.latency_us.mean": {"below": "3 parsec"},
                "makespan_us": {},
                "jobs.wait_us.mean": {"below": 3, "share_of_runs": 0.9, "mean_with_confidence": 0.9},
            },
            "budget": {"runs": 0},
            "looks": [5, 3],
            "more_is_better": ["policy"],
        }
    )
    text = "\n".join(found)
    for part in (
        "chose: expected a key: one of",
        "Did you mean choose?",
        "Did you mean datacenter.racks[0].units.GPU?",
        "found from 5 to 2. An empty range has nothing to choose.",
        "choose.policy: expected at least one value",
        "choose.arrivals.iat.too: expected a key",
        "expected numbers, names of numbers, + - * / **",
        "found 'enrgy_j'. Did you mean energy_j?",
        "found 'jobs.latncy_us.p99'. Did you mean jobs.latency_us.p99?",
        "expected limits that do not contradict one another, found above 5 and below 3",
        "expected a time, such as 1300 us, found '3 parsec'",
        "limits.makespan_us: expected below or above, found neither",
        "expected mean_with_confidence or share_of_runs, found both",
        "budget.runs: expected at least 1",
        "looks: expected increasing numbers of replications",
    ):
        assert part in text, part


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"choose": {}}, "choose: expected at least one"),
        ({"choose": {CPUS: {"from": 0, "to": 9_000_000}}}, "expected at most 1,000,000 values"),
        ({"minimize": "3 + 4"}, "at least one number of a run"),
        ({"minimize": ["cost.purchase", "cost.purchase"]}, "each objective once"),
        ({"minimize": {"utilty": "x"}}, "Did you mean utility?"),
        ({"minimize": []}, "at least one number, found an empty list"),
        ({"confirm": {"horizon": 0.5}}, "confirm.horizon: expected at least 1"),
        ({"warm_up": "msr5"}, "Did you mean mser5?"),
        ({"cost": {"electricity": {"pue": 0.5}}}, "cost.electricity.pue: expected at least 1"),
        ({"choose": {"seed": [1, 2]}}, "a key that can be an axis"),
    ],
)
def test_wrong_values(mapping, change, part):
    assert any(part in problem for problem in problems({**mapping, **change})), problems({**mapping, **change})


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"minimize": "energy.cost"}, "energy.cost: expected a number of this scenario"),
        ({"minimize": "cost.electricity"}, "Give the plan cost.electricity.price_per_kwh"),
        ({"minimize": "deadlines.missed_pct"}, "Give the scenario deadlines"),
        ({"minimize": "utilization.by_type.GPUX"}, "Did you mean utilization.by_type.GPU?"),
        ({"minimize": "units.by_type.GPUX"}, "Did you mean GPU?"),
        ({"limits": {"jobs.latency_us": {"below": 3}}}, "jobs.latency_us: expected a number of this scenario"),
        (
            {"cost": {"rent_per_hour": {"GPUX": 2}}},
            "cost.rent_per_hour.GPUX: expected a processor type of the scenario",
        ),
        ({"cost": {"carbon_per_tonne": 80}}, "cost.carbon_per_tonne: expected emissions to be paid"),
        ({"choose": {CPUS: [2], "policy": ["hihg"]}}, "policy: expected one of"),
        ({"choose": {CPUS: [2], "policy": ["high", "hihg"]}}, "policy=hihg: policy: expected one of"),
    ],
)
def test_numbers_that_the_scenario_does_not_have(mapping, change, part):
    found = problems({**mapping, **change}, check=True)
    assert any(part in problem for problem in found), found


def test_every_type_needs_a_price_or_a_rent(mapping):
    mapping |= {"minimize": "cost.total", "cost": {"rent_per_hour": {"GPU": 2}}}
    assert problems(mapping, check=True) == []
    del mapping["scenario"]["prices"]["CPU_INTEL"]
    assert any("Give the scenario prices: of CPU_INTEL." in problem for problem in problems(mapping, check=True))


def test_energy_without_powers_is_reported_before_any_run(mapping, tmp_path):
    del mapping["scenario"]["power"]
    mapping["minimize"] = "energy_j"
    with pytest.raises(InputError, match="energy_j: expected a number of this scenario, found no value"):
        vs.plan(mapping, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_of_another_kind_are_named(tmp_path):
    (tmp_path / "s.yaml").write_text((EXAMPLES / "quickstart.yaml").read_text())
    with pytest.raises(InputError, match="expected a plan, found a scenario"):
        read_plan(tmp_path / "s.yaml")
    with pytest.raises(InputError, match="expected a plan, found a study"):
        read_plan(EXAMPLES / "study.yaml")


def test_prices_of_electricity_are_those_of_the_scenario(mapping, tmp_path):
    (tmp_path / "prices.csv").write_text("hour,price\n0,0.1\n1,0.3\n")
    mapping["cost"] = {"electricity": {"price_file": "prices.csv", "pue": 1.2}}
    found = plan(mapping, tmp_path)
    assert found.space.scenario["energy"] == {"price_file": "prices.csv", "pue": 1.2}


@pytest.mark.parametrize(
    "file",  # the workloads of two are made of a log first: tests/plans/test_examples.py
    sorted(file for file in (EXAMPLES / "plans").glob("*.yaml") if file.stem not in ("llm", "serving_log")),
    ids=lambda file: file.stem,
)
def test_every_example_is_valid_and_says_what_it_is_for(file):
    found = read_plan(file)
    check_plan(found, Space(found))
    assert found.description
    assert file.read_text().startswith("# yaml-language-server: $schema=../plan.schema.json\n")


def test_the_schema_in_examples_is_the_current_one():
    assert json.loads((EXAMPLES / "plan.schema.json").read_text()) == json.loads(json.dumps(plan_schema()))
    assert (
        GPUS
        in plan({"scenario": "quickstart.yaml", "choose": {GPUS: [1]}, "minimize": "makespan_us"}, EXAMPLES)
        .choices[0]
        .name
    )


@pytest.mark.parametrize(
    ("number", "given", "value"),
    [
        ("utilization.overall", "90 %", 0.9),
        ("utilization.overall", 0.9, 0.9),
        ("utilization.allocated.overall", 1.2, 1.2),
        ("load.overall", "120 %", 1.2),
        ("deadlines.missed_pct", "1 %", 1.0),
        ("deadlines.missed_pct", 1, 1.0),
    ],
)
def test_shares_and_percentages_of_limits(mapping, number, given, value):
    (limit,) = plan({**mapping, "limits": {number: {"below": given}}}).limits
    assert limit.value == pytest.approx(value)


@pytest.mark.parametrize("given", [90, "ninety %"])
def test_a_share_is_not_given_in_percent_without_saying_so(mapping, given):
    (problem,) = problems({**mapping, "limits": {"utilization.overall": {"above": given}}})
    assert f'limits.utilization.overall.above: expected a share, such as 0.9 or "90 %", found {given!r}' in problem
