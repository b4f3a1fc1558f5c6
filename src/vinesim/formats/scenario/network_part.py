"""The scenario file's section about the network."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from vinesim.formats.scenario.declared import part_of
from vinesim.formats.scenario.values import Bandwidth, FileName, Time
from vinesim.formats.source.parts import Part, wrong
from vinesim.model.network import PRESETS, Network

_Hops = Annotated[int, Field(ge=0, le=1000)]


class _Preset(Part):
    preset: Literal["paper", "table4", "none"] = Field(
        "paper", description="paper: free, 10 Gb/s, 1 Gb/s, 200 ns per hop; table4: as in Table 4; none: all is free."
    )


_OfNetwork: Any = part_of(  # mypy takes no call as a base class
    Network,
    _Preset,
    local=Bandwidth | None,
    intra_rack=Bandwidth | None,
    inter_rack=Bandwidth | None,
    hop_latency=Time | None,
    hops_intra=_Hops | None,
    hops_inter=_Hops | None,
)


class NetworkPart(_OfNetwork):
    """The network: a preset's name, or its values; missing values come from the preset."""

    model_config = ConfigDict(json_schema_extra={"type": "object"})

    file: FileName | None = Field(None, description="A network file with these keys, in place of them.")

    @model_validator(mode="before")
    @classmethod
    def _name(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in PRESETS:
                raise wrong(
                    "one of " + ", ".join(PRESETS) + ", or a mapping of values",
                    repr(value)[:60],
                    "Give a file as {file: network.yaml}.",
                )
            return {"preset": value}
        return value

    @model_validator(mode="after")
    def _file_alone(self) -> "NetworkPart":
        others = sorted(self.model_fields_set - {"file"})
        if self.file is not None and others:
            raise wrong("a file, or values", "file and " + ", ".join(others), "Keep one.")
        return self
