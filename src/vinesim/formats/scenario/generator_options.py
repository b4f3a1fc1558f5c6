"""Convert the options of a generator, from a scenario or the command line: units, distributions, job classes, files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vinesim.formats.importers.counts import read_counts
from vinesim.formats.importers.token_counts import read_token_counts
from vinesim.formats.scenario.arrivals import arrivals_of
from vinesim.formats.scenario.distribution_parts import distribution_of
from vinesim.formats.scenario.names import read
from vinesim.formats.scenario.workload_parts import NOT_OF_A_KIND, OF_ARRIVALS, ArrivalsPart, TokenLogPart
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.quantities import size_bytes, time_us
from vinesim.formats.source.yaml_source import YamlSource, shown
from vinesim.model.errors import InputError, Steps, dotted
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import Distribution
from vinesim.workloads.job_mix import JobKind
from vinesim.workloads.options import REQUIRED, Option
from vinesim.workloads.registry import GENERATORS
from vinesim.workloads.spec import GeneratorSpec


class OptionsReader:
    """Converts options to the arguments of a generator; problems are added to the source. Files are in ``folder``."""

    def __init__(self, source: YamlSource, folder: Path):
        self.source, self.folder = source, folder

    def read(
        self, spec: GeneratorSpec, given: Mapping[str, Any], path: Steps, not_here: Sequence[str] = OF_ARRIVALS
    ) -> dict[str, Any]:
        """Return the options by name; those in ``not_here`` must be set elsewhere in the file."""
        known = {name: option for name, option in spec.options.items() if name not in not_here}
        values: dict[str, Any] = {}
        for name, value in given.items():
            place = (*path, name)
            if name in OF_ARRIVALS and name in not_here:
                self.source.add(place, "arrivals in their own section", "an option", "Put it under arrivals:.")
            elif name not in known:
                self.source.add_unknown(place, known, f"an option of {spec.name}")
            else:
                values[name] = self._value(known[name], place, value)
        for name, option in known.items():
            if option.default is REQUIRED and name not in given:
                self.source.add((*path, name), option.expected, "nothing", "Add it: it has no default.")
        return values

    def _value(self, option: Option, path: Steps, value: Any) -> Any:
        if option.is_distribution and not (value is None and option.default is None):
            return value if isinstance(value, Distribution) else distribution_of(self.source, path, value, self.folder)
        if option.is_by_name and isinstance(value, Mapping):
            return self._by_name(path, value)
        if option.type is Arrivals and isinstance(value, Mapping):
            return self._arrivals(path, value)
        if option.type == list[JobKind]:
            return self._kinds(option, path, value)
        if option.name == "series" and isinstance(value, Mapping):
            return self._series(path, value)
        if option.name == "tokens" and isinstance(value, Mapping):
            return self._tokens(path, value)
        value = _quantity(path, option.name, value)
        try:
            option.accept(value)
        except TypeError:
            self.source.add(path, option.expected, repr(value)[:60])
        return value

    def _arrivals(self, path: Steps, value: Any) -> Arrivals | None:
        part = checked_part(self.source, tuple(path), ArrivalsPart, value)
        return None if part is None else arrivals_of(self.source, part, self.folder, path)

    def _kinds(self, option: Option, path: Steps, value: Any) -> list[JobKind]:
        if not isinstance(value, list) or not value:
            self.source.add(path, option.expected, shown(value))
            return []
        return [kind for i, item in enumerate(value) if (kind := self._kind(option, (*path, i), item)) is not None]

    def _kind(self, option: Option, path: Steps, item: Any) -> JobKind | None:
        if isinstance(item, JobKind):
            return item
        if not isinstance(item, Mapping):
            self.source.add(path, option.expected, shown(item))
            return None
        name, arrivals = item.get("name"), None
        if not isinstance(name, str) or not name:
            self.source.add((*path, "name"), "the name of the kind", shown(name), "" if name else "Add name:.")
        if "arrivals" in item:
            arrivals = self._arrivals((*path, "arrivals"), item["arrivals"])
        else:
            remedy = "Add arrivals:, such as {poisson: {mean: 10 ms}}."
            self.source.add((*path, "arrivals"), "when the jobs of the kind arrive", "nothing", remedy)
        rest = {key: value for key, value in item.items() if key not in ("name", "arrivals")}
        options = self.read(GENERATORS["jobs"], rest, path, NOT_OF_A_KIND)
        return None if arrivals is None else JobKind(str(name), arrivals, options)

    def _by_name(self, path: Steps, given: Mapping[str, Any]) -> dict[str, Distribution]:
        """Return the distribution of each name; invalid ones are reported and left out."""
        found = {}
        for name, value in given.items():
            is_made = isinstance(value, Distribution)
            one = value if is_made else distribution_of(self.source, (*path, str(name)), value, self.folder)
            if one is not None:
                found[str(name)] = one
        return found

    def _series(self, path: Steps, files: Mapping[str, Any]) -> dict[str, Any]:
        """Read the series of counts of each application; invalid ones are reported and left out."""
        found = {}
        for name, file in files.items():
            series = read(self.source, (*path, str(name)), self.folder / str(file), read_counts)
            if series is not None:
                found[str(name)] = series
        return found

    def _tokens(self, path: Steps, logs: Mapping[str, Any]) -> dict[str, Any]:
        """Read the log of requests of each application; invalid ones are reported and left out."""
        found: dict[str, Any] = {}
        for name, given in logs.items():
            where = (*path, str(name))
            part = checked_part(self.source, where, TokenLogPart, given)
            if part is not None:
                counts = read(self.source, (*where, "file"), self.folder / part.file, read_token_counts)
                found |= {} if counts is None else {str(name): counts}
        return found


def _quantity(path: Steps, name: str, value: Any) -> Any:
    """Convert a text such as "64 KiB" to a number, for an option in bytes or us."""
    convert = size_bytes if name.endswith("_bytes") else time_us if name.endswith("_us") else None
    if convert is None or not isinstance(value, str):
        return value
    try:
        return convert(value, dotted(path))
    except InputError:
        return value  # the option's own check reports it
