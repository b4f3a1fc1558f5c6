"""The work of a worker: do the missing runs of one chunk. It is the same on every back-end and without one."""

import pickle
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from vinesim.engine.many import are_quicker_in_blocks, simulate_many
from vinesim.engine.simulate import simulate
from vinesim.formats.source.files import problem_of
from vinesim.formats.study.file import scenario_source
from vinesim.metrics.numbers import Numbers, numbers
from vinesim.model.errors import InputError, InputWarning, Problem, VineSimError
from vinesim.model.python_file import same_folder
from vinesim.model.scenario import Scenario
from vinesim.model.study import Study
from vinesim.model.version import code_version
from vinesim.policies.contract import Policy
from vinesim.policies.documents import prepared
from vinesim.policies.registry import resolve
from vinesim.policies.replacing import changed
from vinesim.studies.blocks import Block, blocks
from vinesim.studies.chunks import Chunk
from vinesim.studies.identity import run_id
from vinesim.studies.inputs import Inputs
from vinesim.studies.journal import Journal, read_journals
from vinesim.studies.layout import Layout
from vinesim.studies.own_numbers import OwnNumbers, selection
from vinesim.studies.parts import write_chunk
from vinesim.studies.rows import check_columns
from vinesim.studies.run import Run
from vinesim.studies.scenarios import scenario_of

T = TypeVar("T")
_ONE_AT_A_TIME = Lock()  # loading a policy's file is not thread-safe, and threads would share one core anyway


@dataclass(frozen=True)
class WorkItem:
    """A chunk to do, with everything that a worker on another machine needs."""

    chunk: Chunk
    known: Mapping[str, Numbers]  # numbers of its finished runs
    study: bytes  # pickled: sent by value and unpickled once per process; or a name that this process knows
    files: Mapping[Path, str]  # the hashes of the files that the study names
    folder: str
    token: str  # a file in the folder; a worker that sees it writes there itself
    n_deaths: int = 0  # workers that died while holding it
    version: str = field(default_factory=code_version)


@dataclass(frozen=True)
class Done:
    """The outcome of a chunk."""

    numbers: Mapping[str, Numbers] | None = None  # of its finished runs by id; None if the worker has written them
    failed: Mapping[str, str] = field(default_factory=dict)  # messages by run id
    refused: Problem | None = None  # why this worker can do no chunk at all
    warnings: tuple[str, ...] = ()  # for the user


def work(item: WorkItem) -> Done:
    """Do the missing runs of a chunk and write its rows, or return them if the sweep's folder cannot be seen.

    Each run is in the journal as soon as it is finished. A run that fails does not affect the others.
    """
    with warnings.catch_warnings(record=True) as caught:
        done = _work(item)
    for each in caught:
        if not issubclass(each.category, InputWarning):
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    texts = tuple(str(each.message) for each in caught if issubclass(each.category, InputWarning))
    return replace(done, warnings=texts)


def _work(item: WorkItem) -> Done:
    if item.version != code_version():
        where, remedy = f"the worker on {socket.gethostname()}", "Install the same version everywhere."
        return Done(refused=Problem(where, f"VineSim {item.version}", code_version(), remedy))
    with _ONE_AT_A_TIME, redirect_stdout(sys.stderr):  # policies may print, and a worker shares its caller's output
        try:
            return _write(item) if Path(item.folder, item.token).exists() else _send(item)
        except OSError as wrong:
            return Done(refused=problem_of(item.folder, "a writable folder", wrong))
        except InputError as wrong:
            return Done(refused=wrong.problems[0])


def _send(item: WorkItem) -> Done:
    study, found, failed = _study(item.study), dict(item.known), dict[str, str]()
    for new, wrong in _valid_results(item, study, found):
        found |= new
        failed |= wrong
    return Done(found, failed)


def _write(item: WorkItem) -> Done:
    study, folder = _study(item.study), Path(item.folder)
    found, failed = {**item.known, **read_journals(folder, item.chunk.id).numbers}, dict[str, str]()
    with Journal(folder, item.chunk.id, Layout.of(study).record) as journal:
        for new, wrong in _valid_results(item, study, found):
            journal.add(new, wrong)
            found |= new
            failed |= wrong
    write_chunk(folder, item.chunk, found, Layout.of(study), is_done=not failed)
    return Done(failed=failed)


def _valid_results(
    item: WorkItem, study: Study, found: Mapping[str, Numbers]
) -> Iterator[tuple[dict[str, Numbers], dict[str, str]]]:
    """Yield numbers and failures of the missing runs, making sure that each run is the one that its id identifies.

    Raises :class:`InputError` if a file or code that the ids cover has changed since the sweep began.
    """
    missing = [run for run in item.chunk.runs if run.run_id not in found]
    inputs = Inputs(item.files)
    twins = dict[int, list[Run]]()  # by point: replications that are identical
    for run in missing:
        if not run.is_random:
            twins.setdefault(run.point_number, []).append(run)
    for run in item.chunk.runs:
        if run.run_id in found and run.point_number in twins:
            yield {twin.run_id: found[run.run_id] for twin in twins.pop(run.point_number)}, {}
    firsts = {some[0].run_id: some for some in twins.values()}
    todo = [run for run in missing if run.is_random or run.run_id in firsts]
    _check_ids(study, todo)
    for new, wrong in _results(study, todo):
        inputs.check()
        yield _with_twins(new, firsts), _with_twins(wrong, firsts)


