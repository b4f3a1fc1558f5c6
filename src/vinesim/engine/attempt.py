"""One scenario on one engine, from the first event to the last; or, where that engine proves too slow, on the other."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from vinesim.engine.compiling import NotCompiled, announce_compilation, timing_compilation
from vinesim.engine.contract import AT_HORIZON, AT_PAUSE, LEFT, NO_EVENTS, BrokenContract, OutOfTime, Unplaced
from vinesim.engine.ends import joined, may_end_early
from vinesim.engine.outages import OutageClock, begin_placed, has_pauses
from vinesim.engine.outcome import collect, why_over
from vinesim.engine.patience import Patience, Progress
from vinesim.engine.periods import PeriodClock
from vinesim.engine.run import Run
from vinesim.engine.tier import Tier
from vinesim.model.result import ExitReason, Outcome
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream_seed
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Plan, Policy, title_of
from vinesim.state.layout import Model

CHUNK_S = 0.1  # how long the engine works before progress is reported
FIRST_CHUNK = 1 << 8  # events, and no fewer later; how long they take is not known yet
FIRST_TRIED = 1 << 3  # the same where the other engine may take over: one event may take the reference engine a second


class Ended(NamedTuple):
    """A run that came to its end."""

    engine: str
    run: Run
    clock: PeriodClock | None
    outages: OutageClock | None
    reason: ExitReason
    words: str  # more of the reason
    compile_s: float


@dataclass(frozen=True)
class Attempt:
    """One scenario, to be run on one engine or, after that has taken too long, on the other."""

    scenario: Scenario
    policy: Policy
    online: OnlinePolicy
    model: Model
    plan: Plan
    tier: Tier
    on_progress: Callable[[Progress], bool | None] | None
    on_message: Callable[[str], None] | None

    @property
    def name(self) -> str:
        return title_of(self.policy)

    def run(self) -> Ended:
        """Run it to its end, on the engine that the tier names first or on the one that takes over."""
        if ended := self._run_on(self.tier.first):
            return ended
        try:
            ended = self._run_on("compiled")
        except NotCompiled as wrong:
            if self.on_message is not None:
                self.on_message(f"{wrong}\nIt goes on in plain Python.")
            self.tier.cannot_compile()
            ended = self._run_on("reference")
        assert ended is not None
        return ended

    def _run_on(self, engine: str) -> Ended | None:
        """Run it to its end; None where the other engine is to take over."""
        scenario, policy, model = self.scenario, self.policy, self.model
        ends_early = may_end_early(scenario, self.online)
        new_run = _runs_of(engine, scenario.workload.n_tasks)
        run = new_run(model, self.online, stream_seed(scenario.seed, "policy"), policy.may_overcommit, ends_early)
        for name, contents in self.plan.scratch.items():
            getattr(run.scratch, name)[:] = contents
        clock = PeriodClock(policy, run, model, scenario) if isinstance(policy, BatchPolicy) else None
        outages = OutageClock(run, model, scenario) if has_pauses(scenario) else None
        patience = Patience(run, self.name, scenario.workload.n_tasks, self.on_progress, self.on_message)
        try:
            with announce_compilation(policy, self.on_message), timing_compilation() as compiled_s:
                ready = time.perf_counter()
                run.compile()
                compile_s = time.perf_counter() - ready - compiled_s()
                begin_placed(run, model, scenario)
                ended = self._advance(run, clock, outages, patience)
                compile_s += compiled_s()
        except BrokenContract as broken:
            raise broken.as_policy_error(self.name, run.now_us) from None
        except Unplaced as failed:
            failed.n_events = run.n_events
            raise
        except OutOfTime as wrong:
            raise wrong.as_input_error(scenario, model, run.now_us) from None
        except KeyboardInterrupt as stop:
            stop.add_note(patience.words())
            raise
        return None if ended is None else Ended(engine, run, clock, outages, *ended, compile_s)

    def _advance(
        self, run: Run, clock: PeriodClock | None, outages: OutageClock | None, patience: Patience
    ) -> tuple[ExitReason, str] | None:
        """Let the engine work in chunks of about CHUNK_S until the run ends. Returns why, and more in words; None where
        the other engine is to take over.

        The first chunk of a policy that is known to answer, and all where a batch policy decides, are done on this
        thread: another one takes a twelfth of the time of a small run, and more on a busy machine.
        """
        scenario, model, n_tasks = self.scenario, self.model, self.scenario.workload.n_tasks
        answers = self.online.decide.__module__.startswith("vinesim.")
        fewest = FIRST_TRIED if self.tier.is_open else FIRST_CHUNK
        chunk, gives_up = fewest, None if answers else patience.gives_up
        while True:
            begun = time.perf_counter()
            stop = clock or outages
            until_us = math.inf if stop is None else stop.next_us
            why = run.advance(scenario.horizon_us, until_us, chunk, gives_up)
            if clock is not None or run.n_events >= FIRST_CHUNK:
                gives_up = None if clock is not None else patience.gives_up
            if why == LEFT:
                return ExitReason.INTERRUPTED, patience.words()
            if run.n_done == n_tasks:
                self.tier.took()
                return ExitReason.ALL_DONE, ""
            if why == AT_HORIZON:
                return ExitReason.HORIZON, ""
            if why == NO_EVENTS:
                return why_over(scenario, model, run)
            if why == AT_PAUSE and outages is not None:
                if outages.only_fails and run.is_idle:
                    return why_over(scenario, model, run)
                outages.tick()
            if why == AT_PAUSE and clock is not None:
                if clock.next_us >= scenario.horizon_us:
                    return ExitReason.HORIZON, ""  # what is placed now would not run
                if not clock.tick():
                    return why_over(scenario, model, run)
            took = time.perf_counter() - begun
            chunk = max(fewest, min(1 << 30, int(chunk * min(4.0, max(0.25, CHUNK_S / max(took, 1e-9))))))
            if patience.looks_up():
                return ExitReason.INTERRUPTED, ""
            if self.tier.is_too_slow(run.n_events):
                return None

    def outcome(self, ended: Ended) -> Outcome:
        """What the engine hands over."""
        scenario, model, run, clock = self.scenario, self.model, ended.run, ended.clock
        accounts = None if clock is None else clock.accounts
        may_overcommit, proven = self.policy.may_overcommit, self.plan.proven
        ends_early = may_end_early(scenario, self.online)
        outcome = collect(scenario, model, run, ended.reason, ended.words, accounts, may_overcommit, ends_early, proven)
        moves = None if clock is None or clock.moves is None else clock.moves.ends()
        failures = () if ended.outages is None else tuple(ended.outages.failures.had)
        return replace(outcome, early=joined(outcome.early, moves), failures=failures, preempts=self.online.preempts)


def _runs_of(engine: str, n_tasks: int) -> Callable[..., Run]:
    """What makes the runs of an engine; the compiler is imported only for the compiled one."""
    if engine == "reference":
        from vinesim.engine.reference_run import ReferenceRun

        return ReferenceRun
    from vinesim.engine.binding import bound_for
    from vinesim.engine.compiled import CompiledRun

    return partial(CompiledRun, bind=partial(bound_for, n_tasks=n_tasks))
