"""Write the reference pages from the declarations in the package, so that the two cannot disagree.

``conf.py`` calls :func:`write_all` before each build; ``python docs/generate.py DIR`` writes them elsewhere.
"""

import argparse
import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
from claim_pages import claims, wrong_policies
from markdown_table import table
from mutation_page import mutations

from vinesim.model.attributes import Declared


def _prose(text: str | None) -> str:
    """A docstring as Markdown: double back-quotes and roles become code."""
    text = inspect.cleandoc(text or "")
    text = re.sub(r":[a-z]+:`~?([^`]+)`", lambda m: f"`{m[1].rpartition('.')[2]}`", text)
    return text.replace("``", "`")


def columns() -> str:
    """The tables of a result."""
    from vinesim.model.columns import TABLES

    text = [
        "# Columns of the result tables",
        "A table is `result.tasks` and so on in Python, and `tasks.parquet` and so on in a result folder. What can be "
        "missing is NaN or -1 in Python; NaN is NULL in the Parquet files.",
    ]
    for one in TABLES:
        rows = [
            (f"`{c.name}`", f"`{c.dtype}`", c.unit or "-", "yes" if c.nullable else "no", c.meaning)
            for c in one.columns
        ]
        text += [f"## {one.name}", one.rows, table(("column", "type", "unit", "can be missing", "meaning"), rows)]
    return "\n\n".join(text)


def promises() -> dict[str, str]:
    """What a policy may declare, and what that means: the comments next to the class attributes of the contract."""
    from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy

    found = {}
    for kind in (Policy, OnlinePolicy, BatchPolicy):
        for name, meaning in re.findall(r"^    (\w+): ClassVar\[bool\] = \w+  # (.+)$", inspect.getsource(kind), re.M):
            found[name] = meaning
    return found


def policies() -> str:
    """The registered policies."""
    from vinesim.cli.policies import options
    from vinesim.policies.registry import BUILT_IN, find

    meanings = promises()
    text = [
        "# Policies",
        "`vinesim policies` prints the same, with the policies that other installed packages register. "
        "[Choosing a policy](../../explanation/choosing_a_policy.md) compares them.",
    ]
    for policy in map(find, BUILT_IN):
        text += [f"## {policy.name}", _prose(policy.__doc__), f"Source: {policy.source}."]
        found = options(policy)
        if found:
            rows = [(f"`{name}`", values, f"`{default}`") for name, (values, default) in found.items()]
            text.append(table(("option", "values", "default"), rows))
        else:
            text.append("No options.")
        kept = [name for name in meanings if name != "compiled" and getattr(policy, name, False)]
        text.append("Promises: " + (", ".join(f"`{name}`" for name in kept) or "none") + ".")
        groups = getattr(policy, "groups", ())
        text.append(_when_it_decides(policy))
        text.append("Tasks are distinguished by task type" + "".join(f", {g.replace('_', ' ')}" for g in groups) + ".")
    text += ["## What the promises mean", table(("promise", "meaning"), [(f"`{k}`", v) for k, v in meanings.items()])]
    return "\n\n".join(text)


def _when_it_decides(policy: Any) -> str:
    from vinesim.policies.contract import BatchPolicy
    from vinesim.policies.declarations import functions_of
    from vinesim.state.queries import more_at_once

    if issubclass(policy, BatchPolicy):
        return "Decides at the multiples of its period."
    if more_at_once in functions_of(policy.decide):
        return "Decides once all finishes and arrivals of an instant are in."
    return "Decides after each event."


