"""The policy ``slurm``: what Slurm's scheduler does. Its options have Slurm's own names."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Plan
from vinesim.policies.slurm.books import ARRAYS
from vinesim.policies.slurm.clock import act, next_us
from vinesim.policies.slurm.codes import HETJOB_PRIORITIES
from vinesim.policies.slurm.events import note
from vinesim.policies.slurm.option_rules import wrong_options
from vinesim.policies.slurm.priority import whole_minutes
from vinesim.policies.slurm.wanted import next_action
from vinesim.state.layout import NOTHING
from vinesim.state.queries import all_arrived, more_at_once, n_pending, wait_until
from vinesim.state.scratch import OptionValue

COUNTS = ("bf_max_job_assoc", "bf_max_job_user_part", "bf_max_job_array_resv", "bf_min_age_reserve", "bf_window_linear",
          "bf_min_prio_reserve", "bf_job_part_count_reserve", "partition_job_depth", "sched_max_job_start")  # fmt: skip
MAY_BE_NEVER, NEVER = ("bf_interval", "sched_interval"), -1
Named = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Slurm(OnlinePolicy):
    """Slurm's multifactor priority, main scheduler and backfill, as Slurm 22.05 was seen to work.

    The options are Slurm's parameters, with Slurm's defaults and units.

    Backfill: ``bf_interval``, ``bf_resolution`` (s),
    ``bf_window`` (min), ``bf_window_linear`` (s), ``bf_max_job_test``, ``bf_max_job_user``, ``bf_max_job_part``,
    ``bf_max_job_user_part``, ``bf_max_job_assoc``, ``bf_max_job_start``, ``bf_max_job_array_resv``,
    ``bf_min_age_reserve`` (s), ``bf_min_prio_reserve``, ``bf_job_part_count_reserve``, ``bf_one_resv_per_job``,
    ``bf_busy_nodes``, ``bf_hetjob_prio``. Main scheduler: ``default_queue_depth``, ``partition_job_depth``,
    ``sched_interval``, ``batch_sched_delay`` (s), ``sched_max_job_start``, ``assoc_limit_stop``. An interval of -1
    means never. Nodes: ``pack_serial_at_end``. Priorities: ``priority_type`` basic or multifactor,
    ``priority_weight_age``, ``priority_weight_assoc``, ``priority_weight_fair_share``, ``priority_weight_job_size``,
    ``priority_weight_partition``, ``priority_weight_qos``, ``priority_weight_tres``, ``priority_max_age``,
    ``priority_decay_half_life``, ``priority_calc_period`` (s), ``fair_tree`` or the classic fair share,
    ``priority_favor_small``, and the flags ``small_relative_to_time``, ``max_tres``, ``accrue_always``, ``incr_only``,
    ``no_normal_assoc``, ``no_normal_part``, ``no_normal_qos``, ``no_normal_tres``. Preemption: ``preempt_type``,
    ``preempt_mode``, ``preempt_youngest_first``, ``preempt_exempt_time`` (s). Also: ``over_time_limit`` (min),
    ``requeue_delay`` (s), and ``start_s``, when the log begins (s since 1970).

    Things with names are mappings by name: ``qos``, ``accounts``, ``partitions``, ``nodes``, ``reservations``,
    ``topology`` (each switch with its nodes or switches; a job waits up to ``max_switch_wait`` s for the number of
    switches that it requests) and ``licenses`` (the number of each). Examples are
    ``options.qos.short.max_jobs_per_user``, ``options.qos.short.usage_factor``,
    ``options.accounts.phys.grp_tres.cpu``, ``options.partitions.batch.max_time`` (min),
    ``options.partitions.batch.qos`` (the QOS whose limits apply to its jobs), ``options.partitions.batch.max_nodes``,
    ``options.partitions.batch.max_cpus_per_node`` (of all its jobs together),
    ``options.partitions.batch.grace_time`` (s, before preemption),
    ``options.partitions.batch.tres_billing_weights.gres/gpu`` (for memory: per MiB),
    ``options.partitions.batch.lln`` (true: the least loaded nodes first) and ``options.licenses.matlab``.

    The jobs must come from an imported site: their attributes hold what they request. The phases of Slurm's clocks are
    drawn from the seed, so replications differ as runs of real Slurm do.

    Ties: the order of submission. Cost per decision: at its own times, all pending jobs times all nodes.
    """

    name: ClassVar[str] = "slurm"
    source: ClassVar[str] = "Slurm's manual pages, and measurements of Slurm 22.05"
    deterministic: ClassVar[bool] = False
    needs_estimates: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("user",)
    may_drop: ClassVar[bool] = True
    preempts: ClassVar[bool] = True
    plans: ClassVar[bool] = True
    sees_every_event: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {name: (kind, "one") for name, kind in ARRAYS.items()}

    bf_interval: float = 30.0
    bf_window: float = 1440.0
    bf_resolution: float = 60.0
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_start: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_user_part: int = 0
    bf_max_job_array_resv: int = 20
    bf_min_age_reserve: float = 0.0
    bf_min_prio_reserve: float = 0.0
    bf_job_part_count_reserve: int = 0
    bf_one_resv_per_job: bool = False
    bf_window_linear: float = 0.0
    bf_busy_nodes: bool = False
    bf_hetjob_prio: Literal["off", "min", "avg", "max"] = "off"
    default_queue_depth: int = 100
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    sched_interval: float = 60.0
    batch_sched_delay: float = 3.0
    over_time_limit: float = 0.0
    requeue_delay: float = 121.0
    assoc_limit_stop: bool = False
    pack_serial_at_end: bool = False
    priority_type: Literal["basic", "multifactor"] = "multifactor"
    priority_weight_age: float = 0.0
    priority_weight_assoc: float = 0.0
    priority_weight_fair_share: float = 0.0
    priority_weight_job_size: float = 0.0
    priority_weight_partition: float = 0.0
    priority_weight_qos: float = 0.0
    priority_weight_tres: Mapping[str, float] = field(default_factory=dict)
    priority_max_age: float = 604800.0
    priority_decay_half_life: float = 604800.0
    priority_calc_period: float = 300.0
    fair_tree: bool = True
    priority_favor_small: bool = False
    small_relative_to_time: bool = False
    max_tres: bool = False
    accrue_always: bool = False
    incr_only: bool = False
    no_normal_assoc: bool = False
    no_normal_part: bool = False
    no_normal_qos: bool = False
    no_normal_tres: bool = False
    preempt_type: Literal["none", "partition_prio", "qos"] = "none"
    preempt_mode: Literal["off", "cancel", "requeue", "suspend"] = "off"
    preempt_youngest_first: bool = False
    preempt_exempt_time: float = 0.0
    max_switch_wait: float = 300.0
    start_s: float = 0.0
    nodes: Named = field(default_factory=dict)
    partitions: Named = field(default_factory=dict)
    qos: Named = field(default_factory=dict)
    accounts: Named = field(default_factory=dict)
    reservations: Named = field(default_factory=dict)
    licenses: Mapping[str, float] = field(default_factory=dict)
    topology: Named = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = []
        for name, least in (("bf_interval", 1.0), ("sched_interval", 1.0), ("bf_resolution", 1.0),
                            ("priority_calc_period", 1.0), ("bf_window", 1.0), ("bf_max_job_test", 1),
                            *((name, 0) for name in COUNTS)):  # fmt: skip
            is_never = name in MAY_BE_NEVER and getattr(self, name) == NEVER
            if not is_never and not least <= getattr(self, name) < math.inf:
                expected = f"{least:g} or more" + (f", or {NEVER} for never" if name in MAY_BE_NEVER else "")
                problems.append(Problem(("policy", "options", name), expected, f"{getattr(self, name):g}"))
        unnamed = [name for name in MAPPINGS if not isinstance(getattr(self, name), Mapping)]
        problems += [
            Problem(("policy", "options", name), "a mapping by name", repr(getattr(self, name))[:40])
            for name in unnamed
        ]
        problems += [] if unnamed else wrong_options(self)
        if problems:
            raise InputError(problems[:MAX_PROBLEMS], len(problems))

    def values_of_options(self) -> dict[str, OptionValue]:
        """Return the options as a kernel sees them. The mappings are left out, because the arrays hold them."""
        words = {name: {word: word == getattr(self, name) for word in words} for name, words in self.choices().items()}
        return (
            words
            | {name: _number(getattr(self, name)) for name in NUMBERS}
            | {
                "hetjob_prio": HETJOB_PRIORITIES[self.bf_hetjob_prio],
                "multifactor": int(self.priority_type == "multifactor"),
                "preempts": int(self.preempt_type != "none" and self.preempt_mode != "off"),
                "suspends": int(self.preempt_type != "none" and self.preempt_mode == "suspend"),
                "priority_max_age": float(whole_minutes(self.priority_max_age)),
            }
        )

    def wrong_scenario(self, scenario: Scenario) -> list[Problem]:
        problems = []
        if "request" not in (scenario.workload.attributes or {}):
            remedy = "Import a site: vinesim import slurm DIR -o site.parquet"
            expected = "jobs of a Slurm site, with attribute.request"
            problems.append(Problem(("policy",), expected, "jobs without it", remedy))
        if scenario.datacenter.has_power_caps:
            expected = "none, for the policy slurm, which keeps books of its nodes and knows of no caps"
            problems.append(Problem(("datacenter", "power_cap"), expected, "a power cap"))
        if scenario.reservations:
            expected = "none, for the policy slurm, which follows the reservations of its site"
            problems.append(Problem(("reservations",), expected, "reservations", "Leave them out."))
        return problems

    def suited_to(self, scenario: Scenario) -> "Slurm":
        """Return the policy with the arrays for a scenario. Raises :class:`InputError` where the options do not fit."""
        from vinesim.policies.slurm.prepare import prepared

        arrays = prepared(self, scenario)
        suited = replace(self)
        object.__setattr__(suited, "scratch", {name: (kind, str(len(arrays[name]))) for name, kind in ARRAYS.items()})
        object.__setattr__(suited, "arrays", arrays)
        return suited

    def plan(self, model: Any, on_message: Callable[[str], None] | None) -> Plan:
        """Return the arrays for the start of the run."""
        arrays: dict[str, np.ndarray] = vars(self)["arrays"]
        return Plan(arrays)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        s = view.scratch
        is_new = s.n_wanted[0] == 0 or s.noted[0] != view.now_us or s.noted[1] != view.event or s.noted[2] != view.task
        if is_new:
            s.noted[0], s.noted[1], s.noted[2] = view.now_us, view.event, view.task
            note(model, state, view)
        more_come = more_at_once(model, state)
        if is_new and not more_come:
            act(s, view.options, view.now_us)
        action = next_action(model, state, s)
        if action.kind != NOTHING or more_come:
            return action
        is_idle = n_pending(model, state) == 0
        until_us = next_us(s, view.options, view.now_us, not all_arrived(model, state), is_idle)
        return wait_until(math.inf if until_us >= 1e300 else until_us)


MAPPINGS = ("priority_weight_tres", "nodes", "partitions", "qos", "accounts", "reservations", "licenses", "topology")
CHOICES = ("priority_type", "preempt_type", "preempt_mode", "bf_hetjob_prio")
NUMBERS = tuple(item.name for item in fields(Slurm) if item.name not in (*MAPPINGS, *CHOICES))


def _number(value: Any) -> OptionValue:
    return int(value) if isinstance(value, bool | int) else math.inf if value is None else float(value)
