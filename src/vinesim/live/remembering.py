"""A decision component that survives its manager: what it knew at some time, and every turn since, are in the journal.

A policy is deterministic: the same turns bring it to the same state, with all that it has learned and drawn.
"""

import logging
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

from vinesim.live.decisions import Arrive, Complete, Decisions, Lose, Operation, Outcome, SetUp, Withdraw
from vinesim.live.journal import Journal
from vinesim.model.application import Application

log = logging.getLogger(__name__)
SAVE_EVERY = 10_000  # turns: that number is repeated at a start, at worst
OPERATIONS: tuple[Any, ...] = (Arrive, Complete, Lose, SetUp, Withdraw)
TURN = "INSERT INTO turns (time_us, content) VALUES (?, ?)"
KIND = {kind: number for number, kind in enumerate(OPERATIONS)}


class RememberingDecisions:
    """A decision component that resumes where that of the previous manager stopped: its grants still run, its requests
    still wait.
    What changes is kept when the journal commits."""

    def __init__(self, component: Decisions, journal: Journal):
        self.component, self._journal = component, journal
        self.engine, self.engine_why = component.engine, component.engine_why
        self.waiting: dict[int, tuple[int, int]] = {}  # request -> its application, its job or 0
        self._known: dict[str, tuple[int, bytes]] = {}  # application -> its number, what was registered
        self._n_turns = 0
        nothing = component.save()
        try:
            self._repeat()
        except Exception as wrong:  # saved by another version, or for other units, or the policy's code has changed
            log.warning("what the policy has learned is lost", extra={"why": f"{type(wrong).__name__}: {wrong}"})
            component.restore(nothing)
            self.waiting, self._known = {}, {}
        self._save(journal.latest_us())

    @property
    def running(self) -> list[int]:
        """The grants that have not ended."""
        return self.component.running

    def register(
        self, application: Application, task_type: str, demand: float, requests: Mapping[str, float] | None = None
    ) -> int:
        """Add an application; one that is known already keeps its number. Raises
        :class:`~vinesim.model.errors.InputError`."""
        nodes = [list(node) for node in application.nodes]
        what = [{**vars(application), "nodes": nodes}, task_type, demand, dict(requests or {})]
        number, known = self._known.get(application.name, (-1, b""))
        if known != msgpack.packb(what):  # as bytes, because a demand of one slot is a NaN
            number = self._registered(what, again=bool(known))
            self._journal.write(TURN, 0.0, msgpack.packb([None, bool(known), what]))
        return number

    def turn(self, now_us: float, operations: Sequence[Operation], may_grant: bool = True) -> Outcome:
        """Tell what has happened, in order, and return what starts now."""
        was_waiting = bool(self.waiting)
        outcome = self._turned(now_us, operations, may_grant)
        if operations or was_waiting:  # else the policy was not called
            packed = [(KIND[type(one)], *vars(one).values()) for one in operations]
            self._journal.note(TURN, now_us, msgpack.packb([now_us, may_grant, packed]))
            self._n_turns += 1
            if self._n_turns == SAVE_EVERY:
                self._save(now_us)
        return outcome

    def _registered(self, what: list[Any], again: bool) -> int:
        """Register an application; if its name is taken by another one, under its own name."""
        of, task_type, demand, requests = what
        name = of["name"] if not again else f"{of['name']}, registered again {len(self._known)}"
        made = Application(**{**of, "name": name})
        number = self.component.register(made, task_type, demand, requests)
        if again:
            self._known[name] = self._known[of["name"]]
        self._known[of["name"]] = number, msgpack.packb(what)
        return number

    def _turned(self, now_us: float, operations: Sequence[Operation], may_grant: bool) -> Outcome:
        outcome = self.component.turn(now_us, operations, may_grant)
        if outcome.numbers:
            arrived = [one for one in operations if isinstance(one, Arrive)]
            for number, one in zip(outcome.numbers, arrived, strict=True):
                self.waiting[number] = one.application, one.job
        for grant in outcome.grants:
            for number in grant.requests:
                del self.waiting[number]
        for number in (*outcome.dropped, *outcome.withdrawn):
            del self.waiting[number]
        return outcome

    # --- the journal ---

    def _save(self, now_us: float) -> None:
        """Save everything; the turns so far need not be repeated any more."""
        content = pickle.dumps((self.component.save(), self.waiting, self._known))
        self._journal.write("DELETE FROM turns")
        self._journal.write("INSERT OR REPLACE INTO decisions VALUES (1, ?, ?)", now_us, content)
        self._n_turns = 0

    def _repeat(self) -> None:
        """Do what was saved last, and what has happened since."""
        row = self._journal.one("SELECT content FROM decisions")
        if row is not None:
            saved, self.waiting, self._known = pickle.loads(row["content"])  # noqa: S301 - the manager's own
            self.component.restore(saved)
        for row in self._journal.rows("SELECT content FROM turns ORDER BY id"):
            now_us, flag, content = msgpack.unpackb(row["content"])
            if now_us is None:
                self._registered(content, again=flag)
            else:
                self._turned(now_us, [_operation(*words) for words in content], flag)


def _operation(kind: int, *words: Any) -> Operation:
    """Return an operation as it was before it was written."""
    made: Operation = OPERATIONS[kind](*(tuple(word) if isinstance(word, list) else word for word in words))
    return made
