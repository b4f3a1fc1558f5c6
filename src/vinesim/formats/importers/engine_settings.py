"""Read the settings of a serving engine from the ``meta.json`` that a run of vLLM wrote."""

import json
from pathlib import Path
from typing import Any

from vinesim.formats.source.files import read_text
from vinesim.model.errors import InputError, Problem

KEYS = {  # the possible places of each setting
    "max_sequences": (("engine_kwargs", "max_num_seqs"),),
    "max_batched_tokens": (("engine_kwargs", "max_num_batched_tokens"),),
    "memory_tokens": (("kv_cache", "num_kv_tokens"),),
    "block_tokens": (("kv_cache", "block_size"),),
    "prefix_caching": (("kv_cache", "enable_prefix_caching"), ("engine_kwargs", "enable_prefix_caching")),
}
ENGINES = ("engine_kwargs", "data_parallel_size")  # the number of engines that share the requests


def read_engine_settings(path: Path) -> dict[str, Any]:
    """Return the engine's settings in the file, by their names in a scenario. Raises :class:`InputError`."""
    try:
        document = json.loads(read_text(path))
    except ValueError as error:
        raise InputError([Problem(str(path), "a JSON document", str(error))]) from None
    found: dict[str, Any] = {}
    problems = []
    for name, places in KEYS.items():
        for place in places:
            value = _at(document, place)
            kind = bool if name == "prefix_caching" else int
            if value is not None and type(value) is not kind:
                words = "true or false" if kind is bool else "a whole number"
                problems.append(Problem(f"{path}: {'.'.join(place)}", words, repr(value)[:40]))
            elif value is not None:
                found.setdefault(name, value)
    if (n_engines := _at(document, ENGINES)) not in (None, 1):
        remedy = "Fit the requests of one of them, with its settings in its own file."
        problems.append(Problem(f"{path}: {'.'.join(ENGINES)}", "1, one engine", repr(n_engines)[:40], remedy))
    if not found and not problems:
        known = ", ".join(".".join(place) for places in KEYS.values() for place in places)
        problems.append(Problem(str(path), f"some of {known}", "none of them"))
    if problems:
        raise InputError(problems)
    return found


def _at(document: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        document = document.get(key) if isinstance(document, dict) else None
    return document
