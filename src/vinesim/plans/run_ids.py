"""The runs that an answer rests on, by the first digits of their ids, which is enough to notice missing runs."""

from collections.abc import Iterable

DIGITS = 8


def joined(run_ids: Iterable[str]) -> str:
    """Return the first digits of the ids in a row."""
    return "".join(sorted({run_id[:DIGITS] for run_id in run_ids}))


def parted(text: str) -> set[str]:
    """Return the first digits of each id."""
    return {text[i : i + DIGITS] for i in range(0, len(text), DIGITS)}