def queries() -> str:
    """What a policy may ask and read."""
    from vinesim.policies import __all__ as exported
    from vinesim.policies import contract
    from vinesim.policies.names import READABLE
    from vinesim.policies.structures import priority_queue
    from vinesim.state import layout
    from vinesim.state import queries as module
    from vinesim.state.arrays import MODEL, STATE

    text = [
        "# What a policy may ask and read",
        "All of it is imported from `vinesim.policies`. Tasks, units and types are integers; -1 stands for none. Each "
        "query costs the same whatever the number of units and pending tasks is, except where its text says otherwise.",
        "## Answers and queries",
    ]
    in_order = [f for f in vars(module).values() if inspect.isfunction(f) and f.__name__ in exported]
    for function in in_order:
        text += [f"### {function.__name__}", f"`{_call(function)}`", _prose(function.__doc__)]
    text += ["## A priority queue", f"`scratch = PRIORITY_QUEUE` declares the arrays of one; {_QUEUE}"]
    for function in (priority_queue.queue_push, priority_queue.queue_first, priority_queue.queue_pop):
        text += [f"### {function.__name__}", f"`{_call(function)}`", _prose(function.__doc__)]
    text += [
        "## Arrays",
        "`model` never changes. Dimensions: U units, V nodes, R racks, P processor types, T task types, J jobs, "
        "N tasks, G groups of tasks. An array of length 0 stands for the default everywhere; the queries know that.",
        table(("model.", "dimensions and type", "meaning"), _arrays(MODEL)),
        "Of `state` a policy may read these; everything else in it belongs to the engine:",
        table(
            ("state.", "dimensions and type", "meaning"),
            [*_arrays(row for row in STATE if row.name in READABLE), UNIT_LOAD],
        ),
        "`view` is what happened:",
        table(("view.", "meaning"), [(name, f"{kind} {what}".strip()) for name, kind, what in _fields(layout.View)]),
        "`view.event` is one of: "
        + ", ".join(f"{getattr(layout, name)} {name}" for name in ("FINISH", "ARRIVAL", "TIMER", "OUTAGE"))
        + f". In `state.task_unit`, {layout.PENDING} is PENDING. These can be imported too, as can LOCAL, INTRA_RACK "
        "and INTER_RACK, which `tier` returns.",
        "## What a batch policy is given",
        "`place(self, tasks, servers)` gets M tasks and U units; Q is the number of resources that tasks request. "
        "[Write a batch policy](../../howto/write_batch_policy.md) shows how to use them.",
        table(("tasks.", "dimensions and type", "meaning"), _fields(contract.BatchTasks)),
        table(("servers.", "dimensions and type", "meaning"), _fields(contract.BatchServers)),
    ]
    return "\n\n".join(text)


UNIT_LOAD = ("`unit_load`", "[U] float64", "demand of the tasks that run on it")  # a field of a record of units


_QUEUE = (
    "[the tutorial](../../tutorial/policies_that_remember.md) shows how to use it. A policy with further arrays writes "
    "`scratch = {**PRIORITY_QUEUE, ...}`."
)


def _call(function: Any) -> str:
    """A function as it is called."""
    parameters = [str(p).partition(":")[0] + _default(p) for p in inspect.signature(function).parameters.values()]
    return f"{function.__name__}({', '.join(parameters)})"


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is parameter.empty else f"={parameter.default}"


def _arrays(rows: Iterable[Any]) -> list[tuple[str, str, str]]:
    """(name, dimensions and dtype, meaning) of rows of the table of arrays."""
    return [
        (f"`{row.name}`", f"[{row.size}] {np.dtype(row.dtype)}", row.meaning or row.name.replace("_", " "))
        for row in rows
    ]


def _fields(kind: Any) -> list[tuple[str, str, str]]:
    """(name, dimensions and dtype, meaning) of a NamedTuple's fields, from the comments in its source."""
    rows = []
    for line in inspect.getsource(kind).splitlines():
        match = re.fullmatch(r" {4}(\w+): [\w.]+(?:  # (.*))?", line)
        if match:
            name, comment = match[1], match[2] or ""
            shape = re.match(r"(\[[^\]]*\](?: of [A-Z]+| \w+)?)[:,]? ?(.*)", comment)
            rows.append(
                (f"`{name}`", shape[1] if shape else "", (shape[2] if shape else comment) or name.replace("_", " "))
            )
    return rows


