"""The policy of the study: fgd, with the typical pods of a list as the paper defines them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.policies.scoring.fgd import Fgd
from vinesim.policies.scoring.fragmentation import SIZED_BY_POD_TYPES, PodType, typical_pods
from vinesim.state.scratch import OptionValue


@dataclass(frozen=True)
class FgdOfList(Fgd):
    """``fgd`` whose typical pods are given as ``pod_types``, also those that no node can hold and that never run."""

    name: ClassVar[str] = "fgd_of_list"
    decide: ClassVar[Any] = staticmethod(Fgd.decide)
    keeps_tasks: ClassVar[bool] = False

    pod_types: tuple[PodType, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = {name: (self.scratch[name][0], f"{len(self.pod_types)}") for name in SIZED_BY_POD_TYPES}
        object.__setattr__(self, "scratch", {**self.scratch, **sizes})

    def values_of_options(self) -> dict[str, OptionValue]:
        """Return the options that are numbers."""
        return {name: value for name, value in super().values_of_options().items() if name != "pod_types"}

    def typical_pods(self, model: Any, pods: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return those of the list."""
        return typical_pods(self.pod_types, len(self.pod_types))
