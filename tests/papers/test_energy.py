"""The energy thesis: verdicts from thinned studies, and that other policies turn them."""

from dataclasses import replace
from functools import cache, partial

import pytest

from vinesim.formats.study_file import read_study
from vinesim.model.study import Axis, Study
from vinesim.papers.claim import Verdict
from vinesim.papers.data import Data
from vinesim.papers.registry import items
from vinesim.studies.sweep import sweep

pytestmark = pytest.mark.slow  # simulates the thesis' batches of thousands of servers: minutes

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT

# Not reproduced: times of the thesis' computers (T3, T7, F10, F12), rows and cells that its other tables contradict
# (T2.5, T5.3, T5.4, T6.6), numbers of a failing GPU (T8.3 to T11.3), equations that its numbers contradict (TX), and
# cells that hang on a few tasks (T6.4, T9.2).
EXPECTED = {
    "energy-fig9": dict.fromkeys((f"EF9.{n}" for n in range(1, 5)), REPRODUCED),
    "energy-fig11": dict.fromkeys(("EF11.1", "EF11.2"), REPRODUCED),
    "energy-table2": dict.fromkeys((f"ET2.{n}" for n in range(1, 8)), REPRODUCED) | {"ET2.5": NOT},
    "energy-table4": dict.fromkeys((f"ET4.{n}" for n in range(1, 4)), REPRODUCED),
    "energy-table5": dict.fromkeys((f"ET5.{n}" for n in range(1, 9)), REPRODUCED)
    | {"ET5.3": NOT, "ET5.4": NOT, "ET5.6": PARTLY},
    "energy-table6": dict.fromkeys((f"ET6.{n}" for n in range(1, 7)), REPRODUCED) | {"ET6.4": NOT, "ET6.6": NOT},
    "energy-table8": dict.fromkeys((f"ET8.{n}" for n in range(1, 7)), REPRODUCED) | {"ET8.3": NOT},
    "energy-table9": {"ET9.1": REPRODUCED, "ET9.2": PARTLY, "ET9.3": NOT},
    "energy-table10": {"ET10.1": REPRODUCED, "ET10.2": REPRODUCED, "ET10.3": NOT},
    "energy-table11": {"ET11.1": REPRODUCED, "ET11.2": REPRODUCED, "ET11.3": NOT},
    "energy-text": dict.fromkeys((f"ETX.{n}" for n in range(1, 7)), NOT) | {"ETX.5": REPRODUCED},
}
FEWER = {"loads": 1, "readings": 1, "blocks": 1}  # replications
KEPT = {"period_s": {"periods": (6, 5, 4, 3, 2, 1), "first": (7,)}}  # of the axes of large datacenters


def thinned(name: str) -> Study:
    study = read_study(items()["energy-fig9"].study_file("sizes").with_name(f"{name}.yaml"))
    axes = tuple(kept(axis, KEPT.get(axis.columns[0], {}).get(name)) for axis in study.axes)
    return replace(study, axes=axes, replications=FEWER.get(name, study.replications))


def kept(axis: Axis, labels: tuple[float, ...] | None) -> Axis:
    if labels is None:
        return axis
    places = [i for i, (label,) in enumerate(axis.labels) if label in labels]
    return replace(axis, labels=tuple(axis.labels[i] for i in places), settings=tuple(axis.settings[i] for i in places))


@cache
def table(file: str):
    return sweep(thinned(file.removesuffix(".yaml")), workers=1).table


def data(item_id: str) -> Data:
    item = items()[item_id]
    tables = {name: table(file) for name, file in item.studies.items()}
    return Data(tables, {name: partial(run, {}) for name, run in item.runs.items()})


def verdicts(item_id: str, given: Data) -> dict[str, Verdict]:
    return {claim.id: claim.check(given).verdict for claim in items()[item_id].claims}


LONG = ("energy-table6", "energy-table8", "energy-fig9", "energy-fig11")  # larger sizes: minutes


def _marked(ids):
    return [pytest.param(i, marks=pytest.mark.slow) if i in LONG else i for i in ids]


@pytest.mark.parametrize("item_id", _marked(EXPECTED))
def test_verdicts(item_id):
    assert verdicts(item_id, data(item_id)) == EXPECTED[item_id]


def test_every_item_is_looked_at():
    assert {item.id for item in items().values() if item.paper == "energy"} == set(EXPECTED) | set(MACHINES)


