"""Results as HTML for notebooks; it needs no other files."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from vinesim.formats.source.options_text import options_text
from vinesim.formats.source.quantities import time_or_dash

ROWS = 10  # shown of a table
QUANTILES = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "max": "max"}


def summary_html(summary: dict[str, Any]) -> str:
    """Return the latencies and headline figures of a run."""
    latencies = [
        (group, f"{summary[group]['finished']:,}", *(time_or_dash(summary[group]["latency_us"][q]) for q in QUANTILES))
        for group in ("jobs", "tasks")
    ]
    return _table(("latency", "finished", *QUANTILES.values()), latencies) + _table((), _headlines(summary))


def _headlines(summary: dict[str, Any]) -> Iterable[tuple[str, str]]:
    where = summary["provenance"]
    options = options_text(where["options"])
    yield "policy", where["policy"] + (f" ({options})" if options else "")
    yield "ended", summary["exit_reason"]
    for name, share in {"all": summary["utilization"]["overall"], **summary["utilization"]["by_type"]}.items():
        yield f"utilisation, {name}", f"{share:.1%}"
    yield "makespan", time_or_dash(summary["makespan_us"])
    if summary["cost"]["purchase"] is not None:
        yield "cost of purchase", f"{summary['cost']['purchase']:,.0f}"
    if summary["energy_j"] is not None:
        yield "energy", f"{summary['energy_j']:,.3f} J"


def table_html(columns: dict[str, Any], n_rows: int) -> str:
    """Return the first rows of a table."""
    rows = [[str(column[i]) for column in columns.values()] for i in range(min(n_rows, ROWS))]
    return _table(tuple(columns), rows) + f"<p>{n_rows:,} rows</p>"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
