"""Which columns of a workload a policy reads, among those with jobs' priorities, users and deadlines."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from vinesim.formats.source.files import is_table
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy
from vinesim.policies.declarations import functions_of
from vinesim.policies.registry import policies
from vinesim.state import queries

READ_BY = {"priority": queries.priority, "user": queries.user, "deadline": queries.deadline_us}
IN_LOGS = ("user", "deadline")  # importers and generators write these whether or not anybody asked for them
COUNTED = {"deadline": " Missed deadlines are counted all the same."}


def reads_column(kind: type[Policy], column: str) -> bool:
    """Return whether a policy reads a column: by the query, as a group, as an array, or as declared."""
    query = READ_BY[column]
    if column in (*kind.reads, *getattr(kind, "groups", ())):
        return True
    found = functions_of_policy(kind)
    arrays = {f"job_{query.__name__}": {"model"}, query.__name__: {"work", "workload"}}
    return query in found or any(_reads(function, *of) for function in found for of in arrays.items())


def ignored_columns(scenario: Scenario, kind: type[Policy], part: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each column that the user wrote into the workload's table and that the policy ignores.

    ``part`` is the document's section ``workload``. A log's table is Parquet, or a table with ``columns`` in ``part``.
    """
    file = str(part.get("file"))
    is_log = file.endswith(".parquet") or bool(part.get("columns"))
    work = scenario.workload
    given = {"priority": work.priority, "user": work.user, "deadline": work.deadline_us}
    counts_users = any(one.user_quota for one in scenario.partitions) or any(one.users for one in scenario.reservations)
    for column, values in given.items():
        differs = values is not None and (column == "deadline" or (values != values[0]).any())
        is_own = is_table(file) and not (column in IN_LOGS and is_log)
        if not differs or not is_own or reads_column(kind, column) or (column == "user" and counts_users):
            continue
        others = ", ".join(name for name, other in policies().items() if reads_column(other, column))
        yield (
            f"the policy {kind.name or kind.__name__} does not look at the column {column} of the workload; "
            f"policies that do: {others}.{COUNTED.get(column, '')}"
        )


def functions_of_policy(kind: type[Policy]) -> set[Any]:
    """Return the functions of a policy's class and its base classes, and all functions that they call."""
    found: set[Any] = set()
    for each in kind.__mro__:
        if each not in (Policy, OnlinePolicy, BatchPolicy, object):
            for member in vars(each).values():
                function = getattr(member, "__func__", getattr(member, "fget", member))
                found |= functions_of(function) if inspect.isfunction(function) else set()
    return found


def _reads(function: Any, name: str, owners: set[str]) -> bool:
    code = function.__code__
    return name in code.co_names and not owners.isdisjoint((*code.co_varnames, *code.co_names))
