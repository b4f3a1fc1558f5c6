"""The scheduler as a component: leases, grants, and what a policy leaves behind."""

from verification.mutations.mutation import mutation

CALLS = "tests/unit/test_live.py"
LEASES = "tests/unit/test_live.py::test_a_late_completion_frees_nobody"

MUTATIONS = (
    mutation(
        "a lease still holds at its end",
        LEASES,
        "live/scheduler.py",
        "while self._leases.next_us() <= now_us:",
        "while self._leases.next_us() < now_us:",
    ),
    mutation(
        "a renewed lease ends when the first one would have",
        LEASES,
        "live/scheduler.py",
        "self._leases.set(grant, self._now_us + (given.lease_until_us - given.issued_us))",
        "self._leases.set(grant, given.lease_until_us)",
    ),
    mutation(
        "a grant that was refused has used up random numbers",
        CALLS,
        "live/scheduler.py",
        "                self._state.random_state = before[1]\n",
        "",
        added=f"{CALLS}::test_asking_for_another_draws_nothing",
    ),
    mutation(
        "a unit that runs nothing keeps the rounding of the demands that it had",
        CALLS,
        "live/state.py",
        "self.unit_load[unit] = load if self.running[unit] else 0.0",
        "self.unit_load[unit] = load",
        added=f"{CALLS}::test_a_unit_that_all_requests_have_left_is_empty_whatever_the_rounding",
    ),
    mutation(
        "a lease does not allow for units that share their speed",
        LEASES,
        "live/state.py",
        "alone * max(1.0, float(model.unit_capacity[unit] / model.unit_parallelism[unit]))",
        "alone",
    ),
    mutation(
        "a lease is the shorter of its two lengths",
        LEASES,
        "live/scheduler.py",
        "max(floor_us, factor * expected)",
        "min(floor_us, factor * expected)",
    ),
)
