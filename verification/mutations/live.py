"""The scheduler as a component: leases, grants, and what a policy leaves behind."""

from verification.mutations.mutation import mutation

CALLS = "tests/unit/test_live.py"
LEASES = "tests/unit/test_live.py::test_a_late_completion_frees_nobody"

MUTATIONS = (
    mutation(
        "a lease still holds at its end",
        LEASES,
        "live/scheduler.py",
        "while self._grants.next_us <= now_us:",
        "while self._grants.next_us < now_us:",
    ),
    mutation(
        "a renewed lease ends when the first one would have",
        LEASES,
        "live/grants.py",
        "self._leases.set(grant, now_us + (running.grant.lease_until_us - running.grant.issued_us))",
        "self._leases.set(grant, running.grant.lease_until_us)",
    ),
    mutation(
        "a grant that was refused has used up random numbers",
        CALLS,
        "live/decider.py",
        "                self.state.random_state = before[1]\n",
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
        "alone * float(slowdown_at(model, state, tasks[0], unit, full))",
        "alone",
    ),
    mutation(
        "a lease is the shorter of its two lengths",
        LEASES,
        "live/grants.py",
        "max(self._floor_us, self._factor * expected_us)",
        "min(self._floor_us, self._factor * expected_us)",
    ),
)
