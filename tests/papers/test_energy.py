"""The energy thesis: verdicts from fewer runs, and from tables made up cell by cell."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

from tests.papers.small import small_data
from vinesim.formats.results.table import Table
from vinesim.formats.study.file import read_study
from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.data import Data
from vinesim.reproduction.registry import items
from vinesim_papers.energy import speed, table3, table6, table7, table8, table9, table10, table11
from vinesim_papers.energy.measures import BY_ENERGY, ENERGY, SLAV

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT


def verdicts(item_id: str, given: Data) -> dict[str, Verdict]:
    return {claim.id: claim.check(given).verdict for claim in items()[item_id].claims}


def expected(item: str, n: int, **others: Verdict) -> dict[str, Verdict]:
    return {f"{item}.{i}": others.get(f"n{i}", REPRODUCED) for i in range(1, n + 1)}


# From one run each. Not reproduced: rows that are mislabelled (5.1, 5.2), a cell that Table 8 contradicts (6.5), cells
# of a failing GPU (8.3), equations that the thesis' numbers contradict (X.1 to X.4). Where blocks begin to go beyond
# their capacity hangs on a few tasks (8.2, 8.5).
EXPECTED = {
    "energy-table1": expected("ET1", 1),
    "energy-text": expected("ETX", 14, n1=NOT, n2=NOT, n3=NOT, n4=NOT, n10=PARTLY, n14=PARTLY),
    "energy-fig11": expected("EF11", 2),
    "energy-table5": expected("ET5", 6, n1=NOT, n2=NOT, n4=PARTLY, n5=PARTLY),
    "energy-table6": expected("ET6", 5, n3=PARTLY, n4=PARTLY, n5=NOT),
    "energy-table8": expected("ET8", 6, n2=PARTLY, n3=NOT, n5=NOT, n6=PARTLY),
}
LARGE = ("energy-fig11", "energy-table5", "energy-table6", "energy-table8", "energy-text")  # a minute


@cache
def data(item_id: str) -> Data:
    return small_data(items()[item_id])


def _marked(ids):
    return [pytest.param(i, marks=pytest.mark.slow) if i in LARGE else i for i in ids]


@pytest.mark.parametrize("item_id", _marked(EXPECTED))
def test_verdicts(item_id):
    assert verdicts(item_id, data(item_id)) == EXPECTED[item_id]


def test_a_row_of_table_5_with_the_right_label_is_reproduced():
    """The rows M, 0.5 T and 1.5 M, T with the numbers that their quotients are of."""
    claims = {claim.id: claim for claim in items()["energy-table5"].claims}
    rows = {"1.5 M, T": ("ET5.1", "M, 0.5 T", 3.2125e8), "1.5 M, 0.5 T": ("ET5.2", "1.5 M, T", 2.25e8)}
    printed = items()["energy-table5"].claims[0].measure.__globals__["PRINTED"]
    names = ("ABF32", "ABF64", "ABF128", "ABF256", "ABF512", "BF", "DCBF")
    found = []
    for load, (_, row, rr_j) in rows.items():
        energy = {"RR": rr_j} | {n: rr_j * (1 - p / 100) for n, p in zip(names, printed[row], strict=True)}
        found += [(load, name, joule) for name, joule in energy.items()]
    given = Data({"loads": made_up(ENERGY, "load", found)})
    for claim, _, _ in rows.values():
        assert claims[claim].judge.holds(claims[claim].other_reading.measure(given))


def made_up(number: str, column: str, cells: list[tuple[object, str, float]]) -> Table:
    """A table with a row a cell: label, scheduler, value."""
    labels, names, values = zip(*cells, strict=True)
    kind = object if isinstance(labels[0], str) else float
    return Table({column: np.array(labels, kind), "scheduler": np.array(names, object), number: np.array(values)})


def slav(
    cells: Mapping[object, tuple[float, ...]], names: tuple[str, ...], changed: Mapping[tuple[object, str], float]
) -> list[tuple[object, str, float]]:
    """What is printed, some cells times a factor."""
    every = [(label, name, row[i]) for label, row in cells.items() for i, name in enumerate(names)]
    return [(label, name, value * changed.get((label, name), 1)) for label, name, value in every]


TABLES = {8: table8, 9: table9, 10: table10, 11: table11}


def of_table(number: int, changed: Mapping[tuple[object, str], float] | None = None) -> dict[str, Verdict]:
    from vinesim_papers.energy.periods import COLUMNS

    cells = slav(TABLES[number].CELLS, COLUMNS, changed or {})
    return verdicts(f"energy-table{number}", Data({"periods": made_up(SLAV, "period_s", cells)}))


@pytest.mark.parametrize("number", TABLES)
def test_a_table_reproduces_itself(number):
    found = of_table(number)
    if number == 8:  # 2 s: blocks of 32 have less than those of 64
        assert found.pop("ET8.6") is PARTLY
    assert set(found.values()) == {REPRODUCED}
    assert len(found) == 5


@pytest.mark.parametrize(
    ("number", "changed", "turned"),
    [
        (8, {(7, "RR"): 1.03}, {"ET8.1": NOT}),
        (8, {(7, "ABF32"): 0}, {"ET8.2": PARTLY, "ET8.5": NOT}),
        (8, {(7, "ABF32"): 0, (6, "ABF32"): 0}, {"ET8.2": NOT, "ET8.5": NOT}),
        (8, {(2, "ABF512"): 1e-3}, {"ET8.3": NOT}),
        (8, {(1, "BF"): 1.3}, {"ET8.4": NOT}),
        (8, {(1, "ABF512"): 4}, {"ET8.5": NOT}),
        (9, {(1, "DCBF"): 0.7}, {"ET9.4": NOT}),
        (9, {(4, "ABF256"): 0}, {"ET9.2": PARTLY, "ET9.5": NOT}),
        (10, {(2, "BF"): 0.2}, {"ET10.4": NOT}),  # a fifth: what a run of N = 20,000 gives five times
        (11, {(1, "BF"): 0.1}, {"ET11.4": NOT}),
        (11, {(4, "RR"): 0.97}, {"ET11.1": NOT}),
        (11, {(2, "ABF32"): 0.1}, {"ET11.3": NOT}),
    ],
)
def test_a_cell_turns_what_is_about_it(number, changed, turned):
    usual, found = of_table(number), of_table(number, changed)
    changes = {claim: verdict for claim, verdict in found.items() if verdict is not usual[claim]}
    changes.pop("ET8.6", None)
    assert changes == turned


def test_at_each_period_smaller_blocks_must_have_more():
    at_two_seconds = {(2, "ABF32"): 1e2, (2, "ABF64"): 0.9, (2, "ABF128"): 0.8, (2, "ABF256"): 0.7, (2, "ABF512"): 0.6}
    assert of_table(8, at_two_seconds)["ET8.6"] is REPRODUCED
    assert of_table(8, {(s, "ABF32"): 0 for s in range(1, 8)})["ET8.6"] is NOT


@pytest.mark.parametrize(
    ("changed", "turned"),
    [
        ({}, {}),
        ({("2 M, T", "RR"): 1.03}, {"ET6.1": NOT}),
        ({("1.5 M, T", "ABF32"): 0}, {"ET6.2": PARTLY, "ET6.3": PARTLY}),
        ({("1.5 M, T", "ABF32"): 0, ("2 M, T", "ABF64"): 0}, {"ET6.2": NOT, "ET6.3": PARTLY}),
        ({("1.5 M, 0.5 T", "BF"): 1.3}, {"ET6.4": PARTLY}),
        ({("1.5 M, 0.5 T", "DCBF"): 4}, {"ET6.4": NOT}),
        ({("M, 0.5 T", "ABF32"): 0.3}, {"ET6.5": NOT}),
    ],
)
def test_a_cell_of_table_6_turns_what_is_about_it(changed, turned):
    cells = slav(table6.CELLS, table6.COLUMNS, changed)
    found = verdicts("energy-table6", Data({"loads": made_up(SLAV, "load", cells)}))
    assert found == dict.fromkeys(found, REPRODUCED) | turned


def of_density(savings: Mapping[str, float]) -> Verdict:
    """The verdict on the fuller the less, where every scheduler saves that much."""
    cells = [(load, "RR", 100.0) for load in savings]
    cells += [(load, name, 100 - saved) for load, saved in savings.items() for name in BY_ENERGY[1:]]
    return verdicts("energy-table5", Data({"loads": made_up(ENERGY, "load", cells)}))["ET5.5"]


def test_the_fuller_the_less_is_judged_under_all_loads():
    savings = {"M, T": 29.0, "1.5 M, T": 28.0, "M, 0.5 T": 27.0, "2 M, T": 26.0, "1.5 M, 0.5 T": 17.5}
    assert of_density(savings) is REPRODUCED
    assert of_density(savings | {"1.5 M, T": 30.5}) is PARTLY
    assert of_density(savings | {"2 M, T": 31.0}) is NOT


def test_every_item_is_looked_at():
    large = {"energy-fig9", "energy-table2", "energy-table4", "energy-table9", "energy-table10", "energy-table11"}
    assert {item.id for item in items().values() if item.paper == "energy"} == {*EXPECTED, *MACHINES, *large}


MACHINES = ("energy-fig10", "energy-fig12", "energy-table3", "energy-table7")
NOT_TIMED = dict.fromkeys(("ET3.2", "ET7.3"), REPRODUCED)
TIMED = ("EF10.1", "EF12.1", "ET3.1", "ET3.3", "ET3.4", "ET3.5", "ET7.1", "ET7.2")


Seconds = Mapping[str, Mapping[str, float]]


def on_a_machine(seconds: Seconds) -> dict[str, Verdict]:
    """The verdicts where each policy needs these seconds at each size."""
    given = Data({"blocks": data("energy-table7").table("blocks")}, {"seconds": lambda: seconds})
    return {name: verdict for item_id in MACHINES for name, verdict in verdicts(item_id, given).items()}


def as_printed() -> dict[str, dict[str, float]]:
    """A machine that does what both tables say: for RR the faster one, for DCBF one whose cores share less."""
    found = {}
    for i, size in enumerate(speed.SIZES):
        brute = (1.0, 4.0, 25.0, 100.0)[i]
        times = dict(zip(table3.COLUMNS, table3.PRINTED[size], strict=True))
        times["RR"] = max(times["RR"] or 0, table7.PRINTED[size][0] or 0) or 50_000
        found[size] = {name: brute / of for name, of in times.items()}
        found[size] |= {"BF": brute, "BF, indexed": brute / 1e3, speed.TWO_BLOCKS: brute / 3, "DCBF": brute / 11.9}
    return found


def test_speed_ups_are_judged_by_quotients_of_one_run():
    printed = as_printed()
    found = on_a_machine(printed)
    assert found == NOT_TIMED | dict.fromkeys(TIMED, REPRODUCED)
    slower = {size: {name: 7 * took for name, took in of.items()} for size, of in printed.items()}
    assert on_a_machine(slower) == found
    alike = {size: dict.fromkeys(of, 1e-3) for size, of in printed.items()}
    assert on_a_machine(alike) == NOT_TIMED | dict.fromkeys(TIMED, NOT)


@pytest.mark.parametrize(
    ("changed", "turned"),
    [
        ({("DCBF", "10N, 10M"): 10}, {"EF10.1", "ET3.1", "ET3.4", "ET7.1"}),
        ({(speed.TWO_BLOCKS, "2N, 2M"): 4}, {"ET7.1", "ET7.2", "EF12.1"}),
        ({("BF", "10N, 10M"): 0.2}, {"EF10.1", "ET3.1", "ET3.3", "ET3.4", "ET3.5", "ET7.2", "EF12.1"}),
        ({("ABF512", "10N, 10M"): 30}, {"ET3.1", "ET3.5", "ET7.2"}),
    ],
)
def test_a_time_turns_what_is_about_it(changed, turned):
    printed = as_printed()
    seconds = {
        size: {name: took * changed.get((name, size), 1) for name, took in of.items()} for size, of in printed.items()
    }
    usual, found = on_a_machine(printed), on_a_machine(seconds)
    assert {claim for claim, verdict in found.items() if verdict is not usual[claim]} == turned


def test_this_machine_is_measured(monkeypatch):
    small = {"N, M": (2000, 200), "2N, 2M": (4000, 400)}
    monkeypatch.setattr(speed, "SIZES", small)
    found = speed._measured.__wrapped__()
    assert list(found) == list(small)
    assert all(took > 0 for size in found.values() for took in size.values())
    assert all(list(size) == list(speed.POLICIES) for size in found.values())


@pytest.mark.parametrize("item_id", _marked(i for i in EXPECTED if items()[i].draw is not None))
def test_figures_are_drawn(item_id):
    pytest.importorskip("matplotlib")
    drawn(item_id, data(item_id))


def test_the_figure_of_a_table_has_its_periods():
    pytest.importorskip("matplotlib")
    from vinesim_papers.energy.periods import COLUMNS

    cells = slav(table9.CELLS, COLUMNS, {})
    drawn("energy-table9", Data({"periods": made_up(SLAV, "period_s", cells)}))


def drawn(item_id: str, given: Data) -> None:
    (figure,) = items()[item_id].draw(given).values()
    assert figure.axes
    for axes in figure.axes:
        assert axes.get_lines() or axes.patches
        assert axes.get_xlabel() or axes.get_ylabel()


@pytest.mark.parametrize(
    ("name", "sizes", "n_periods"),
    [
        ("sizes", (1, 2, 5, 10), 1),
        ("loads", (1,), 1),
        ("periods", (1,), 8),
        ("periods_2n", (2,), 8),
        ("periods_5n", (5,), 8),
        ("periods_10n", (10,), 8),
    ],
)
def test_studies_are_of_the_thesis_size(name, sizes, n_periods):
    study = read_study(items()["energy-fig9"].study_file("sizes").with_name(f"{name}.yaml"))
    settings = [setting for axis in study.axes for setting in axis.settings]
    counts = {s["datacenter.racks[0].count"] * 100 for s in settings if "datacenter.racks[0].count" in s}
    assert counts == {20_000 * size for size in sizes}
    assert len([s for s in settings if set(s) == {"arrivals.iat", "period", "horizon"}]) in (0, n_periods)
