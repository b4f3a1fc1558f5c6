"""What the placement policies of the energy-aware scheduler thesis share. Source: its sections 3 and 3.5."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from vinesim.policies.contract import BatchPolicy


@dataclass(frozen=True)
class Placing(BatchPolicy):
    """Places every task, on a full server if need be; ``realloc`` says whether running tasks are placed anew too.

    ``order`` says which come first then: the oldest tasks (old_first), or the new ones, then those of the period before
    and so on (new_first).
    """

    may_overcommit: ClassVar[bool] = True
    replaces_running: ClassVar[bool] = True
    steady: ClassVar[bool] = True  # choices between costs that change with the time left, each along a line

    realloc: Literal["all", "new"] = "all"
    order: Literal["old_first", "new_first"] = "old_first"

    def __post_init__(self) -> None:
        object.__setattr__(self, "replaces_running", self.realloc == "all")
        object.__setattr__(self, "new_first", self.replaces_running and self.order == "new_first")
