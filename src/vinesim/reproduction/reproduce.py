"""Reproduce an item: sweep its studies, judge its claims, draw its figures."""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.formats.source.files import replacing
from vinesim.model.errors import InputError, Problem
from vinesim.reproduction.claim import Judged
from vinesim.reproduction.data import Data
from vinesim.reproduction.inputs import Given, inputs_of
from vinesim.reproduction.item import Item

if TYPE_CHECKING:
    from vinesim.model.study import Study
    from vinesim.studies.sweep import Sweep

CLAIMS = "claims.json"
SWEEP = "sweep"
FEW_TASKS = 5_000_000  # in all runs of a study: below, worker processes (3 s each to start) gain nothing


@dataclass(frozen=True)
class Report:
    """The outcome of one item."""

    item: Item
    judged: tuple[Judged, ...]
    files: tuple[Path, ...]
    seconds: float


def reproduce(
    item: Item,
    out: Path | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    on_progress: Callable[..., Any] | None = None,
    on_message: Callable[[str], None] | None = None,
    made: dict[Path, "Sweep"] | None = None,
    inputs: Given | None = None,
) -> Report:
    """Run what the item needs and judge its claims.

    With ``out``, the figures (PNG and SVG), claims.json, the tables and the folders of the sweeps are written to
    ``out``/<id>; runs of sweeps that are found there are not repeated. ``workers`` is the number of processes; None
    means this process for small studies, all cores for others. ``changes`` are made to every scenario, as with
    ``--set``, except for what a study's axes set. ``made`` holds sweeps with the same changes by study file, which are
    reused; new ones are added. ``inputs`` are the files that the item needs, and its numbers, by name.
    Raises :class:`InputError`; if figures are wanted and Matplotlib is missing, before any run.
    """
    begun = time.perf_counter()
    inputs = inputs_of([item], inputs or {})[item.id]
    if item.inputs and changes:
        found = ", ".join(changes)
        raise InputError([Problem(f"changes to {item.id}", "none: it makes its own scenarios from its files", found)])
    folder = None if out is None else prepare(out, item)
    data = gather(
        item,
        folder,
        changes=changes,
        workers=workers,
        on_progress=on_progress,
        on_message=on_message,
        made=made,
        inputs=inputs,
    )
    judged = tuple(claim.check(data) for claim in item.claims)
    files = () if folder is None else _write(item, data, judged, folder)
    return Report(item, judged, files, time.perf_counter() - begun)


def gather(
    item: Item,
    folder: Path | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    on_progress: Callable[..., Any] | None = None,
    on_message: Callable[[str], None] | None = None,
    made: dict[Path, "Sweep"] | None = None,
    replications: int | None = None,
    inputs: Given | None = None,
) -> Data:
    """Return the rows of the item's sweeps; its single runs follow when a claim or a figure requests them.

    ``replications`` limits the replications of every study; the other arguments are those of :func:`reproduce`.
    """
    from vinesim.formats.study.file import read_study
    from vinesim.reproduction.single import changed
    from vinesim.studies.run import named
    from vinesim.studies.sweep import sweep

    changes = dict(changes or {})
    made = {} if made is None else made
    tables = {}
    for name in item.studies:
        study = changed(read_study(item.study_file(name)), changes)
        if replications is not None:
            study = replace(study, replications=min(replications, study.replications))
        target = None if folder is None else folder / SWEEP / name
        before = made.get(item.study_file(name))
        if before is not None and before.folder is not None and target is not None and not target.exists():
            shutil.copytree(before.folder, target)
        if before is None or target is not None:
            n_workers = 1 if workers is None and _is_small(study) else workers
            swept = sweep(study, target, workers=n_workers, on_progress=on_progress, on_message=on_message)
        else:
            swept = before
        made[item.study_file(name)] = swept
        if swept.failures:
            raise InputError([Problem(f"{item.id}: {named(f.point)}", "numbers", f.message) for f in swept.failures])
        tables[name] = swept.table
    given = {**(inputs or {}), "workers": workers} if item.inputs else changes
    return Data(tables, {name: partial(run, given) for name, run in item.runs.items()})


def _is_small(study: "Study") -> bool:
    """Whether one process is enough, judging by the tasks of the first run."""
    from vinesim.studies.expand import expand
    from vinesim.studies.scenarios import scenario_of

    return study.n_runs * scenario_of(study, expand(study)[0]).workload.n_tasks <= FEW_TASKS


def prepare(out: Path, item: Item) -> Path:
    """Create the item's folder in ``out``; check first that its figures can be drawn."""
    if item.draw is not None:
        from vinesim.plots.style import matplotlib

        matplotlib()
    folder = out / item.id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        found = wrong.strerror or str(wrong)
        raise InputError([Problem(f"--out {out}", "a folder that can be made", found, "Give another name.")]) from None
    if not os.access(folder, os.W_OK):
        raise InputError([Problem(f"--out {out}", "a folder that can be written", f"no permission in {folder}")])
    return folder


def _write(item: Item, data: Data, judged: tuple[Judged, ...], folder: Path) -> tuple[Path, ...]:
    files = [folder / CLAIMS]
    with replacing(files[0]) as draft:
        draft.write_text(to_json(judged))
    for name, table in (item.tables(data) if item.tables is not None else {}).items():
        files.append(folder / f"{name}.parquet")
        with replacing(files[-1]) as draft:
            table.to_parquet(draft)
    if item.draw is not None:
        from vinesim.plots.style import save

        for name, figure in item.draw(data).items():
            files += save(figure, folder / name)
    return tuple(files)


def to_json(judged: tuple[Judged, ...] | list[Judged]) -> str:
    """Return the claims with their verdicts as JSON."""
    return json.dumps([of.row() for of in judged], indent=2, ensure_ascii=False) + "\n"
