"""The scheduler as a component: leases, grants, and what a policy leaves behind."""

from verification.mutations.mutation import mutation

CALLS = "tests/unit/test_live.py"
LEASES = "tests/unit/test_live.py::test_a_late_completion_frees_nobody"
NOT_GIVEN = "test_a_grant_that_ends_before_it_is_given_is_never_given"
CORE, CANCEL = "tests/live/test_core.py", "tests/live/test_cancel.py"

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
        "engine/reference_state.py",
        "self.unit_load[unit] - amount if self.holders[unit] else 0.0",
        "self.unit_load[unit] - amount",
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
    mutation(
        "a grant that is lost before it was given is given all the same",
        CALLS,
        "live/grants.py",
        "            if running.grant in self.ready:\n                self.ready.remove(running.grant)\n",
        "",
        added=f"{CALLS}::{NOT_GIVEN}",
    ),
    mutation(
        "a grant whose lease ended before it was given is given all the same",
        CALLS,
        "live/grants.py",
        "            del self.lost_ids[next(iter(self.lost_ids))]\n        if running.grant in self.ready:",
        "            del self.lost_ids[next(iter(self.lost_ids))]\n        if False:",
        added=f"{CALLS}::{NOT_GIVEN}",
    ),
    mutation(
        "a lease that is renewed again and again takes more and more room",
        CALLS,
        "live/leases.py",
        "if len(self._order) > 2 * len(self._until) + 64:",
        "if len(self._order) > 500:",
        added=f"{CALLS}::test_a_lease_that_is_renewed_200_times_is_one_entry",
    ),
    mutation(
        "a lease that was renewed ends when the first one would have, once there are many",
        CALLS,
        "live/leases.py",
        "while self._order and self._until.get(self._order[0][1]) != self._order[0][0]:",
        "while self._order and self._order[0][1] not in self._until:",
        added=f"{CALLS}::test_leases_are_those_of_a_plain_dictionary",
    ),
    mutation(
        "somebody asks again although all requests have started",
        CALLS,
        "live/decider.py",
        "is_ahead = self.n_pending > 0 and self.timer_us > self.now_us",
        "is_ahead = self.timer_us > self.now_us",
        added=f"{CALLS}::test_nobody_need_ask_again_when_all_requests_have_started_before_the_time_of_the_policy",
    ),
    mutation(
        "a closed unit is a full one, so that what takes nothing of it starts there",
        CALLS,
        "live/decider.py",
        "DOWN if row in self.down else",
        "0.0 if row in self.down else",
        added=f"{CALLS}::test_a_closed_unit_gets_nothing_whatever_is_asked_of_it",
    ),
    mutation(
        "what arrives at an instant comes before what ends",
        CALLS,
        "live/decisions.py",
        "[*of[Withdraw], *closed, *of[Complete], *of[Lose], *of[Arrive], *opened]",
        "[*of[Withdraw], *closed, *of[Arrive], *of[Complete], *of[Lose], *opened]",
        added=f"{CALLS}::test_a_turn_gets_things_in_the_order_of_an_instant",
    ),
    mutation(
        "a manager that starts again numbers its attempts as the first one did",
        CORE,
        "live/manager/runs.py",
        "self._next = self.n_starts << 32",
        "self._next = 1 << 32",
        added=f"{CORE}::test_attempts_have_numbers_of_their_own_across_restarts",
    ),
    mutation(
        "that a job was cancelled is forgotten when the manager dies",
        CANCEL,
        "live/manager/jobs.py",
        'bool(row["is_cancelled"])',
        "False",
        added=f"{CANCEL}::test_when_the_manager_dies_before_its_agent_knew",
    ),
    mutation(
        "an agent that was away does not learn what to end",
        CANCEL,
        "live/manager/nodes.py",
        "core.runs.kill(attempt)  # it may not know",
        "pass",
        added=f"{CANCEL}::test_while_its_agent_is_away",
    ),
)
