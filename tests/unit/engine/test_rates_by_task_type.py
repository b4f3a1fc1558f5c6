"""Units whose tasks share their speed by a table of rates for each task type."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.invariants import violations
from tests.properties.equivalence import run
from tests.rates import TABLES
from tests.strategies import Limits, SeededDice, seeded_scenario
from verification.queues import CURVES, OF_EACH, responses_by_type, two_types
from vinesim.live.record import SCENARIO, write_scenario
from vinesim.live.state import LiveState, expected_us
from vinesim.metrics.deadline_bound import least_missed
from vinesim.model.application import Application
from vinesim.plans.work import work_of
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
SLOWER = {"*": (1.0, 0.75, 0.5), "B": (1.0, 0.5, 0.25)}


def case_of(rates, kinds="ABA", sizes=(6.0, 4.0, 3.0), arrivals=(0.0, 0.0, 4.0), **more):
    """Tasks of the types A and B on one unit for three."""
    n = len(sizes)
    columns = {name: more.pop(name) for name in ("limit_us", "deadline_us", "application") if name in more}
    power = {name: more.pop(name) for name in ("idle_power_w", "dynamic_power_w") if name in more}
    kind = vs.ProcessorType("G", capacity=more.pop("capacity", 3.0), rates=rates, **power)
    work = vs.Workload(["AB".index(one) for one in kinds], range(n + 1), arrivals, sizes, *np.zeros((3, n)), [-1] * n,
                       task_types=(vs.TaskType("A"), vs.TaskType("B")), **columns)  # fmt: skip
    return vs.Scenario(vs.Datacenter.of([("G", 0, 0)], (kind,)), work, affinity=[[1.0, 1.0]], **more)


def finishes(*args, **more):
    return vs.simulate(case_of(*args, **more), engine="reference").tasks["finish_us"].tolist()


def test_each_task_has_the_rate_of_its_own_type():
    """To 4 A is at 3/4 and B at 1/2; three at 1/2 and 1/4 until both A are done at 10; then B has 1/2 left."""
    assert finishes(SLOWER) == [10.0, 10.5, 10.0]


def test_task_types_that_are_not_named_never_slow_down():
    """A is done at 6 and at 7; B has done 2 by 4, 2.5 by 6, 3 by 7."""
    assert finishes({"B": SLOWER["B"]}) == [6.0, 8.0, 7.0]


def test_beyond_the_end_of_its_curve_a_type_shares_what_the_last_rate_allows():
    """Three at 4: two of B by a table of two get 1 done, so each of three has 1/3; A has 1/2."""
    found = finishes({"*": (1.0, 0.75, 0.5), "B": (1.0, 0.5)}, kinds="BAB", sizes=(4.0, 3.0, 4.0), arrivals=[0.0] * 3)
    assert found == pytest.approx([10.0, 6.0, 10.0])  # A: 6; B: 2 by then, the other 2 at 1/2


def test_the_one_that_is_done_first_need_not_have_the_least_left():
    """At 0 B has 2 left and A 3, at rates 1/4 and 1: A is done first."""
    assert finishes({"B": (1.0, 0.25)}, kinds="BA", sizes=(2.0, 3.0), arrivals=(0.0, 0.0)) == [4.25, 3.0]


def test_a_curve_for_all_types_is_the_list():
    one, same = case_of({"*": (1.0, 0.75)}), case_of((1.0, 0.75))
    assert content_id(one) == content_id(same)
    assert one.datacenter.processor_types == same.datacenter.processor_types
    assert content_id(case_of(SLOWER)) != content_id(case_of({**SLOWER, "B": (1.0, 0.5)}))


def test_the_same_curve_by_task_type_makes_no_difference():
    n_shared = 0
    for seed in range(60):
        case = seeded_scenario(seed, "priority", limits=Limits(jobs=10, early=seed % 2 == 1))
        dice, center = SeededDice(seed), case.datacenter
        one, each = [], []
        for processor_type in center.processor_types:
            table = dice.pick(TABLES)[: int(np.ceil(processor_type.capacity))]
            one.append(replace(processor_type, parallelism=None, rates=table))
            each.append(replace(one[-1], rates={"*": table, "T0": table}))
        pair = (replace(case, datacenter=replace(center, processor_types=tuple(types))) for types in (one, each))
        found = [run(it, "reference") for it in pair]
        if any(not isinstance(it, vs.Result) for it in found):
            continue
        n_shared += any(p.is_shared for p in one)
        times = [it.tasks["finish_us"] for it in found]
        assert found[0].exit_reason == found[1].exit_reason, seed
        assert times[1] == pytest.approx(times[0], nan_ok=True, rel=1e-9), seed
    assert n_shared > 20


def test_who_is_left_goes_on_faster_when_a_limit_ends_another():
    """The first A is killed at 3."""
    case = case_of(
        SLOWER, kinds="BAA", arrivals=(0.0, 0.0, 2.0), sizes=(4.0, 6.0, 1.0), limit_us=[np.inf, 3.0, np.inf],
    )  # fmt: skip
    done = run(case, "reference")
    segments = {name: done.segments[name].tolist() for name in ("task", "end_us", "outcome")}
    assert segments["outcome"][segments["task"].index(1)] == "killed"
    # B: 1 by 2, 1.25 by 3, then together with the other A at 1/2; that has 1/2 by 3 and the rest by 3 + 2/3
    assert done.tasks["finish_us"].tolist() == pytest.approx(
        [3 + 2 / 3 + (4 - 1.25 - 1 / 3), np.nan, 3 + 2 / 3], nan_ok=True
    )
    assert violations(case, done, resolve("high", {})) == []


def test_an_outage_lets_those_go_that_end_at_its_instant():
    """Both A are done at 10, B is interrupted and begins again at 11."""
    case = case_of(SLOWER, outages=(vs.Outage(0, 0, 10.0, 11.0),))
    done = run(case, "reference")
    assert done.tasks["finish_us"].tolist() == [10.0, 15.0, 10.0]
    assert done.tasks["restarts"].tolist() == [0, 1, 0]


def test_power_follows_the_load_not_the_speed():
    done = run(case_of(SLOWER, idle_power_w=10.0, dynamic_power_w=5.0), "reference")
    joules = (10 * 10.5 + 5 * (2 * 4 + 3 * 6 + 0.5)) / 1e6
    assert done.summary["energy_j"] == pytest.approx(joules)


def test_deadline_consolidation_expects_the_speed_of_the_type():
    """Together with A, B takes 8: on time for 8, not for 7, when it waits for A to be done, and is dropped as it is
    late."""

    def of(kinds, deadline):
        case = case_of(SLOWER, kinds=kinds, sizes=(9.0, 4.0), arrivals=(0.0, 1.0), policy="deadline_consolidation",
                       deadline_us=[50.0, 1.0 + deadline])  # fmt: skip
        return run(case, "reference").tasks["init_us"][1]

    assert of("AB", 8.0) == 1.0
    assert np.isnan(of("AB", 7.0))
    assert of("AA", 7.0) == 1.0


@pytest.mark.slow
def test_the_mean_response_of_each_type_is_that_of_the_chain_of_both():
    found = []
    for seed in range(10):
        case = two_types(np.random.default_rng(seed), 20_000)
        tasks, kinds = vs.simulate(case).tasks, case.workload.job_task_type[2_000:]
        took = (tasks["finish_us"] - tasks["arrival_us"])[2_000:]
        found.append([took[kinds == kind].mean() for kind in (0, 1)])
    for means, expected in zip(np.transpose(found), responses_by_type(OF_EACH, tuple(CURVES.values())), strict=True):
        interval = vs.mean_interval(means.tolist(), 0.999)
        assert interval.low <= expected <= interval.high
        assert interval.high - interval.low < 0.4


WRONG = [
    ({"B": (0.9, 0.8)}, "rates.B: expected numbers above 0 and at most 1, the first 1"),
    ({"*": (1.0,), "B": (1.0,) * 4}, "rates.B: expected at most 3 numbers"),
    ({}, "a list of rates, or one for each of some task types"),
    ({"C": (1.0, 0.5)}, "rates: expected a task type, one of A, B, found 'C'"),
]


@pytest.mark.parametrize(("rates", "message"), WRONG)
def test_wrong_tables_are_refused(rates, message):
    with pytest.raises(vs.InputError, match=message):
        case_of(rates)


FILE = """extends: none
processor_types: [{name: G, capacity: 3, RATES}]
task_types: [INT, SPMV]
affinity: {absolute: {G: 1}}
network: none
datacenter: {racks: [{units: {G: 1}}]}
workload: {file: jobs.csv}
"""
JOBS = "arrival_us,operations,task_type\n0,6,INT\n0,4,SPMV\n4,3,INT\n"


def test_tables_by_task_type_in_a_file(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    path = tmp_path / "s.yaml"
    path.write_text(FILE.replace("RATES", 'rates: {"*": [1, 0.75, 0.5], SPMV: [1, 0.5, 0.25]}'))

    def ends(*overrides):
        return vs.simulate(read_scenario(path, list(overrides)), engine="reference").tasks["finish_us"].tolist()

    assert ends() == [10.0, 10.5, 10.0]
    assert ends("processor_types[0].rates.SPMV=[1, 0.75, 0.5]") == ends("processor_types[0].rates=[1, 0.75, 0.5]")
    assert ends("processor_types[0].rates={SPMV: [1, 0.5, 0.25]}") == [6.0, 8.0, 7.0]


def test_the_task_types_may_be_those_of_the_table(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_us,time_us,task_type\n0,6,INT\n0,4,SPMV\n")
    file = FILE.replace("task_types: [INT, SPMV]\naffinity: {absolute: {G: 1}}\n", "")
    path = tmp_path / "s.yaml"
    path.write_text(file.replace("RATES", "rates: {SPMV: [1, 0.5, 0.5]}"))
    assert vs.simulate(read_scenario(path), engine="reference").tasks["finish_us"].tolist() == [6.0, 7.0]
    path.write_text(file.replace("RATES", "rates: {SPVM: [1, 0.5, 0.5]}"))
    with pytest.raises(vs.InputError, match="a task type: one of INT, SPMV, found 'SPVM'"):
        read_scenario(path)
    path.write_text(file.replace("RATES", "rates: {SPMV: [1, 0.5, 0.5]}") + "power: {G: {SPMV: 3}}\n")
    (tmp_path / "jobs.csv").write_text("arrival_us,time_us,task_type\n0,x,SPMV\n")
    with pytest.raises(vs.InputError) as refused:
        read_scenario(path)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    ("rates", "messages"),
    [
        ("rates: {SPVM: [1, 0.5]}", ["a task type: one of INT, SPMV, found 'SPVM'. Did you mean SPMV?"]),
        (
            "rates: {SPMV: [0.5], INT: [1, 1, 1, 1]}",
            ["rates.SPMV: expected numbers above 0", "rates.INT: expected at most 3"],
        ),
        ("rates: {SPMV: [1, 2]}", ["at most 1"]),
        ("rates: 0.5", ["rates: expected a list, or a list for each of some task types, found 0.5"]),
        ("rates: {SPMV: [1]}, parallelism: 2", ["rates or a parallelism, found both"]),
    ],
)
def test_wrong_tables_in_a_file_are_refused_with_their_line(tmp_path, rates, messages):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "s.yaml").write_text(FILE.replace("RATES", rates))
    with pytest.raises(vs.InputError) as refused:
        read_scenario(tmp_path / "s.yaml")
    assert "s.yaml:2:" in str(refused.value)
    assert all(message in str(refused.value) for message in messages)


def test_a_lease_of_a_live_cluster_expects_a_full_unit_at_the_rate_of_the_type():
    model = build_model(case_of(SLOWER))
    state = LiveState(model, 0)
    assert [expected_us(model, state, [task], 0) for task in (0, 1)] == [6.0 / 0.5, 4.0 / 0.25]


def test_a_live_run_that_is_written_as_a_scenario_keeps_them(tmp_path):
    for rates in (SLOWER, (1.0, 0.75)):
        requests = {"application": [0, 1, 0], "applications": (Application("0", 1.0), Application("1", 1.0))}
        case = case_of(rates, overhead_us=[[0.0, 0.0]], **requests)
        write_scenario(tmp_path, case)
        again = read_scenario(tmp_path / SCENARIO)
        assert again.datacenter.processor_types[0].rates == case.datacenter.processor_types[0].rates == rates


def test_the_fluid_load_of_a_plan_takes_the_best_that_each_type_gets_done():
    found = work_of([case_of({"*": (1.0, 0.9, 0.6), "B": (1.0, 0.5)})])
    assert found.whole.tolist() == [[pytest.approx((6.0 + 3.0) / 1.8 / 6.0 + 4.0 / 6.0)]]  # in a span of 6


@pytest.mark.parametrize(("kinds", "n_missed"), [("AAA", 0), ("BBB", 1), ("AAB", 1)])
def test_the_least_number_of_missed_deadlines_goes_by_the_curve_of_each_type(kinds, n_missed):
    """15 of work by 10: three of A get 18 done by then, of B 10. Of two A and B, 10 / 18 + 5 / 10 is too much."""
    case = case_of({"*": (1.0, 0.9, 0.6), "B": (1.0, 0.5)}, kinds, [5.0] * 3, [0.0] * 3, deadline_us=[10.0] * 3)
    assert least_missed(case, (10.0,))["missed"] == n_missed
