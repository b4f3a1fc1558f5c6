"""Build the datacenter of a scenario file: units counted by rack, listed, or read from a deployment file."""

from collections.abc import Iterator, Mapping

import numpy as np

from vinesim.formats.papers.deployment import read_deployment
from vinesim.formats.scenario.datacenter_parts import DatacenterPart, RackPart, UnitPart, UnitsPart
from vinesim.formats.scenario.declared import declared_by
from vinesim.formats.scenario.names import Names, read
from vinesim.formats.scenario.servers import SUFFIXES, read_servers
from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.catalog import codes_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Steps
from vinesim.workloads.placement import distinct_nodes

Stack = list[tuple[str, float | None, int]]  # units in order: type, capacity (None: the type's), count
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # type, capacity, rack and shelf of each unit
NO_NAME = ""


def datacenter(source: YamlSource, part: DatacenterPart, names: Names) -> Datacenter | None:
    """Build the datacenter; None if it is invalid, with its problems added to the source."""
    node_names, rack_names = None, ()
    if part.file is not None:
        reader = read_servers if part.file.endswith(SUFFIXES) else read_deployment
        center = read(source, ("datacenter", "file"), names.folder / part.file, reader, names.processors)
        columns = None if center is None else (center.unit_type, center.unit_capacity, center.rack, center.shelf)
        if center is not None:
            node_names, rack_names = center.node_names, center.rack_names
    else:
        columns = _counted(source, part, names)
    if columns is None:
        return None
    if any(node.names for rack_part in part.racks or [] for node in rack_part.nodes or []):
        node_names = _names_of_nodes(source, part, columns)
        if node_names is None:
            return None
    kind, capacity, rack, shelf = columns
    of_type = np.array([p.capacity for p in names.processors])[kind]
    places = [(p.rack, p.shelf) for p in part.storage or []]
    try:
        return Datacenter(
            kind,
            rack,
            shelf,
            names.processors,
            storage=np.array(places, np.int32).reshape(-1, 2),
            capacity=np.where(np.isnan(capacity), of_type, capacity),
            node_names=node_names,
            rack_names=rack_names,
            rack_power_cap_w=_rack_caps(part, int(rack.max(initial=0)) + 1),
            **declared_by(part, Datacenter),
        )
    except InputError as error:
        source.adopt(error, ("datacenter",))
        return None


def _rack_caps(part: DatacenterPart, n_used: int) -> np.ndarray | None:
    """Return [R] the power cap of each rack, W, infinite without one; None if no rack has one."""
    if all(one.power_cap is None for one in part.racks or []):
        return None
    caps = [np.inf if one.power_cap is None else one.power_cap for one in part.racks or []]
    of_racks = np.repeat(caps, [one.count for one in part.racks or []])
    n = max(part.n_racks or 0, n_used)
    return np.append(of_racks, np.full(max(0, n - len(of_racks)), np.inf))[:n]


def _counted(source: YamlSource, part: DatacenterPart, names: Names) -> Columns | None:
    """Return the columns of the units in the racks or in the list; None if they are invalid."""
    codes = codes_of(names.processors)
    n_before, n_units = source.n_problems, 0
    for path, name, unit, count in _counts(part):
        n_units += count
        place = path if path[-1] == "type" else (*path, name)
        if name not in codes and path[-1] == "type":
            source.add_unknown(path, codes, "a processor type", value=name)
        elif name not in codes:
            source.add_unknown(place, codes, "a processor type")
        elif unit.cores is not None and not names.processors[codes[name]].is_cpu:
            remedy = "Write capacity, or give the type attributes: {cores: ...}."
            expected = "cores of a CPU: a type whose name begins with CPU, or with the attribute cores"
            source.add(place, expected, f"cores of {name}", remedy)
    for i, rack_part in enumerate(part.racks or []):
        for j, node in enumerate(rack_part.nodes or []):
            n_units += len(node.amounts) * node.count * rack_part.count
            for name in (name for name in node.resources if name not in names.resources):
                place = ("datacenter", "racks", i, "nodes", j, "resources", name)
                source.add(
                    place,
                    "a resource, which runs nothing",
                    f"the processor type {name}",
                    "Write it under units.",
                    at_key=True,
                )
    n_racks = sum(rack.count for rack in part.racks or [])
    if n_units > MAX_UNITS or n_racks > MAX_UNITS:
        source.add(("datacenter",), f"at most {MAX_UNITS:,} units", f"{max(n_units, n_racks):,}")
    if source.n_problems > n_before:
        return None
    if part.units is not None:
        kind, capacity = _units([(unit.type, unit.size, unit.count) for unit in part.units], codes)
        counts = [unit.count for unit in part.units]
        rack = np.repeat([unit.rack for unit in part.units], counts)
        return kind, capacity, rack, np.repeat([unit.shelf for unit in part.units], counts)
    pieces, first = [], 0
    for rack_part in part.racks or []:
        kind, capacity, shelf = _rack(rack_part, codes)
        n = rack_part.count
        rack = np.repeat(np.arange(first, first + n), len(kind))
        pieces.append((np.tile(kind, n), np.tile(capacity, n), rack, np.tile(shelf, n)))
        first += n
    kinds, capacities, racks, shelves = zip(*pieces, strict=True)
    return np.concatenate(kinds), np.concatenate(capacities), np.concatenate(racks), np.concatenate(shelves)