def _with_twins(results: Mapping[str, T], firsts: Mapping[str, list[Run]]) -> dict[str, T]:
    """Return results by run id, copying the result of a run to the runs that are identical to it."""
    return {
        twin: found for own, found in results.items() for twin in (own, *(run.run_id for run in firsts.get(own, ())))
    }


_studies: dict[bytes, Study] = {}  # studies in this process, by their names in work items


def know(study: Study, name: bytes) -> None:
    """Register a study under a name, so that work items in this process refer to it without a copy."""
    _studies[name] = study


def forget(name: bytes) -> None:
    """Undo :func:`know`."""
    _studies.pop(name, None)


def _study(name: bytes) -> Study:
    if name not in _studies:
        _studies.clear()
        _studies[name] = pickle.loads(name)  # noqa: S301
    return _studies[name]


def _results(study: Study, runs: list[Run]) -> Iterator[tuple[dict[str, Numbers], dict[str, str]]]:
    """Yield numbers and failures of the runs as they finish; a block that fails is repeated run by run."""
    left = {run.run_id: run for run in runs}
    policies = Policies(OwnNumbers.of_study(study))
    try:
        for block in blocks(study, runs):
            for found in _block(study, block, policies):
                for run_id in found:
                    del left[run_id]
                yield found, {}
    except Exception:  # noqa: S110 - each run will report it again
        pass
    for run in left.values():
        try:
            yield {run.run_id: one(study, run, policies)}, {}
        except Exception as wrong:
            yield {}, {run.run_id: _message(wrong)}


def _block(study: Study, block: Block, policies: "Policies") -> Iterator[dict[str, Numbers]]:
    """Yield the numbers of the runs of a block: in one call if the engine can do that, otherwise run by run."""
    n_runs = len(block.runs)
    scenario = policies.put_into(block.scenario) if n_runs > 1 else block.scenario
    policy: Any = scenario.policy
    if n_runs == 1 or policies.own or not are_quicker_in_blocks(scenario, policy, n_runs):
        for run in block.runs:
            yield {run.run_id: one(study, run, policies, block.scenario if run is block.runs[0] else None)}
        return
    found = simulate_many(
        scenario,
        arrival_us=block.arrival_us,
        seeds=block.seeds,
        workers=1,
        record=study.record,
        warm_up=study.warm_up,
    )
    check_columns(found, study.columns)
    columns = {name: values.tolist() for name, values in found.items()}
    yield {run.run_id: {name: column[k] for name, column in columns.items()} for k, run in enumerate(block.runs)}


def one(study: Study, run: Run, policies: "Policies", scenario: Scenario | None = None) -> Numbers:
    """Return the numbers of one run; ``scenario`` is the run's, if it has been built already."""
    scenario = policies.put_into(scenario or scenario_of(study, run))
    with same_folder():
        result = simulate(scenario, warm_up=study.warm_up)
    found = numbers(result.measured, selection(study.record)) | policies.own.of(result)
    check_columns(found, study.columns)
    return found


class Policies:
    """The policies of a chunk, each loaded once, because loading a file takes longer than a short run.

    Attributes:
        own: the functions of the user's own that make numbers of a result.
    """

    def __init__(self, own: OwnNumbers) -> None:
        self.own = own
        self._known: dict[str, Policy] = {}

    def put_into(self, scenario: Scenario) -> Scenario:
        """Return the scenario with its policy as an object."""
        key = repr((scenario.policy, scenario.options))
        if key not in self._known:
            self._known[key] = resolve(scenario.policy, scenario.options)
        return changed(scenario, policy=self._known[key], options={})


def _check_ids(study: Study, runs: list[Run]) -> None:
    """Check that a run of each policy gets the same id on this machine: ids cover the code of installed packages.

    Policies that are objects came with the study. Raises :class:`InputError`.
    """
    for run in {repr(run.settings.get("policy")): run for run in runs}.values():
        source = scenario_source(study).changed(run.settings)
        document = prepared(source, study.folder, loads_files=False)[0].data
        is_named = isinstance(document.get("policy"), str | None)
        if is_named and _id(study, document, run) != run.run_id:
            where, remedy = f"the code of the study on {socket.gethostname()}", "Install the same packages everywhere."
            raise InputError([Problem(where, "the code with which the sweep began", "other code", remedy)])


def _id(study: Study, document: Mapping[str, Any], run: Run) -> str:
    return run_id(document, study.folder, run.seed, study.warm_up, study.record)


def _message(error: Any) -> str:
    if isinstance(error, InputError):
        return "; ".join(str(problem) for problem in error.problems)
    return str(error) if isinstance(error, VineSimError) else f"{type(error).__name__}: {error}"
