"""Symphony: the search for the smallest cluster, verdicts from shortened studies, and that other policies turn them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from verification.wrong_policies.symphony import WRONG
from vinesim.engine.simulate import simulate
from vinesim.formats.study.file import read_study
from vinesim.model.study import Axis
from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.data import Data
from vinesim.reproduction.registry import items
from vinesim.reproduction.single import changed, run, scenario
from vinesim.studies.sweep import sweep
from vinesim_papers.symphony import nodes
from vinesim_papers.symphony.day import STUDY, Day
from vinesim_papers.symphony.fig6 import _over_the_line
from vinesim_papers.symphony.measures import APPLICATIONS
from vinesim_papers.symphony.metric import raised
from vinesim_papers.symphony.nodes import Smallest, _against
from vinesim_papers.symphony.speed import DIAGONAL, _made
from vinesim_papers.symphony.table1 import alike

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT
LAXITY = {"policy": "least_laxity"}
ALONE = {"policy": "symphony", **{f"applications[{i}].max_consolidated": 1 for i in (0, 2, 3)}}
FIRST = ("urgent", "random", "relaxed")
SHORT = {"workload.options.duration_us": "40 min", "workload.options.spikes": 0}  # in 10 min on 7 nodes few miss


@pytest.mark.slow
def test_the_smallest_clusters_are_those_of_all_sizes_run_by_hand(monkeypatch):
    monkeypatch.setattr(nodes, "POLICIES", {"FCFS": {"policy": "fcfs"}})
    monkeypatch.setattr(nodes, "TARGETS_PCT", (10.0, 3.0))
    short = {"workload.options.duration_us": "1 min", "workload.options.spikes": 0}
    found = nodes.search(short)
    for target, of in found.items():
        one = of["FCFS"]
        assert one.size is not None
        assert one.missed_pct[one.size].high <= target
        smaller = [interval for size, interval in one.missed_pct.items() if size < one.size]
        assert all(interval.estimate > target for interval in smaller) or not one.is_certain
        assert all(interval.n >= nodes.LOOKS[0] for interval in smaller)
    assert found[10.0]["FCFS"].size <= found[3.0]["FCFS"].size
    summary = run(nodes.STUDY, {"policy": "fcfs", nodes.NODES: 2, "seed": 0}, short).summary
    assert summary["applications"]["mean"]["missed_pct"] > 10  # so few nodes are not enough


def test_the_highest_percentage_is_of_a_window_and_an_application():
    requests = np.array([[10, 0], [4, 4], [1, 1], [1, 1]])
    day = Day(requests, np.array([[5, 0], [1, 3], [0, 0], [0, 0]]))
    assert day.highest() == (75.0, "VIDEO")
    assert np.isnan(day.missed_pct[0, 1])


ORDERS = items()["symphony-metric"].study_file("orders")
FEW = {"workload.options.duration_us": "30 s", "workload.options.scale": 0.9}


def order(first: str | None):
    other = {} if first is None else {"policy": "orders.py:Ordered", "options.first": first}
    return simulate(scenario(ORDERS, FEW, other), engine="reference")


def test_the_control_of_orders_is_symphony_but_for_the_order():
    usual, control = order(None), order("urgent")
    assert np.array_equal(usual.tasks["init_us"], control.tasks["init_us"])
    assert np.array_equal(usual.tasks["unit"], control.tasks["unit"])


def test_where_requests_wait_the_most_urgent_first_misses_fewest():
    missed = {first: order(first).summary["applications"]["mean"]["missed_pct"] for first in FIRST}
    assert missed["urgent"] < missed["random"] < missed["relaxed"]


def test_both_engines_draw_the_same_random_order():
    made = scenario(ORDERS, FEW, {"policy": "orders.py:Ordered", "options.first": "random"})
    assert np.array_equal(simulate(made).tasks["init_us"], order("random").tasks["init_us"])


def test_a_spike_makes_urgent_only_what_is_late():
    """With slack left, slack x load falls as the load rises."""
    short = {"workload.options.duration_us": "1 min", "workload.options.spikes": 0}
    late = run(STUDY, {"datacenter.racks[0].nodes[0].count": 3}, short).summary["applications"]
    assert raised("literal", short) == pytest.approx({name: late[name]["missed_pct"] for name in APPLICATIONS})
    assert set(raised("fixed", short).values()) == {100.0}


def test_every_target_has_its_quotient_of_nodes():
    def found(size):
        return Smallest(size, is_certain=size != 5, missed_pct={})

    of = {"FCFS": found(8), "EDF": found(5), "Symphony": found(4)}
    data = Data({}, {"smallest": lambda: {3.0: of, 1.0: of | {"FCFS": found(None)}}})
    quotients = _against(data, ("FCFS", "EDF"))
    assert list(quotients) == [
        "FCFS, 3 %: 8 nodes against 4",
        "FCFS, 1 %: None nodes against 4",
        "EDF, 3 %: 5 nodes against 4, at most",
        "EDF, 1 %: 5 nodes against 4, at most",
    ]
    assert np.array_equal(list(quotients.values()), [2.0, np.nan, 1.25, 1.25], equal_nan=True)


def test_times_are_those_of_as_many_applications_as_the_figure_has():
    made = _made(3, 6)
    assert [a.name for a in made.applications] == ["SEARCH", "VIDEO", "SQL", "OPTION", "SEARCH_2", "VIDEO_2"]
    assert set(made.workload.application.tolist()) == set(range(6))
    assert made.workload.n_jobs == made.workload.n_tasks == len(made.workload.deadline_us)
    requests = [_made(*place).workload.n_jobs for place in ((3, 4), (16, 18), (7, 9))]
    assert max(requests) < 1.5 * min(requests)


def test_a_straight_line_to_the_printed_time_is_the_diagonal():
    line = {(n, n + 1): 1 + 0.22 * (n - 3) / 13 for n in DIAGONAL}
    assert _over_the_line(Data({}, {"growth": lambda: line})) == pytest.approx({f"{n} nodes": 1 for n in DIAGONAL[1:]})


def test_the_calls_of_table_1_need_the_completions():
    short = {"workload.options.duration_us": "5 s"}
    assert set(alike(short).values()) == {100.0}
    (calls,) = (wrong for wrong in WRONG if wrong.about == "ST1.2")
    with calls.in_place():
        assert max(alike(short).values()) < 100.0


@cache
def table(file: str):
    return sweep(short(file), workers=1).table


def short(file: str):
    study = read_study(items()["symphony-table4"].study_file("clusters").with_name(file))
    return changed(replace(study, replications=4), SHORT)


def verdicts(item_id: str, data: Data, names: set[str]) -> dict[str, Verdict]:
    return {claim.id: claim.check(data).verdict for claim in items()[item_id].claims if claim.id in names}


EXPECTED = {
    "symphony-table4": {"ST4.2": REPRODUCED, "ST4.3": REPRODUCED, "ST4.4": REPRODUCED, "ST4.10": NOT},
    "symphony-ablation": {"SA.1": REPRODUCED, "SA.3": REPRODUCED, "SA.4": REPRODUCED},
}


@pytest.mark.slow
@pytest.mark.parametrize("item_id", EXPECTED)
def test_verdicts(item_id):
    data = Data({"clusters": table("clusters.yaml")})
    assert verdicts(item_id, data, set(EXPECTED[item_id])) == EXPECTED[item_id]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("item_id", "label", "other", "turned"),
    [
        ("symphony-table4", "Symphony", LAXITY, {"ST4.2", "ST4.3", "ST4.4"}),
        ("symphony-table4", "FCFS", {**LAXITY, "options.consolidate": "yes"}, {"ST4.2", "ST4.3", "ST4.4"}),
        ("symphony-ablation", "FCFS", {**LAXITY, "options.consolidate": "yes"}, {"SA.1"}),
        ("symphony-ablation", "Symphony, neither", {"policy": "symphony_recommended"}, {"SA.1", "SA.3", "SA.4"}),
        ("symphony-ablation", "Symphony", {**ALONE, "options.load": "off"}, {"SA.3"}),
    ],
)
def test_another_policy_turns_verdicts(item_id, label, other, turned):
    study = short("clusters.yaml")
    axes = tuple(instead(axis, label, other) for axis in study.axes)
    found = verdicts(item_id, Data({"clusters": sweep(replace(study, axes=axes), workers=1).table}), turned)
    assert {claim for claim, verdict in found.items() if verdict != EXPECTED[item_id].get(claim)} == turned


def instead(axis: Axis, label: str, other: dict[str, object]) -> Axis:
    """The axis with other settings under a label, and without the label that had these."""
    of = {name: own for (name,), own in zip(axis.labels, axis.settings, strict=True) if own != other}
    of |= {label: other} if label in of else {}
    return replace(axis, labels=tuple((name,) for name in of), settings=tuple(of.values()))


@pytest.mark.slow
def test_without_loads_every_urgency_misses_the_same_and_with_them_not():
    study = read_study(items()["symphony-table3"].study_file("powers"))
    data = Data({"powers": sweep(replace(study, replications=1), workers=1).table})
    assert verdicts("symphony-table3", data, {"ST3.5"}) == {"ST3.5": REPRODUCED}
    turned = Data({"powers": relabelled(data.table("powers"))})
    assert verdicts("symphony-table3", turned, {"ST3.5"}) == {"ST3.5": NOT}


def relabelled(rows):
    """The rows as if those with loads had none."""
    from vinesim.formats.results.table import Table

    swap = {"with load": "without load", "without load": "with load"}
    return Table({name: np.array([swap[v] for v in rows[name]]) if name == "load" else rows[name] for name in rows})


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ["symphony-table4", "symphony-ablation"])
def test_figures_are_drawn(item_id):
    pytest.importorskip("matplotlib")
    (figure,) = items()[item_id].draw(Data({"clusters": table("clusters.yaml")})).values()
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert axes.patches
    assert axes.get_ylabel()


def test_the_full_day_is_valid_and_of_the_papers_length():
    study = read_study(items()["symphony-table4"].study_file("clusters").with_name("full_day.yaml"))
    assert {setting["workload.options.duration_us"] for setting in study.axes[0].settings} == {"24 h"}
    assert {setting["workload.options.spikes"] for setting in study.axes[0].settings} == {8}
