"""``vinesim import``: logs and measurements of real systems as workloads.

The importers declare their names, arguments and options themselves: see ``formats/importers/registry.py``.
"""

import inspect
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.commands import Commands
from vinesim.cli.terminal import output

if TYPE_CHECKING:
    from vinesim.formats.importers.declaration import Importer

ON = typer.Option(
    None, "--on", help="Check the jobs against this scenario's datacenter (default: the scenario written)."
)
JSON = typer.Option(False, "--json", help="Print the report as JSON and nothing else.")


class Importers(Commands):
    """The subcommands, one per importer, loaded when one is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return their names."""
        self._load()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one of them."""
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            for name, command in commands().items():
                one = typer.Typer(add_completion=False, rich_markup_mode=self.rich_markup_mode)
                one.command(name)(command)
                self.commands[name] = typer.main.get_command(one)


def register(app: typer.Typer) -> None:
    """Add the command."""
    help_text = "Turn logs and measurements of real systems into workloads."
    app.add_typer(typer.Typer(cls=Importers, help=help_text, no_args_is_help=True), name="import")


def commands() -> dict[str, Callable[..., None]]:
    """Return the subcommands by name, as functions for Typer."""
    from vinesim.formats.importers.registry import importers

    return {name: _command(importer) for name, importer in importers().items()}


def _command(importer: "Importer") -> Callable[..., None]:
    """Return a function with the importer's parameters, declared for Typer, and ``--on`` and ``--json``."""

    def command(**values: Any) -> None:
        from vinesim.cli.import_report import check, print_report, read_plainly
        from vinesim.cli.progress import working

        as_json, path = values.pop("as_json"), values.pop("on")
        on = None if path is None else read_plainly(path)  # a wrong file is refused before anything is written
        with working("reading and checking"):
            done = importer.read(**values)
            wrote = check(done, on)
        if as_json:
            output().write(json.dumps(done.report.as_document(wrote), indent=2) + "\n")
        else:
            print_report(done, wrote, on)

    signature = inspect.signature(importer.read, eval_str=True)
    parameters = [_parameter(parameter) for parameter in signature.parameters.values()]
    for name, default, kind in (("on", ON, Path | None), ("as_json", JSON, bool)):
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = importer.read.__doc__
    return command


def _parameter(declared: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter of an importer, declared for Typer."""
    from vinesim.formats.importers.declaration import Argument

    kind, mark = declared.annotation.__origin__, declared.annotation.__metadata__[0]
    kind = kind.__args__[0] if isinstance(kind, types.UnionType) else kind  # Path | None
    default = ... if declared.default is declared.empty else declared.default
    if isinstance(mark, Argument):
        info = typer.Argument(default, help=mark.help)
    else:
        names = [name for name in (mark.short, "--" + declared.name.replace("_", "-")) if name]
        info = typer.Option(default, *names, help=mark.help, metavar=mark.metavar or None)
    if isinstance(default, tuple):  # Typer accepts lists only
        kind, info.default = types.GenericAlias(list, kind.__args__[:1]), []
    return declared.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=info, annotation=kind)
