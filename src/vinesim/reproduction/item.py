"""An item of a paper: a figure, a table, or the statements of its text, with everything needed to reproduce it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.formats.results.table import Table
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.data import Data
from vinesim.reproduction.inputs import Input

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

Changes = Mapping[str, Any]  # key of a scenario file -> value, as with `--set`


@dataclass(frozen=True)
class Item:
    """A figure, a table or the text of a paper.

    ``studies`` are swept. ``runs`` are single runs for what a sweep's numbers do not contain (a task table, a time
    series); each is a function of the changes to its scenario and is called when a claim or figure first requests it.
    ``inputs`` are files that are not part of the package, and numbers: then the runs are functions of these by name and
    of the number of ``workers``.
    ``draw`` returns the figures by file name without suffix, ``tables`` the numbers behind them that no sweep has.
    """

    id: str  # such as fig4
    title: str
    source: str
    claims: tuple[Claim, ...]
    studies: Mapping[str, str] = field(default_factory=dict)  # name -> study file in the paper's package
    runs: Mapping[str, Callable[[Changes], Any]] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    draw: Callable[[Data], Mapping[str, "Figure"]] | None = None
    tables: Callable[[Data], Mapping[str, Table]] | None = None
    paper: str = ""  # the name of its package's entry point, and the package's folder: set by the registry
    folder: Path = Path()

    def of_kind(self, kind: Kind) -> tuple[Claim, ...]:
        """Return its claims of that kind."""
        return tuple(claim for claim in self.claims if claim.kind is kind)

    def study_file(self, name: str) -> Path:
        """Return the study file of that name."""
        return self.folder / self.studies[name]
