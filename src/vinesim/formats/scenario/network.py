"""The section ``network`` of a scenario file: the name of a preset, values, or a YAML file of bandwidths and hops.

Keys: ``local``, ``intra_rack``, ``inter_rack`` (bytes per us, or "10 Gb/s"; null: the transfer is free),
``hop_latency`` (us, or "200 ns"), ``hops_intra``, ``hops_inter``. A missing key has its value in the preset ``paper``.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

import yaml
from pydantic import ConfigDict, Field, model_validator

from vinesim.formats.scenario.declared import part_of
from vinesim.formats.scenario.values import Bandwidth, FileName, Time
from vinesim.formats.source.files import read_text
from vinesim.formats.source.limits import DOCUMENT_BYTES
from vinesim.formats.source.parts import Part, wrong
from vinesim.formats.source.quantities import bandwidth, time_us
from vinesim.formats.source.yaml_nodes import compose, scalar
from vinesim.model.attributes import Declared, attributes_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.network import BANDWIDTH, PRESETS, Network

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


def _bandwidth(text: str, where: str) -> float:
    value = bandwidth(text, where)
    if value <= 0:
        raise InputError([Problem(where, "a bandwidth above 0, or null for free", repr(text))])
    return value


def _hops(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError([Problem(where, "a whole number of hops, 0 or more", repr(text[:40]))])
    return int(text)


def _reader_of(one: Declared) -> Callable[[str, str], float]:
    return _bandwidth if one.about.rule is BANDWIDTH else _hops if one.annotation is int else time_us


_KEYS = {one.key: one for one in attributes_of(Network)}


def read_network(name: str | os.PathLike[str]) -> Network:
    """Return the network of a preset's name or a YAML file. Raises :class:`InputError` with file, line and column."""
    if str(name) in PRESETS:
        return PRESETS[str(name)]
    if not os.path.exists(name) and not str(name).endswith((".yaml", ".yml")):
        raise InputError([Problem("network", f"{', '.join(PRESETS)}, or a YAML file", repr(str(name)))])
    return _parse(name, read_text(name, DOCUMENT_BYTES))


def _parse(path: str | os.PathLike[str], text: str) -> Network:
    root = compose(text, str(path))
    expected = "a mapping of " + ", ".join(_KEYS)
    if not isinstance(root, yaml.MappingNode):
        where = _place(path, root) if root else str(path)
        raise InputError([Problem(where, expected, "something else" if root else "an empty file")])
    values: dict[str, Any] = {}
    problems = []
    for key, node in root.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "..."
        if name not in _KEYS:
            problems.append(Problem(_place(path, key), "one of " + ", ".join(_KEYS), repr(name[:40])))
            continue
        declared = _KEYS[name]
        field = declared.name
        where = f"{_place(path, node)}: {name}"
        if field in values:
            problems.append(Problem(_place(path, key), "each key once", repr(name), "Keep one."))
        elif not isinstance(node, yaml.ScalarNode):
            problems.append(Problem(where, "one value", "a list or mapping"))
        elif scalar(node) is None:
            values[field] = None
            if declared.about.rule is not BANDWIDTH:
                problems.append(Problem(where, "a number", "null", "Remove the key to use the default."))
        else:
            try:
                values[field] = _reader_of(declared)(node.value, where)
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(problems)
    return Network(**values)


def _place(path: str | os.PathLike[str], node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
