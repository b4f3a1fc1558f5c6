"""Results as self-contained HTML for notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from vinesim.formats.source.options_text import options_text
from vinesim.formats.source.quantities import time_or_dash

ROWS = 10  # rows shown of a table
POINTS, WIDTH, HEIGHT = 200, 400, 60  # points, width and height of a picture
QUANTILES = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "max": "max"}


def summary_html(summary: dict[str, Any], jobs: Mapping[str, np.ndarray]) -> str:
    """Return the latencies, headline figures and a picture of a run."""
    latencies = [
        (group, f"{summary[group]['finished']:,}", *(time_or_dash(summary[group]["latency_us"][q]) for q in QUANTILES))
        for group in ("jobs", "tasks")
    ]
    picture = _jobs_in_system(jobs["arrival_us"], jobs["finish_us"], summary["makespan_us"])
    return _table(("latency", "finished", *QUANTILES.values()), latencies) + picture + _table((), _headlines(summary))


def _jobs_in_system(arrival_us: np.ndarray, finish_us: np.ndarray, end_us: float) -> str:
    """Return a picture of how many jobs had arrived and not finished, over the time of the run."""
    times = np.linspace(0.0, end_us, POINTS)
    arrived = np.searchsorted(np.sort(arrival_us), times, "right")
    n = arrived - np.searchsorted(np.sort(finish_us[np.isfinite(finish_us)]), times, "right")
    most = int(n.max())
    x, y = np.linspace(0, WIDTH, POINTS), HEIGHT * (1 - n / max(most, 1))
    line = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    caption = f"jobs that have arrived and not finished, up to {most:,}, in {time_or_dash(end_us)}"
    return (
        f'<figure style="margin:0.5em 0"><svg width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'style="border:1px solid currentColor"><title>{caption}</title>'
        f'<polyline points="{line}" fill="none" stroke="currentColor"/></svg>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


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
