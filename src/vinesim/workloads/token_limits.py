"""How soon requests want their tokens, for all of them or by application."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.model.application import application_names
from vinesim.model.errors import InputError, Problem
from vinesim.model.speed_curves import ANY_TASK
from vinesim.model.workload import Workload

SHOWN = 20  # at most this many applications in a message


def with_token_limit(work: Workload, column: str, limits_us: Mapping[str, float]) -> Workload:
    """Return the workload with a column of limits, us, by application; ``*`` stands for all applications not named.

    Raises :class:`InputError` for unknown names, and if the requests have no tokens.
    """
    if work.input_tokens is None:
        remedy = "Give the workload input_tokens and output_tokens."
        raise InputError([Problem(column, "only for requests with tokens", "none has any", remedy)])
    names, others = application_names(work), limits_us.get(ANY_TASK, np.inf)
    unknown = [name for name in limits_us if name not in (*names, ANY_TASK)]
    if unknown:
        known = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        expected = f"applications of the workload: {known or 'it has none'}, or {ANY_TASK} for all others"
        raise InputError([Problem(column, expected, repr(name)) for name in unknown])
    of_task = np.full(work.n_tasks, others)
    if work.application is not None:
        of_application = np.array([limits_us.get(name, others) for name in names])
        of_task = np.repeat(of_application[work.application], np.diff(work.job_first))
    columns: dict[str, Any] = {column: of_task}
    return replace(work, **columns)
