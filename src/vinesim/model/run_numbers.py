"""The numbers of a run, declared once: their names, the direction that is better, and the columns they need."""

from typing import Literal, NamedTuple


class Number(NamedTuple):
    """A number of ``summary.json``; it also covers the names that begin with its own."""

    name: str
    better: Literal["lower", "higher", ""] = ""  # "": it depends; slow units, for one, are busy longer
    columns: tuple[str, ...] = ()  # the task columns needed for it, besides the finish times


QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}  # of a distribution, where none are asked for
_INIT = ("task_init_us",)
_HELD = ("task_unit", "task_init_us", "task_follower")  # who was on which unit, and when
_POWER = (*_HELD, "task_start_us")

NUMBERS = {
    number.name: number
    for number in (
        Number("jobs.count"),
        Number("jobs.finished", "higher"),
        Number("jobs.killed", "lower"),
        Number("jobs.withdrawn"),
        Number("jobs.refused", "lower", ("task_unit", "task_init_us")),
        Number("jobs.ended", "lower", ("task_unit", "task_init_us")),
        Number("jobs.started", "higher", _INIT),
        Number("jobs.latency_us", "lower"),
        Number("jobs.wait_us", "lower", _INIT),
        Number("jobs.time_to_start_us", "lower", _INIT),
        Number("jobs.bounded_slowdown", "lower", _INIT),
        Number("jobs.warm_up.dropped"),
        Number("fairness.users"),
        Number("fairness.jain", "higher", _INIT),
        Number("fairness.worst_slowdown", "lower", _INIT),
        Number("tasks.count"),
        Number("tasks.finished", "higher"),
        Number("tasks.latency_us", "lower"),
        Number("tasks.response_us", "lower", _INIT),
        Number("tasks.wait_us", "lower", _INIT),
        Number("tasks.by_type", columns=("task_unit",)),
        Number("utilization.overall", columns=_HELD),
        Number("utilization.by_type", columns=_HELD),
        Number("utilization.by_resource", columns=_HELD),
        Number("utilization.percentiles", columns=_HELD),
        Number("utilization.allocated", columns=_HELD),
        Number("utilization.active", columns=_HELD),
        Number("load", columns=_HELD),
        Number("makespan_us", "lower"),
        Number("cost.purchase", "lower"),
        Number("energy_j", "lower", _POWER),
        Number("energy.by_type", "lower", _POWER),
        Number("energy.by_state", "lower", _POWER),
        Number("energy.kwh", "lower", _POWER),
        Number("energy.cost", "lower", _POWER),
        Number("energy.carbon_g", "lower", _POWER),
        Number("deadlines.missed", "lower"),
        Number("deadlines.missed_pct", "lower"),
        Number("serving.first_token_us", "lower"),
        Number("serving.token_us", "lower"),
        Number("serving.queue_us", "lower"),
        Number("serving.transfer_us", "lower"),
        Number("serving.input_tokens_per_s", "higher"),
        Number("serving.output_tokens_per_s", "higher"),
        Number("serving.goodput_per_s", "higher"),
        Number("serving.goodput_pct", "higher"),
        Number("serving.missed", "lower"),
        Number("serving.memory"),
        Number("serving.prefix_found_pct", "higher"),
        Number("serving.j_per_output_token", "lower", _POWER),
        Number("serving.electricity_per_million_tokens", "lower", _POWER),
        Number("serving.preemptions", "lower"),
        Number("outages.restarts", "lower"),
        Number("outages.lost_us", "lower"),
        Number("early_ends"),
        Number("quotas", columns=_HELD),
        Number("applications"),
        Number("periods.count"),
        Number("periods.energy_j", "lower"),
        Number("periods.slav", "lower"),
        Number("periods.bound_j"),
        Number("periods.gap_pct"),
        Number("periods.optimum_j"),
        Number("periods.optimum_gap_pct"),
        Number("periods.infeasible"),
        Number("bound.value_us"),
        Number("bound.bound_us"),
        Number("bound.gap_pct"),
        Number("by"),  # of the jobs of a user, partition, hour ..., if a study records them
        Number("exit_reason"),
    )
}


def is_number_or_part(name: str) -> bool:
    """Whether a name is a number of a run, a prefix of one, or starts with one."""
    return any(f"{kind}.".startswith(f"{name}.") or f"{name}.".startswith(f"{kind}.") for kind in NUMBERS)
