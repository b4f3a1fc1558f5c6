"""What the manager counts, since it was started."""

from collections import deque
from dataclasses import dataclass, field

RECENT = 4_096  # response times that percentiles are computed from


@dataclass
class Counters:
    """Numbers for ``status``, ``top`` and the metrics; each has one meaning, which the metrics' help text gives."""

    n_turns: int = 0
    n_grants: int = 0
    n_requests: int = 0  # accepted
    n_done: int = 0
    n_missed: int = 0  # done after their deadline
    n_failed: int = 0  # their kernel raised, or their devices died too often
    n_dropped: int = 0  # by the policy
    n_cancelled: int = 0
    n_refused: int = 0  # because too many were waiting
    n_wrong: int = 0  # messages that were refused for another reason
    n_jobs: int = 0
    n_jobs_ended: int = 0
    n_started_again: int = 0  # requests and jobs whose attempt died
    n_old: int = 0  # completions of an old epoch or of an attempt that is over: not used
    n_lost_nodes: int = 0
    response_us: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    dispatch_us: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))  # issue to end, less the execution
