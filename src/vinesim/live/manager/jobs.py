"""Jobs: the queue of RBSS's Cloud Application Manager (section 3). What counts is in the journal before."""

import json
import math
from typing import TYPE_CHECKING, Any

from vinesim.live.manager.work import Attempt, Item, Run
from vinesim.model.application import Application

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message

WAITING, RUNNING, ENDED, FAILED, CANCELLED, UNKNOWN = "waiting", "running", "ended", "failed", "cancelled", "unknown"
OVER = (ENDED, FAILED, CANCELLED, UNKNOWN)
NO_DEADLINE_US = 1e15
EXPECTED_US = 60e6  # of a job that says nothing, if no job of its name has ended


class Jobs:
    """The queue of jobs: accepted, started, ended, each once in the journal."""

    def __init__(self, core: "Core"):
        self._core = core
        self._items: dict[int, Item] = {}  # jobs that are not over
        self._specs: dict[int, dict[str, Any]] = {}
        self._waiting_clients: dict[int, list[tuple[Any, Message]]] = {}
        self._readers: dict[int, tuple[Any, Message]] = {}  # of outputs, by ticket
        self._tickets = 0

    def restore(self) -> None:
        """Read the jobs that were not over when the manager ended."""
        core = self._core
        for row in core.journal.rows("SELECT * FROM jobs WHERE state IN (?, ?) ORDER BY id", WAITING, RUNNING):
            item = self._item(row["id"], json.loads(row["spec"]), row["submitted_us"])
            item.n_attempts = row["n_attempts"]
            if row["state"] == WAITING:
                core.wait(item)
        for row in core.journal.rows("SELECT * FROM attempts WHERE state = 'running'"):
            node = core.nodes.all.get(row["node"])
            item = self._items[row["job"]]
            run = Run([item], row["issued_us"])
            attempt = Attempt(row["id"], row["node"], row["unit"], row["epoch"], run)
            run.attempts.append(attempt)
            if node is not None and node.state == "silent":
                node.attempts[attempt.id] = attempt
            else:
                core.runs.killed(attempt, "its node is gone")

    # --- calls ---

    def on_submit(self, peer: Any, message: "Message") -> None:
        """Accept a job; one with a key that was accepted before is the same job."""
        core, spec, key = self._core, dict(message["job"]), message.get("key")
        known = None if key is None else core.journal.one("SELECT id FROM jobs WHERE key = ?", key)
        if known is not None:
            core.reply(peer, message, job=known["id"])
            return
        core.check_room()
        self._check(spec)
        if not spec.get("expected_us"):
            spec["expected_us"] = self._from_history(spec["name"])
        self._application(spec)  # refused now rather than later
        job = core.journal.write(
            "INSERT INTO jobs (key, spec, state, n_attempts, submitted_us) VALUES (?, ?, ?, 0, ?)",
            key,
            json.dumps(spec),
            WAITING,
            core.now_us,
        )
        self._note(job, WAITING, "submitted")
        core.counters.n_jobs += 1
        core.wait(self._item(job, spec, core.now_us))
        core.reply(peer, message, job=job)

    def on_cancel(self, peer: Any, message: "Message") -> None:
        """Withdraw a job, or end it if it runs."""
        item = self._items.get(message["job"])
        if item is None:
            self._row(message["job"])
            self._core.reply(peer, message, is_cancelled=False)
            return
        if item.number in self._core.items:  # it waits: over now; its grant, if it comes, is given back
            self._core.withdraw(item)
            self._end(item, CANCELLED, "cancelled")
        else:
            self._core.runs.cancel(item)
        self._core.reply(peer, message, is_cancelled=True)

    def on_list(self, peer: Any, message: "Message") -> None:
        """Return jobs, the newest last."""
        rows = self._core.journal.rows(
            "SELECT * FROM (SELECT * FROM jobs WHERE ? OR state IN ('waiting', 'running') ORDER BY id DESC LIMIT ?) "
            "ORDER BY id",
            bool(message.get("all", True)),
            int(message.get("limit", 1000)),
        )
        self._core.reply(peer, message, jobs=[self._shown(row) for row in rows])

    def on_wait(self, peer: Any, message: "Message") -> None:
        """Answer when the job is over."""
        row = self._row(message["job"])
        if row["state"] in OVER:
            self._core.reply(peer, message, job=self._shown(row))
        else:
            self._waiting_clients.setdefault(row["id"], []).append((peer, message))

    def on_logs(self, peer: Any, message: "Message") -> None:
        """Return where a job's output is: its attempts, the newest last, with the transitions of the job."""
        self._row(message["job"])
        attempts = self._core.journal.rows("SELECT * FROM attempts WHERE job = ? ORDER BY id", message["job"])
        history = self._core.journal.rows(
            "SELECT time_us, state, why FROM transitions WHERE job = ? ORDER BY id", message["job"]
        )
        self._core.reply(peer, message, attempts=[dict(a) for a in attempts], transitions=[dict(t) for t in history])

    def on_output(self, peer: Any, message: "Message") -> None:
        """Return a part of what the last attempt of a job has written; its node's agent is asked for it."""
        core = self._core
        row = core.journal.one("SELECT * FROM attempts WHERE job = ? ORDER BY id DESC LIMIT 1", message["job"])
        if row is None:
            self._row(message["job"])
            core.reply(peer, message, data=b"")
            return
        node = core.nodes.all.get(row["node"])
        if node is None or node.peer is None:
            raise ValueError(f"node {row['node']}, which has the output of job {message['job']}, is not there")
        self._tickets += 1
        self._readers[self._tickets] = (peer, message)
        where = {"job": message["job"], "attempt": row["id"], "stream": message["stream"], "offset": message["offset"]}
        core.send(node.peer, {"op": "read", "ticket": self._tickets, **where})

    def text(self, message: "Message") -> None:
        """An agent has sent a part of an output."""
        reader = self._readers.pop(message["ticket"], None)
        if reader is not None:
            self._core.reply(*reader, data=message["data"])

    # --- what happens to attempts ---

    def order(self, item: Item, attempt: Attempt) -> "Message":
        """Note that a job starts, and return the order for its agent."""
        core, spec = self._core, self._specs[item.job]
        core.journal.write(
            "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, 'running', ?, NULL, NULL, NULL)",
            attempt.id,
            item.job,
            attempt.node,
            attempt.unit,
            attempt.epoch,
            core.now_us,
        )
        core.journal.write(
            "UPDATE jobs SET state = ?, n_attempts = n_attempts + 1, started_us = ? WHERE id = ?",
            RUNNING,
            core.now_us,
            item.job,
        )
        self._note(item.job, RUNNING, f"attempt {attempt.id} on unit {attempt.unit} of {attempt.node}")
        limit_us = spec.get("limit_us") or math.inf
        order: dict[str, Any] = {"job": item.job, "limit_us": None if limit_us == math.inf else limit_us}
        if spec.get("kernel"):
            return order | {"kernel": spec["kernel"], "payloads": [spec.get("payload")]}
        return order | {"commands": spec["commands"], "folder": spec.get("folder"), "env": spec.get("env", {})}

    def attempt_ended(self, attempt: Attempt, outcome: str, why: str, end: "Message") -> None:
        """Note how an attempt of a job ended, and the job if that is its end."""
        item = attempt.run.items[0] if attempt.run.items else None
        if item is None or not item.job:
            return
        core = self._core
        core.journal.write(
            "UPDATE attempts SET state = ?, ended_us = ?, execution_us = ?, why = ? WHERE id = ?",
            outcome,
            core.now_us,
            end.get("execution_us"),
            why,
            attempt.id,
        )
        usage = {name: end[name] for name in ("usage", "results") if end.get(name)}
        core.journal.write("UPDATE jobs SET usage = ? WHERE id = ?", json.dumps(usage, default=str), item.job)
        if outcome == "done":
            self._end(item, ENDED, "", end.get("exit_code", 0))

    def is_once(self, item: Item) -> bool:
        """Whether the job must not be started a second time."""
        return bool(self._specs[item.job].get("at_most_once"))

    def unknown(self, item: Item, why: str) -> None:
        """Nobody can say whether a job that must not start twice has done its work."""
        self._end(item, UNKNOWN, why)

    def failed(self, item: Item, kind: str, why: str) -> None:
        """A job is over without success."""
        self._end(item, CANCELLED if kind == "cancelled" else FAILED, why)

    def again(self, item: Item, why: str) -> None:
        """A job waits again."""
        self._core.journal.write("UPDATE jobs SET state = ? WHERE id = ?", WAITING, item.job)
        self._note(item.job, WAITING, why)

    # --- parts ---

    def _end(self, item: Item, state: str, why: str, exit_code: int | None = None) -> None:
        core = self._core
        if self._items.pop(item.job, None) is None:
            return
        del self._specs[item.job]
        core.journal.write(
            "UPDATE jobs SET state = ?, ended_us = ?, exit_code = ?, why = ? WHERE id = ?",
            state,
            core.now_us,
            exit_code,
            why,
            item.job,
        )
        self._note(item.job, state, why)
        core.counters.n_jobs_ended += 1
        for peer, message in self._waiting_clients.pop(item.job, ()):
            core.reply(peer, message, job=self._shown(self._row(item.job)))

    def _note(self, job: int, state: str, why: str) -> None:
        self._core.journal.write(
            "INSERT INTO transitions VALUES (NULL, ?, ?, ?, ?)", self._core.now_us, job, state, why
        )

    def _row(self, job: Any) -> Any:
        row = self._core.journal.one("SELECT * FROM jobs WHERE id = ?", job)
        if row is None:
            raise ValueError(f"no job {job}")
        return row

    def _item(self, job: int, spec: dict[str, Any], submitted_us: float) -> Item:
        item = Item(self._application(spec), float(spec["expected_us"]), submitted_us, job=job)
        self._items[job], self._specs[job] = item, spec
        return item

    def _application(self, spec: dict[str, Any]) -> int:
        """Return the application that stands for jobs with the same type, demand and requests."""
        core = self._core
        requests = {name: float(least) for name, least in sorted(spec.get("requests", {}).items())}
        words = "".join(f" {name}={least:g}" for name, least in requests.items())
        name = f"jobs of {spec['task_type']}, demand {spec['demand']:g}{words}"
        if name not in core.by_name:
            application = Application(name, NO_DEADLINE_US)
            core.serve(application, spec["task_type"], float(spec["demand"]), "", requests=requests)
        return core.by_name[name]

    def _check(self, spec: dict[str, Any]) -> None:
        """Raise :class:`ValueError` for a job that cannot be started."""
        types = [t.name for t in self._core.cluster.task_types]
        if spec.get("task_type") not in types:
            raise ValueError(f"the job's type: expected one of {', '.join(types)}, found {spec.get('task_type')!r}")
        if bool(spec.get("kernel")) == bool(spec.get("commands")):
            raise ValueError("a job is a command or a kernel")
        for name in ("expected_us", "limit_us"):
            value = spec.get(name)
            if value is not None and not 0 < float(value) < math.inf:
                raise ValueError(f"{name}: expected a finite time above 0, found {value}")
        known = {name for one in self._core.cluster.processor_types for name in one.attributes}
        for name, least in spec.get("requests", {}).items():
            if name not in known or not 0 <= float(least) < math.inf:
                names = ", ".join(sorted(known)) or "none: the processor types have no attributes"
                raise ValueError(f"requests: expected a number, 0 or more, for one of {names}; found {name}={least}")
        spec["demand"] = float(spec.get("demand") or 1.0)
        spec["name"] = str(spec.get("name") or spec["task_type"])

    def _from_history(self, name: str) -> float:
        """Return the mean time of the last jobs of this name."""
        row = self._core.journal.one(
            "SELECT avg(execution_us) AS mean FROM (SELECT a.execution_us FROM attempts a JOIN jobs j ON a.job = j.id "
            "WHERE a.state = 'done' AND json_extract(j.spec, '$.name') = ? ORDER BY a.id DESC LIMIT 100)",
            name,
        )
        return float(row["mean"] or EXPECTED_US)

    def _shown(self, row: Any) -> dict[str, Any]:
        spec = json.loads(row["spec"])
        usage = json.loads(row["usage"]) if row["usage"] else {}
        names = ("id", "state", "n_attempts", "submitted_us", "started_us", "ended_us", "exit_code", "why")
        return {name: row[name] for name in names} | {"name": spec["name"], "expected_us": spec["expected_us"], **usage}