def generators() -> str:
    """The workload generators."""
    from vinesim.workloads.options import REQUIRED
    from vinesim.workloads.registry import GENERATORS
    from vinesim.workloads.spec import COMMON

    common = {option.name for option in COMMON}
    text = [
        "# Workload generators",
        "For `vinesim generate` and for the workload of a scenario file. The same seed gives the same workload.",
    ]
    for spec in GENERATORS.values():
        rows = [
            (f"`{o.name}`", o.expected, "required" if o.default is REQUIRED else f"`{_word(o.default)}`")
            for o in spec.options.values()
            if o.name not in common
        ]
        text += [f"## {spec.name}", _prose(spec.make.__doc__), table(("option", "value", "default"), rows)]
        if spec.processor_types is not None:
            own = ", ".join(p.name for p in spec.processor_types), ", ".join(t.name for t in spec.task_types)
            text.append(f"Brings its own processor types ({own[0]}), task types ({own[1]}) and affinity.")
    meanings = _comments_of("vinesim.workloads.spec", "COMMON")
    rows = [
        (f"`{o.name}`", o.expected, f"`{_word(o.default)}`", meaning)
        for o, meaning in zip(COMMON, meanings, strict=True)
    ]
    text += ["## Options of every generator", table(("option", "value", "default", "meaning"), rows)]
    return "\n\n".join(text)


def _word(value: Any) -> str:
    return "null" if value is None else "empty" if value == () else str(value)


def _comments_of(module: str, constant: str) -> list[str]:
    """The comments at the ends of the lines of a tuple in a module's source."""
    source = inspect.getsource(importlib.import_module(module))
    body = source.partition(f"\n{constant} = (\n")[2].partition("\n)\n")[0]
    return [line.partition("  # ")[2] for line in body.splitlines()]


def commands() -> str:
    """The command line, from the signatures that Typer reads."""
    from vinesim.cli.main import app

    text = ["# Commands", "`vinesim COMMAND --help` prints the same. `vinesim --version` prints the version."]
    for name, callback in _commands(app, "vinesim"):
        usage, rows = [name], []
        for parameter in _parameters(name, callback):
            info = parameter.default
            if type(info).__name__ == "ArgumentInfo":
                shown = (info.metavar or parameter.name).upper()
                usage.append(shown if info.default is ... else f"[{shown}]")
            else:
                shown = ", ".join(info.param_decls or ["--" + parameter.name.replace("_", "-")])
                if parameter.annotation is not bool:
                    kinds = {int: "N", float: "X", Path: "FILE", list[str]: "KEY=VALUE"}
                    shown += " " + (info.metavar or kinds.get(parameter.annotation, "WORD"))
            default = "" if info.default in (None, [], False, ...) else f" Default: `{info.default}`."
            default = " Required." if info.default is ... and shown.startswith("-") else default
            rows.append((f"`{shown}`", (info.help or "") + default))
        text += [f"## {name}", f"`{' '.join(usage)} [OPTIONS]`", _prose(callback.__doc__)]
        text.append(table(("argument or option", "meaning"), rows) if rows else "No options.")
    return "\n\n".join(text)


def _parameters(command: str, callback: Callable[..., Any]) -> list[inspect.Parameter]:
    from vinesim.cli.item_options import item_options

    found = [*inspect.signature(callback).parameters.values()]
    found += item_options().values() if command == "vinesim reproduce" else ()
    return [parameter for parameter in found if parameter.name != "ctx"]


def _commands(app: Any, prefix: str) -> Iterable[tuple[str, Callable[..., Any]]]:
    for command in app.registered_commands:
        yield f"{prefix} {command.name}", command.callback
    for group in app.registered_groups:
        for command in group.typer_instance.registered_commands:
            yield f"{prefix} {group.typer_instance.info.name} {command.name}", command.callback
    from vinesim.cli.import_ import commands as importers

    yield from ((f"{prefix} import {name}", command) for name, command in importers().items())


def errors() -> str:
    """Errors, exit codes, and why a run ends."""
    from vinesim.cli.exit_codes import ExitCode
    from vinesim.engine.contract import RULES, RULES_OF_BATCHES
    from vinesim.model import errors as declared

    codes = dict(re.findall(r"(\w+) = \d+  # (.*)", _source("vinesim.cli.exit_codes")))
    reasons = re.findall(r'(\w+) = "\w+"  # (.*)', _source("vinesim.model.result"))
    classes = (
        declared.VineSimError,
        declared.InputError,
        declared.PolicyError,
        declared.InputWarning,
        declared.Problem,
    )
    return "\n\n".join(
        [
            "# Errors and exit codes",
            "## Exit codes of the commands",
            table(
                ("code", "meaning"),
                [(int(code), codes[code.name]) for code in ExitCode],
            ),
            "A run that ends otherwise than ALL_DONE says so in its first line.",
            "## Why a run ended",
            "`result.exit_reason`, and `exit_reason` in summary.json:",
            table(("reason", "meaning"), [(f"`{name}`", meaning) for name, meaning in reasons]),
            "## Errors in Python",
            table(("class of `vinesim`", "meaning"), [(f"`{c.__name__}`", _first(c.__doc__)) for c in classes]),
            "Every message about an input says where, what was expected, what was found and, where that helps, "
            f"what to do. All problems are reported at once, the first {declared.MAX_PROBLEMS} in words. "
            "`InputError.problems` holds them with `where`, `path` (the steps to the value; empty for a file), "
            "`expected`, `found` and `remedy`.",
            "## Rules for what a policy may ask for",
            "A policy that breaks one ends the run with a `PolicyError` that names the time, the task and the unit.",
            "\n".join(f"- {rule}" for rule in (*RULES, *RULES_OF_BATCHES.values()) if rule),
        ]
    )


