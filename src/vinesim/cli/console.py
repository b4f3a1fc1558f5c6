"""Tables and paragraphs for a terminal; loaded when one is printed, because it takes as long as a short run."""

from typing import Any

import rich.console
from rich.text import Text

from vinesim.cli.terminal import LEAST_COLUMNS, output, visible


class Console(rich.console.Console):
    """A console that takes strings as they are: one line each, without markup, emoji or control characters."""

    def __init__(self, *, stderr: bool = False, **settings: Any):
        file = None if stderr else output()
        super().__init__(markup=False, highlight=False, emoji=False, stderr=stderr, file=file, **settings)

    @property
    def size(self) -> rich.console.ConsoleDimensions:
        """The size of the terminal, as far as tables heed it."""
        found = super().size
        return rich.console.ConsoleDimensions(max(LEAST_COLUMNS, found.width), found.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size

    def render_str(self, text: str, **settings: Any) -> Text:
        """Return a string as it is printed."""
        return super().render_str(visible(text), **settings)


def lines(*parts: object) -> Text:
    """Return what is printed on several lines, such as a cell of a table."""
    return Text("\n".join(map(visible, parts)))
