"""What Tables 8 to 11 have in common: demand beyond capacity (SLAV) along the batch period."""

from collections.abc import Mapping, Sequence

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Between, Equal, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.measures import RR, begins, by_period, printed

EIGHTH = 8  # the study of round robin is of an eighth of Table 8's datacenter
GPU_FAILED = (
    "no over-commitment but a failing GPU: with all tasks of the fullest periods on one server the sums have such an "
    "order of magnitude, and the cells of the next longer period do not fit them"
)


def round_robin(number: int, column: Sequence[float], scale: float) -> Claim:
    """RR's column, from the longest batch period to the shortest."""

    def measure(data: Data) -> dict[str, float]:
        return {s: slav for s, slav in by_period(data, "round_robin", RR, scale).items() if s != "8 s" or number == 9}

    return Claim(
        id=f"ET{number}.1",
        source=f"section 4.1, Table {number}",
        statement="RR, from the longest batch period to the shortest",
        expected=printed(column),
        measure=measure,
        judge=Parts(*(Within(value, 0.02) for value in column)),
    )


def onsets(number: int, expected: Mapping[str, int], note: str = "") -> Claim:
    """Where each scheduler begins to load servers beyond their capacity."""
    return Claim(
        id=f"ET{number}.2",
        source=f"section 4.1, Table {number}",
        statement="As the batch period gets shorter, over-commitment first appears at",
        expected=", ".join(f"{name}: {s}" for name, s in expected.items()) + " s",
        measure=lambda data: begins(data, "periods", expected),
        judge=Parts(*(Equal(s) for s in expected.values())),
        partly=Parts(*(Between(s - 1, s + 1) for s in expected.values())),
        unit="s",
        note=note,
    )


def failed(number: int, cells: str, period_s: int, expected: float, scale: float) -> Claim:
    """A cell that no placement gives."""

    def measure(data: Data) -> float:
        return by_period(data, "periods", "ABF512", scale)[f"{period_s} s"]

    return Claim(
        id=f"ET{number}.3",
        source=f"section 4.1, Table {number}",
        statement=f"{cells}; ABF512 at {period_s} s",
        expected=f"{expected:.3g}",
        measure=measure,
        judge=Within(expected, 0.5),
        note=GPU_FAILED,
    )
