"""Build the workload of a scenario file and its arrivals, from a trace, a table or a generator."""

import difflib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.papers.trace import read_trace
from vinesim.formats.scenario.arrivals import arrivals_of
from vinesim.formats.scenario.distribution_parts import adopt_at
from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.generator_options import OptionsReader
from vinesim.formats.scenario.names import Names, generator_with_types, read
from vinesim.formats.scenario.tables import padded
from vinesim.formats.scenario.workload_rows import item_of
from vinesim.formats.source.files import is_table
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.application import Application
from vinesim.model.arrays import distinct
from vinesim.model.catalog import codes_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem, dotted
from vinesim.model.python_file import split_file
from vinesim.model.streams import stream
from vinesim.model.workload import Workload
from vinesim.workloads.placement import Nodes
from vinesim.workloads.registry import generator, generators
from vinesim.workloads.resample import repeated, resampled
from vinesim.workloads.select_jobs import arriving
from vinesim.workloads.spec import GeneratorSpec
from vinesim.workloads.token_limits import with_token_limit


class Workloads:
    """Builds the workload in steps, as the other sections become known.

    A generator may add types, which must be known before the datacenter; its data lies on the datacenter's nodes. A
    trace is checked against the datacenter and the affinity.
    """

    def __init__(self, source: YamlSource, document: ScenarioDocument, bad: set[str], names: Names):
        self.source, self.document, self.bad, self.names = source, document, bad, names
        self.affinity: np.ndarray | None = None
        self.overhead: np.ndarray | None = None  # including the types that a generator adds
        self.applications: tuple[Application, ...] = ()
        self.types_are_known = "workload" not in bad
        self._work: Workload | None = None
        self._place: Callable[[int], str] | None = None  # gives the place of a task in the table
        self._given_as: dict[str, str] = {}  # the table's column for each column of the workload
        self._has_periods = False  # whether the table gives the period in which a job arrives
        self._spec: GeneratorSpec | None = None
        part = document.workload
        if part is not None and part.generator is not None:
            self._spec = self._generator(part.generator)
            self.types_are_known &= self._spec is not None
        brings_times = self._is_table or (self._spec is not None and self._spec.own_arrivals)
        if brings_times and not self._is_table and document.arrivals is not None:
            remedy = "Remove arrivals: and use the generator's options."
            source.add(("arrivals",), f"none, as {part.generator} makes its own" if part else "", "arrivals", remedy)
        if document.arrivals is None and "arrivals" not in bad and part is not None and not brings_times:
            source.add(("arrivals",), "when the jobs arrive", "nothing", 'Add arrivals:, such as {iat: "7 us"}.')
            bad.add("arrivals")
        spec = generator_with_types(document, names.folder)
        if spec is not None:
            self.affinity = spec.affinity() if spec.affinity is not None else None
            self.overhead = padded(spec.overhead(), len(names.processors)) if spec.overhead is not None else None
            self.applications = spec.applications(part.options) if part and spec.applications is not None else ()
        elif document.extends == "servers":
            self.affinity = self._equal()

    def _generator(self, name: str) -> GeneratorSpec | None:
        file = split_file(name)[0]
        if not file and name not in generators():
            self.source.add_unknown(("workload", "generator"), generators(), value=name)
            return None
        try:
            return generator(name, self.names.folder)
        except InputError as error:
            for problem in error.problems:
                if not problem.path:  # a line of the generator's file
                    self.source.adopt(InputError([problem]), ("workload", "generator"), self.names.folder / file)
                else:
                    self.source.adopt(InputError([replace(problem, at=problem.path[1:])]), ("workload", "generator"))
            return None

    @property
    def _is_table(self) -> bool:
        part = self.document.workload
        return part is not None and part.file is not None and is_table(part.file)

    def check_options(self) -> None:
        """Report the problems of a generator's options, without generating."""
        part = self.document.workload
        if part is not None and self._spec is not None:
            self._options(self._spec)

    def build(self, nodes: Nodes | None, center: Datacenter | None = None) -> None:
        """Generate the workload, or read a table.

        ``nodes`` are the (rack, shelf) that may hold data; None if the datacenter is invalid, but all else is checked.
        """
        part = self.document.workload
        if part is None:
            return
        if self._spec is not None and nodes is None and "data_rack" in part.options:
            self.check_options()
        elif self._spec is not None:
            self._work = self._generate(self._spec, [(0, 0)] if nodes is None else nodes)
        elif self._is_table:
            from vinesim.formats.scenario.workload_table import affinity_of_times  # importing DuckDB takes 0.1 s

            work = self._read_table(str(part.file), center)
            self.types_are_known = work is not None or self.document.task_types is not None
            if work is not None:
                own = {t.name for t in work.task_types} - set(self.names.task_names)
                if own and self.document.task_types is None:
                    self.names = replace(self.names, tasks=work.task_types)
            self._work = work
        if self._work is not None:
            self._work = self._recoded(self._work)
        if self._work is not None and self.document.extends == "servers":
            self.affinity = self._equal()
        if self._work is not None and self._is_table and self._work.times_us is not None:
            able = affinity_of_times(self._work)
            self.affinity = None if able is None else able * self._equal()

    def _equal(self) -> np.ndarray:
        """Return [P, T] affinity 1, but 0 for resources, which run nothing."""
        runs = np.array([name not in self.names.resources for name in self.names.processor_names], np.float64)
        return np.repeat(runs[:, np.newaxis], len(self.names.tasks), axis=1)

    def _read_table(self, file: str, center: Datacenter | None) -> Workload | None:
        from vinesim.formats.scenario.offer import Offer
        from vinesim.formats.scenario.workload_table import has_periods, read_with_places

        where, path, arrivals = ("workload", "file"), self.names.folder / file, self.document.arrivals
        part = self.document.workload
        columns = None if part is None else part.columns
        found = read(self.source, where, path, has_periods, columns)
        if found is None:
            return None
        self._has_periods = found
        if found and arrivals is not None and arrivals.iat is None:
            self.source.add(("arrivals",), "iat, the length of a period in the workload's file", "none")
            return None
        length_us = None if arrivals is None else arrivals.iat
        offer = replace(Offer.of(self.names.processors, center, self.names.resources), is_known=center is not None)
        types = self.names.processors
        done = read(
            self.source, where, path, read_with_places, types, period_us=length_us, offer=offer, columns=columns
        )
        if done is None:
            return None
        work: Workload
        work, self._place, self._given_as = done
        if "task_type" not in self._given_as and work.times_us is None and len(self.names.tasks) == 1:
            return replace(work, task_types=self.names.tasks)  # all its tasks are of the scenario's only type
        return work

    def adopt(self, problem: Problem) -> bool:
        """Report a problem with a task or a job at its row of the table; return False if it has none."""
        item = None if self._work is None else item_of(problem, self._work.job_first)
        if item is None or self._place is None:
            return False
        place, column = self._place(item[1]), self._given_as.get(item[0], item[0])
        expected = f"{column}: {problem.expected}" if column else problem.expected
        part = self.document.workload
        file = self.names.folder / str(part.file if part else "")
        found = Problem(place, expected, problem.found, problem.remedy)
        self.source.adopt(InputError([found]), ("workload", "file"), file)
        return True

    def finished(self, center: Datacenter | None, affinity: np.ndarray | None) -> Workload | None:
        """Return the workload with its arrivals, or None if it is invalid. A trace is read here."""
        part = self.document.workload
        if part is None or {"arrivals", "workload"} & self.bad:
            return None
        work = self._work
        if part.file is not None and not self._is_table:
            work = self._read_trace(part.file, center, affinity)
        if work is None or self.document.arrivals is None or self._spec is not None or self._has_periods:
            return work
        try:
            kind = arrivals_of(self.source, self.document.arrivals, self.names.folder)
            if kind is None:
                return None
            if self._is_table or not (kind.is_even or kind.kind == "list"):
                times = kind.draw(work.n_jobs, stream(self.document.seed, "arrivals"))
                return arriving(work, times)
        except InputError as error:
            self.source.adopt(error, ("arrivals",))
            return None
        return work

    def drawn(self, work: Workload | None) -> Workload | None:
        """Return the workload at its load, resampled or repeated if requested; None if it is invalid.

        All checks must come before: the rows of drawn jobs are not those that the user wrote.
        """
        part = self.document.workload
        if work is None or part is None:
            return work
        rng, key = stream(self.document.seed, "resample"), "resample" if part.repeat is None else "repeat"
        try:
            if part.resample is not None:
                work = resampled(work, part.resample.block, part.resample.session_gap, rng)
            elif part.repeat is not None:
                work = repeated(work, part.repeat.times, part.repeat.block, part.repeat.session_gap, rng)
        except InputError as error:
            adopt_at(self.source, ("workload", key), error)
            return None
        work = work if part.load == 1.0 else arriving(work, work.arrival_us / part.load)
        for name in ("first_token_within", "token_within"):
            if (limits := getattr(part, name)) is None:
                continue
            try:
                work = with_token_limit(work, f"{name}_us", limits)
            except InputError as error:
                for problem in error.problems:
                    self.source.add(("workload", name), problem.expected, problem.found, problem.remedy)
                return None
        return work

    def _read_trace(self, file: str, center: Datacenter | None, affinity: np.ndarray | None) -> Workload | None:
        arrivals = self.document.arrivals
        kind = None if arrivals is None else arrivals_of(self.source, arrivals, self.names.folder)
        if kind is None:
            return None
        given: Any = kind.iat_us if kind.is_even else 0.0  # other arrivals are drawn once the number of jobs is known
        path = self.names.folder / file
        try:
            return read_trace(
                path,
                arrivals=np.asarray(kind.times_us, np.float64) if kind.kind == "list" else given,
                processor_types=self.names.processors,
                task_types=self.names.tasks,
                datacenter=center,
                affinity=affinity,
            )
        except InputError as error:
            is_arrivals = not {"arrivals", "iat_us", "arrival_us"}.isdisjoint(error.problems[0].path)
            if is_arrivals:
                self.source.adopt(error, ("arrivals",))
            else:
                self.source.adopt(error, ("workload", "file"), path)
            return None

    def _options(self, spec: GeneratorSpec) -> dict[str, Any]:
        assert self.document.workload is not None
        given = self.document.workload.options
        return OptionsReader(self.source, self.names.folder).read(spec, given, ("workload", "options"))

    def _generate(self, spec: GeneratorSpec, nodes: Nodes) -> Workload | None:
        n_before = self.source.n_problems
        values = self._options(spec)
        arrivals = self.document.arrivals
        kind = None if arrivals is None else arrivals_of(self.source, arrivals, self.names.folder)
        if self.source.n_problems > n_before or (kind is None and not spec.own_arrivals):
            return None
        if kind is not None and not spec.own_arrivals:
            values["arrivals"] = kind
        try:
            work = spec.generate(
                values,
                seed=self.document.seed,
                nodes=nodes,
                task_types=self.names.tasks,
                processor_types=self.names.processors,
            )
            return self._timed(work)
        except InputError as error:
            self._adopt(error)
        except MemoryError as error:
            self.source.add(("workload",), "a workload that fits in memory", str(error)[:80], "Ask for fewer jobs.")
        except (OverflowError, ValueError) as error:
            self.source.add(("workload",), "options that allow a workload", str(error)[:80])
        return None

    def _timed(self, work: Workload) -> Workload:
        """Return a generated workload with a column of times also for each resource, although these run nothing."""
        if work.times_us is None:
            return work
        n_more = len(self.names.processors) - work.times_us.shape[1]
        return replace(work, times_us=np.pad(work.times_us, ((0, 0), (0, n_more)), constant_values=np.nan))

    def _adopt(self, error: InputError) -> None:
        """Report a generator's problems, each at its option."""
        part = self.document.workload
        given = part.options if part is not None else {}
        file = split_file(part.generator or "")[0] if part is not None else ""
        for problem in error.problems:
            if file and not problem.path:
                self.source.adopt(InputError([problem]), ("workload", "generator"), self.names.folder / file)
                continue
            names = [step for step in problem.path if isinstance(step, str)]
            option = next((name for name in names if name in given), None)
            option = option or next((f"data_{name}" for name in names if f"data_{name}" in given), None)
            path: tuple[str, ...] = ("workload",) if option is None else ("workload", "options", option)
            expected = problem.expected
            if option is None and names[:1] == ["workload"] and problem.path[1:]:  # a column
                expected = f"{dotted(problem.path[1:])}: {expected}"
            if option is None and not {"arrivals", "iat_us", "arrival_us", "stay"}.isdisjoint(names):
                path = ("arrivals",)
            self.source.add(path, expected, problem.found, problem.remedy)
        self.source.n_problems += error.n_problems - len(error.problems)

    def _recoded(self, work: Workload) -> Workload | None:
        """Return the workload with the document's codes of task types; preferred types already have them."""
        own, names = [t.name for t in work.task_types], self.names.task_names
        if own == names:
            return work
        used = [own[code] for code in distinct(work.job_task_type)]
        missing = [name for name in used if name not in names]
        if missing:
            close = [m for name in missing for m in difflib.get_close_matches(name, names, 1)]
            remedy = f"Add {', '.join(missing)} to task_types." + (f" Or is it {close[0]}?" if close else "")
            expected = "task types of the scenario: " + ", ".join(names)
            self.source.add(("workload",), expected, ", ".join(missing), remedy)
            return None
        known = codes_of(self.names.tasks)
        codes = np.array([known.get(name, -1) for name in own])
        return replace(work, job_task_type=codes[work.job_task_type], task_types=self.names.tasks)
