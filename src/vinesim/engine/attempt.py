"""One scenario on one engine, from the first event to the last; or on the other engine, if the first proves too
slow."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vinesim.core.code import Code
from vinesim.engine.compiling import NotCompiled, announce_compilation, compiling, timing_compilation
from vinesim.engine.contract import BrokenContract, ErrorWithoutLine, OutOfTime
from vinesim.engine.engine_choice import EngineChoice
from vinesim.engine.outcome import Ended, why_over
from vinesim.engine.periods import PeriodClock
from vinesim.engine.run import Progress, Run, Watchdog
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.result import ExitReason
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream_seed
from vinesim.model.workload import NOT_PLACED
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Plan, Policy, title_of
from vinesim.state.layout import ABANDONED, AT_HORIZON, AT_PAUSE, NO_EVENTS
from vinesim.state.model import Model

CHUNK_S = 0.1  # how long the engine works before progress is reported
BRIEF_S = CHUNK_S / 10  # the next one may be CHUNK_S long
FIRST_CHUNK, GROWTH = 1 << 8, 16.0  # events, and no fewer later: how long they take is not known yet; the next are more
FIRST_TRIED, SLOW_GROWTH = 1 << 3, 4.0  # the same where the other engine may take over: an event may take it a second
MANY_UNITS = 1000  # from here on a single decision may take it longer than the compiled engine takes for all


@dataclass(frozen=True)
class Attempt:
    """One scenario, to be run on one engine or, after that has taken too long, on the other."""

    scenario: Scenario
    policy: Policy
    online: OnlinePolicy
    model: Model
    code: Code
    plan: Plan
    choice: EngineChoice
    on_progress: Callable[[Progress], bool | None] | None
    on_message: Callable[[str], None] | None

    @property
    def name(self) -> str:
        return title_of(self.policy)

    def run(self) -> Ended:
        """Run it to its end, on the engine that is chosen first or on the one that takes over."""
        if ended := self._run_on(self.choice.first):
            return ended
        try:
            ended = self._run_on("compiled")
        except NotCompiled as wrong:
            if self.on_message is not None:
                self.on_message(f"{wrong}\nThe run continues in plain Python.")
            self.choice.cannot_compile()
            ended = self._run_on("reference")
        assert ended is not None
        return ended

    def _run_on(self, engine: str) -> Ended | None:
        """Run it to its end; None if the other engine must take over."""
        scenario, policy, model = self.scenario, self.policy, self.model
        run = self._new_run(engine)
        for name, contents in self.plan.scratch.items():
            getattr(run.scratch, name)[:] = contents
        clock = PeriodClock(policy, run, model, scenario) if isinstance(policy, BatchPolicy) else None
        watchdog = Watchdog(run, self.name, scenario.workload.n_tasks, self.on_progress, self.on_message)
        try:
            with announce_compilation(policy, self.on_message), timing_compilation() as compiled_s:
                ready = time.perf_counter()
                with compiling(self.name):
                    run.compile()
                compile_s = time.perf_counter() - ready - compiled_s()
                self._begin_placed(run)
                ended = self._advance(run, clock, watchdog)
                compile_s += compiled_s()
        except BrokenContract as broken:
            lacks_line = engine == "compiled" and not self.online.decide.__module__.startswith("vinesim.")
            kind, is_batch = ErrorWithoutLine if lacks_line else PolicyError, clock is not None
            error = broken.as_policy_error(self.name, run.now_us, kind, is_batch)
            if isinstance(error, ErrorWithoutLine):
                error.n_events = run.n_events
            raise error from None
        except ErrorWithoutLine as failed:
            failed.n_events = run.n_events
            raise
        except OutOfTime as wrong:
            raise wrong.as_input_error(scenario, model, run.now_us) from None
        except KeyboardInterrupt as stop:
            if not hasattr(stop, "__notes__"):
                stop.add_note(watchdog.words())
            raise
        return None if ended is None else Ended(engine, run, clock, *ended, compile_s)

    def _new_run(self, engine: str) -> Run:
        """A run on an engine; the compiler is imported only for the compiled one."""
        seed = stream_seed(self.scenario.seed, "policy")
        if engine == "reference":
            from vinesim.engine.reference_run import ReferenceRun

            return ReferenceRun(self.scenario, self.model, self.policy, self.online, seed)
        from vinesim.engine.compiled import CompiledRun

        return CompiledRun(self.scenario, self.model, self.policy, self.online, self.code, seed)

    def _advance(self, run: Run, clock: PeriodClock | None, watchdog: Watchdog) -> tuple[ExitReason, str] | None:
        """Let the engine work in chunks of about CHUNK_S until the run ends. Returns why, and more in words; None if
        the other engine must take over.

        If a policy is known to answer, chunks run on this thread until one has taken BRIEF_S; if a batch policy
        decides, all of them do. Another thread takes an eighth of the time of a small run, and more on a busy machine.
        """
        scenario, model, n_tasks = self.scenario, self.model, self.scenario.workload.n_tasks
        answers = self.online.decide.__module__.startswith("vinesim.")
        is_long = self.choice.may_switch and len(model.unit_type) >= MANY_UNITS  # perhaps, each decision
        fewest, growth = (FIRST_TRIED, SLOW_GROWTH) if self.choice.may_switch else (FIRST_CHUNK, GROWTH)

        def should_abandon() -> bool:
            return self.choice.seems_too_slow(run.n_events) or watchdog.should_abandon()

        chunk, is_watched = fewest, clock is None and (is_long or not answers)
        while True:
            begun = time.perf_counter()
            until_us = math.inf if clock is None else clock.next_us
            why = run.advance(scenario.horizon_us, until_us, chunk, should_abandon if is_watched else None)
            if why == ABANDONED:
                if not watchdog.is_stopped and self.choice.is_too_slow(run.n_events):
                    return None
                return ExitReason.INTERRUPTED, watchdog.words()
            if run.n_done == n_tasks:
                self.choice.record_time()
                return ExitReason.ALL_DONE, ""
            if why == AT_HORIZON:
                return ExitReason.HORIZON, ""
            if why == NO_EVENTS:
                return why_over(scenario, model, run, self.policy)
            if why == AT_PAUSE and clock is not None:
                if clock.next_us >= scenario.horizon_us:
                    return ExitReason.HORIZON, ""  # what is placed now would not run
                if not clock.tick():
                    return why_over(scenario, model, run, self.policy)
            took = time.perf_counter() - begun
            is_watched = is_watched or (clock is None and took >= BRIEF_S)
            chunk = max(fewest, min(1 << 30, int(chunk * min(growth, max(0.25, CHUNK_S / max(took, 1e-9))))))
            if watchdog.report_progress():
                return ExitReason.INTERRUPTED, ""
            if self.choice.is_too_slow(run.n_events):
                return None

    def _begin_placed(self, run: Run) -> None:
        """Start the tasks that run from the beginning; the policy is called for the others of their instant next."""
        placed = self.scenario.workload.placed
        if placed is None or (placed == NOT_PLACED).all():
            return
        number = np.argsort(self.model.unit_order)  # by row of the deployment
        tasks = np.flatnonzero(placed != NOT_PLACED)
        n_jobs = int(self.model.task_job[tasks[-1]]) + 1
        n_jobs -= int(np.count_nonzero(self.model.job_predecessors[:n_jobs]))  # these wait for others
        try:
            run.begin_placed(tasks, number[placed[tasks]], n_jobs)
        except BrokenContract as broken:
            expected = "a unit with room for the task and for all that it holds along with it"
            found = f"unit {placed[broken.task]}"
            raise InputError([Problem(("workload", "placed", broken.task), expected, found)]) from None