def _first(text: str | None) -> str:
    return _prose(text).split("\n\n")[0]


def _source(module: str) -> str:
    return inspect.getsource(importlib.import_module(module))


def _default_of(one: Declared) -> str:
    """The default of an attribute, as code."""
    if one.default_factory is not MISSING:
        return f"`{one.default_factory()}`"
    return "required" if one.default is MISSING else f"`{one.default}`"


def catalogs() -> str:
    """The built-in types, tables and networks."""
    from vinesim.model.affinity import table_1
    from vinesim.model.attributes import attributes_of
    from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES, ProcessorType
    from vinesim.model.network import PRESETS

    affinity = table_1()
    tasks = [t.name for t in TASK_TYPES]
    rows = [
        [p.name, *("-" if a == 0 else f"{a:g}" for a in row)] for p, row in zip(PROCESSOR_TYPES, affinity, strict=True)
    ]
    nets = [
        (
            f"`{name}`",
            *("free" if b is None else f"{b:g}" for b in (net.local, net.intra_rack, net.inter_rack)),
            f"{net.hop_latency_us:g}",
            net.hops_intra,
            net.hops_inter,
        )
        for name, net in PRESETS.items()
    ]
    attributes = attributes_of(ProcessorType)
    return "\n\n".join(
        [
            "# Built-in types, affinity and networks",
            "## Processor types and task types",
            table(("code", "processor type"), enumerate(p.name for p in PROCESSOR_TYPES)),
            table(("code", "task type"), enumerate(tasks)),
            "`UNSPECIFIED` as a task's preferred type means any. A scenario file adds its own types.",
            "## What a processor type has",
            table(
                ("field", "default", "meaning"),
                [(f"`{one.name}`", _default_of(one), one.about.meaning) for one in attributes],
            ),
            "## Affinity",
            "Operations per us, from Table 1 of the VineSim report; `-` cannot run.",
            table(("", *tasks), rows),
            "## Networks",
            "Bandwidths in bytes per us.",
            table(("preset", "local", "intra_rack", "inter_rack", "hop latency, us", "hops_intra", "hops_inter"), nets),
        ]
    )


