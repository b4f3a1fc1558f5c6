"""The scenario file's datacenter: units counted by rack, listed, or read from a deployment file."""

from collections.abc import Iterator, Mapping

import numpy as np

from vinesim.formats.papers.deployment import read_deployment
from vinesim.formats.scenario.datacenter_parts import DatacenterPart, RackPart
from vinesim.formats.scenario.names import Names, read
from vinesim.formats.scenario.servers import SUFFIXES, read_servers
from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.catalog import codes_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError

Steps = tuple[str | int, ...]


def datacenter(source: YamlSource, part: DatacenterPart, names: Names) -> Datacenter | None:
    """Build the datacenter; None if it is wrong, with its problems added to the source."""
    if part.file is not None:
        reader = read_servers if part.file.endswith(SUFFIXES) else read_deployment
        center = read(source, ("datacenter", "file"), names.folder / part.file, reader, names.processors)
        columns = None if center is None else (center.unit_type, center.rack, center.shelf)
    else:
        columns = _counted(source, part, names)
    if columns is None:
        return None
    places = [(p.rack, p.shelf) for p in part.storage or []]
    try:
        return Datacenter(
            *columns,
            names.processors,
            n_racks=part.n_racks or 0,
            n_shelves=part.n_shelves or 0,
            storage=np.array(places, np.int32).reshape(-1, 2),
        )
    except InputError as error:
        source.adopt(error, ("datacenter",))
        return None


def _counted(
    source: YamlSource, part: DatacenterPart, names: Names
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Type, rack and shelf of each unit in the racks or in the list; None if they are wrong."""
    codes = codes_of(names.processors)
    n_before, n_units, n_racks = source.n_problems, 0, 0
    for path, name, count in _counts(part):
        n_units += count
        if name not in codes and path[-1] == "type":
            source.add_unknown(path, codes, "a processor type", value=name)
        elif name not in codes:
            source.add_unknown((*path, name), codes, "a processor type")
    n_racks = sum(rack.count for rack in part.racks or [])
    if n_units > MAX_UNITS or n_racks > MAX_UNITS:
        source.add(("datacenter",), f"at most {MAX_UNITS:,} units", f"{max(n_units, n_racks):,}")
    if source.n_problems > n_before:
        return None
    if part.units is not None:
        counts = [unit.count for unit in part.units]
        rows = np.array([(codes[unit.type], unit.rack, unit.shelf) for unit in part.units], np.int32)
        kind, rack, shelf = np.repeat(rows, counts, axis=0).T
        return kind, rack, shelf
    pieces, first = [], 0
    for rack_part in part.racks or []:
        kind, shelf = _rack(rack_part, codes)
        rack = np.repeat(np.arange(first, first + rack_part.count), len(kind))
        pieces.append((np.tile(kind, rack_part.count), rack, np.tile(shelf, rack_part.count)))
        first += rack_part.count
    kinds, racks, shelves = zip(*pieces, strict=True)
    return np.concatenate(kinds), np.concatenate(racks), np.concatenate(shelves)


def _counts(part: DatacenterPart) -> Iterator[tuple[Steps, str, int]]:
    """Yield every count of units: its path, the type's name, and how many units it makes in all."""
    for i, unit in enumerate(part.units or []):
        yield ("datacenter", "units", i, "type"), unit.type, unit.count
    for i, rack in enumerate(part.racks or []):
        for name, count in (rack.units or {}).items():
            yield ("datacenter", "racks", i, "units"), name, count * rack.count
        for j, node in enumerate(rack.nodes or []):
            for name, count in node.units.items():
                yield ("datacenter", "racks", i, "nodes", j, "units"), name, count * node.count * rack.count


def _rack(part: RackPart, codes: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Type and shelf of each unit of one rack of this kind."""
    if part.nodes is not None:
        kinds, shelves, bottom = [], [], 0
        for node in part.nodes:
            kind = np.repeat([codes[name] for name in node.units], list(node.units.values()))
            kinds.append(np.tile(kind, node.count))
            shelves.append(np.repeat(np.arange(bottom, bottom + node.count), len(kind)))
            bottom += node.count
        return np.concatenate(kinds), np.concatenate(shelves)
    units = part.units or {}
    counts = list(units.values())
    kind = np.repeat([codes[name] for name in units], counts)
    if part.layout == "alternate":  # the first of each type, then the second of each ...
        turn = np.concatenate([np.arange(count) for count in counts])
        kind = kind[np.argsort(turn, kind="stable")]
    return kind, np.arange(len(kind)) // part.per_shelf


def data_nodes(center: Datacenter) -> list[tuple[int, int]]:
    """Where generated data may lie: on the storage units or, if there are none, on the nodes that have a unit."""
    places = center.storage if len(center.storage) else np.stack([center.rack, center.shelf], axis=1)
    return sorted({(rack, shelf) for rack, shelf in places.tolist()})
