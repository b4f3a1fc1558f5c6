"""The name that was probably meant."""

import difflib
from collections.abc import Iterable

from vinesim.formats.source.renamed import RENAMED


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a remedy that suggests the new name of a renamed key, or the closest known name, or an empty text."""
    by_lower = {k.lower(): k for k in known}
    if RENAMED.get(name) in by_lower.values():
        return f"Did you mean {RENAMED[name]}?"
    close = difflib.get_close_matches(name.lower()[:100], by_lower, 1, 0.6)
    return f"Did you mean {by_lower[close[0]]}?" if close else ""