def formats() -> str:
    """The text files, the workload's Parquet file, and quantities with units."""
    from vinesim.formats.importers import serving_log
    from vinesim.formats.scenario import (
        offer,
        servers,
        workload_columns,
        workload_forms,
        workload_resources,
        workload_table,
    )
    from vinesim.formats.source import limits, quantities

    modules = {
        "Deployment": "papers.deployment",
        "Trace": "papers.trace",
        "Arrivals": "papers.arrivals",
        "Price list": "papers.prices",
        "Affinity and power": "papers.tables",
        "Network file": "scenario.network",
    }
    text = [
        "# File formats",
        "In the text files a record is a line, fields are between spaces or tabs, `#` starts a comment, and blank "
        "lines are skipped. Numbers are 0 or more. Every problem is reported as file:line:column.",
    ]
    for title, name in modules.items():
        module = importlib.import_module(f"vinesim.formats.{name}")
        text += [f"## {title}", _prose(module.__doc__)]
        if hasattr(module, "COLUMNS"):
            rows = [
                (i, f"`{c.name}`", "number" if c.is_number else "whole number") for i, c in enumerate(module.COLUMNS, 1)
            ]
            text.append(table(("field", "name", "value"), rows))
    known = workload_columns.ALL
    rows = [(f"`{name}`", kind, meaning) for name, (kind, meaning) in known.items()]
    text += [
        "## Workload as Parquet",
        _prose(workload_table.__doc__),
        table(("column", "type", "meaning"), rows),
        _prose(workload_forms.__doc__),
        "## What a task demands of a node",
        _prose(workload_resources.__doc__),
        _prose(offer.__doc__),
        "## Servers as a table",
        _prose(servers.__doc__),
        "## Measurements of a serving engine",
        _prose(serving_log.__doc__),
        "## Quantities with units",
        _prose(quantities.__doc__),
        table(
            ("quantity", "units"),
            [
                ("time", ", ".join(quantities._TIME)),
                ("size", ", ".join(quantities.SIZES)),
                ("bandwidth", ", ".join(quantities._BANDWIDTH)),
            ],
        ),
        "## How large a file may be",
        "A gzip file counts with what it unpacks to. Trace, deployment and other text files of records have no limit "
        "but that of a line.",
        table(
            ("what", "at most"),
            [
                ("a YAML file", limits.in_words(limits.DOCUMENT_BYTES)),
                ("values in a YAML file, each as often as an alias repeats it", f"{limits.VALUES:,}"),
                ("levels of a YAML file", limits.LEVELS),
                (
                    "a CSV file that is read whole: prices, carbon, counts, measured times",
                    limits.in_words(limits.TEXT_BYTES),
                ),
                ("characters in a field of it", f"{limits.FIELD_CHARACTERS:,}"),
                ("a log (SWF)", limits.in_words(limits.LOG_BYTES)),
                ("a line of a log or a text file", limits.in_words(limits.LINE_BYTES)),
            ],
        ),
    ]
    return "\n\n".join(text)


def scenario_file() -> str:
    """The fields of a scenario file, from its JSON Schema."""
    from vinesim.formats.scenario.file import scenario_schema

    schema = scenario_schema()
    definitions = schema.get("$defs", {})
    text = [
        "# Scenario file",
        "A YAML file. `vinesim schema` prints its JSON Schema, which editors use to complete and check; "
        "`vinesim validate FILE` checks a file. [Your own datacenter](../../tutorial/own_datacenter.md) builds "
        "one step by step. Where a time, a size or a bandwidth is asked for, write a number or "
        "[a quantity with its unit](formats.md#quantities-with-units).",
        "## The file",
        _schema_table(schema),
    ]
    for name in _references(schema, definitions):
        definition = definitions[name]
        with_fields = [part for part in (definition, *definition.get("anyOf", ())) if "properties" in part]
        text += [f"## {_title(name)}", _prose(definition.get("description"))]
        text += [_schema_table(part) for part in with_fields]
    return "\n\n".join(text)


def study_file() -> str:
    """The fields of a study file, from its JSON Schema."""
    from vinesim.formats.study.file import study_schema

    schema = study_schema()
    schema["properties"]["scenario"]["anyOf"] = [{"type": "string"}, {"type": "object"}]  # it has its own page
    schema["properties"]["axes"] = {**schema["properties"]["axes"], "additionalProperties": True}
    definitions = schema.pop("$defs")
    text = [
        "# Study file",
        "A YAML file. `vinesim schema --study` prints its JSON Schema; `vinesim validate FILE` checks a file and every "
        "point in it. [Write a study](../../howto/studies.md) explains it. What may stand under `scenario` is what "
        "stands in a [scenario file](scenario_file.md).",
        _schema_table(schema),
    ]
    for name in _references(schema, definitions):
        text += [f"## {_title(name)}", _prose(definitions[name].get("description")), _schema_table(definitions[name])]
    return "\n\n".join(text)


