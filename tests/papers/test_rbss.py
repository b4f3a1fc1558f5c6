"""RBSS: the verdicts, that another policy, other nodes or other jobs turn them, and the map of the gains."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from vinesim.formats.study_file import read_study
from vinesim.model.study import Axis, Study
from vinesim.papers.claim import Verdict
from vinesim.papers.data import Data
from vinesim.papers.registry import items
from vinesim.studies.sweep import sweep

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT
FILES = {"a": "group_a.yaml", "b": "group_b.yaml", "optimum": "optimum.yaml"}
EXPECTED = {
    "rbss-fig6": {"RF6.1": REPRODUCED, "RF6.2": REPRODUCED, "RF6.3": PARTLY, "RF6.4": REPRODUCED, "RF6.5": PARTLY},
    "rbss-fig7": {"RF7.1": NOT, "RF7.2": PARTLY, "RF7.3": NOT, "RF7.4": REPRODUCED, "RF7.5": REPRODUCED}
    | {"RF7.6": PARTLY, "RF7.7": NOT, "RF7.8": REPRODUCED},
    "rbss-fig8": dict.fromkeys(("RF8.1", "RF8.2", "RF8.3"), REPRODUCED),
    "rbss-fig9": {"RF9.1": REPRODUCED, "RF9.2": PARTLY, "RF9.3": PARTLY, "RF9.4": REPRODUCED, "RF9.5": NOT},
    "rbss-table1": {"RT1.1": REPRODUCED, "RT1.2": REPRODUCED},
    "rbss-table2": {"RT2.1": REPRODUCED},
    "rbss-table3": dict.fromkeys(("RT3.1", "RT3.2", "RT3.3", "RT3.4"), REPRODUCED),
    "rbss-text": dict.fromkeys((f"RTX.{n}" for n in range(1, 7)), REPRODUCED) | {"RTX.4": NOT, "RTX.6": NOT},
}
SOLVED = {"rbss-fig6", "rbss-text"}


def study(name: str) -> Study:
    return read_study(items()["rbss-fig6"].study_file("a").with_name(FILES[name]))


@cache
def table(name: str):
    return sweep(study(name), workers=1).table


def data(item_id: str, changes=None, **instead) -> Data:
    if item_id in SOLVED:
        pytest.importorskip("ortools")
    item = items()[item_id]
    tables = {name: instead.get(name) or table(name) for name in item.studies}
    return Data(tables, {name: partial(run, changes or {}) for name, run in item.runs.items()})


def verdicts(item_id: str, given: Data) -> dict[str, Verdict]:
    return {claim.id: claim.check(given).verdict for claim in items()[item_id].claims}


@pytest.mark.parametrize("item_id", EXPECTED)
def test_verdicts(item_id):
    assert verdicts(item_id, data(item_id)) == EXPECTED[item_id]


def test_every_item_is_looked_at():
    assert {item.id for item in items().values() if item.paper == "rbss"} == {*EXPECTED, "rbss-gain-map"}


@pytest.mark.parametrize(
    ("item_id", "name", "label", "other", "turned"),
    [
        ("rbss-fig7", "a", "OCL", {"policy": "rb_ljf_ba", "options.two_phase": True}, {"RF7.4", "RF7.5", "RF7.8"}),
        ("rbss-fig7", "a", "LJF", {"policy": "rb_ljf_ocl", "options.scan": "head"}, {"RF7.4", "RF7.8"}),
        ("rbss-fig8", "a", "OCL", {"policy": "rb_fifo", "options.estimate": "learned"}, {"RF8.1", "RF8.2"}),
        ("rbss-fig9", "b", "BA", {"policy": "rb_ljf", "options.kind": "acc"}, {"RF9.1", "RF9.4"}),
        ("rbss-fig6", "a", "BA", {"policy": "rb_ljf_ocl", "options.scan": "head"}, {"RF6.1"}),
        ("rbss-fig6", "a", "OCL", {"policy": "rb_sjf", "options.estimate": "learned"}, {"RF6.2", "RF6.3"}),
    ],
)
def test_another_policy_turns_verdicts(item_id, name, label, other, turned):
    given = study(name)
    changed = sweep(replace(given, axes=tuple(instead(axis, label, other) for axis in given.axes)), workers=1).table
    found = verdicts(item_id, data(item_id, **{name: changed}))
    assert {claim for claim, verdict in found.items() if verdict != EXPECTED[item_id][claim]} >= turned


def instead(axis: Axis, label: str, other: dict[str, object]) -> Axis:
    """The axis with other settings under a label."""
    settings = [other if name == label else own for (name,), own in zip(axis.labels, axis.settings, strict=True)]
    return replace(axis, settings=tuple(settings))


@pytest.mark.parametrize(
    ("item_id", "changes", "turned"),
    [
        ("rbss-table1", {"datacenter.racks[0].nodes": [{"units": {"XEON_16C": 1, "K20": 2}, "count": 24}]}, {"RT1.1"}),
        ("rbss-table3", {"workload.options.gpu_efficiency": {"LU": 0.2}}, {"RT3.4"}),
        ("rbss-table3", {"workload.options.n_jobs": 20}, {"RT3.3"}),
    ],
)
def test_other_nodes_and_jobs_turn_verdicts(item_id, changes, turned):
    found = verdicts(item_id, data(item_id, changes))
    assert {claim for claim, verdict in found.items() if verdict is not REPRODUCED} >= turned


def test_requests_of_another_size_are_seen():
    runs = items()["rbss-text"].runs
    assert runs["requested A"]({"workload.options.cores": 12}) == {"cores": 12, "sms": 7}
    assert runs["provided A"]({}) == {"cores": 6, "sms": 7}
    assert runs["provided B"]({}) == {"cores": 12, "sms": 15}


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
    from vinesim.papers.rbss.measures import gains

    rows = {"FIFO": [10.0, 20.0], "LJF": [8.0, 40.0], "OCL": [6.0, 25.0]}

    class Fake:
        def values(self, study, number, scheduler):
            return np.array(rows[scheduler])

    assert gains(Fake(), "a", "makespan_us", "OCL", ("FIFO", "LJF")) == pytest.approx([25.0, -25.0])
