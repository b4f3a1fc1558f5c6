"""What the placement policies of the energy-aware scheduler thesis share. Source: its sections 3 and 3.5."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from vinesim.policies.contract import BatchPolicy


@dataclass(frozen=True)
class Placing(BatchPolicy):
    """Places every task, on a full server if need be; ``realloc`` says whether running tasks are placed anew too."""

    may_overcommit: ClassVar[bool] = True
    replaces_running: ClassVar[bool] = True

    period_us: float = 10e6
    realloc: Literal["all", "new"] = "all"

    def __post_init__(self) -> None:
        object.__setattr__(self, "replaces_running", self.realloc == "all")
