"""Runs: grants that are carried out, from the order to the devices to the result, the retry or the failure."""

import math
from typing import TYPE_CHECKING, Any

from vinesim.live.decisions import Complete, Lose
from vinesim.live.grant import Grant
from vinesim.live.journal import CANCELLED, DROPPED
from vinesim.live.manager.failures import first_line
from vinesim.live.manager.results import results_of, wrong_results
from vinesim.live.manager.work import Attempt, Item, Node, Run

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message

DONE, RAISED, KILLED, LIMIT = "done", "raised", "killed", "limit"  # how an attempt ends
WAITING_FOR_CLIENT = 1.0  # times the kernel limit that a client may hold a grant


class Runs:
    """All attempts, by number. A number is never used twice, also not after a restart."""

    def __init__(self, core: "Core"):
        self._core = core
        self.n_starts = int(core.journal.get("boots", 0)) + 1  # of managers, this one included
        core.journal.set("boots", self.n_starts)
        self._next = self.n_starts << 32
        self._node_of = {unit: node for node in core.nodes.all.values() for unit in node.units}
        self.offered: dict[int, Run] = {}  # by grant: those that clients carry out

    # --- grants ---

    def begin(self, grant: Grant, items: list[Item]) -> None:
        """Carry out a grant: on the devices, or by offering it to the client that asks for itself."""
        core, served = self._core, self._core.served[grant.application]
        items = [item for item in items if not item.is_cancelled]
        if not items or any(self._node_of[place.unit].peer is None for place in grant.places):
            core.tell(Lose(grant.id))  # it was held back while the manager recovered, and its node has gone
            for item in items:
                core.wait(item)
            return
        is_offered = not (served.kernel or items[0].job)
        if is_offered:  # to one client; what it consolidates of others waits again
            for item in [item for item in items if item.client != items[0].client]:
                items.remove(item)
                core.wait(item)
        run = Run(items, core.now_us, grant, is_offered=is_offered)
        for item in items:
            item.run = run
        if is_offered:
            self.offered[grant.id] = run
            core.look_at(self.next_us())
            core.clients.offer(run)
            return
        payloads = [item.payload for item in items]
        for member, place in enumerate(grant.places):
            self._start(run, place.unit, member, served.kernel, payloads)

    def is_used(self, application: int) -> bool:
        """Whether requests of an application wait or run."""
        core = self._core
        runs = [attempt.run for node in core.nodes.all.values() for attempt in node.attempts.values()]
        items = [item for run in [*runs, *self.offered.values()] for item in run.items]
        return any(item.application == application for item in [*items, *core.waiting])

    def issue(self, run: Run, kernel: str, payloads: list[Any]) -> None:
        """Start the work of an offered grant; one whose nodes have gone meanwhile is lost."""
        assert run.grant is not None
        away = [node.name for place in run.grant.places if (node := self._node_of[place.unit]).peer is None]
        if away:
            self.stop(run, f"node {away[0]} went away")
            return
        for member, place in enumerate(run.grant.places):
            self._start(run, place.unit, member, kernel, payloads)

    def dropped(self, item: Item) -> None:
        """End a request that the policy has dropped."""
        self._core.counters.n_dropped += 1
        self._fail(item, DROPPED, "the policy dropped it: its deadline cannot be met")

    def release(self, run: Run, is_complete: bool) -> None:
        """End a grant that a client carried out; what still runs is ended first."""
        assert run.grant is not None
        run.is_offered = False
        self.offered.pop(run.grant.id, None)
        if is_complete and not self._open(run):
            for place in run.grant.places:
                self._core.tell(Complete(run.grant.id, place.unit))
            for item in run.items:
                self._record(item, run, CANCELLED if item.is_cancelled else DONE, math.nan)
        else:
            self.stop(run, "its client released it", is_final=True)

    # --- ends ---

    def ended(self, node: Node | None, end: "Message", of_any_epoch: bool = False) -> None:
        """Note how an attempt ended, as its agent says. Ends of an old epoch are not used: the unit and the work may be
        with others by now."""
        attempt = None if node is None else node.attempts.get(end["attempt"])
        if attempt is None or not (of_any_epoch or end["epoch"] == attempt.epoch):
            self._core.counters.n_old += 1
            return
        attempt.execution_us, attempt.results = end["execution_us"], end["results"]
        outcome, why = end["outcome"], end["why"]
        if end["is_far"]:
            self._core.clients.keep_away(attempt.run.items)
        if outcome == DONE and (wrong := wrong_results(end["results"], attempt.run.items)):
            outcome, why = RAISED, wrong
        if outcome != DONE and not attempt.run.why:
            attempt.run.why, attempt.run.is_final = why or outcome, outcome in (RAISED, LIMIT)
        self._core.jobs.attempt_ended(attempt, outcome, why, end)
        self._over(attempt)

    def killed(self, attempt: Attempt, why: str) -> None:
        """Note that an attempt has ended with its device, without a word from it."""
        if not attempt.run.why:
            attempt.run.why = why
        self._core.jobs.attempt_ended(attempt, KILLED, why, {})
        self._over(attempt)

    def found(self, node: Node, found: "Message") -> None:
        """An agent runs an attempt that this manager does not know: it was started before a restart. Its requests are
        those that their client will send again; those of an application that is no longer served are ended."""
        core = self._core
        items = [
            Item(core.by_name[name], size, arrived_us, client, key, is_found=True)
            for name, size, arrived_us, client, key in found["items"]
            if name in core.by_name
        ]
        run = Run(items, core.now_us - found["age_us"])
        attempt = Attempt(found["attempt"], node.name, found["unit"], node.epoch, run, begun_us=run.issued_us)
        run.attempts.append(attempt)
        for item in items:
            item.run = run
        node.attempts[attempt.id] = attempt
        core.clients.adopt(items)
        if not items:
            self.stop(run, "nobody waits for it")

    def cancel(self, item: Item) -> None:
        """Give up a request, which is answered at once; what runs is ended, unless others run with it."""
        if item.is_cancelled:
            return
        item.is_unwanted = True
        if self._core.withdraw(item) and item.number < 0:
            self.withdrawn(item)  # the policy does not know it
        self._core.counters.n_cancelled += 1
        self._core.clients.answer(item, {"error": CANCELLED, "why": CANCELLED})
        self.stop_cancelled(item)

    def withdrawn(self, item: Item) -> None:
        """A request waits no more, because its client does not want it."""
        if item.is_unwanted:
            self._record(item, None, CANCELLED, math.nan)

    def stop_cancelled(self, item: Item) -> None:
        """End what runs of a cancelled item, unless others run with it."""
        if item.run is not None and all(one.is_cancelled for one in item.run.items):
            self.stop(item.run, "cancelled", is_final=True)

    def stop(self, run: Run, why: str, is_final: bool = False) -> None:
        """Let a run fail: its attempts are ended."""
        run.why, run.is_final = run.why or why, run.is_final or is_final
        self._stop(run)

    def kill(self, attempt: Attempt) -> None:
        """Let an agent end an attempt of a run that fails; one that is away gets the message when it comes back."""
        node = self._core.nodes.all[attempt.node]
        if node.peer is not None:
            self._core.send(node.peer, {"op": "kill", "attempt": attempt.id, "why": attempt.run.why})

    # --- time ---

    def check_times(self) -> None:
        """Take back grants that a client has held for too long."""
        for run in [run for run in self.offered.values() if run.issued_us + self._patience_us <= self._core.now_us]:
            self._core.clients.withdrawn(run, "held for longer than limits.kernel")
            self.release(run, is_complete=False)

    def next_us(self) -> float:
        """Return when the next grant that a client holds is taken back."""
        return min((run.issued_us for run in self.offered.values()), default=math.inf) + self._patience_us

    @property
    def _patience_us(self) -> float:
        return WAITING_FOR_CLIENT * self._core.cluster.limits.kernel_us

    # --- parts ---

    def _start(self, run: Run, unit: int, member: int, kernel: str, payloads: list[Any]) -> None:
        """Order an attempt; a job is in the journal before the order leaves."""
        core, node = self._core, self._node_of[unit]
        attempt = Attempt(self._next, node.name, unit, node.epoch, run, member, core.now_us)
        self._next += 1
        run.attempts.append(attempt)
        node.attempts[attempt.id] = attempt
        order: dict[str, Any] = {"op": "run", "attempt": attempt.id, "unit": unit, "member": member}
        for item in run.items:
            item.n_attempts += 1
        if run.items[0].job:
            order |= core.jobs.order(run.items[0], attempt)
        else:
            known, homes, sent = [], [], list(payloads)
            for place, item in enumerate(run.items):
                known.append([core.served[item.application].name, item.size, item.arrived_us, item.client, item.key])
                homes.append(core.clients.home(item, node))
                if homes[place] is None and isinstance(sent[place], list):
                    attempt.awaited.add(place)
                    sent[place] = None
            order |= {"kernel": kernel, "payloads": sent, "limit_us": core.cluster.limits.kernel_us, "items": known}
            order["homes"] = homes
            order["is_direct"] = run.grant is not None and len(run.grant.places) == 1 and not run.is_offered
        core.nodes.give(node, order)
        if attempt.awaited:
            self.ask_for_payloads(attempt)

    def ask_for_payloads(self, attempt: Attempt, client: str | None = None) -> None:
        """Let clients, or one of them, send what a node cannot take out of their memory."""
        to = self._node_of[attempt.unit].facts.get("data")
        for place in sorted(attempt.awaited):
            item = attempt.run.items[place]
            if client in (None, item.client):
                self._core.clients.ask(item, to, {"attempt": attempt.id, "node": attempt.node, "place": place})

    def forward(self, client: str, message: "Message") -> None:
        """Pass on a payload that a client was asked for; its attempt may be over by now."""
        node = self._core.nodes.all.get(message["node"])
        attempt = None if node is None else node.attempts.get(message["attempt"])
        place = message["place"]
        if attempt is None or place not in attempt.awaited or attempt.run.items[place].client != client:
            return
        attempt.awaited.remove(place)
        assert node is not None
        self._core.send(
            node.peer, {"op": "payload", "attempt": attempt.id, "place": place, "payload": message["payload"]}
        )

    def _over(self, attempt: Attempt) -> None:
        """Note that an attempt is over; the run is over with its last attempt."""
        core, run = self._core, attempt.run
        attempt.is_over = True
        node = core.nodes.all.get(attempt.node)
        if node is not None:  # else it was removed
            node.attempts.pop(attempt.id, None)
        if run.grant is None and node is not None:
            core.nodes.unblock(attempt)
        if run.why:
            self._stop(run)
            return
        if run.grant is not None and not run.is_offered:
            core.tell(Complete(run.grant.id, attempt.unit))
        if self._open(run):
            return
        if run.items and run.items[0].job:
            return  # its end is in the journal
        results = results_of(run)
        if run.is_offered:
            core.clients.results(run, results)
            return
        for i, item in enumerate(run.items):
            self._done(item, run, results[i])

    def _open(self, run: Run) -> list[Attempt]:
        return [attempt for attempt in run.attempts if not attempt.is_over]

    def _stop(self, run: Run) -> None:
        """End what is left of a run that fails. Once everything is over, its units are free and its items are tried
        again."""
        core, left = self._core, self._open(run)
        for attempt in left:
            if not attempt.is_killed:
                attempt.is_killed = True
                self.kill(attempt)
        if left:
            return
        if run.grant is not None:
            core.tell(Lose(run.grant.id))
            self.offered.pop(run.grant.id, None)
        if run.is_offered:
            core.clients.withdrawn(run, run.why)
            for item in run.items:
                if item.is_unwanted:
                    self._record(item, run, CANCELLED, math.nan)
            return
        for item in run.items:
            self._failed_once(item, run)

    def _failed_once(self, item: Item, run: Run) -> None:
        """Try an item whose devices died again; report it if it must not or cannot be tried again."""
        core = self._core
        if item.is_cancelled:
            if item.job:
                core.jobs.failed(item, "cancelled", "cancelled")
            elif item.is_unwanted:
                self._record(item, run, CANCELLED, math.nan)
        elif item.is_found:
            core.clients.forget(item)
        elif item.job and core.jobs.is_once(item):
            core.jobs.unknown(item, run.why)
        elif run.is_final or item.n_attempts >= core.cluster.limits.attempts:
            tried = "" if run.is_final else f" (tried {item.n_attempts} times)"
            self._fail(item, "failed", run.why + tried, run)
        else:
            core.counters.n_started_again += 1
            if item.job:
                core.jobs.again(item, run.why)
            core.wait(item)

    def _done(self, item: Item, run: Run, result: "Message") -> None:
        core, counters = self._core, self._core.counters
        execution_us = max(attempt.execution_us for attempt in run.attempts)
        if item.is_cancelled:
            if item.is_unwanted:
                self._record(item, run, CANCELLED, execution_us)
            return
        if "is_sent" in result and item.is_lost:
            item.is_lost = False
            core.counters.n_started_again += 1
            core.wait(item)
            return
        if "error" in result:
            self._fail(item, "failed", result["error"], run, execution_us)
            return
        counters.n_done += 1
        self._record(item, run, DONE, execution_us)
        counters.response_us.append(core.now_us - item.arrived_us)
        counters.dispatch_us.append(core.now_us - run.issued_us - execution_us)
        core.clients.answer(item, {**result, "execution_us": execution_us, "unit": run.attempts[0].unit})

    def _fail(self, item: Item, kind: str, why: str, run: Run | None = None, execution_us: float = math.nan) -> None:
        core = self._core
        if item.job:
            core.jobs.failed(item, kind, why)
            return
        if kind == "failed":
            core.counters.n_failed += 1
            core.failures.note(core.served[item.application].name, kind, why)
        self._record(item, run, kind, execution_us, why)
        core.clients.answer(item, {"error": kind, "why": why})

    def _record(self, item: Item, run: Run | None, outcome: str, execution_us: float, why: str = "") -> None:
        """Write a request that has ended to the journal, for ``record``."""
        core, served = self._core, self._core.served[item.application]
        due_us = item.arrived_us + served.deadline_us * (item.size if served.per_size else 1.0)
        if outcome == DONE and core.now_us > due_us:
            core.counters.n_missed += 1
        attempt = run.attempts[0] if run is not None and run.attempts else None
        core.journal.note(
            "INSERT INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            served.name,
            item.size,
            item.arrived_us,
            None if run is None else run.issued_us,
            core.now_us,
            None if math.isnan(execution_us) else execution_us,
            None if attempt is None else attempt.unit,
            None if attempt is None else attempt.id,
            item.n_attempts,
            due_us,
            outcome,
            item.number,
            first_line(why) or None,
        )
