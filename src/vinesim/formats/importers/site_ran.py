"""Find out how long the jobs in a snapshot of ``squeue`` have run, without the time during which they were suspended.

The column TIME has it. Without this column, it follows from END: Slurm moves the end of a job's limit when the job
resumes, so END - limit is when the job would have begun if it had never been suspended. A job that is suspended now
stopped at the latest when an earlier snapshot first showed it as suspended, and at the latest when the first job of a
higher tier that now runs on its nodes started.
"""

from collections.abc import Mapping, Sequence

from vinesim.formats.slurm.values import duration_s, readable_hosts, time_s

ON_NODES = ("RUNNING", "R", "SUSPENDED", "S", "COMPLETING", "CG")
SUSPENDED = ("SUSPENDED", "S")
Row = Mapping[str, str]


def ran_s(
    row: Row, now_s: float, rows: Sequence[Row], before: Sequence[tuple[float, Sequence[Row]]], tiers: Mapping[str, int]
) -> float:
    """Return how long a job has run, s.

    ``rows`` is its snapshot, ``before`` are the earlier snapshots with their times, latest first, and ``tiers`` has the
    tier of each partition.
    """
    if (used_s := duration_s(row.get("TIME", ""))) is not None:
        return used_s
    began_s = _began_s(row, now_s)
    if row["STATE"] not in SUSPENDED:
        return max(0.0, now_s - began_s)
    stopped_s = min([now_s, *_upper_starts_s(row, rows, began_s, tiers)])
    for time, earlier in before:
        same = next((one for one in earlier if one["JOBID"] == row["JOBID"]), None)
        if same is None or same["STATE"] not in SUSPENDED or same["START"] != row["START"]:
            break
        stopped_s = min([stopped_s, time, *_upper_starts_s(row, earlier, began_s, tiers)])
    return max(0.0, stopped_s - began_s)


def _began_s(row: Row, now_s: float) -> float:
    """Return when a job would have begun if it had never been suspended, s since 1970."""
    start_s, end_s, limit_s = time_s(row["START"]), time_s(row.get("END", "")), duration_s(row["LIMIT"])
    if start_s is None:
        return now_s
    moved_s = start_s if end_s is None or limit_s is None else end_s - limit_s
    return moved_s if start_s <= moved_s <= now_s else start_s


def _upper_starts_s(row: Row, rows: Sequence[Row], began_s: float, tiers: Mapping[str, int]) -> list[float]:
    """Return when jobs of higher tiers started on nodes of a job, after the job began."""
    nodes, tier = set(readable_hosts(row["NODELIST"])), tiers.get(row["PARTITION"], 1)
    upper = [one for one in rows if one["STATE"] in ("RUNNING", "R") and tiers.get(one["PARTITION"], 1) > tier]
    starts_s = [time_s(one["START"]) for one in upper if not nodes.isdisjoint(readable_hosts(one["NODELIST"]))]
    return [one for one in starts_s if one is not None and one >= began_s]
