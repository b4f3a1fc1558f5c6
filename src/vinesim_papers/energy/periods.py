"""The common part of Tables 8 to 11: demand beyond capacity (SLAV) along the batch period."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import About, Between, Each, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.drawing import over_periods
from vinesim_papers.energy.measures import BF, BLOCKS, DCBF, RR, SLAV, begins, printed

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

Cells = Mapping[int, tuple[float, ...]]  # period, s -> the printed values of COLUMNS

COLUMNS = (RR, *BLOCKS, BF, DCBF)
FAILED_FROM = 1e8  # for a cell of ABF: no placement of these tasks gives as much
GPU_FAILED = (
    "such cells are of a failing GPU: no placement in blocks gives them, they are the same for all sizes of block, and "
    "they have the order of magnitude of all tasks of the fullest periods on one server"
)
FEW_TASKS = "where it begins is a matter of a few tasks among hundreds of thousands"
NEAR_ONSET = "a few tasks decide the cells near the onset"
DENSE = (
    "; at 3 s and below blocks have up to 40 times as much here, the larger the more: there is hardly room for all "
    "tasks, and what the thesis' GPU did with those that fit nowhere is not known (at 2 s it failed)"
)


def table(
    number: int, cells: Cells, study_file: str, n_servers: int, onset_note: str = "", more: tuple[Claim, ...] = ()
) -> Item:
    """Return the item of one of these tables, from runs of its own size; ``more`` claims follow the common ones."""
    return Item(
        id=f"energy-table{number}",
        title=f"Demand beyond capacity over the batch period, N = {n_servers:,}",
        source=f"section 4.1, Table {number}",
        studies={"periods": study_file},
        draw=partial(_draw, number),
        claims=(*_claims(number, cells, onset_note), *more),
    )


def _draw(number: int, data: Data) -> dict[str, "Figure"]:
    return {f"energy-table{number}": over_periods(data, "periods")}


def _claims(number: int, cells: Cells, onset_note: str) -> Iterator[Claim]:
    round_robin = _column(cells, RR)
    onsets = _onsets(cells)
    failed = {at: value for at, value in _of(cells, BLOCKS).items() if value >= FAILED_FROM}
    in_blocks = {at: value for at, value in _of(cells, BLOCKS).items() if 0 < value < FAILED_FROM}
    overload = {at: value for at, value in _of(cells, (BF, DCBF)).items() if value > 0}
    make = partial(_claim, number)
    yield make(
        1,
        "RR, from the longest batch period to the shortest",
        printed(round_robin.values()),
        lambda data: {f"{s} s": data.mean("periods", SLAV, scheduler=RR, period_s=s) for s in round_robin},
        judge=Parts(*(Within(value, 0.02) for value in round_robin.values())),
    )
    yield make(
        2,
        "As the batch period gets shorter, over-commitment first appears at",
        ", ".join(f"{name}: {s}" for name, s in onsets.items()) + " s",
        lambda data: begins(data, "periods", onsets),
        judge=Parts(*(Equal(s) for s in onsets.values())),
        partly=Parts(*(Between(s - 1, s + 1) for s in onsets.values())),
        unit="s",
        note=onset_note,
    )
    yield make(
        3,
        f"ABF at {_periods(failed)}: 1e8 and more",
        _span(failed),
        _quotients(failed),
        judge=Each(About(1)),
        unit="of what is printed",
        note=GPU_FAILED,
    )
    yield make(
        4,
        f"Beyond the capacity of the datacenter: BF and DCBF at {_periods(overload)}",
        printed(overload.values()),
        _quotients(overload),
        judge=Each(Within(1, 0.25)),
        unit="of what is printed",
    )
    yield make(
        5,
        f"The other {len(in_blocks)} cells of ABF that are above 0",
        _span(in_blocks),
        _quotients(in_blocks),
        judge=Each(About(1)),
        unit="of what is printed",
        note=NEAR_ONSET + (DENSE if any(s <= 3 for _, s in in_blocks) else ""),
    )


def _claim(
    number: int, place: int, statement: str, expected: str, measure: Callable[[Data], object], **rest: object
) -> Claim:
    source = f"section 4.1, Table {number}"
    return Claim(f"ET{number}.{place}", source, statement, expected, measure, **rest)  # type: ignore[arg-type]


def _column(cells: Cells, name: str) -> dict[int, float]:
    return {s: row[COLUMNS.index(name)] for s, row in cells.items()}


def _of(cells: Cells, names: tuple[str, ...]) -> dict[tuple[str, int], float]:
    return {(name, s): value for name in names for s, value in _column(cells, name).items()}


def _onsets(cells: Cells) -> dict[str, int]:
    """Return the longest period at which a scheduler has any, unless the GPU failed there."""
    found = {}
    for name in COLUMNS[1:]:
        s = max(s for s, value in _column(cells, name).items() if value > 0)
        if name not in BLOCKS or cells[s][COLUMNS.index(name)] < FAILED_FROM:
            found[name] = s
    return found


def _quotients(expected: Mapping[tuple[str, int], float]) -> Callable[[Data], dict[str, float]]:
    """Divide the measured by the printed value, cell by cell."""

    def measure(data: Data) -> dict[str, float]:
        return {
            f"{name}, {s} s": data.mean("periods", SLAV, scheduler=name, period_s=s) / value
            for (name, s), value in expected.items()
        }

    return measure


def _periods(cells: Mapping[tuple[str, int], float]) -> str:
    return ", ".join(f"{s} s" for s in dict.fromkeys(s for _, s in cells))


def _span(cells: Mapping[tuple[str, int], float]) -> str:
    return f"{min(cells.values()):.3g} to {max(cells.values()):.3g}"
