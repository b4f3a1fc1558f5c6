"""The journal: what must survive the manager, in SQLite. One transaction per turn of the manager's loop, in which each
message is its own step: all that it writes is kept, or nothing.

A job is written before its submission is answered, its attempt before its grant leaves, its end before its unit is
free. Nothing is promised of requests, which belong to their clients: what is noted of them is written later, many
at once. What a manager that dies has noted last is lost, and nothing before it.
The write-ahead log survives the death of the process; a power failure may take the last transactions unless
``is_synchronous``.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError, Problem

CANCELLED, DROPPED = "cancelled", "dropped"  # outcomes of requests that did not end by themselves
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE nodes (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY, key TEXT UNIQUE, spec TEXT NOT NULL, state TEXT NOT NULL, n_attempts INTEGER NOT NULL,
  submitted_us REAL NOT NULL, started_us REAL, ended_us REAL, exit_code INTEGER, why TEXT, usage TEXT);
CREATE INDEX jobs_state ON jobs (state) WHERE state IN ('waiting', 'running');
CREATE TABLE attempts (
  id INTEGER PRIMARY KEY, job INTEGER, node TEXT NOT NULL, unit INTEGER NOT NULL, epoch INTEGER NOT NULL,
  state TEXT NOT NULL, issued_us REAL NOT NULL, ended_us REAL, execution_us REAL, why TEXT);
CREATE INDEX attempts_open ON attempts (state) WHERE state = 'running';
CREATE TABLE requests (
  id INTEGER PRIMARY KEY, application TEXT NOT NULL, size REAL NOT NULL, arrival_us REAL NOT NULL,
  issued_us REAL, ended_us REAL NOT NULL, execution_us REAL, unit INTEGER, attempt INTEGER, n_attempts INTEGER,
  deadline_us REAL, outcome TEXT NOT NULL);
CREATE TABLE transitions (
  id INTEGER PRIMARY KEY, time_us REAL NOT NULL, job INTEGER NOT NULL, state TEXT NOT NULL, why TEXT);
CREATE INDEX transitions_job ON transitions (job);
"""
OPENINGS = """
CREATE TABLE node_changes (
  id INTEGER PRIMARY KEY, time_us REAL NOT NULL, node TEXT NOT NULL, is_open INTEGER NOT NULL);
"""
DECISIONS = """
CREATE TABLE decisions (id INTEGER PRIMARY KEY CHECK (id = 1), time_us REAL NOT NULL, content BLOB NOT NULL);
CREATE TABLE turns (id INTEGER PRIMARY KEY, time_us REAL NOT NULL, content BLOB NOT NULL);
ALTER TABLE requests ADD COLUMN number INTEGER;
"""
CALLS = """
CREATE TABLE applications (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (
  client TEXT NOT NULL, n INTEGER NOT NULL, time_us REAL NOT NULL, content BLOB NOT NULL, PRIMARY KEY (client, n)
) WITHOUT ROWID;
ALTER TABLE requests ADD COLUMN why TEXT;
ALTER TABLE jobs ADD COLUMN is_cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN name TEXT;
UPDATE jobs SET name = CASE WHEN json_valid(spec) THEN json_extract(spec, '$.name') END;
CREATE INDEX jobs_name ON jobs (name);
CREATE INDEX attempts_job ON attempts (job);
"""
STEPS = (SCHEMA, OPENINGS, DECISIONS, CALLS)  # what each version has added
VERSION = len(STEPS)


class Step:
    """The context of a step: each message is one, and a generator would cost it more."""

    def __init__(self, journal: "Journal"):
        self._journal = journal

    def __enter__(self) -> None:
        self._journal.begin_step()

    def __exit__(self, kind: object, *_: object) -> None:
        self._journal.end_step(kind is None)


