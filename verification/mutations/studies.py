"""The studies: seeds, journals, parts, intervals, comparisons, shards, ids."""

from verification.mutations.mutation import mutation

SWEEP = "tests/studies/test_sweep.py"
DAMAGE = "tests/studies/test_damage.py"
STORE = "tests/unit/studies/test_store.py"

MUTATIONS = (
    mutation(
        "points do not share their random numbers",
        "tests/unit/studies/test_expand.py",
        "studies/expand.py",
        "seed = self.study.seed + replication",
        "seed = self.study.seed + replication + number",
    ),
    mutation(
        "intervals of means take n degrees of freedom, not n - 1",
        "tests/unit/studies/test_statistics.py",
        "studies/statistics.py",
        "t_factor(confidence, n - 1)",
        "t_factor(confidence, n)",
    ),
    mutation(
        "equal replications differ significantly",
        "tests/unit/studies/test_compare.py",
        "studies/compare.py",
        "is_significant = difference.low > 0 or difference.high < 0",
        "is_significant = difference.low >= 0 or difference.high < 0",
    ),
    mutation(
        "a comparison's interval is corrected on one side only",
        "tests/unit/studies/test_compare.py",
        "studies/compare.py",
        "1 - (1 - confidence) / divisor",
        "1 - 2 * (1 - confidence) / divisor",
    ),
    mutation(
        "until: a replication of the next round counts already",
        f"{SWEEP}::test_until_repeats_each_point_by_itself",
        "studies/until.py",
        "if replication < counts[number]:",
        "if replication <= counts[number]:",
    ),
    mutation(
        "a run that failed and was done later still counts as failed",
        STORE,
        "studies/journal.py",
        "sorted(found.failed.items()) if run_id not in found.numbers}",
        "sorted(found.failed.items())}",
    ),
    mutation(
        "parts that keep other numbers count as the study's",
        f"{DAMAGE}::test_parts_with_other_numbers_are_refused {DAMAGE}::test_parts_with_other_numbers_are_not_read",
        "studies/parts.py",
        "(self.axes, self.points, self.record) == (tuple(layout.kinds), layout.points, layout.record)",
        "(self.axes, self.points) == (tuple(layout.kinds), layout.points)",
        added=f"{DAMAGE}::test_parts_with_other_numbers_are_not_read",
    ),
    mutation(
        "a run that is in two parts has two rows",
        f"{STORE} {SWEEP}::test_rows_that_came_twice_count_once",
        "studies/rows.py",
        " QUALIFY row_number() OVER (PARTITION BY run_id) = 1",
        "",
    ),
    mutation(
        "the length of the periods is no part of a run's id",
        "tests/policies/test_identity.py",
        "studies/identity.py",
        "return [*content, period]",
        "return [*content]",
    ),
    mutation(
        "runs of other seeds share estimates that are drawn from the seed",
        "tests/unit/studies/test_blocks.py::test_runs_of_a_table_are_put_together_only_where_nothing_else_changes",
        "studies/blocks.py",
        "not (moves_more or _has_periods(study, part)), not draws_estimates",
        "not (moves_more or _has_periods(study, part)), True",
    ),
    mutation(
        "shard 0 of n is taken for the last one",
        f"{SWEEP}::test_wrong_arguments_are_all_told",
        "studies/sweep.py",
        "not 1 <= shard[0] <= shard[1]",
        "not 0 <= shard[0] <= shard[1]",
    ),
)
