"""The name that was probably meant."""

import difflib
from collections.abc import Iterable

from vinesim.formats.source.renamed import RENAMED

LEAST_LIKE, LIKE = 0.6, 0.7  # of names that begin alike, as depends_on and demand; of others, as end_ns


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
