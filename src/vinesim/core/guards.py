"""Queries that check the numbers they are given, for policies that are not VineSim's own.

Compiled queries trust their arguments: for a task or unit that does not exist they would read other memory. Tests
show that the policies of the package never ask so. Any other policy calls a query through a guard, which raises
IndexError as a NumPy array does. Numbers below 0 count from the end, as there.
"""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

# the parameters that index arrays of the model
PLACES = {
    "task": "task_operations",
    "unit": "unit_type",
    "node": "node_rack",
    "position": "task_operations",
    "group": "group_task_type",
    "processor_type": "affinity",
}


@lru_cache(maxsize=256)
def guarded(query: Callable[..., Any]) -> Any:
    """Return the query with checks of its arguments, or the query itself if it has none to check."""
    parameters = inspect.signature(query).parameters
    places = [name for name in parameters if name in PLACES and "model" in parameters]
    if not places:
        return query
    bare = [p.replace(annotation=p.empty) for p in parameters.values()]
    lines = [f"def guard{inspect.Signature(bare)}:"]
    for name in places:
        length = f"len(model.{PLACES[name]})"
        lines += [f"    if not -{length} <= {name} < {length}:", f"        raise IndexError('no such {name}')"]
    lines.append(f"    return query({', '.join(parameters)})")
    made: dict[str, Any] = {"query": query, "__name__": query.__module__}
    exec("\n".join(lines), made)  # noqa: S102 - the text above, with the query's own parameters
    return made["guard"]
