"""How a query gets the body that compiled code runs, and how bodies differ between kinds of loops."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba.core.typing.templates import infer_global

from vinesim.state.kernel import (
    ends_early,
    has_gangs,
    holds_several,
    is_partitioned,
    notes_changes,
    part,
    writes_held,
)
from vinesim.state.part import Choice, PartType

_forms: dict[Callable[..., Any], Any] = {}  # Numba refers to them weakly


def compiled_form_of(
    query: Callable[..., Any],
    inline: bool = True,
    without: Callable[..., Any] | None = None,
    where: Callable[..., bool] = holds_several,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make ``body`` what compiled code runs for a call of ``query``; long bodies stay calls, which compile faster.

    ``without`` is what it runs instead where no task holds several units, or where something else does not hold: loops
    are compiled apart for both, so that one costs the other nothing.
    """

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        form = part(body, inline)
        _forms[query] = form if without is None else Choice(where, form, part(without, inline))
        infer_global(query, PartType(_forms[query]))
        return body

    return register


def _only(
    where: Callable[..., bool], without: Callable[..., Any], inline: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make of a body a function for compiled code that does ``without`` elsewhere. The first arguments of both are the
    model and the state."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        def stub(*args: Any) -> Any:
            raise NotImplementedError(f"{body.__name__} is for compiled code")

        compiled_form_of(stub, inline, without, where)(body)
        return stub

    return register


def _holds_several_simply(model: Any, *others: Any) -> bool:
    return holds_several(model) and not has_gangs(model) and not is_partitioned(model)


with_only_several_units = partial(_only, _holds_several_simply)
with_several_units, with_early_ends = partial(_only, holds_several), partial(_only, ends_early)
with_gangs, with_changes_noted = partial(_only, has_gangs), partial(_only, notes_changes)
with_partitions, with_held_written = partial(_only, is_partitioned), partial(_only, writes_held)
