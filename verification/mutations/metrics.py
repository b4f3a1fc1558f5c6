"""The metrics: percentiles, utilisation, energy, waiting, warm-up, sampling, deadlines, periods."""

from verification.mutations.mutation import mutation

USE = "tests/unit/metrics/test_utilization_and_energy.py"
ENERGY = f"{USE} tests/unit/metrics/test_electricity.py::test_energy_is_what_every_microsecond_draws"
PRICES = "tests/unit/metrics/test_electricity.py"
WAITING = "tests/unit/metrics/test_waiting.py"
WARM_UP = "tests/unit/metrics/test_warm_up.py"
LATENCY = "tests/unit/metrics/test_latency.py"
REQUESTS = "tests/unit/metrics/test_applications.py::test_the_table_is_the_jobs_counted[fcfs]"
BOUND = "tests/unit/metrics/test_applications.py::test_the_bound_counts_what_does_not_fit"
RULES = "tests/properties/test_invariants.py"
PERIODS = "tests/properties/test_placement.py::test_a_server_that_stays_active_wakes_up_once"
QUOTAS = "tests/unit/metrics/test_waiting_of_quotas.py"
CONSOLIDATED = f"{USE}::test_consolidated_tasks_draw_the_power_of_one_and_the_unit_idles_while_it_runs_none"
NO_DEADLINE = "tests/unit/metrics/test_applications.py::test_jobs_without_a_deadline_miss_none"

