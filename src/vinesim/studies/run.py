"""One run of a study: which point, which replication, and the hash of everything that decides its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vinesim.model.errors import InputError


@dataclass(frozen=True, slots=True)
class Run:
    """A run to do: the scenario's keys with their values at this point, and the seed."""

    index: int  # in the expansion: points in order, the replications of each point consecutively
    point: Mapping[str, Any]  # column -> label
    settings: Mapping[str, Any]  # key of the scenario -> value
    replication: int  # from 0
    seed: int
    run_id: str  # 16 hex digits
    point_number: int  # from 0
    is_random: bool = True  # whether another seed may give another result


def named(point: Mapping[str, Any]) -> str:
    """Format a point for messages: ``policy=high, arrivals.iat=5``."""
    texts = {column: f"{label:.12g}" if isinstance(label, float) else label for column, label in point.items()}
    return ", ".join(f"{column}={text}" for column, text in texts.items())


def at_point(error: InputError, point: Mapping[str, Any]) -> InputError:
    """Return the error with the point before each place; unchanged for a study without axes."""
    if not point:
        return error
    problems = [replace(problem, at=f"{named(point)}: {problem.where}") for problem in error.problems]
    return InputError(problems, error.n_problems)