class Journal:
    """Tables of jobs, attempts, requests, nodes and decisions. Nothing is kept until ``commit``."""

    def __init__(self, path: Path, is_synchronous: bool = False):
        """Raises :class:`InputError` for a file that is no journal, or one of a newer version."""
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        try:
            version = self._opened(is_synchronous)
        except sqlite3.Error as wrong:
            self._db.close()
            remedy = "Move the file away, or name another --folder."
            raise InputError([Problem(str(path), "a journal that can be opened", str(wrong), remedy)]) from None
        if version > VERSION:
            self._db.close()
            expected, remedy = f"a journal of version {VERSION} at most", "Use the VineSim that has written it."
            raise InputError([Problem(str(path), expected, f"version {version}", remedy)])
        self._is_open = self._is_in_step = self._is_step_open = False
        self.is_promised = False  # something was written that must be kept before any message leaves
        self._notes: list[tuple[str, tuple[Any, ...]]] = []  # that are not written
        self._n_before = 0  # of them: were noted before this step
        self._step = Step(self)

    def _opened(self, is_synchronous: bool) -> int:
        """Bring the tables up to date. Returns the version of the file."""
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={'FULL' if is_synchronous else 'NORMAL'}")
        if version < VERSION:
            self._db.executescript(f"BEGIN; {''.join(STEPS[version:])} PRAGMA user_version={VERSION}; COMMIT")
        return int(version)

    def write(self, statement: str, *values: Any) -> int:
        """Change a table, in the transaction of this turn. Returns the number of a new row."""
        self.is_promised = True
        self._begin()
        self._write_notes(len(self._notes))
        return int(self._db.execute(statement, values).lastrowid or 0)

    def note(self, statement: str, *values: Any) -> None:
        """Add a row of which nothing is promised to anybody: it is written before the next commit or query. Notes of
        different tables may be written in another order."""
        self._notes.append((statement, values))

    @property
    def is_committed(self) -> bool:
        """Whether all that was written and noted is kept."""
        return not (self._notes or self._is_open)

    def _begin(self) -> None:
        """Begin the transaction of this turn, and in it the step; what was noted before the step is not part of it."""
        if not self._is_open:
            self._db.execute("BEGIN IMMEDIATE")
            self._is_open = True
        if self._is_in_step and not self._is_step_open:
            self._write_notes(self._n_before)
            self._db.execute("SAVEPOINT step")
            self._is_step_open = True

    def _write_notes(self, n: int) -> None:
        """Write the first notes."""
        notes, self._notes = self._notes[:n], self._notes[n:]
        self._n_before = max(0, self._n_before - n)
        by_statement: dict[str, list[tuple[Any, ...]]] = {}
        for statement, values in notes:
            by_statement.setdefault(statement, []).append(values)
        for statement, rows in by_statement.items():
            self._db.executemany(statement, rows)

    def _catch_up(self) -> None:
        """Write all notes, before a query or the commit."""
        if self._notes:
            self._begin()
            self._write_notes(len(self._notes))

    def step(self) -> "Step":
        """Keep all that is written inside, or nothing of it after an error."""
        return self._step

    def begin_step(self) -> None:
        """Begin what is kept as a whole."""
        self._is_in_step, self._n_before = True, len(self._notes)

    def end_step(self, is_kept: bool) -> None:
        """End it: keep it, or undo it."""
        if not is_kept:
            del self._notes[self._n_before :]
        if self._is_step_open:
            if not is_kept:
                self._db.execute("ROLLBACK TO step")
            self._db.execute("RELEASE step")
        self._is_in_step = self._is_step_open = False
        self._n_before = 0

    def commit(self) -> None:
        """Keep what was written and noted since the last commit."""
        self._catch_up()
        self.is_promised = False
        if self._is_open:
            self._db.execute("COMMIT")
            self._is_open = False

    def rows(self, query: str, *values: Any) -> Iterator[sqlite3.Row]:
        """Return the rows of a query."""
        self._catch_up()
        yield from self._db.execute(query, values)

    def one(self, query: str, *values: Any) -> Any:
        """Return the first row of a query, or None."""
        self._catch_up()
        return self._db.execute(query, values).fetchone()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value that was set, or the default."""
        row = self.one("SELECT value FROM meta WHERE name = ?", name)
        return default if row is None else json.loads(row["value"])

    def set(self, name: str, value: Any) -> None:
        """Set a value that is no row of a table, such as the time at which the cluster first started."""
        self.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, json.dumps(value))

    def prune(self, before_us: float) -> tuple[int, int]:
        """Forget the jobs and requests that ended before a time. Returns how many of each. The last job stays, because
        the number of the next one follows from it."""
        self.write(
            "DELETE FROM jobs WHERE ended_us < ? AND state NOT IN ('waiting', 'running') "
            "AND id < (SELECT max(id) FROM jobs)",
            before_us,
        )
        n_jobs = self._n_changed()
        for table in ("attempts", "transitions"):
            self.write(f"DELETE FROM {table} WHERE job NOT IN (SELECT id FROM jobs)")  # noqa: S608
        self.write("DELETE FROM requests WHERE ended_us < ?", before_us)
        n_requests = self._n_changed()
        self.write(
            "DELETE FROM node_changes WHERE time_us < ? "
            "AND id NOT IN (SELECT max(id) FROM node_changes WHERE time_us < ? GROUP BY node)",
            before_us,
            before_us,
        )
        return n_jobs, n_requests

    def _n_changed(self) -> int:
        return int(self.one("SELECT changes() AS n")["n"])

    def latest_us(self) -> float:
        """Return the time of the last entry; 0 if there is none."""
        columns = [("requests", "ended_us")]
        columns += [(table, "time_us") for table in ("transitions", "node_changes", "decisions", "turns")]
        queries = [f"SELECT ifnull(max({column}), 0) AS us FROM {table}" for table, column in columns]  # noqa: S608
        return max(float(self.one(query)["us"]) for query in queries)

    def close(self) -> None:
        """Commit, and close the file."""
        self.commit()
        self._db.close()
