"""Plans: how much error each answer may use, seeds, bounds, points that are not decided."""

from verification.mutations.mutation import mutation

CONFIRM = "tests/plans/test_confirm.py"
CONCLUSION = "tests/plans/test_conclusion.py"
SCREEN = "tests/plans/test_screen.py"
SEARCH = "tests/plans/test_search.py"

MUTATIONS = (
    mutation(
        "the second point that is confirmed may use as much of the error as the first",
        CONFIRM,
        "plans/confirm.py",
        "1 / (attempt * (attempt + 1))",
        "0.5",
        added=f"{CONFIRM}::test_the_kth_point_may_use_its_share_of_the_error",
    ),
    mutation(
        "the longer runs have the seeds of the search",
        CONFIRM,
        "plans/confirm.py",
        "seed=plan.space.seed + FRESH,",
        "seed=plan.space.seed,",
        added=f"{CONFIRM}::test_fresh_and_longer_runs_have_seeds_of_their_own",
    ),
    mutation(
        "a bound on a mean takes half of the error for each side of an interval",
        CONFIRM,
        "plans/verdicts.py",
        "confidence = 1 - 2 * error",
        "confidence = 1 - error",
        added=f"{CONFIRM}::test_the_kth_point_may_use_its_share_of_the_error",
    ),
    mutation(
        "a limit is judged without a run that is worse than all seen",
        CONFIRM,
        "plans/verdicts.py",
        "        high = max(high, worse.high)\n",
        "        pass\n",
        added=f"{CONFIRM}::test_the_kth_point_may_use_its_share_of_the_error",
    ),
    mutation(
        "the bound on electricity is that of one year",
        SCREEN,
        "plans/screen.py",
        "/ 1000 * costs.years * HOURS_PER_YEAR",
        "/ 1000 * HOURS_PER_YEAR",
        added=f"{SCREEN}::test_the_bound_on_electricity_is_that_of_idling_over_the_years",
    ),
    mutation(
        "the bound on the power takes tasks as they were on the units of the base",
        SCREEN,
        "plans/fluid.py",
        "work.watts * np.minimum(1.0, smaller)",
        "work.watts",
        added=f"{SCREEN}::test_the_bound_on_the_power_where_units_are_smaller_or_larger_than_those_it_was_found_with",
    ),
    mutation(
        "an undecided point is open if it would be as good as the best one",
        CONCLUSION,
        "plans/conclusion.py",
        "candidate.verdict is Verdict.UNDECIDED and candidate.value() < board.goal",
        "candidate.verdict is Verdict.UNDECIDED and candidate.value() <= board.goal",
        added=f"{CONCLUSION}::test_an_undecided_point_is_open_only_if_it_would_be_better",
    ),
)
