"""Jobs: the queue of RBSS's Cloud Application Manager (section 3). The journal has everything that counts before it
takes effect."""

import json
import math
from typing import TYPE_CHECKING, Any

from vinesim.live.manager.job_check import NO_DEADLINE_US, JobCheck
from vinesim.live.manager.refusal import Refusal
from vinesim.live.manager.work import OF_JOBS, Attempt, Item, Run
from vinesim.live.wire.contents import parts_of
from vinesim.model.application import Application
from vinesim.model.errors import InputError

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message

WAITING, RUNNING, ENDED, FAILED, CANCELLED, UNKNOWN = "waiting", "running", "ended", "failed", "cancelled", "unknown"
OVER = (ENDED, FAILED, CANCELLED, UNKNOWN)
EXPECTED_US = 60e6  # of a job that says nothing, if no job of its name has ended


class Jobs:
    """The queue of jobs: accepted, started, ended, each once in the journal."""

    def __init__(self, core: "Core"):
        self._core, self._check = core, JobCheck(core.cluster)
        self._items: dict[int, Item] = {}  # jobs that are not over
        self._specs: dict[int, dict[str, Any]] = {}
        self._waiting_clients: dict[int, list[tuple[Any, Message]]] = {}

    def restore(self) -> None:
        """Read the jobs that were not over when the manager ended."""
        core = self._core
        for row in list(core.journal.rows("SELECT * FROM jobs WHERE state IN (?, ?) ORDER BY id", WAITING, RUNNING)):
            try:
                item = self._item(row["id"], json.loads(row["spec"]), row["submitted_us"])
            except (Refusal, InputError) as wrong:  # the cluster file has changed
                self._over(row["id"], FAILED, f"the cluster cannot run it any more: {wrong}")
                continue
            item.n_attempts, item.is_cancelled = row["n_attempts"], bool(row["is_cancelled"])
            if row["state"] == WAITING:
                core.wait(item)
        for row in list(core.journal.rows("SELECT * FROM attempts WHERE state = 'running'")):
            node, item_or_none = core.nodes.all.get(row["node"]), self._items.get(row["job"])
            run = Run([] if item_or_none is None else [item_or_none], row["issued_us"])
            attempt = Attempt(row["id"], row["node"], row["unit"], row["epoch"], run, begun_us=row["issued_us"])
            run.attempts.append(attempt)
            for item in run.items:
                item.run = run
            if node is None or node.state != "silent":
                core.runs.killed(attempt, "its node is gone")
                continue
            node.attempts[attempt.id] = attempt
            if item_or_none is None:
                core.runs.stop(run, "the cluster cannot run it any more")
            elif item_or_none.is_cancelled:
                core.runs.stop_cancelled(item_or_none)

    # --- calls ---

    def on_submit(self, peer: Any, message: "Message") -> "Message":
        """Accept a job; one with a key that was accepted before is the same job."""
        core, spec, key = self._core, dict(message["job"]), message["key"]
        known = None if key is None else core.journal.one("SELECT id FROM jobs WHERE key = ?", key)
        if known is not None:
            return {"job": known["id"]}
        core.check_room()
        spec["name"] = spec["name"] or spec["task_type"]
        spec["expected_us"] = spec["expected_us"] or self._from_history(spec["name"])
        self._check.check(spec)
        self._application(spec)  # refused now rather than later
        job = core.journal.write(
            "INSERT INTO jobs (key, name, spec, state, n_attempts, submitted_us) VALUES (?, ?, ?, ?, 0, ?)",
            key,
            spec["name"],
            json.dumps(spec, allow_nan=False),
            WAITING,
            core.now_us,
        )
        self._note(job, WAITING, "submitted")
        core.counters.n_jobs += 1
        core.wait(self._item(job, spec, core.now_us))
        return {"job": job}

    def on_cancel(self, peer: Any, message: "Message") -> "Message":
        """Withdraw a job, or end it if it runs."""
        core, item = self._core, self._items.get(message["job"])
        if item is None:
            self.row(message["job"])
            return {"is_cancelled": False}
        core.journal.write("UPDATE jobs SET is_cancelled = 1 WHERE id = ?", item.job)
        if core.withdraw(item):  # it is over now; its grant, if it comes, is given back
            self._end(item, CANCELLED, "cancelled")
        else:
            core.runs.stop_cancelled(item)
        return {"is_cancelled": True}

    def on_list(self, peer: Any, message: "Message") -> "Message":
        """Return jobs, the newest last."""
        rows = self._core.journal.rows(
            "SELECT * FROM (SELECT * FROM jobs WHERE ? OR state IN ('waiting', 'running') ORDER BY id DESC LIMIT ?) "
            "ORDER BY id",
            message["all"],
            message["limit"],
        )
        return {"jobs": [self._shown(row) for row in rows]}

    def on_wait(self, peer: Any, message: "Message") -> "Message | None":
        """Answer when the job is over."""
        row = self.row(message["job"])
        if row["state"] in OVER:
            return {"job": self._shown(row)}
        self._waiting_clients.setdefault(row["id"], []).append((peer, message))
        return None

    def on_logs(self, peer: Any, message: "Message") -> "Message":
        """Return where a job's output is: its attempts, the newest last, with the transitions of the job."""
        self.row(message["job"])
        attempts = self._core.journal.rows("SELECT * FROM attempts WHERE job = ? ORDER BY id", message["job"])
        history = self._core.journal.rows(
            "SELECT time_us, state, why FROM transitions WHERE job = ? ORDER BY id", message["job"]
        )
        return {"attempts": [dict(a) for a in attempts], "transitions": [dict(t) for t in history]}

    def closed(self, peer: Any) -> None:
        """Forget what the client of a connection that has ended waits for."""
        for waiting in self._waiting_clients.values():
            waiting[:] = [(client, message) for client, message in waiting if client is not peer]

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
            return order | {"kernel": spec["kernel"], "payloads": [b"".join(parts_of(spec.get("payload")))]}
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
        usage = [f'"{name}": {json.dumps(end[name], default=str)}' for name in ("usage",) if end.get(name)]
        if outcome == "done":  # a kernel has a result, which its device has made JSON
            usage += [f'"results": [{{"result": {one["json"]}}}]' for one in end["results"]]
        core.journal.write("UPDATE jobs SET usage = ? WHERE id = ?", f"{{{', '.join(usage)}}}", item.job)
        if outcome == "done" and item.is_cancelled:
            self._end(item, CANCELLED, "cancelled, when it had ended by itself", end.get("exit_code"))
        elif outcome == "done":
            self._end(item, ENDED, "", end.get("exit_code") or 0)

    def is_once(self, item: Item) -> bool:
        """Whether the job must not be started a second time."""
        return bool(self._specs[item.job].get("at_most_once"))

    def unknown(self, item: Item, why: str) -> None:
        """Record that nobody can say whether a job that must not start twice has done its work."""
        self._end(item, UNKNOWN, why)

    def failed(self, item: Item, kind: str, why: str) -> None:
        """Record that a job has ended without success."""
        self._end(item, CANCELLED if kind == "cancelled" else FAILED, why)

    def again(self, item: Item, why: str) -> None:
        """Let a job wait again."""
        self._core.journal.write("UPDATE jobs SET state = ? WHERE id = ?", WAITING, item.job)
        self._note(item.job, WAITING, why)

    # --- parts ---

    def _end(self, item: Item, state: str, why: str, exit_code: int | None = None) -> None:
        if self._items.pop(item.job, None) is None:
            return
        if state == FAILED:
            self._core.failures.note(self._specs[item.job]["name"], state, why)
        del self._specs[item.job]
        self._over(item.job, state, why, exit_code)

    def _over(self, job: int, state: str, why: str, exit_code: int | None = None) -> None:
        """Record that a job is over, and tell everybody who waits for it."""
        core = self._core
        core.journal.write(
            "UPDATE jobs SET state = ?, ended_us = ?, exit_code = ?, why = ? WHERE id = ?",
            state,
            core.now_us,
            exit_code,
            why,
            job,
        )
        self._note(job, state, why)
        core.counters.n_jobs_ended += 1
        for peer, message in self._waiting_clients.pop(job, ()):
            core.send(peer, {"op": "reply", "n": message["n"], "job": self._shown(self.row(job))})

    def _note(self, job: int, state: str, why: str) -> None:
        self._core.journal.write(
            "INSERT INTO transitions VALUES (NULL, ?, ?, ?, ?)", self._core.now_us, job, state, why
        )

    def row(self, job: Any) -> Any:
        """Return a job as the journal has it. Raises :class:`Refusal` if there is none."""
        row = self._core.journal.one("SELECT * FROM jobs WHERE id = ?", job)
        if row is None:
            raise Refusal("wrong", f"no job {job}")
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
        name = f"{OF_JOBS}{spec['task_type']}, demand {spec['demand']:g}{words}"
        if name not in core.by_name:
            application = Application(name, NO_DEADLINE_US)
            core.serve(application, spec["task_type"], float(spec["demand"]), "", requests)
        return core.by_name[name]

    def _from_history(self, name: str) -> float:
        """Return the mean time of the last jobs of this name."""
        row = self._core.journal.one(
            "SELECT avg(execution_us) AS mean FROM (SELECT a.execution_us FROM jobs j JOIN attempts a ON a.job = j.id "
            "WHERE j.name = ? AND a.state = 'done' ORDER BY a.id DESC LIMIT 100)",
            name,
        )
        return float(row["mean"] or EXPECTED_US)

    def _shown(self, row: Any) -> dict[str, Any]:
        spec = json.loads(row["spec"])
        usage = json.loads(row["usage"]) if row["usage"] else {}
        names = ("id", "state", "n_attempts", "submitted_us", "started_us", "ended_us", "exit_code", "why")
        return {name: row[name] for name in names} | {"name": spec["name"], "expected_us": spec["expected_us"], **usage}