@pytest.mark.parametrize(
    ("item_id", "study", "label", "other", "turned"),
    [
        ("energy-table2", "sizes", "BF", {"policy": "llf"}, {"ET2.1", "ET2.2", "ET2.6"}),
        ("energy-table2", "sizes", "ABF64", {"policy": "ff"}, {"ET2.1", "ET2.2"}),
        (
            "energy-table2",
            "sizes",
            "RR",
            {"policy": "ffd", "options.servers": "big_first"},
            {"ET2.1", "ET2.2"},
        ),
        ("energy-table4", "sizes", "ABF32", {"policy": "llf"}, {"ET4.2"}),
        ("energy-table4", "sizes", "RR", {"policy": "bfd"}, {"ET4.1"}),
        ("energy-fig9", "sizes", "BF", {"policy": "bf", "options.cost": "marginal"}, {"EF9.1", "EF9.2"}),
        ("energy-table6", "round_robin", "RR", {"policy": "ff"}, {"ET6.1"}),
        ("energy-table8", "round_robin", "RR", {"accounting.slav": "eq3"}, {"ET8.1"}),
        ("energy-text", "readings", "running tasks stay", {"policy": "ff"}, {"ETX.5"}),
    ],
)
def test_another_policy_turns_verdicts(item_id, study, label, other, turned):
    file = items()[item_id].studies[study]
    given = thinned(file.removesuffix(".yaml"))
    axes = tuple(instead(axis, label, other) for axis in given.axes)
    tables = {name: table(file) for name, file in items()[item_id].studies.items()}
    tables[study] = sweep(replace(given, axes=axes, replications=2), workers=1).table
    found = verdicts(item_id, Data(tables))
    assert {claim for claim, verdict in found.items() if verdict != EXPECTED[item_id][claim]} >= turned


def instead(axis: Axis, label: str, other: dict[str, object]) -> Axis:
    """The axis with other settings under a label."""
    settings = [other if name == label else own for (name,), own in zip(axis.labels, axis.settings, strict=True)]
    return replace(axis, settings=tuple(settings))


MACHINES = ("energy-fig10", "energy-fig12", "energy-table3", "energy-table7")
BLOCKS = dict.fromkeys(("ET3.2", "ET3.3", "ET7.2", "ET7.3"), REPRODUCED)  # what does not hang on the machine


def on_a_machine(seconds) -> dict[str, Verdict]:
    """The verdicts where each policy needs so many seconds, at both sizes."""
    from vinesim.papers.energy.speed import SIZES

    given = Data({"blocks": table("blocks.yaml")}, {"seconds": lambda: dict.fromkeys(SIZES, seconds)})
    return {name: verdict for item_id in MACHINES for name, verdict in verdicts(item_id, given).items()}


def test_speed_ups_are_judged_by_quotients_of_one_run():
    from vinesim.papers.energy.speed import POLICIES
    from vinesim.papers.energy.table3 import PRINTED

    alike = dict.fromkeys(POLICIES, 1e-3)
    assert on_a_machine(alike) == BLOCKS | dict.fromkeys(("EF10.1", "EF12.1", "ET3.1", "ET7.1"), NOT)
    as_printed = alike | {name: 1.0 / times for name, times in PRINTED.items()} | {"BF": 1.0, "DCBF, 2 blocks": 1 / 2.9}
    found = on_a_machine(as_printed)
    assert found == BLOCKS | dict.fromkeys(("EF10.1", "EF12.1", "ET3.1", "ET7.1"), REPRODUCED)
    assert on_a_machine({name: 7 * took for name, took in as_printed.items()}) == found


def test_this_machine_is_measured():
    from vinesim.papers.energy.speed import POLICIES, SIZES, placement_s

    found = placement_s({})
    assert list(found) == list(SIZES)
    assert all(took > 0 for size in found.values() for took in size.values())
    assert all(list(size) == list(POLICIES) for size in found.values())


@pytest.mark.parametrize("item_id", _marked(i for i in EXPECTED if items()[i].draw is not None))
def test_figures_are_drawn(item_id):
    pytest.importorskip("matplotlib")
    (figure,) = items()[item_id].draw(data(item_id)).values()
    assert figure.axes
    for axes in figure.axes:
        assert axes.get_lines() or axes.patches
        assert axes.get_xlabel() or axes.get_ylabel()


@pytest.mark.parametrize("name", ["full_sizes", "full_loads", "full_periods"])
def test_full_studies_are_valid_and_of_the_thesis_size(name):
    study = read_study(items()["energy-fig9"].study_file("sizes").with_name(f"{name}.yaml"))
    sizes = {
        setting["datacenter.racks[0].count"] * 100
        for axis in study.axes
        for setting in axis.settings
        if "datacenter.racks[0].count" in setting
    }
    assert study.replications == 4
    assert sizes <= {20_000, 40_000, 100_000, 200_000}
    assert 20_000 in sizes
