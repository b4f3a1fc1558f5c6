"""The space of a plan: its points by number, by what they choose, and which are next to each other."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.formats.plan.choices import cells, groups
from vinesim.model.plan import Plan
from vinesim.studies.expand import Points

NOT_MADE = -1  # position of a choice whose condition does not hold


class Space:
    """The points of a plan, numbered as in its study; a point has a position on each choice."""

    def __init__(self, plan: Plan):
        self.plan, self.choices = plan, plan.choices
        self.points = Points(plan.space)
        self.n = plan.space.n_points
        self._groups = groups(plan.choices)
        self._cells = [cells(group) for group in self._groups]
        self._cell_numbers = [{cell: i for i, cell in enumerate(found)} for found in self._cells]
        order = [choice.name for group in self._groups for choice in group]
        self._column = [order.index(choice.name) for choice in plan.choices]  # of a choice, among the groups' members

    @cached_property
    def positions(self) -> np.ndarray:
        """[points, choices] int32: NOT_MADE where a choice is not made."""
        sizes = [len(found) for found in self._cells]
        index = np.unravel_index(np.arange(self.n), sizes)
        columns = [np.array(found, np.int32)[i] for found, i in zip(self._cells, index, strict=True)]
        return np.concatenate(columns, axis=1)[:, self._column]

    def number(self, positions: tuple[int, ...]) -> int | None:
        """Return the point with these positions; None if there is none. Choices that are not made may have any."""
        at = dict(zip((choice.name for choice in self.choices), positions, strict=True))
        number = 0
        for group, known in zip(self._groups, self._cell_numbers, strict=True):
            cell = self._fitting([at[choice.name] for choice in group], group)
            if cell not in known:
                return None
            number = number * len(known) + known[cell]
        return number

    def _fitting(self, cell: list[int], group: list[Any]) -> tuple[int, ...]:
        """Return the cell without choices that are not made, and with the first position of choices that are."""
        labels: dict[str, Any] = {}
        found = []
        for choice, position in zip(group, cell, strict=True):
            is_made = all(labels.get(other, cell) in wanted for other, wanted in choice.when.items())
            position = (max(0, position) if choice.when else position) if is_made else NOT_MADE
            if is_made and 0 <= position < len(choice):
                labels[choice.name] = choice.labels[position]
            found.append(position)
        return tuple(found)

    def label(self, number: int) -> dict[str, Any]:
        """Return what a point chooses: labels by the names of the choices that are made."""
        row = self.positions[number]
        return {
            choice.name: choice.labels[position]
            for choice, position in zip(self.choices, row, strict=True)
            if position != NOT_MADE
        }

    def settings(self, number: int) -> dict[str, Any]:
        """Return the keys of the scenario that a point sets."""
        return self.points.settings(number)

    def neighbors(self, number: int, steps: tuple[int, ...] = (1,)) -> Iterator[int]:
        """Yield the points that differ in one choice: by ``steps`` steps if it is ordered, else in any way."""
        row = self.positions[number].tolist()
        for c, choice in enumerate(self.choices):
            if row[c] == NOT_MADE:
                continue
            ways = [row[c] + sign * step for step in steps for sign in (-1, 1)]
            for position in ways if choice.is_ordered else range(len(choice)):
                if position != row[c] and 0 <= position < len(choice):
                    found = self.number((*row[:c], position, *row[c + 1 :]))
                    if found is not None:
                        yield found

    def ends(self, number: int) -> Iterator[int]:
        """Yield the points that differ in one ordered choice, and have its first or last label: none of a type."""
        row = self.positions[number].tolist()
        for c, choice in enumerate(self.choices):
            if not choice.is_ordered or row[c] == NOT_MADE:
                continue
            for position in sorted({0, len(choice) - 1} - {row[c]}):
                found = self.number((*row[:c], position, *row[c + 1 :]))
                if found is not None:
                    yield found

    def swaps(self, number: int, steps: tuple[int, ...] = (1,)) -> Iterator[int]:
        """Yield the points with less of one ordered choice and more of another."""
        row = self.positions[number].tolist()
        ordered = [c for c, choice in enumerate(self.choices) if choice.is_ordered and row[c] != NOT_MADE]
        for less in ordered:
            for more in ordered:
                if less == more:
                    continue
                for down in steps:
                    for up in steps:
                        moved = list(row)
                        moved[less] -= down
                        moved[more] += up
                        if moved[less] >= 0 and moved[more] < len(self.choices[more]):
                            found = self.number(tuple(moved))
                            if found is not None:
                                yield found
