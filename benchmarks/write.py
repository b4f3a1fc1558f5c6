"""Put tables into the documentation, between the markers of their benchmark."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Table

PAGES = Path(__file__).parent.parent / "docs" / "explanation"


def page_of(name: str) -> Path | None:
    """The page with the markers of a benchmark."""
    return next((page for page in sorted(PAGES.rglob("*.md")) if _between(name).search(page.read_text("utf-8"))), None)


def write_tables(page: Path, name: str, tables: Sequence[Table], machine: str) -> None:
    """Replace what stands between ``% begin NAME`` and ``% end NAME``."""
    body = "\n\n".join([*(table.markdown() for table in tables), machine])
    text = _between(name).sub(lambda _: f"% begin {name}\n\n{body}\n\n% end {name}\n", page.read_text("utf-8"))
    page.write_text(text, encoding="utf-8")


def _between(name: str) -> re.Pattern[str]:
    return re.compile(f"% begin {name}\n.*?% end {name}\n", re.DOTALL)
