"""The scenario file's serving engines: processor types with batching."""

from collections.abc import Sequence
from dataclasses import replace

from vinesim.formats.scenario.declared import declared_by
from vinesim.formats.scenario.names import Names
from vinesim.formats.scenario.step_times import step_time
from vinesim.formats.scenario.type_parts import BatchingPart, ProcessorTypePart
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.batching import Batching
from vinesim.model.errors import InputError, Steps
from vinesim.model.speed_curves import ANY_TASK


def with_batching(source: YamlSource, parts: Sequence[ProcessorTypePart] | None, names: Names) -> Names:
    """Return the names with the batching of their processor types; what is wrong with it is added to the source."""
    processors = {one.name: one for one in names.processors}
    for i, part in enumerate(parts or []):
        if part.batching is None or part.name not in processors:
            continue
        path = ("processor_types", i, "batching")
        batching = _batching(source, path, part.batching, names)
        try:
            processors[part.name] = replace(processors[part.name], batching=batching)
        except InputError as error:
            source.adopt(error, path)
    return replace(names, processors=tuple(processors.values()))


def _batching(source: YamlSource, path: Steps, part: BatchingPart, names: Names) -> Batching | None:
    steps = {}
    for name, step in part.step.items():
        at = (*path, "step") if name == ANY_TASK and len(part.step) == 1 else (*path, "step", name)
        found = step_time(source, at, step, names.folder)
        if found is None:
            return None
        steps[name] = found
    given = declared_by(part, Batching) | {"step": steps[ANY_TASK] if list(steps) == [ANY_TASK] else steps}
    n_bytes = given.get("token_bytes", 0.0)
    return Batching(**given | {"token_bytes": int(n_bytes) if n_bytes.is_integer() else n_bytes})
