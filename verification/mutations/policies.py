"""The policies: comparisons at their edges, ties, reservations, options, placement."""

from verification.mutations.mutation import mutation

RULE = "tests/policies/test_battery.py::test_the_rule_is_its_definition"
REQUESTS = "tests/policies/test_requests.py::test_the_rule_is_its_definition"
SYMPHONY = "tests/policies/test_symphony.py"
EDF = "tests/policies/test_edf.py"
BACKFILL = (
    "tests/policies/test_backfill.py::test_easy_by_hand "
    "tests/policies/test_backfill.py::test_it_schedules_as_plain_lists_do"
)
RESOURCES = (
    "tests/properties/test_resource_based.py::test_the_heaps_choose_as_a_plain_scan_does "
    "tests/policies/test_resource_based.py"
)
PLACING = "tests/properties/test_placement.py::test_"
PREEMPTIVE = "tests/policies/test_preemptive.py"
DRF = "tests/policies/test_drf.py"
SCORING = "tests/policies/test_scoring.py::test_scores_and_places_are_those_of_the_definitions"

MUTATIONS = (
    mutation(
        "delay: at its very end the wait is not over",
        f"{RULE}[delay] tests/policies/test_battery.py::test_delay_asks_again_when_the_first_wait_is_over",
        "policies/online/waiting.py",
        "return bool(expiry_us <= view.now_us)",
        "return bool(expiry_us < view.now_us)",
    ),
    mutation(
        "earliest_finish: of equal units the last one",
        f"{RULE}[earliest_finish]",
        "policies/online/earliest_finish.py",
        "(response_us == best_us and unit < best)",
        "(response_us == best_us and unit > best)",
    ),
    mutation(
        "edf_drop: gives up a request that would end at its deadline",
        f"{EDF} {REQUESTS}",
        "policies/requests/edf.py",
        "if view.now_us + fastest_us(model, state, task) > deadline_us(model, state, task):",
        "if view.now_us + fastest_us(model, state, task) >= deadline_us(model, state, task):",
    ),
    mutation(
        "edf: of applications with equal deadlines the last one",
        f"{EDF} {REQUESTS}",
        "policies/requests/edf.py",
        "if best < 0 or value < least:",
        "if best < 0 or value <= least:",
    ),
    mutation(
        "deadline_consolidation: requests that would end together at the deadline are too many",
        REQUESTS,
        "policies/requests/deadline_consolidation.py",
        "while consolidated_us(model, state, task, p, count, total) * slowdown <= room_us:",
        "while consolidated_us(model, state, task, p, count, total) * slowdown < room_us:",
    ),
    mutation(
        "a gang needs one node more than its size",
        REQUESTS,
        "policies/requests/registered.py",
        "model.application_nodes[a, processor_type] >= model.application_gang_size[a]",
        "model.application_nodes[a, processor_type] > model.application_gang_size[a]",
    ),
    mutation(
        "symphony: requests that just fit together in the time left are too many",
        SYMPHONY,
        "policies/symphony/consolidation.py",
        "predict(book, row, total) * slowdown <= room_us",
        "predict(book, row, total) * slowdown < room_us",
        added=f"{SYMPHONY}::test_requests_that_are_expected_to_end_together_at_the_deadline_are_not_too_many",
    ),
    mutation(
        "symphony: no slack counts as late under resource=fit",
        SYMPHONY,
        "policies/symphony/policy.py",
        "if slack >= 0.0 and (least < 0",
        "if slack > 0.0 and (least < 0",
        added=f"{SYMPHONY}::test_a_request_that_is_expected_to_end_at_its_deadline_fits",
    ),
    mutation(
        "symphony: predictions may fall with the size",
        REQUESTS,
        "policies/symphony/history.py",
        "    slope = max(0.0, slope)\n",
        "",
    ),
    mutation(
        "backfilling: a task that ends when a reservation begins delays it",
        BACKFILL,
        "policies/backfill/profile.py",
        "if held_until_us(model, task, begin_us, moving_us, execution_us) <= time_us:",
        "if held_until_us(model, task, begin_us, moving_us, execution_us) < time_us:",
    ),
    mutation(
        "backfilling: of units that are free at the same time the first one is reserved, not the fastest",
        "tests/policies/test_backfill.py::test_of_units_that_are_free_at_one_time_the_one_that_ends_first_is_reserved",
        "policies/backfill/profile.py",
        "            or end_us < best_end_us\n",
        "",
        added="tests/policies/test_backfill.py::test_of_units_that_are_free_at_one_time_the_one_that_ends_first_is_reserved",
    ),
    mutation(
        "conservative_backfill: a task that ends just in time counts as late",
        BACKFILL,
        "policies/backfill/conservative.py",
        "while change > 0 and scratch.change_us[change - 1] < now_us:",
        "while change > 0 and scratch.change_us[change - 1] <= now_us:",
    ),
    mutation(
        "resource-based: of accelerators with as many SMs the later type is tried first",
        RESOURCES,
        "policies/resource_based/schedule.py",
        "return model.type_sms[one] > model.type_sms[other]",
        "return model.type_sms[one] >= model.type_sms[other]",
    ),
    mutation(
        "resource-based: a free device that is as fast keeps a job from this one",
        RESOURCES,
        "policies/resource_based/selection.py",
        "and longest_us(model, state, task, p) < own_us",
        "and p != processor_type\n            and longest_us(model, state, task, p) <= own_us",
    ),
    mutation(
        "resource-based: a job that is as fast on a CPU is for accelerators",
        RESOURCES,
        "policies/resource_based/queues.py",
        "is_faster = accelerator_us < scratch.cpu_us[task]",
        "is_faster = accelerator_us <= scratch.cpu_us[task]",
    ),
    mutation(
        "resource-based: a job moves to a CPU only if it is quicker there, not as quick",
        RESOURCES,
        "policies/resource_based/selection.py",
        "longest_us(model, state, task, int(model.unit_type[unit])) > limit_us",
        "longest_us(model, state, task, int(model.unit_type[unit])) >= limit_us",
    ),
    mutation(
        "first fit: of full servers with as much room left any type's, not the first server",
        f"{PLACING}first_fit_is_its_definition",
        "policies/placement/kernels/fit.py",
        "if room > most or rank[member[first[p] + at]] < rank[where]:",
        "if room > most:",
    ),
    mutation(
        "least loaded: of equal servers the last type's",
        f"{PLACING}least_loaded_is_its_definition",
        "policies/placement/kernels/fit.py",
        "if value < least or member[first[p] + at] < where:",
        "if value < least or member[first[p] + at] > where:",
    ),
    mutation(
        "round robin: with realloc=new each period begins with the first server",
        "tests/policies/test_placing.py",
        "policies/placement/round_robin.py",
        "turn = np.arange(len(tasks.task)) if self.replaces_running else tasks.task",
        "turn = np.arange(len(tasks.task))",
    ),
    mutation(
        "best fit: under cost=marginal a task costs energy beyond the period",
        f"{PLACING}best_fit_is_its_definition tests/policies/test_placing.py",
        "policies/placement/kernels/costs.py",
        'counted = np.minimum(time, period) if variant == "marginal" else time',
        "counted = time",
    ),
    mutation(
        "abf: a number of servers that is a power of 2 is padded to the next one",
        f"{PLACING}a_number_that_is_a_power_of_2_needs_no_padding",
        "policies/placement/blocked_best_fit.py",
        "1 << (n - 1).bit_length()",
        "1 << n.bit_length()",
        added=f"{PLACING}a_number_that_is_a_power_of_2_needs_no_padding",
    ),
    mutation(
        "best fit: a penalty of 0 is refused",
        f"{PLACING}the_index_chooses_as_brute_force_does",
        "policies/placement/best_fit.py",
        "if not 0 <= self.penalty < math.inf:",
        "if not 0 < self.penalty < math.inf:",
    ),
    mutation(
        "preemption: room that a task of equal rank leaves is not seen",
        PREEMPTIVE,
        "policies/preemptive/blocked.py",
        "if scratch.noted_rank[i % N_NOTED] <= scratch.rank[task]:",
        "if scratch.noted_rank[i % N_NOTED] < scratch.rank[task]:",
        added=f"{PREEMPTIVE}::test_room_that_a_task_of_equal_priority_leaves_is_found",
    ),
    mutation(
        "drf: of users with equal shares the one whose task came last goes first",
        DRF,
        "policies/online/drf.py",
        "if best < 0 or share < least:",
        "if best < 0 or share <= least:",
        added=f"{DRF}::test_of_users_with_equal_shares_the_oldest_task_starts",
    ),
    mutation(
        "fgd: typical pods end before the type with which they are enough",
        SCORING,
        "policies/scoring/fragmentation.py",
        "np.searchsorted(n_covered, COVERED * n_pods)) + 1]",
        "np.searchsorted(n_covered, COVERED * n_pods))]",
    ),
    mutation(
        "fgd: of types with equally many pods those that ask for least come first",
        SCORING,
        "policies/scoring/fragmentation.py",
        "ranked = sorted(types, reverse=True)",
        "ranked = sorted(types, key=lambda one: (-one.n_pods, *one[1:]))",
    ),
    mutation(
        "gpu_packing: a node whose GPUs are all idle counts as one in use",
        SCORING,
        "policies/scoring/gpu_packing.py",
        "if n_idle == n_gpus:",
        "if n_idle > n_gpus:",
    ),
)
