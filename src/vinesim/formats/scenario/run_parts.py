"""The sections of a scenario file about the run: outages, accounting, electricity."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from vinesim.formats.scenario.declared import part_of
from vinesim.formats.scenario.values import FileName, Index, Name, Number, Positive, Time
from vinesim.formats.source.parts import Part, wrong
from vinesim.model.accounting import Accounting
from vinesim.model.failure import Failures, Times
from vinesim.model.outage import Outage

_OfOutage: Any = part_of(Outage, up=Time | None)  # mypy takes no call as a base class
_OfTimes: Any = part_of(Times, shape=Positive | None)
_OfAccounting: Any = part_of(Accounting)


class OutagePart(_OfOutage):
    """A time during which a node is down."""


class TimesPart(_OfTimes):
    """A distribution of times."""


class _FailingPart(Part):
    type: Name | None = Field(None, description="All nodes with a unit of this processor type; by default all nodes.")
    rack: Index | None = Field(None, description="Rack of one node.")
    shelf: Index | None = Field(None, description="Shelf of one node.")


_OfFailures: Any = part_of(Failures, _FailingPart, until=TimesPart, repair=TimesPart)


class FailurePart(_OfFailures):
    """Nodes that fail at random and are repaired, again and again."""

    @model_validator(mode="after")
    def _one_choice(self) -> "FailurePart":
        if (self.rack is None) != (self.shelf is None):
            raise wrong("rack and shelf together", "one of them", "Give both.")
        if self.rack is not None and self.type is not None:
            raise wrong("a type, or a rack and shelf", "both", "Keep one.")
        return self


class AccountingPart(_OfAccounting):
    """How the periods of a batch policy are accounted for."""


class EnergyPart(Part):
    """What the run's electricity costs and emits."""

    price_per_kwh: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None, description="Price of a kWh, in any currency."
    )
    price_file: FileName | None = Field(
        None, description="Variable prices: a CSV file with hour or timestamp, and the price of a kWh."
    )
    carbon_g_per_kwh: Number | None = Field(None, description="Carbon intensity, g of CO2 per kWh.")
    carbon_file: FileName | None = Field(
        None, description="Variable carbon intensity: a CSV file with hour or timestamp, and g per kWh."
    )
    pue: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        1.0, description="Power usage effectiveness: energy from the grid / energy of the units."
    )
    start: Annotated[str, BeforeValidator(str), WithJsonSchema({"type": ["string", "number"]})] | None = Field(
        None, description="When the run begins: an hour or timestamp of the files; default: their first."
    )

    @model_validator(mode="after")
    def _one_each(self) -> "EnergyPart":
        for value, file in (("price_per_kwh", "price_file"), ("carbon_g_per_kwh", "carbon_file")):
            if getattr(self, value) is not None and getattr(self, file) is not None:
                raise wrong(f"{value} or {file}", "both", "Keep one.")
        if self.start is not None and self.price_file is None and self.carbon_file is None:
            raise wrong("start only with a price_file or a carbon_file", "neither", "Remove start.")
        return self
