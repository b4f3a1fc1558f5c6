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
        "a time just below a unit is shown as 1000 of the smaller one",
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
        "model/accounting.py",
        'slav: SlavReading = field(default="incremental"',
        'slav: SlavReading = field(default="eq3"',
    ),
    mutation(
        "a number in a CSV file must be above the least one",
        MEASURED,
        "formats/source/csv_rows.py",
        "if least <= value <= most and",
        "if least < value <= most and",
    ),
    mutation(
        "timeline: a unit's next task gets its own thread",
        "tests/report/test_timeline.py",
        "report/timeline.py",
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
    mutation(
        "kubectl: a node that has no cores left takes pods",
        "tests/cli/test_import_kubectl.py",
        "formats/importers/kubectl.py",
        "cores <= 0 or",
        "cores < 0 or",
        added="tests/cli/test_import_kubectl.py::test_a_node_that_has_nothing_left_for_pods_is_refused",
    ),
    mutation(
        "lsf: a job that ended as it started is kept",
        "tests/cli/test_import_lsf.py",
        "formats/importers/lsf.py",
        "one.end_s <= one.start_s",
        "one.end_s < one.start_s",
        added="tests/cli/test_import_lsf.py::test_a_job_that_ended_at_the_second_it_started_is_dropped",
    ),
    mutation(
        "pbs: logs without any memory are in doubt",
        "tests/cli/test_import_pbs.py",
        "formats/importers/pbs.py",
        "n_none < len(found)",
        "n_none <= len(found)",
        added="tests/cli/test_import_pbs.py::test_jobs_without_memory_are_in_doubt_where_others_have_some",
    ),
    mutation(
        "serving: a request that starts as it is queued is wrong",
        "tests/unit/formats/test_serving_log.py",
        "formats/importers/serving_log.py",
        "first < queued",
        "first <= queued",
        added="tests/unit/formats/test_serving_log.py::test_a_request_may_have_its_tokens_at_the_instant_it_is_queued",
    ),
    mutation(
        "slurm: a job as large as its node is dropped",
        "tests/cli/test_import_site.py",
        "formats/importers/site_jobs.py",
        "node.cpus >= cpus",
        "node.cpus > cpus",
        added="tests/cli/test_import_site.py::test_a_job_as_large_as_the_largest_node_is_kept",
    ),
    mutation(
        "slurm: a job that needs all GPUs of its node is dropped",
        "tests/cli/test_import_site.py",
        "formats/importers/site_jobs.py",
        "n >= held.gpus",
        "n > held.gpus",
        added="tests/cli/test_import_site.py::test_a_job_as_large_as_the_largest_node_is_kept",
    ),
    mutation(
        "slurm: an event a second after another is a new outage",
        "tests/cli/test_import_site.py",
        "formats/importers/slurm_site.py",
        "event.start_s <= found[-1][1] + FEW_S",
        "event.start_s < found[-1][1] + FEW_S",
        added="tests/cli/test_import_site.py::test_events_of_a_node_that_follow_one_another_are_one_outage",
    ),
    mutation(
        "slurm: a job that has all licences contradicts the site",
        "tests/unit/formats/slurm/test_contradictions.py",
        "formats/importers/site_contradictions.py",
        "n > total[name]",
        "n >= total[name]",
        added="tests/unit/formats/slurm/test_contradictions.py::test_a_site_in_order_has_none",
    ),
    mutation(
        "slurm: a node that goes down at a snapshot is up",
        "tests/cli/test_start_times.py",
        "formats/importers/site_snapshot.py",
        "one.start_s <= now_s and",
        "one.start_s < now_s and",
        added="tests/cli/test_start_times.py::test_what_is_of_the_instant_of_the_snapshot_counts",
    ),
)
