"""Suggest the name that a user probably meant: the new name of a renamed key, or the most similar known name."""

import difflib
from collections.abc import Iterable

RENAMED = {
    "TASKS_BELOW": "TASK_COUNT",
    "TASK_FROM_1": "TASK_ID_PLUS_1",
    "TWO_A_TASK": "EVENT_OF_TASK",
    "WAKE_UP": "ARRIVAL",
    "asked": "amounts",
    "asked_first": "first_amount",
    "asked_rank": "amount_rank",
    "batch": "consolidated",
    "batch_limit": "max_consolidated",
    "deadline_batch": "deadline_consolidation",
    "in_the_way": "victims_for",
    "kind_asks": "class_n_amounts",
    "kind_companion": "class_companion",
    "kind_lead": "class_lead",
    "kind_least": "class_least",
    "kind_named": "class_named",
    "kind_rank": "class_rank",
    "kind_score": "class_score",
    "kind_seen": "class_seen",
    "kind_shape": "class_shape",
    "kind_share": "class_share",
    "kind_task_type": "class_task_type",
    "kind_types": "class_types",
    "kind_units": "class_units",
    "node_kinds": "node_class_tasks",
    "nodes_per_request": "gang_size",
    "response_time": "relative_deadline",
    "start_together": "start_consolidated",
    "takes_vectors": "supports_multi_unit_tasks",
    "told": "given",
    "why_single": "unsupported_because",
}


LEAST_LIKE, LIKE = 0.6, 0.7  # least similarity of names that begin alike (depends_on, demand), and of others (end_ns)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a remedy that suggests the new name of a renamed key, or the closest known name, or an empty text."""
    by_lower = {k.lower(): k for k in known}
    if RENAMED.get(name) in by_lower.values():
        return f"Did you mean {RENAMED[name]}?"
    wrong = name.lower()[:100]
    for close in difflib.get_close_matches(wrong, by_lower, 3, LEAST_LIKE):
        if close[:1] == wrong[:1] or difflib.SequenceMatcher(None, close, wrong).ratio() >= LIKE:
            return f"Did you mean {by_lower[close]}?"
    return ""
