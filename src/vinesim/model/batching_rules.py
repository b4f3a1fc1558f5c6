"""What must hold of a scenario with serving engines: requests that they can serve, and nothing that is not modelled."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vinesim.model.batching import DECODE, PREFILL
from vinesim.model.errors import Problem

if TYPE_CHECKING:
    from vinesim.model.scenario import Scenario

MAX_NAMED = 10  # requests of a problem


def wrong_use_of_batching(scenario: "Scenario") -> Iterator[Problem]:
    """Find what is wrong with a scenario some of whose units are serving engines."""
    yield from _not_modelled(scenario)
    for p in scenario.engine_types.tolist():
        yield from _wrong_type(scenario, p)
        yield from _wrong_role(scenario, p)
        yield from _wrong_requests(scenario, p)


def _not_modelled(scenario: "Scenario") -> Iterator[Problem]:
    """Find what goes with no serving engine."""
    work, center = scenario.workload, scenario.datacenter
    columns = {
        "withdraw_us": "a request that was started ends when its answer is complete",
        "limit_us": "a request that was started ends when its answer is complete",
        "placed": "engines are empty at the beginning",
        "gang_within": "each request starts by itself",
        "units": "an engine is one unit, whatever its devices are",
        "companions": "an engine is one unit, whatever its devices are",
        "lead_types": "the affinity says which types serve a request",
        "partition": "quotas count shares of units, and an engine takes any number of requests",
        "demand": "the tokens of a request say what it takes of an engine",
        "times_us": "the steps of an engine say how long a request takes",
        "time_factor": "the steps of an engine say how long a request takes",
    }
    for name, why in columns.items():
        if getattr(work, name) is not None:
            yield Problem(("workload", name), f"none with batching: {why}", "given")
    for at, is_given in (
        (("outages",), bool(scenario.outages)),
        (("failures",), bool(scenario.failures)),
        (("reservations",), bool(scenario.reservations)),
        (("datacenter", "power_cap"), center.has_power_caps),
        (("consolidated_us",), scenario.consolidated_us is not None),
    ):
        if is_given:
            yield Problem(at, "none with batching, which does not model it yet", "given")
    if center.capacity is not None and (center.capacity != 1.0)[np.isin(center.unit_type, scenario.engine_types)].any():
        yield Problem(("datacenter", "capacity"), "no capacity of units with batching, which take any number", "one")
    if work.has_data:
        yield Problem(("workload", "data_bytes"), "tasks without data with batching, which models no transfers", "data")
    if np.isinf(work.operations).any():
        yield Problem(("workload", "operations"), "finite operations with batching", "tasks without end")
    for one in scenario.applications:
        if one.max_consolidated > 1 or one.gang_size > 1:
            found = f"max_consolidated {one.max_consolidated}, gang_size {one.gang_size}"
            yield Problem(("applications", one.name), "requests that start one by one, with batching", found)


def _wrong_type(scenario: "Scenario", p: int) -> Iterator[Problem]:
    """Find what is wrong with a type of serving engines."""
    one, work = scenario.datacenter.processor_types[p], scenario.workload
    where = ("processor_types", one.name)
    is_drawn = scenario.power_w is not None and scenario.power_w[p].any()
    if one.dynamic_power_w is not None or one.sleep_power_w is not None or is_drawn:
        remedy = "Give it a power_curve, by its requests / max_sequences, and leave out the others."
        expected = "a power_curve or none with batching, as an engine is always awake and its requests share its steps"
        yield Problem(where, expected, "power, dynamic_power or sleep_power", remedy)
    if scenario.overhead_us is not None and scenario.overhead_us[p].any():
        yield Problem(("overhead", one.name), "none with batching: it is part of the time of a step", "an overhead")
    served = scenario.served_by(p)
    steps = {id(one.batching.step_of(work.task_types[t].name)) for t in served} if one.batching is not None else {0}
    names = ", ".join(work.task_types[t].name for t in served)
    if len(steps) > 1:
        remedy = "Define a processor type for each model, or one step for all."
        expected = f"the same time for all task types that it serves ({names})"
        yield Problem((*where, "batching", "step"), expected, "several", remedy)
    for t in served:
        name = work.task_types[t].name
        if one.batching is not None and one.batching.step_of(name) is None:
            remedy = "Give one, or set the affinity to 0."
            yield Problem(
                (*where, "batching", "step"), f"the time of a step for {name}, which it serves", "none", remedy
            )


def _wrong_role(scenario: "Scenario", p: int) -> Iterator[Problem]:
    """Find engines that only prefill without any that decodes what they serve, and the reverse."""
    name = scenario.datacenter.processor_types[p].name
    for expected in missing_partners(scenario, p, scenario.engine_types.tolist()):
        remedy = "Add one, or give it an affinity above 0."
        yield Problem(("processor_types", name, "batching", "role"), expected, "none", remedy)


def missing_partners(scenario: "Scenario", p: int, present: Sequence[int]) -> Iterator[str]:
    """Say which engines a type with a role needs if the datacenter has those of the types ``present``."""
    types = scenario.datacenter.processor_types
    of_others = {q: one.role for q in present if (one := types[q].batching) is not None}
    wanted = {PREFILL: lambda role: role != PREFILL, DECODE: lambda role: role == PREFILL}
    if (role := of_others[p]) not in wanted:
        return
    partners = [q for q, other in of_others.items() if wanted[role](other)]
    for t in scenario.served_by(p):
        if not any(scenario.affinity[q, t] > 0 for q in partners):
            name = scenario.workload.task_types[t].name
            needed = "decodes" if role == PREFILL else "only prefills"
            yield f"an engine in the datacenter that {needed} and serves {name}, as {types[p].name} is for {role}"


def _wrong_requests(scenario: "Scenario", p: int) -> Iterator[Problem]:
    """Find requests that an engine of a type cannot serve though its affinity says so."""
    one, work = scenario.datacenter.processor_types[p], scenario.workload
    assert one.batching is not None
    if work.input_tokens is None or work.output_tokens is None:
        if len(scenario.served_by(p)):
            yield Problem(("workload", "input_tokens"), f"tokens of each request, as {one.name} has batching", "none")
        return
    type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
    only_prefills = one.batching.role == PREFILL
    n_tokens = work.input_tokens + (1 if only_prefills else work.output_tokens)
    is_too_long = (scenario.affinity[p][type_of_task] > 0) & (n_tokens > one.batching.longest)
    for t in np.flatnonzero(is_too_long)[:MAX_NAMED]:
        expected = f"at most {one.batching.longest:,} input and output tokens, which fit into the memory of {one.name}"
        found = f"{work.input_tokens[t]:,} + {1 if only_prefills else work.output_tokens[t]:,}"
        remedy = f"Give it more memory_tokens, or an affinity of 0 of {one.name} for such requests."
        yield Problem(("workload", "input_tokens", int(t)), expected, found, remedy)