MUTATIONS = (
    mutation(
        "nearest rank is one too high where share x number is whole",
        LATENCY,
        "metrics/latency.py",
        "math.ceil(n * p - 1)",
        "math.floor(n * p)",
    ),
    mutation(
        "linear percentiles count n gaps between n values",
        LATENCY,
        "metrics/latency.py",
        "places = [(n - 1) * p for p in probabilities]",
        "places = [min(n - 1, n * p) for p in probabilities]",
    ),
    mutation(
        "a unit that gets its next task as the last one leaves slept in between",
        ENERGY,
        "metrics/utilization.py",
        "opens[1:] |= begin[1:] > end[:-1]",
        "opens[1:] |= begin[1:] >= end[:-1]",
    ),
    mutation(
        "a unit that is never idle may have a negative idle energy, by a rounding",
        ENERGY,
        "metrics/energy.py",
        "return whole - part if rate is not None else np.maximum(0.0, whole - part)",
        "return whole - part",
        added=f"{USE}::test_a_unit_that_is_never_idle_has_no_idle_energy_whatever_the_rounding",
    ),
    mutation(
        "units that do not sleep pay for waking up",
        ENERGY,
        "metrics/energy.py",
        "np.where(sleeps, woken, 0.0)",
        "woken",
    ),
    mutation(
        "a unit is not free on arrival if its next task came at that instant, and is",
        WAITING,
        "metrics/waiting.py",
        "opening.taken_us > arrival_us",
        "opening.taken_us >= arrival_us",
    ),
    mutation(
        "waiting: what happens at the instant of the start is left out",
        WAITING,
        "metrics/openings.py",
        "if change.time_us > until_us:\n            break\n        unit.apply(change)\n        if place.has_room",
        "if change.time_us >= until_us:\n            break\n        unit.apply(change)\n        if place.has_room",
    ),
    mutation(
        "warm-up: the cut at the very half is not tried",
        WARM_UP,
        "metrics/warm_up.py",
        "np.argmin(error[: n // 2 + 1])",
        "np.argmin(error[: n // 2])",
    ),
    mutation(
        "warm-up: all jobs may be left out",
        WARM_UP,
        "metrics/warm_up.py",
        "if n >= n_jobs:",
        "if n > n_jobs:",
    ),
    mutation(
        "sampling: the largest number of samples is one less",
        USE,
        "metrics/utilization.py",
        "if n > MAX_SAMPLES:",
        "if n >= MAX_SAMPLES:",
        added=f"{USE}::test_as_many_samples_as_are_allowed_are_given",
    ),
    mutation(
        "a job that ends at its deadline has missed it, in the summary",
        f"{RULES} {REQUESTS}",
        "metrics/summary.py",
        "~(tables.job_finish_us <= work.deadline_us)",
        "~(tables.job_finish_us < work.deadline_us)",
    ),
    mutation(
        "the same in the numbers of applications",
        REQUESTS,
        "metrics/applications.py",
        "~(tables.job_finish_us <= due)",
        "~(tables.job_finish_us < due)",
    ),
    mutation(
        "the bound on deadlines looks over requests that are due at the end of a window",
        BOUND,
        "metrics/deadline_bound.py",
        "(due <= (window + 1) * window_us)",
        "(due < (window + 1) * window_us)",
    ),
    mutation(
        "the bounded slowdown of short jobs is below 1",
        f"tests/unit/formats/test_swf.py {RULES}",
        "metrics/tables.py",
        "return np.maximum(1.0, self.job_latency_us / np.maximum(running, SLOWDOWN_FLOOR_US))",
        "return self.job_latency_us / np.maximum(running, SLOWDOWN_FLOOR_US)",
    ),
    mutation(
        "a server that was active pays for waking up in each period",
        PERIODS,
        "metrics/periods.py",
        "(active & ~self.was_active & sleeps)",
        "(active & sleeps)",
        added=PERIODS,
    ),
    mutation(
        "a job has no start as long as one of its tasks has none",
        f"tests/unit/engine/test_simulate.py {RULES}",
        "metrics/tables.py",
        "_over_jobs(np.fmin, first_us",
        "_over_jobs(np.minimum, first_us",
    ),
    mutation(
        "a price holds an instant too long",
        PRICES,
        "model/electricity.py",
        'np.searchsorted(self.begin_us, within, side="right")',
        'np.searchsorted(self.begin_us, within, side="left")',
    ),
    mutation(
        "energy from the grid leaves out what the building adds",
        PRICES,
        "metrics/summary.py",
        "per_j = electricity.pue / J_PER_KWH",
        "per_j = 1.0 / J_PER_KWH",
    ),
    mutation(
        "consolidated tasks each draw the power of their unit",
        CONSOLIDATED,
        "metrics/energy.py",
        "    ran[..., segments.followers] = False\n",
        "",
        "metrics/segments.py",
        "        held[..., self.followers] = 0.0\n",
        "",
        added=CONSOLIDATED,
    ),
    mutation(
        "consolidated tasks each hold room of their unit",
        CONSOLIDATED,
        "metrics/segments.py",
        "        held[..., self.followers] = 0.0\n",
        "",
        added=CONSOLIDATED,
    ),
    mutation(
        "jobs without a deadline count in the share that missed theirs",
        NO_DEADLINE,
        "metrics/summary.py",
        "counted = np.isfinite(work.deadline_us)",
        "counted = work.deadline_us > 0",
        added=NO_DEADLINE,
    ),
    mutation(
        "requests without a deadline miss it if they never end",
        NO_DEADLINE,
        "metrics/applications.py",
        "missed: np.ndarray = np.isfinite(due) & ~(",
        "missed: np.ndarray = ~(",
        added=NO_DEADLINE,
    ),
    mutation(
        "each job of a sample stands for as much waiting, however long it waited",
        "tests/unit/metrics/test_causes.py",
        "metrics/causes.py",
        "return rows, counts / MAX_EXPLAINED",
        "return rows, np.full(len(rows), 1.0 / len(rows))",
        added="tests/unit/metrics/test_causes.py::test_one_long_wait_stands_for_as_much_as_many_short_ones",
    ),
    mutation(
        "a quota: a task that takes any whole unit needs as much as the largest has",
        QUOTAS,
        "metrics/quota_waits.py",
        '(units["unit_type"] == code)].min()))',
        '(units["unit_type"] == code)].max()))',
        added=f"{QUOTAS}::test_a_whole_unit_needs_as_much_as_the_smallest_has",
    ),
)
