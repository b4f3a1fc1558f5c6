"""The network between a task's data and the unit that runs it.

Source: VineSim report, section 4.1 (B_L > B_R > B_I) and 8.8.1 (10 Gb/s, 1 Gb/s, 200 ns, 2 and 4 hops).
"""

import math
import warnings
from dataclasses import dataclass, field

from vinesim.model.attributes import NUMBER, Rule, attribute, wrong_attributes
from vinesim.model.errors import InputError, InputWarning
from vinesim.model.scalars import is_above_0

BANDWIDTH = Rule("a bandwidth above 0, or null for free", lambda value: value is None or is_above_0(value))


@dataclass(frozen=True)
class Network:
    """Bandwidths (bytes per us; None: the transfer is free) and the latency of the hops on the way."""

    # fmt: off
    local: float | None = field(default=None, metadata=attribute(
        "B_L: to data at the unit's own node; null: free.", BANDWIDTH))
    intra_rack: float | None = field(default=1250.0, metadata=attribute(
        "B_R: to data in the same rack; null: free.", BANDWIDTH))
    inter_rack: float | None = field(default=125.0, metadata=attribute(
        "B_I: to data in another rack; null: free.", BANDWIDTH))
    hop_latency_us: float = field(default=0.2, metadata=attribute("Latency of each hop.", NUMBER))
    hops_intra: int = field(default=2, metadata=attribute("Hops within a rack.", NUMBER))
    hops_inter: int = field(default=4, metadata=attribute("Hops between racks.", NUMBER))
    # fmt: on

    def __post_init__(self) -> None:
        if problems := wrong_attributes(("network",), self):
            raise InputError(problems)

    @property
    def tier_bandwidth(self) -> tuple[float, float, float]:
        """Bandwidth of each tier, bytes per us; infinite if transfers are free."""
        local, intra, inter = (
            math.inf if b is None else float(b) for b in (self.local, self.intra_rack, self.inter_rack)
        )
        return local, intra, inter

    @property
    def tier_latency_us(self) -> tuple[float, float, float]:
        """Latency of the hops of each tier, us; a free tier has none."""
        intra = 0.0 if self.intra_rack is None else self.hop_latency_us * self.hops_intra
        inter = 0.0 if self.inter_rack is None else self.hop_latency_us * self.hops_inter
        return (0.0, intra, inter)

    def warn_if_unordered(self) -> None:
        """Warn if B_L > B_R > B_I does not hold, which the papers assume."""
        local, intra, inter = self.tier_bandwidth
        free = self.intra_rack is None and self.inter_rack is None
        if not free and not local > intra > inter:
            warnings.warn(
                f"network: the papers assume local > intra_rack > inter_rack, here {local:g}, {intra:g}, {inter:g} "
                "bytes per us; the run uses these values",
                InputWarning,
                stacklevel=3,
            )


PAPER = Network()
TABLE_4 = Network(intra_rack=1310.72, inter_rack=131.072, hop_latency_us=0.0)
NONE = Network(intra_rack=None, inter_rack=None, hop_latency_us=0.0)
PRESETS = {"paper": PAPER, "table4": TABLE_4, "none": NONE}