def _counts(part: DatacenterPart) -> Iterator[tuple[Steps, str, UnitPart | UnitsPart, int]]:
    """Yield every count of units: its path, the type's name, its declaration, and the resulting number of units."""
    for i, unit in enumerate(part.units or []):
        yield ("datacenter", "units", i, "type"), unit.type, unit, unit.count
    for i, rack in enumerate(part.racks or []):
        for name, units in (rack.units or {}).items():
            yield ("datacenter", "racks", i, "units"), name, units, units.count * rack.count
        for j, node in enumerate(rack.nodes or []):
            for name, units in node.units.items():
                path = ("datacenter", "racks", i, "nodes", j, "units")
                yield path, name, units, units.count * node.count * rack.count


def _units(stack: Stack, codes: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the type and capacity of each unit of a stack; NaN stands for the type's capacity."""
    counts = [count for _, _, count in stack]
    sizes = [np.nan if size is None else size for _, size, _ in stack]
    return np.repeat([codes[name] for name, _, _ in stack], counts), np.repeat(np.array(sizes, np.float64), counts)


def _rack(part: RackPart, codes: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the type, capacity and shelf of each unit in one rack of this kind."""
    if part.nodes is not None:
        pieces, bottom = [], 0
        for node in part.nodes:
            stack = [(name, units.size, units.count) for name, units in node.units.items()]
            kind, capacity = _units(stack + [(name, amount, 1) for name, amount in node.amounts.items()], codes)
            shelf = np.repeat(np.arange(bottom, bottom + node.count), len(kind))
            pieces.append((np.tile(kind, node.count), np.tile(capacity, node.count), shelf))
            bottom += node.count
        kinds, capacities, shelves = zip(*pieces, strict=True)
        return np.concatenate(kinds), np.concatenate(capacities), np.concatenate(shelves)
    units = part.units or {}
    counts = [one.count for one in units.values()]
    kind, capacity = _units([(name, one.size, one.count) for name, one in units.items()], codes)
    if part.layout == "alternate":  # the first unit of each type, then the second of each, and so on
        turn = np.concatenate([np.arange(count) for count in counts])
        order = np.argsort(turn, kind="stable")
        kind, capacity = kind[order], capacity[order]
    return kind, capacity, np.arange(len(kind)) // part.per_shelf


def _names_of_nodes(source: YamlSource, part: DatacenterPart, columns: Columns) -> np.ndarray | None:
    """Return [U] the name of each unit's node, or NO_NAME; None if two nodes have the same name."""
    named: dict[tuple[int, int], str] = {}
    seen: set[str] = set()
    n_before, first = source.n_problems, 0
    for i, rack_part in enumerate(part.racks or []):
        bottom = 0
        for j, node in enumerate(rack_part.nodes or []):
            places = [(first + rack, bottom + k) for rack in range(rack_part.count) for k in range(node.count)]
            for place, name in zip(places, node.names or [], strict=False):
                if name in seen:
                    source.add(("datacenter", "racks", i, "nodes", j, "names"), "each name once", f"{name} again")
                seen.add(name)
                named[place] = name
            bottom += node.count
        first += rack_part.count
    if source.n_problems > n_before:
        return None
    _, _, rack, shelf = columns
    return np.array([named.get(place, NO_NAME) for place in zip(rack.tolist(), shelf.tolist(), strict=True)])


def data_nodes(center: Datacenter) -> np.ndarray:
    """Return the nodes for generated data, [n, 2] int32: those with storage units or, if none have, with any unit."""
    return distinct_nodes(*center.storage.T) if len(center.storage) else distinct_nodes(center.rack, center.shelf)
