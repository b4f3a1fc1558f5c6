"""Names of older versions and what they are now: for hints alone, the old ones are not understood."""

RENAMED = {
    "WAKE_UP": "ARRIVAL",
    "batch": "consolidated",
    "batch_limit": "max_consolidated",
    "deadline_batch": "deadline_consolidation",
    "nodes_per_request": "gang_size",
    "response_time": "relative_deadline",
    "start_together": "start_consolidated",
}
