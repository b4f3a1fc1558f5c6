"""A fitted serving engine as the part of a scenario file that declares it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vinesim.formats.scenario.fitted_scenario import time_text
from vinesim.formats.source.files import replacing
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.model.batching import Batching
from vinesim.model.step_times import StepTime

TASK_TYPE = "TASK"  # that of a table of requests without task types


def step_document(step: StepTime, profile: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the section ``step`` for the formula, and the section ``profile`` that it was fitted with."""
    times = {
        "base": step.base_us,
        "prefill_token": step.prefill_token_us,
        "sequence": step.sequence_us,
        "memory_token": step.memory_token_us,
    }
    document: dict[str, Any] = {name: time_text(time_us) for name, time_us in times.items()}
    return document if profile is None else {**document, "profile": dict(profile)}


def batching_document(batching: Batching, step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section ``batching`` with a section ``step``."""
    names = ("max_sequences", "max_batched_tokens", "memory_tokens", "block_tokens", "when_full", "prefix_caching")
    return {**{name: getattr(batching, name) for name in names}, "step": dict(step)}


def write_engine(path: Path, name: str, section: Mapping[str, Any], log: str) -> None:
    """Write a section ``batching`` as a processor type with that name, in a file that scenarios can extend; another
    section as it is. Completely or not at all; raises :class:`InputError` if it cannot be written."""
    document, use = dict(section), "Put this under batching."
    if "batching" in section:
        use = f"A scenario with `extends: {path.name}` adds a datacenter and requests."
        document = {
            "extends": "none",
            "processor_types": [{"name": name, **section}],
            "task_types": [TASK_TYPE],
            "affinity": {"absolute": {name: {TASK_TYPE: 1}}},
        }
    with replacing(path) as draft:
        draft.write_text(f"# Fitted to {log}. {use}\n{as_yaml(document)}", encoding="utf-8")
