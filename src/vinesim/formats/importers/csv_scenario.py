"""Write the scenario of an imported CSV log: the meaning of each column, with the reason, and a datacenter."""

import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from vinesim.formats.importers.csv_mapping import as_lines
from vinesim.formats.importers.made_engine import ENGINE, has_tokens, made_engine
from vinesim.formats.importers.made_nodes import ANY_GPU, CPU, made_nodes
from vinesim.formats.importers.report import Guess
from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.file import read_source
from vinesim.formats.scenario.offer import Offer
from vinesim.formats.scenario.workload_cells import used_names
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.source.document import checked
from vinesim.formats.source.quantities import MEMORY
from vinesim.formats.source.table_source import TableSource
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import InputError, Problem

OF_THE_LOG = ("file", "columns")  # keys of workload that the imported log sets


def types_for(source: TableSource, named: Mapping[str, str]) -> tuple[ProcessorType, ...]:
    """Return the types CPU and memory and the GPU models that a log names; for requests with tokens, an engine."""
    if has_tokens(set(named.values())):
        return (ProcessorType(ENGINE),)
    cell = next((source.columns[name] for name, meaning in named.items() if meaning == "gpu_type"), None)
    models = sorted({model.strip() for text in used_names(source, cell) for model in text.split("|") if model.strip()})
    gpus = models or ([ANY_GPU] if {"gpus", "total_gpus"} & set(named.values()) else [])
    return tuple(map(ProcessorType, (CPU, *gpus, MEMORY)))


def csv_scenario(log: Path, output: Path, found: Mapping[str, Guess], on: Mapping[str, Any]) -> str:
    """Return the text of the scenario that runs the imported rows; ``on`` holds its other sections."""
    workload = {"file": output.name} | on.get("workload", {})
    above = {"description": f"Jobs of the log {log.name}."} | {key: on[key] for key in on if key != "workload"}
    text = as_yaml(above) + "workload:\n" + indent(as_yaml(workload), "  ")
    text += "  columns:  # how the log's columns were read; correct what is wrong\n"
    return text + indent(as_lines(found), "    ")


def like_another(like: Path, folder: Path, is_timed: bool) -> dict[str, Any]:
    """Return the sections that a scenario in a folder takes from another one: all that are not about its workload.

    Jobs with their own times need no affinity. Raises :class:`InputError`.
    """
    source = read_source(like)
    checked(source, ScenarioDocument, ("datacenter",))
    source.raise_if_any()
    base: dict[str, Any] = source.data
    of_base = base.get("workload")
    own = sorted(set(of_base if isinstance(of_base, dict) else ()) - {*OF_THE_LOG})
    on: dict[str, Any] = {
        "extends": os.path.relpath(like, folder),
        "workload": dict.fromkeys(own),
    }  # null removes a key
    gone = ("arrivals", "task_types", "affinity") if is_timed else ("arrivals",)
    return on | {key: None for key in gone if key in base}


def made_for(copy: Path, types: tuple[ProcessorType, ...], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return types and a datacenter on which the load of a log is ``LOAD``.

    Its nodes are as large as the largest jobs. There is one kind of node for each GPU model, and one for jobs without
    GPUs; for requests with tokens, there is an engine. Raises :class:`InputError`.
    """
    work = read_workload(copy, types, offer=Offer.of(types, resources=(MEMORY,)), columns=columns)
    if work.input_tokens is not None:
        return made_engine(work)
    if work.times_us is None:
        remedy = "Give --like SCENARIO, which says how fast its processors are."
        raise InputError([Problem(str(copy.name), "how long jobs take", "only their operations", remedy)])
    nodes = made_nodes(work, [p.name for p in types], np.nanmax(work.times_us, axis=1))
    return {
        "extends": "none",
        "processor_types": [{"name": p.name} for p in types if p.name != MEMORY],
        "network": "none",
        "datacenter": {"racks": [{"nodes": nodes}]},
        "policy": "easy_backfill",
    }
