"""RBSS: the verdicts, that other nodes and jobs turn what is given, and the map of the gains.

What wrong policies turn is in verification/wrong_policies.
"""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from vinesim.formats.study.file import read_study
from vinesim.model.study import Study
from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.data import Data
from vinesim.reproduction.registry import items
from vinesim.reproduction.single import scenario
from vinesim.studies.sweep import sweep
from vinesim_papers.rbss import accelerators, order
from vinesim_papers.rbss.nodes import SYSTEM_1

pytestmark = pytest.mark.slow  # simulates the paper's studies and solves schedules: minutes

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT
FILES = {"a": "group_a.yaml", "b": "group_b.yaml", "optimum": "optimum.yaml"}
EXPECTED = {
    "rbss-accelerators": {"RTX.10": PARTLY, "RTX.11": NOT},
    "rbss-exact": {"RTX.6": REPRODUCED, "RTX.8": REPRODUCED},
    "rbss-fig6": {"RF6.1": REPRODUCED, "RF6.2": PARTLY, "RF6.3": NOT, "RF6.5": PARTLY, "RF6.6": REPRODUCED},
    "rbss-fig7": {"RF7.1": PARTLY, "RF7.2": PARTLY},
    "rbss-fig8": {"RF8.1": PARTLY, "RF8.2": PARTLY, "RF8.3": REPRODUCED},
    "rbss-fig9": {"RF9.1": PARTLY, "RF9.2": PARTLY},
    "rbss-table1": {"RT1.1": REPRODUCED, "RT1.2": REPRODUCED},
    "rbss-table2": {"RT2.1": REPRODUCED},
    "rbss-table3": dict.fromkeys(("RT3.1", "RT3.2", "RT3.3", "RT3.4"), REPRODUCED),
    "rbss-text": dict.fromkeys(("RTX.1", "RTX.2", "RTX.3", "RTX.4", "RTX.9", "RTX.12"), REPRODUCED),
}
ALIKE = [{"units": {"XEON_16C": 1, "K20": 2}, "count": 24}]
SOLVED = {"rbss-exact", "rbss-fig6"}


def study(name: str) -> Study:
    return read_study(items()["rbss-fig6"].study_file("a").with_name(FILES[name]))


@cache
def table(name: str):
    return sweep(study(name), workers=1).table


def data(item_id: str, changes=None) -> Data:
    if item_id in SOLVED:
        pytest.importorskip("ortools")
    item = items()[item_id]
    tables = {name: table(name) for name in item.studies}
    return Data(tables, {name: partial(run, changes or {}) for name, run in item.runs.items()})


def verdicts(item_id: str, given: Data) -> dict[str, Verdict]:
    return {claim.id: claim.check(given).verdict for claim in items()[item_id].claims}


@pytest.mark.parametrize("item_id", EXPECTED)
def test_verdicts(item_id):
    assert verdicts(item_id, data(item_id)) == EXPECTED[item_id]


def test_every_item_is_looked_at():
    assert {item.id for item in items().values() if item.paper == "rbss"} == {*EXPECTED, "rbss-gain-map"}


@pytest.mark.parametrize(
    ("item_id", "changes", "turned"),
    [
        (
            "rbss-table1",
            {"datacenter.racks[0].nodes": [{"units": {"XEON_16C": 1, "K20": 2}, "count": 24}]},
            {"RT1.1", "RT1.2"},
        ),
        ("rbss-table3", {"workload.options.gpu_efficiency": {"LU": 0.2}}, {"RT3.4"}),
        ("rbss-table3", {"workload.options.n_jobs": 20}, {"RT3.3", "RT3.4"}),
    ],
)
def test_other_nodes_and_jobs_turn_verdicts(item_id, changes, turned):
    found = verdicts(item_id, data(item_id, changes))
    assert {claim for claim, verdict in found.items() if verdict is not EXPECTED[item_id][claim]} == turned


def test_requests_of_another_size_are_seen():
    runs = items()["rbss-text"].runs
    assert runs["requested A"]({"workload.options.cores": 12}) == {"cores": 12, "sms": 7}
    assert runs["provided A"]({}) == {"cores": 6, "sms": 7}
    assert runs["provided B"]({}) == {"cores": 12, "sms": 15}


def test_an_order_that_is_not_the_own_is_overtaken():
    overtaken = {name: order._overtaking(scenario(SYSTEM_1, {"policy": "rb_ljf"}), name) for name in order.POLICIES}
    assert overtaken["LJF"] == 0
    assert overtaken["FIFO"] > 10
    assert overtaken["SJF"] > 10


def test_without_accelerators_the_nodes_have_their_cpus():
    whole, without = (scenario(SYSTEM_1, nodes).datacenter for nodes in ({}, accelerators.CPUS_ONLY))
    is_cpu = np.isin(whole.unit_type, np.unique(without.unit_type))
    assert np.array_equal(without.unit_type, whole.unit_type[is_cpu])
    assert (len(whole.unit_type), len(without.unit_type)) == (72, 24)


def thin_map(name: str):
    """Two of the loads and of the fixed costs, with four workloads."""
    given = read_study(items()["rbss-gain-map"].study_file(name))
    axes = [replace(a, labels=a.labels[1:3], settings=a.settings[1:3]) if len(a) == 4 else a for a in given.axes]
    return sweep(replace(given, axes=tuple(axes), replications=4), workers=1).table


def test_the_map_counts_its_cells_and_is_drawn():
    pytest.importorskip("matplotlib")
    item = items()["rbss-gain-map"]
    given = Data({name: thin_map(name) for name in item.studies}, {n: partial(r, {}) for n, r in item.runs.items()})
    for claim in item.claims[0], item.claims[2]:
        found = claim.measure(given)
        assert sum(found.values()) == 3 * 2 * 2
        assert found["gain"] > 0
    assert sum(item.claims[1].measure(given).values()) == item.claims[0].measure(given)["gain"]
    for figure in item.draw(given).values():
        panels = [axes for axes in figure.axes if axes.images]
        assert len(panels) == 3
        assert all(len(axes.texts) == 4 and "±" in axes.texts[0].get_text() for axes in panels)


def test_durations_differ_less_with_a_fixed_cost():
    spreads = items()["rbss-gain-map"].runs["spreads"]({})
    assert spreads["ocl"][1] > spreads["ocl"][40]
    assert spreads["ba"][40] < 0.2 < spreads["ba"][10]


@pytest.mark.parametrize("item_id", [i for i in EXPECTED if items()[i].draw is not None])
def test_figures_are_drawn(item_id):
    pytest.importorskip("matplotlib")
    (figure,) = items()[item_id].draw(data(item_id)).values()
    for axes in figure.axes:
        assert axes.get_lines()
        assert axes.get_xlabel()


def test_gains_are_of_each_workload_against_the_best_other():
    from vinesim_papers.rbss.measures import gains

    rows = {"FIFO": [10.0, 20.0], "LJF": [8.0, 40.0], "OCL": [6.0, 25.0]}

    class Fake:
        def values(self, study, number, scheduler):
            return np.array(rows[scheduler])

    assert gains(Fake(), "a", "makespan_us", "OCL", ("FIFO", "LJF")) == pytest.approx([25.0, -25.0])
