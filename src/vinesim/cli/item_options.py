"""The options of ``vinesim reproduce`` that the items declare as their inputs, made when the command is called."""

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

PANEL = "Files and numbers of single items"


class WithItemOptions(TyperCommand):
    """A command whose ``ctx.obj`` holds the inputs of items that were given, by name."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, including the inputs of items."""
        return [*_options(), *super().get_params(ctx)]

    def invoke(self, ctx: Any) -> Any:
        """Call the command."""
        given = {option.name: ctx.params.pop(option.name) for option in _options()}
        paths = {name for name, parameter in item_options().items() if parameter.annotation is Path}
        ctx.obj = {name: Path(value) if name in paths else value for name, value in given.items() if value is not None}
        return super().invoke(ctx)


@cache
def item_options() -> dict[str, inspect.Parameter]:
    """Return the inputs of all items by name, as parameters for Typer; one that several items take is one option."""
    from vinesim.reproduction.registry import items

    helps: dict[str, list[str]] = {}
    kinds: dict[str, type] = {}
    for item in items().values():
        for one in item.inputs:
            default = "" if one.default is None else f"; default: {one.default}"
            helps.setdefault(one.name, []).append(f"{item.id}: {one.what}{default}.")
            kinds[one.name] = Path if one.is_file else int
    return {name: _parameter(name, kinds[name], " ".join(text)) for name, text in helps.items()}


def _parameter(name: str, kind: type, text: str) -> inspect.Parameter:
    metavar = "FILE" if kind is Path else "N"
    option = typer.Option(None, f"--{name}", metavar=metavar, help=text, rich_help_panel=PANEL)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)


@cache
def _options() -> list[Any]:
    """The inputs of all items, as options that Typer has made."""

    def declared(**_: Any) -> None:
        pass

    parameters = item_options()
    declared.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    declared.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    app = typer.Typer(add_completion=False)
    app.command()(declared)
    return typer.main.get_command(app).params
