"""The formats: units, importers, limits, defaults, the columns of tables."""

from verification.mutations.mutation import mutation

SWF = "tests/unit/formats/test_swf.py"
UNITS = "tests/unit/formats/test_quantities.py"
MEASURED = "tests/unit/formats/test_measured_tables.py"
OF_TEXTS = "tests/unit/formats/test_limits.py::test_a_"
LIMITS = (
    f"{OF_TEXTS}gzip_file_is_unpacked_up_to_the_limit_and_no_further {OF_TEXTS}log_has_a_limit_in_all "
    f"{OF_TEXTS}line_of_a_log_has_a_limit_plain_and_packed {OF_TEXTS}line_of_just_the_limit_is_read "
    "tests/unit/formats/test_files.py"
)

MUTATIONS = (
    mutation(
        "a day has 8640 s",
        UNITS,
        "formats/source/quantities.py",
        "(86400 * 10**6, 1)",
        "(8640 * 10**6, 1)",
    ),
    mutation(
        "bps is taken for bytes per second",
        UNITS,
        "formats/source/quantities.py",
        '_BANDWIDTH |= {f"{p}bps": (n, 8 * 10**6)',
        '_BANDWIDTH |= {f"{p}bps": (n, 10**6)',
    ),
    mutation(
        "a time just below a unit is told as 1000 of the smaller one",
        UNITS,
        "formats/source/quantities.py",
        "0.9995 * multiply / divide",
        "multiply / divide",
    ),
    mutation(
        "swf: jobs that were cancelled while they ran are dropped",
        SWF,
        "formats/importers/swf_lines.py",
        "status == CANCELLED and (job.run_s <= 0 or job.allocated == 0)",
        "status == CANCELLED",
    ),
    mutation(
        "swf: a job as wide as the widest node is dropped",
        SWF,
        "formats/importers/swf_lines.py",
        "job.processors > widest),",
        "job.processors >= widest),",
    ),
    mutation(
        "starpu: a device with few samples counts as much as one with many",
        MEASURED,
        "formats/importers/starpu.py",
        "np.average(mean, weights=n)",
        "np.average(mean)",
    ),
    mutation(
        "a series' last value holds for an hour, whatever its step",
        "tests/unit/metrics/test_electricity.py",
        "formats/scenario/series.py",
        "step = begin[-1] - begin[-2] if len(begin) > 1 else 1.0",
        "step = 1.0",
        added="tests/unit/metrics/test_electricity.py::test_the_last_value_holds_for_as_long_as_the_one_before_it",
    ),
    mutation(
        "a run may begin at the end of its series",
        "tests/unit/metrics/test_electricity.py",
        "formats/scenario/series.py",
        "if not first <= at < end:",
        "if not first <= at <= end:",
    ),
    mutation(
        "the accounting's default is the other reading of demand beyond capacity",
        "tests/unit/formats/test_scenario_file.py",
        "formats/scenario/run_parts.py",
        'slav: SlavReading = Field("incremental"',
        'slav: SlavReading = Field("eq3"',
    ),
    mutation(
        "a number in a CSV file must be above the least one",
        MEASURED,
        "formats/source/csv_rows.py",
        "if least <= value <= most and",
        "if least < value <= most and",
    ),
    mutation(
        "timeline: a unit's next task gets a thread of its own",
        "tests/report/test_timeline.py",
        "formats/results/timeline.py",
        "if free <= begin_us:",
        "if free < begin_us:",
    ),
    mutation(
        "a text of exactly the largest size is refused",
        LIMITS,
        "formats/source/files.py",
        "if len(data) > most:",
        "if len(data) >= most:",
    ),
    mutation(
        "a line of exactly the largest length is refused",
        LIMITS,
        "formats/source/files.py",
        "if len(line) > LINE_BYTES:",
        "if len(line) >= LINE_BYTES:",
        added="tests/unit/formats/test_limits.py::test_a_line_of_just_the_limit_is_read",
    ),
    mutation(
        "the generation time of a task is its own start, not its job's",
        "tests/unit/formats/test_columns.py tests/properties/test_invariants.py",
        "metrics/tables.py",
        '"generation_us": self.job_start_us[job],',
        '"generation_us": outcome.task_init_us,',
    ),
)
