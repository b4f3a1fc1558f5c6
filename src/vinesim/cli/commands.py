"""Groups of commands: how their help shows options, and what may print on standard output."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperGroup

from vinesim.cli.terminal import only_results


class Commands(TyperGroup):
    """Commands whose flags are shown without the type of a value, and which alone write to standard output."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group itself."""
        return _without_types(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None if there is none of that name."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _without_types([*found.params, found.get_help_option(ctx)])
            if not isinstance(found, TyperGroup) and found.callback is not None:
                found.callback = only_results()(found.callback)
        return found


def _without_types(options: Iterable[Any]) -> list[Any]:
    found = list(options)
    for option in found:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return found
