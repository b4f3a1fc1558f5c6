"""The scenario file's serving engines: processor types with batching."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
    n_bytes: Any = part.token_bytes or 0.0
    return Batching(
        max_sequences=part.max_sequences,
        max_batched_tokens=part.max_batched_tokens,
        memory_tokens=part.memory_tokens,
        step=steps[ANY_TASK] if list(steps) == [ANY_TASK] else steps,
        block_tokens=part.block_tokens,
        when_full=part.when_full,
        prefix_caching=part.prefix_caching,
        role=part.role,
        token_bytes=int(n_bytes) if n_bytes.is_integer() else n_bytes,
    )
