"""The part of a run's page about serving engines."""

from typing import Any

from vinesim.formats.results.tables import ResultTables
from vinesim.formats.source.quantities import time_or_dash
from vinesim.metrics.serving import per_token

_COUNTS = """
SELECT count(first_token_us), count(finish_us) FILTER (output_tokens > 1), count(scheduled_us) FROM tasks
"""
_TRANSFERS = """
SELECT count(tasks.start_us) FROM held JOIN tasks USING (task) WHERE held.outcome = 'prefilled'
"""


def serving_figures(serving: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the headline figures of the engines, from their part of the summary."""
    times = {"p99 time to the first token": "first_token_us", "p99 time per output token": "token_us"}
    found = [
        (title, time_or_dash(serving[key]["p99"]), f"mean {time_or_dash(serving[key]['mean'])}")
        for title, key in times.items()
    ]
    if "goodput_pct" in serving:
        found.append(("Within both times", f"{serving['goodput_pct']:.2f} %", f"{serving['goodput_per_s']:,.4g}/s"))
    memory = serving["memory"]
    return [
        *found,
        ("Memory in use", f"{memory['mean']:.1%}", f"at most {memory['peak']:.1%}"),
        *((title, value, "") for title, value in per_token(serving)),
        ("Output tokens per second", f"{serving['output_tokens_per_s']:,.4g}", ""),
        ("Preemptions by engines", f"{serving['preemptions']:,}", ""),
    ]


def token_rows(result: ResultTables, serving: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    """Return the rows of token times: title, part of the summary, key, and the number of tasks that have the time."""
    titles = {"first token": "first_token_us", "per token": "token_us", "queue": "queue_us"}
    rows = [(title, "serving", key, n) for (title, key), n in zip(titles.items(), result.rows(_COUNTS)[0], strict=True)]
    if "transfer_us" in serving:
        rows.append(("transfer of the cache", "serving", "transfer_us", result.rows(_TRANSFERS)[0][0]))
    return rows
