"""Queries that check the numbers they are given, for policies that are not VineSim's own.

Compiled queries trust their arguments: for a task or unit that does not exist they would read other memory. Tests
show that the policies of the package never ask so. Any other policy calls a query through a guard, which raises
IndexError as a NumPy array does. Numbers below 0 count from the end, as there.
"""

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from vinesim.state import queries
from vinesim.state.kernel import policy_kernel

# the parameters that index arrays of the model
PLACES = {
    "task": "task_job",
    "unit": "unit_type",
    "node": "node_rack",
    "group": "group_task_type",
    "processor_type": "affinity",
}
QUERIES = {f for f in vars(queries).values() if inspect.isfunction(f) and f.__module__ == queries.__name__}


@lru_cache(maxsize=256)
def guarded(query: Callable[..., Any]) -> Any:
    """Return the query with checks of its arguments, as a kernel, or the query itself if it has none to check."""
    parameters = inspect.signature(query).parameters
    places = [name for name in parameters if name in PLACES and "model" in parameters]
    if not places:
        return query
    bare = [p.replace(annotation=p.empty) for p in parameters.values()]
    lines = [f"def {query.__name__}{inspect.Signature(bare)}:"]
    for name in places:
        length = f"len(model.{PLACES[name]})"
        lines += [f"    if not -{length} <= {name} < {length}:", f"        raise IndexError('no such {name}')"]
    lines.append(f"    return query({', '.join(parameters)})")
    made: dict[str, Any] = {"query": query}
    exec("\n".join(lines), made)  # noqa: S102 - the text above, with the query's own parameters
    return policy_kernel(made[query.__name__])


def guarded_module(module: ModuleType) -> ModuleType:
    """Return a module whose queries are guarded, or the module itself if it has no queries."""
    found = {
        name: guarded(value) for name, value in vars(module).items() if inspect.isfunction(value) and value in QUERIES
    }
    if not found:
        return module
    made = ModuleType(module.__name__)
    vars(made).update(vars(module) | found)
    return made
