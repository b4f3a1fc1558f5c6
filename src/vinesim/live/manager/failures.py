"""Why requests and jobs fail: each reason once in the log, with its count in the status."""

import logging

log = logging.getLogger(__name__)
MOST_KINDS = 100  # that are counted; further ones count as others
MOST_TEXT = 500  # characters of a reason
OTHERS = "other reasons"


class Failures:
    """How often each reason has come, since the manager was started."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}  # by application, kind, first line of the reason

    def note(self, application: str, kind: str, why: str) -> None:
        """Count a request or job that has failed."""
        of = (application, kind, first_line(why))
        if of not in self._counts and len(self._counts) >= MOST_KINDS:
            of = ("-", kind, OTHERS)
        if of not in self._counts:
            log.warning("failed", extra={"application": application, "kind": kind, "why": why[:MOST_TEXT]})
        self._counts[of] = self._counts.get(of, 0) + 1

    def shown(self) -> list[dict[str, object]]:
        """Return the reasons, the most frequent first."""
        rows = sorted(self._counts.items(), key=lambda row: -row[1])
        return [{"application": a, "kind": kind, "why": why, "count": n} for (a, kind, why), n in rows]


def first_line(why: str) -> str:
    """Return the first line of a reason."""
    return why.strip().partition("\n")[0][:MOST_TEXT]
