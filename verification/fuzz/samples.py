"""The files that are damaged: those that pages of the documentation and the examples show, with what reads them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.docs.test_docs import PAGES, blocks
from verification.fuzz.parquet import parquet_of
from verification.fuzz.worker import ROOT

AREAS = ("scenario", "study", "plan", "tables", "texts", "importers", "results")
EXAMPLES = ROOT / "examples"
REFERENCE = ("--engine", "reference")
LEFT_OUT = (  # as they take minutes, are wrong on purpose, or need a file that a command of their page makes
    *(
        "energy_placement",
        "generate/mix.yaml",
        "import_csv/base.yaml",
        "log_to_figure/study.yaml",
        "examples/symphony.yaml",
    ),
    *("my_cluster/too_much", "own_datacenter/wrong.yaml", "studies/points.yaml"),
    *("studies/wrong.yaml", "symphony/real.yaml", "workload_like_mine/log.yaml"),
)


class Sample(NamedTuple):
    """A file to damage, in a folder with what it needs, and the commands that read it, one after the other.

    Those after one that refuses the file are left out, except in the area ``results``.
    """

    area: str
    name: str
    files: Mapping[str, bytes]
    target: str
    commands: tuple[tuple[str, ...], ...]


def samples() -> dict[str, list[Sample]]:
    """Return the files of pages and examples by area; those of results are made by runs."""
    found: dict[str, list[Sample]] = {area: [] for area in AREAS}
    for one in [*_of_pages(), *_of_examples()]:
        if not one.name.startswith(LEFT_OUT):
            found[one.area].append(one)
    return found


def _of_pages() -> Iterator[Sample]:
    for page in PAGES:
        shown = list(blocks(page))
        files = {one.caption: one.body.encode() for one in shown if Path(one.caption).suffix}
        commands = [words for one in shown if one.kind == "console" for words in _commands(one.body)]
        for name in files:
            yield from _of_file(page.stem, name, files, commands)


def _commands(text: str) -> Iterator[list[str]]:
    for line in re.findall(r"^\$ vinesim (.*)$", text.replace("\\\n", " "), flags=re.M):
        yield shlex.split(line)


def _of_file(page: str, name: str, files: Mapping[str, bytes], commands: list[list[str]]) -> Iterator[Sample]:
    if name.endswith((".yaml", ".py")):
        area = _area(files[name]) if name.endswith(".yaml") else ""
        if area:
            yield Sample(area, f"{page}/{name}", files, name, _readers(area, name))
        return
    for words in commands:
        if name in words and words[0] in ("import", "fit"):
            yield Sample("importers", f"{page}/{name}", files, name, (tuple(words), *_after_import(words)))
        elif name in words and words[0] == "run" and "broken.txt" not in words:
            yield Sample("texts", f"{page}/{name}", files, name, ((*words, *REFERENCE),))
    for scenario, text in files.items():
        if scenario.endswith(".yaml") and name.encode() in text and _area(text) == "scenario":
            yield Sample("tables", f"{page}/{name}", files, name, _readers("scenario", scenario))
            yield from _as_parquet(page, name, files, scenario)


def _as_parquet(page: str, name: str, files: Mapping[str, bytes], scenario: str) -> Iterator[Sample]:
    """Yield a workload's table as a Parquet file, named by its scenario in place of the CSV file."""
    workload = yaml.load(files[scenario], yaml.BaseLoader).get("workload")
    if isinstance(workload, dict) and workload.get("file") == name:
        made = f"{Path(name).stem}.parquet"
        changed = files[scenario].replace(name.encode(), made.encode())
        both = {**files, scenario: changed, made: parquet_of(files[name].decode())}
        yield Sample("tables", f"{page}/{made}", both, made, _readers("scenario", scenario))


def _area(text: bytes) -> str:
    document: Any = yaml.load(text, yaml.BaseLoader)
    if not isinstance(document, dict):
        return ""
    if "choose" in document:
        return "plan"
    if "axes" in document or "points" in document:
        return "study"
    return "scenario" if {"datacenter", "extends", "workload"} & document.keys() else ""


def _readers(area: str, name: str) -> tuple[tuple[str, ...], ...]:
    validate = ("validate", name)
    return (validate, ("run", name, *REFERENCE, "--out", "out")) if area == "scenario" else (validate,)


def _after_import(words: list[str]) -> tuple[tuple[str, ...], ...]:
    """What reads the scenario that an import writes next to the workload."""
    if "-o" not in words or words[1] in ("requests", "swf"):
        return ()
    return (("validate", str(Path(words[words.index("-o") + 1]).with_suffix(".yaml"))),)


def _of_examples() -> Iterator[Sample]:
    folders = {"": EXAMPLES, "plans": EXAMPLES / "plans"}
    for prefix, folder in folders.items():
        for path in sorted(folder.glob("*.yaml")):
            name = str(Path(prefix) / path.name)
            if area := _area(path.read_bytes()):
                yield Sample(area, f"examples/{name}", _example_files(), name, _readers(area, name))
    for path in sorted((EXAMPLES / "papers").glob("*.txt")):
        readers = _readers("scenario", "papers.yaml")
        yield Sample("texts", f"examples/{path.name}", _example_files(), f"papers/{path.name}", readers)
    readers = _readers("scenario", "gpu_cluster.yaml")
    yield Sample("tables", "examples/gpu_cluster.csv", _example_files(), "gpu_cluster.csv", readers)


def _example_files() -> dict[str, bytes]:
    paths = [path for path in EXAMPLES.rglob("*") if path.suffix in (".yaml", ".csv", ".txt", ".py")]
    return {str(path.relative_to(EXAMPLES)): path.read_bytes() for path in sorted(paths)}
