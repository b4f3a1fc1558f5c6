"""Convert a scenario file (YAML) to a :class:`~vinesim.model.scenario.Scenario`, or report everything wrong with it.

The keys are declared in ``document``; ``scenario_schema`` returns them as JSON Schema for editors.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.checksums import check_text
from vinesim.formats.scenario.batching import with_batching
from vinesim.formats.scenario.datacenter import data_nodes, datacenter
from vinesim.formats.scenario.declared import declared_by
from vinesim.formats.scenario.document import REQUIRED, ScenarioDocument, scenario_schema
from vinesim.formats.scenario.extends import extended
from vinesim.formats.scenario.names import Names, names_of, read
from vinesim.formats.scenario.network import NetworkPart, read_network
from vinesim.formats.scenario.partition_parts import NodeChoice, partitions, reservations
from vinesim.formats.scenario.policy_name import Check, policy_name
from vinesim.formats.scenario.run_parts import AccountingPart, FailurePart, OutagePart
from vinesim.formats.scenario.series import read_series
from vinesim.formats.scenario.tables import affinity, check_task_types, consolidated, table
from vinesim.formats.scenario.workload import Workloads
from vinesim.formats.source.document import checked, refuse_another
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.accounting import Accounting
from vinesim.model.application import Application
from vinesim.model.datacenter import Datacenter
from vinesim.model.electricity import Electricity
from vinesim.model.errors import InputError
from vinesim.model.failure import Failures, Times
from vinesim.model.network import PAPER, PRESETS, Network
from vinesim.model.outage import Outage
from vinesim.model.scenario import Scenario
from vinesim.model.workload import Workload
from vinesim.workloads.estimates import with_error

__all__ = ["read_source", "scenario_from", "scenario_schema"]

ITEMS = ("outages", "failures", "partitions", "reservations")  # sections whose items have their own places in messages
_SECTIONS = {
    "sampling_us": "sampling",
    "horizon_us": "horizon",
    "period_us": "period",
    "overhead_us": "overhead",
    "consolidated_us": "consolidated_times",
    "power_w": "power",
    "electricity": "energy",
}


def read_source(path: str | os.PathLike[str], overrides: Iterable[str] = ()) -> YamlSource:
    """Read a scenario file with ``key=value`` changes, without checking its contents. Raises :class:`InputError`."""
    source = YamlSource(path, overrides, merge=extended)
    check_text(path, "a scenario")
    refuse_another(path, source.data, "a scenario")
    return source


def scenario_from(
    source: YamlSource,
    folder: Path,
    *,
    check_policy: Check | None = None,
    check_demands: Callable[[Scenario], object] | None = None,
) -> Scenario:
    """Build the scenario of a document read from a file or made in Python; its file names start from ``folder``.

    In a document made in Python, the policy may be a class or an object. ``check_policy(policy, options)`` and
    ``check_demands(scenario)`` are also called, so that their problems are reported with all others. Raises
    :class:`InputError` with the place of every problem.
    """
    policy = source.data.get("policy") if isinstance(source.data, dict) else None
    is_object = policy is not None and not isinstance(policy, str | int | float | list | dict)
    document, bad = checked(source, ScenarioDocument, REQUIRED, leave_out=("policy",) if is_object else ())
    builder = _Builder(source, document, bad, folder, policy if is_object else None)
    scenario = builder.scenario(check_policy, check_demands)
    source.raise_if_any()
    assert scenario is not None
    return scenario


class _Builder:
    """Builds the scenario section by section; a section that depends on a wrong one is skipped."""

    def __init__(self, source: YamlSource, document: ScenarioDocument, bad: set[str], folder: Path, policy: Any):
        self.source, self.document, self.bad, self.folder = source, document, bad, folder
        self.policy = policy  # a class or an object; None: use the document's

    def scenario(
        self,
        check_policy: Check | None,
        check_demands: Callable[[Scenario], object] | None,
    ) -> Scenario | None:
        """Return the scenario, or None if there are problems."""
        source, document = self.source, self.document
        policy = self._policy(check_policy)
        network = self._network()
        if {
            "processor_types",
            "task_types",
            "extends",
        } & self.bad:  # without types, the sections that name one cannot be checked
            Workloads(source, document, self.bad, Names((), (), self.folder)).check_options()
            return None
        names = names_of(source, document, self.folder)
        if document.processor_types:
            names = with_batching(source, document.processor_types, names)
        center = None if document.datacenter is None else datacenter(source, document.datacenter, names)
        nodes = None if center is None else data_nodes(center)
        workloads = Workloads(source, document, self.bad, names)
        workloads.build(nodes, center)
        names = workloads.names  # including the task types of a table
        used = [] if center is None else list(center.count_by_type())
        affinities = None
        if "affinity" not in self.bad and workloads.types_are_known:
            affinities = affinity(source, document.affinity, names, workloads.affinity, used)
        work = workloads.finished(center, affinities)
        drawn = workloads.drawn(work)
        power, overhead, joined = self._tables_of_types(workloads, center, work, affinities)
        applications = self._applications()
        electricity = self._electricity()
        has_choices = document.partitions or document.reservations
        choice = NodeChoice(source, document.datacenter, center) if has_choices and center is not None else None
        sections = {
            "policy": policy,
            "affinity": affinities,
            "overhead_us": overhead,
            "consolidated_us": joined,
            "power_w": power,
            "network": network,
            "electricity": electricity,
            "partitions": partitions(source, document.partitions, choice),
            "reservations": reservations(document.reservations, choice),
            "applications": workloads.applications if applications is None else applications,
        }
        if source.n_problems or center is None or work is None or drawn is None or affinities is None:
            return None
        return self._joined(center, work, drawn, sections, workloads, check_demands)

    def _joined(
        self,
        center: Datacenter,
        work: Workload,
        drawn: Workload,
        sections: dict[str, Any],
        workloads: Workloads,
        check_demands: Callable[[Scenario], object] | None,
    ) -> Scenario | None:
        """Build the scenario from its sections and single keys; None if they do not fit together."""
        document = self.document
        try:
            made = Scenario(
                center,
                work,
                options=document.options,
                sampling_us=document.sampling,
                horizon_us=math.inf if document.horizon is None else document.horizon,
                period_us=document.period,
                seed=document.seed,
                start_date=document.start_date,
                accounting=_accounting(document.accounting),
                outages=_outages(document.outages),
                failures=_failures(document.failures),
                preemption=document.preemption,
                **sections,
            )
            made = self._with_estimates(made)
            if check_demands is not None:
                check_demands(made)
            if drawn is not work:
                made = self._with_estimates(replace(made, workload=drawn))
        except InputError as error:
            self._adopt(error, workloads)
            return None
        return made

    def _with_estimates(self, made: Scenario) -> Scenario:
        """Return the scenario with estimates that have the error given in the document."""
        error = 0.0 if self.document.workload is None else self.document.workload.estimate_error
        if error == 0:
            return made
        known = replace(made.workload, times_us=made.single_times_us)
        rough = with_error(known, made.datacenter, made.affinity, made.overhead_us, error, made.seed)
        return replace(made, workload=replace(made.workload, estimate_us=rough.estimate_us))

    def _policy(self, check: Check | None) -> Any:
        name: Any = self.document.policy if self.policy is None else self.policy
        is_read = not {"policy", "options"} & self.bad
        return policy_name(self.source, name, self.document.options, self.folder, check if is_read else None)

    def _applications(self) -> tuple[Application, ...] | None:
        """The listed applications; None without a list."""
        if self.document.applications is None:
            return None
        found = []
        for i, part in enumerate(self.document.applications):
            try:
                found.append(part.application())
            except InputError as error:
                self.source.adopt(error, ("applications", i))
        return tuple(found)

    def _electricity(self) -> Electricity:
        part = self.document.energy
        if part is None:
            return Electricity()
        rates: dict[str, Any] = {"price": part.price_per_kwh, "carbon": part.carbon_g_per_kwh}
        for name, file, least in (("price", part.price_file, -math.inf), ("carbon", part.carbon_file, 0.0)):
            if file is not None:
                path = ("energy", f"{name}_file")
                rates[name] = read(self.source, path, self.folder / file, read_series, part.start, least=least)
        return Electricity(rates["price"], rates["carbon"], part.pue)

    def _tables_of_types(
        self, workloads: Workloads, center: Datacenter | None, work: Workload | None, affinities: np.ndarray | None
    ) -> tuple[Any, Any, Any]:
        """Return the powers, overheads and consolidated times by type; without types none can be checked."""
        source, document, names = self.source, self.document, workloads.names
        if not workloads.types_are_known:
            return None, workloads.overhead, None
        must_have = None
        if center is not None and work is not None and affinities is not None:
            must_have = _in_use(center, work.job_task_type, affinities)
            must_have[[p.has_own_power for p in names.processors]] = False
        check_task_types(source, document.processor_types, names)
        power = table(source, "power", document.power, names, must_have)
        overhead = workloads.overhead
        if document.overhead is not None:
            overhead = table(source, "overhead", document.overhead, names)
        return power, overhead, consolidated(source, document.consolidated_times, names, affinities)

    def _network(self) -> Network:
        part: NetworkPart | None = self.document.network
        if part is None:
            return PAPER
        if part.file is not None:
            path = self.folder / part.file
            network = read(self.source, ("network", "file"), path, lambda p: read_network(Path(os.path.abspath(p))))
            network = network or PAPER
        else:
            given = part.model_fields_set - {"preset", "file"}
            values = {"hop_latency_us" if name == "hop_latency" else name: getattr(part, name) for name in given}
            for name in ("hop_latency", "hops_intra", "hops_inter"):
                if name in given and getattr(part, name) is None:
                    self.source.add(("network", name), "a number", "nothing", "Remove the key to use the preset's.")
                    return PAPER
            network = replace(PRESETS[part.preset], **values)
        return network

    def _adopt(self, error: InputError, workloads: Workloads) -> None:
        """Report problems that the model found in the combination of sections, each at its section."""
        for problem in error.problems:
            if workloads.adopt(problem):
                continue
            path = problem.path or (problem.where,)
            name = str(path[0])
            section = _SECTIONS.get(name, name)
            is_item = name in ITEMS and len(path) > 1 and not isinstance(path[1], str)
            self.source.adopt(InputError([problem]), (section, path[1]) if is_item else (section,))


def _outages(parts: Sequence[OutagePart] | None) -> tuple[Outage, ...]:
    return tuple(Outage(**declared_by(part, Outage)) for part in parts or ())


def _failures(parts: Sequence[FailurePart] | None) -> tuple[Failures, ...]:
    return tuple(
        Failures(
            processor_type=part.type,
            node=None if part.rack is None or part.shelf is None else (part.rack, part.shelf),
            **declared_by(part, Failures, until=Times, repair=Times),
        )
        for part in parts or ()
    )


def _accounting(part: AccountingPart | None) -> Accounting:
    return Accounting() if part is None else Accounting(**declared_by(part, Accounting))


def _in_use(center: Datacenter, job_task_type: np.ndarray, affinities: np.ndarray) -> np.ndarray:
    """Return [P, T] whether a unit of each type can run a task of each type in this scenario."""
    is_deployed, is_asked_for = (np.zeros(n, bool) for n in affinities.shape)
    is_deployed[center.unit_type] = True
    is_asked_for[job_task_type] = True
    return np.outer(is_deployed, is_asked_for) & (affinities > 0)
