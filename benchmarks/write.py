"""Put tables into the documentation, between the markers of their benchmark."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Table

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "performance.md"


def write_tables(name: str, tables: Sequence[Table], machine: str) -> None:
    """Replace what stands between ``% begin NAME`` and ``% end NAME``."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"% begin {name}\n", f"% end {name}\n"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise RuntimeError(f"{PAGE.name} has no markers for {name}")
    body = "\n\n".join([*(table.markdown() for table in tables), machine])
    PAGE.write_text(pattern.sub(lambda _: f"{begin}\n{body}\n\n{end}", text), encoding="utf-8")