def plan_file() -> str:
    """The fields of a plan file, from its JSON Schema."""
    from vinesim.formats.plan.document import LimitPart, RangePart, ValuesPart
    from vinesim.formats.plan.file import plan_schema
    from vinesim.formats.plan.numbers import OWN

    schema = plan_schema()
    schema["properties"]["scenario"]["anyOf"] = [{"type": "string"}, {"type": "object"}]  # it has its own page
    for name in ("choose", "limits"):
        schema["properties"][name] = {**schema["properties"][name], "additionalProperties": True}
    definitions = schema.pop("$defs")
    text = [
        "# Plan file",
        "A YAML file. `vinesim schema --plan` prints its JSON Schema; `vinesim plan FILE --out DIR` checks a file "
        "before any run. [Which accelerators should I buy?](../../tutorial/which_accelerators.md) explains it.",
        _schema_table(schema),
    ]
    for name in _references(schema, definitions):
        text += [f"## {_title(name)}", _prose(definitions[name].get("description")), _schema_table(definitions[name])]
    for part in (RangePart, ValuesPart, LimitPart):
        text += [f"## {_title(part.__name__)}", _prose(part.__doc__), _schema_table(part.model_json_schema())]
    rows = [(f"`{name}`", meaning) for name, meaning in OWN.items()]
    text += ["## Numbers of a plan", "Besides the numbers of a run.", table(("number", "meaning"), rows)]
    return "\n\n".join(text)


def _references(schema: Any, definitions: dict[str, Any], seen: dict[str, None] | None = None) -> list[str]:
    """The definitions in the order in which the schema refers to them."""
    seen = {} if seen is None else seen
    if isinstance(schema, dict):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            seen[name] = None
            _references(definitions[name], definitions, seen)
        for value in (value for key, value in schema.items() if key != "$defs"):
            _references(value, definitions, seen)
    elif isinstance(schema, list):
        for value in schema:
            _references(value, definitions, seen)
    return list(seen)


def _title(name: str) -> str:
    """``ProcessorTypePart`` as ``Processor type``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Part")).capitalize()


def _schema_table(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = []
    for name, item in schema.get("properties", {}).items():
        default = f"`{json.dumps(item['default'])}`" if item.get("default") is not None else "-"
        default = "required" if name in required else default
        rows.append((f"`{name}`", _kind(item), default, _prose(item.get("description"))))
    return table(("field", "value", "default", "meaning"), rows)


def _kind(item: dict[str, Any]) -> str:
    """What a value must be, in words."""
    if "examples" in item and {"type": "string"} in item.get("anyOf", ()):
        return "number or text, as " + ", ".join(f"`{example}`" for example in item["examples"])
    if "$ref" in item:
        title = _title(item["$ref"].rpartition("/")[2])
        return f"[{title}](#{title.lower().replace(' ', '-')})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in item:
            kinds = dict.fromkeys(_kind(part) for part in item[key] if part.get("type") != "null")
            return " or ".join(kinds)
    if "enum" in item:
        return ", ".join(f"`{value}`" for value in item["enum"])
    if "const" in item:
        return f"`{item['const']}`"
    if item.get("type") == "array":
        return "list of " + _kind(item["items"]) if "items" in item else "list"
    if item.get("type") == "object":
        inner = item.get("additionalProperties")
        if not isinstance(inner, dict) or not inner:
            return "mapping"
        kind = _kind(inner)
        return f"name: ({kind})" if " or " in kind else f"name: {kind}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return words.get(str(item.get("type")), "anything")


def packages() -> str:
    """The packages of the source, from the command line down, each with what its README says."""
    import tomllib

    root = Path(__file__).parents[1]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [name for layer in layers for name in layer.replace("vinesim.", "").split(" | ")]
    readmes = [_about(root / "src" / "vinesim" / name) for name in names]
    opening = "The source is in packages that import only packages further down on this page; `make check` enforces it."
    return "\n\n".join(["# Packages", opening, *(f"#{text}" for text in readmes)])


def _about(package: Path) -> str:
    """What the README of a package says, or the docstring of a module that stands alone."""
    if package.is_dir():
        return (package / "README.md").read_text()
    return f"# {package.name}.py\n\n{importlib.import_module(f'vinesim.{package.name}').__doc__}\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "scenario_file": scenario_file,
    "study_file": study_file,
    "plan_file": plan_file,
    "formats": formats,
    "policies": policies,
    "queries": queries,
    "generators": generators,
    "columns": columns,
    "catalogs": catalogs,
    "errors": errors,
    "packages": packages,
    "claims": claims,
    "wrong_policies": wrong_policies,
    "mutations": mutations,
}


def write_all(folder: Path) -> None:
    """Write every page that has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        text = make().rstrip() + "\n"
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the reference pages.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "reference" / "generated")
    write_all(parser.parse_args().folder)
