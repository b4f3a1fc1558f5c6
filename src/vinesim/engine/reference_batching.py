"""Serving engines in the reference engine: units with continuous batching, step by step.

The rules of a step are those of vLLM (Kwon et al., SOSP 2023, and vLLM's scheduler since 2025). Running sequences come
first, in the order of admission: each computes one token, or the next chunk of what it must prefill. Where one needs a
block of memory and none is free, the newest running one is put back at the head of the queue, which may be itself. If
none was put back, waiting sequences are admitted in order while there are sequences, tokens and blocks left. A token of
the answer is there at the end of the step that computes the last token before it.

Engines may have a role. A request leaves one that only prefills with its first token; then it starts on one that
decodes, as the policy says. Its cache takes the time of a transfer between the two; when it is there, the request
waits in the queue of that engine, and takes memory when it is admitted.

With prefix caching, tokens that were computed are found again in blocks of memory that were full and were not used
since: by the sequence that computed them, once it was put back, and by all sequences with the same prefix. Free blocks
are used in the order in which they became free, the last ones of a sequence first.
"""

import math
from collections import OrderedDict, deque
from itertools import takewhile
from typing import Any

import numpy as np

from vinesim.engine.contract import OutOfTime
from vinesim.model.result import Serving
from vinesim.model.step_times import step_us
from vinesim.model.tokens import NO_PREFIX
from vinesim.state import layout
from vinesim.state.layout import BOTH, DECODE, PREFILL

Content = tuple[bool, int, int]  # tokens: of a prefix or a task, which one, and which block of it
OF_TASK, OF_PREFIX = False, True


class Sequence:
    """A request on an engine."""

    def __init__(self, model: Any, task: int):
        self.task, self.prompt = task, int(model.task_input[task])
        has_prefix = len(model.task_prefix) > 0
        self.prefix = int(model.task_prefix[task]) if has_prefix else NO_PREFIX
        self.prefix_tokens = int(model.task_prefix_tokens[task]) if has_prefix else 0  # its first ones
        self.total = self.prompt  # tokens of its prompt and of its answer so far
        self.left = int(model.task_output[task])  # tokens of its answer that are not there yet
        self.computed = 0  # tokens in memory
        self.new = 0  # tokens that the step computes
        self.n_sent = 0  # tokens that another engine computed, until it is in a step
        self.blocks: list[int] = []
        self.n_shared = 0  # the first of these, which others with its prefix find too
        self.scheduled_us = self.first_token_us = math.nan
        self.n_preemptions = self.n_found = 0

    @property
    def decodes(self) -> bool:
        """Whether all it computes is the one token that it made last."""
        return self.computed >= self.prompt and self.total - self.computed == 1

    @property
    def is_computed(self) -> bool:
        """Whether the step computes the last of its tokens, and so makes the next one."""
        return self.computed + self.new == self.total


class ServingEngine:
    """One engine: its queue, its memory, and the step that it runs."""

    def __init__(self, model: Any, unit: int):
        limits = [int(limit) for limit in model.type_batching[model.unit_type[unit]]]
        self.model, self.unit = model, unit
        self.max_sequences, self.max_tokens = limits[layout.MAX_SEQUENCES], limits[layout.MAX_TOKENS]
        self.block_tokens, self.resumes = limits[layout.BLOCK_TOKENS], limits[layout.RESUMES]
        self.caches, self.kind, self.role = limits[layout.CACHES], limits[layout.STEP], limits[layout.ROLE]
        self.token_bytes = limits[layout.TOKEN_BYTES]
        self.free = OrderedDict.fromkeys(range(limits[layout.BLOCKS]))  # in the order in which they are used again
        self.cached: dict[Content, int] = {}  # block that can be found again, by whose tokens it holds, and which
        self.content: dict[int, Content] = {}  # the same by block
        self.coming: list[Sequence] = []  # whose caches are on their way
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.at_us = 0.0  # when the last step ended, or when the first request came
        self.step_us, self.end_us = 0.0, math.inf  # how long the step takes, and when it ends
        self.is_running = False  # a step
        self.memory_us, self.peak = 0.0, 0  # integral over time of the tokens in memory, and the most of them

    # --- memory ---

    def n_missing(self, one: Sequence, n_tokens: int) -> int:
        """How many blocks a sequence lacks for a number of tokens."""
        return -(-n_tokens // self.block_tokens) - len(one.blocks)

    def allocate(self, one: Sequence) -> None:
        """Give a sequence the blocks for what the step computes."""
        for _ in range(self.n_missing(one, one.computed + one.new)):
            block, _ = self.free.popitem(last=False)
            self.forget(block)
            one.blocks.append(block)

    def release(self, one: Sequence) -> None:
        """Free the blocks of a sequence, which runs no more, that no other one has, the last one first."""
        kept = {block for other in self.running for block in other.blocks}
        self.free |= OrderedDict.fromkeys(block for block in reversed(one.blocks) if block not in kept)
        one.blocks = []

    def note(self, content: Content, block: int) -> None:
        self.forget(block)
        self.cached[content], self.content[block] = block, content

    def forget(self, block: int) -> None:
        """Make a block impossible to find again."""
        if block in self.content:
            del self.cached[self.content.pop(block)]

    def share(self, one: Sequence, n_tokens: int) -> None:
        """Let others with the same prefix find the blocks of a sequence with its first tokens. Of two that compute the
        same tokens, the blocks of the first are found."""
        n_tokens = min(n_tokens, one.prefix_tokens)
        while self.caches and (one.n_shared + 1) * self.block_tokens <= n_tokens:
            content = OF_PREFIX, one.prefix, one.n_shared
            if content in self.cached:
                break
            self.note(content, one.blocks[one.n_shared])
            one.n_shared += 1

    def prefix_found(self, one: Sequence) -> list[int]:
        """The blocks with the first tokens of a sequence that others left or have; not all that it needs."""
        most = min(one.prefix_tokens, one.total - 1) // self.block_tokens if self.caches and not one.n_sent else 0
        found = takewhile(lambda content: content in self.cached, ((OF_PREFIX, one.prefix, n) for n in range(most)))
        return [self.cached[content] for content in found]

    def blocks_found(self, one: Sequence) -> tuple[list[int], int]:
        """The first blocks of a sequence that are in memory, and how many of them are those of its prefix; not all that
        it needs."""
        found = self.prefix_found(one)
        n_shared = len(found)
        while (len(found) + 1) * self.block_tokens < one.total and (OF_TASK, one.task, len(found)) in self.cached:
            found.append(self.cached[OF_TASK, one.task, len(found)])
        return found, n_shared

    @property
    def n_twice(self) -> int:
        """Tokens in memory that several sequences share, counted for each of them but one."""
        blocks = [block for one in self.running for block in one.blocks]
        return self.block_tokens * (len(blocks) - len(set(blocks)))

    # --- a step ---

    def begin_step(self) -> None:
        """Form the next step, if there is anything to compute."""
        budget, n_waiting = self.max_tokens, len(self.waiting)
        for one in list(self.running):
            if one not in self.running:
                break
            one.new = min(one.total - one.computed, budget)
            while one in self.running and self.n_missing(one, one.computed + one.new) > len(self.free):
                self.put_back(self.running.pop())
            if one in self.running:
                self.allocate(one)
                self.share_prompt(one)
                budget -= one.new
        if len(self.waiting) == n_waiting:
            self.admit(budget)
        self.is_running = len(self.running) > 0
        if self.is_running:
            self.step_us = self.time_of_step()
            self.end_us = self.at_us + self.step_us
            if not self.at_us < self.end_us < math.inf:
                raise OutOfTime(self.running[0].task, self.unit, self.step_us)

    def put_back(self, one: Sequence) -> None:
        """Put a sequence that runs no more at the head of the queue."""
        if self.caches:
            for place in range(one.n_shared, one.computed // self.block_tokens):
                self.note((OF_TASK, one.task, place), one.blocks[place])
        self.release(one)
        if not self.resumes:
            one.computed = 0
        one.n_preemptions += 1
        self.waiting.appendleft(one)

    def admit(self, budget: int) -> None:
        """Admit waiting sequences, which compute up to ``budget`` tokens together."""
        while self.waiting and budget > 0 and len(self.running) < self.max_sequences:
            one = self.waiting[0]
            found, n_shared = self.blocks_found(one)
            computed = one.computed + len(found) * self.block_tokens + one.n_sent
            new = min(one.total - computed, budget)
            if self.n_missing(one, computed + new) - len(found) > len(self.free.keys() - set(found)):
                break
            self.waiting.popleft()
            for block in found:
                self.free.pop(block, None)
            for content in [content for content in self.cached if content[:2] == (OF_TASK, one.task)]:
                self.forget(self.cached[content])
            one.blocks, one.n_shared = found, n_shared
            one.computed, one.new, one.n_sent = computed, new, 0
            self.allocate(one)
            self.share_prompt(one)
            self.running.append(one)
            if math.isnan(one.scheduled_us):
                one.scheduled_us, one.n_found = self.at_us, computed
            budget -= new

    def share_prompt(self, one: Sequence) -> None:
        """Share what the step computes of a prompt, so that later sequences of the same step find it."""
        if not one.decodes:
            self.share(one, min(one.computed + one.new, one.prompt))

    def time_of_step(self) -> float:
        decode = [one for one in self.running if one.decodes]
        prefill = [one for one in self.running if not one.decodes]
        of_prefill = sum(one.new for one in prefill), len(prefill), sum(one.computed for one in prefill)
        of_decode = len(decode), sum(one.computed + 1 for one in decode)
        return float(step_us(self.model, self.kind, *of_prefill, *of_decode))

    @property
    def done_us(self) -> float:
        """When the next request is done, if that is at the end of the step that runs, or ran last."""
        if not self.is_running:
            return self.at_us if any(one.left == 0 for one in self.running) else math.inf
        return self.end_us if any(one.is_computed and one.left == 1 for one in self.running) else math.inf

    def end_step(self) -> None:
        for one in self.running:
            if one.is_computed:
                if one.total == one.prompt:
                    one.first_token_us = self.end_us
                one.total += 1
                one.left -= 1
            one.computed += one.new
        n_tokens = sum(one.computed for one in self.running) - self.n_twice
        self.memory_us += n_tokens * self.step_us
        self.peak = max(self.peak, n_tokens)
        self.at_us, self.end_us, self.is_running = self.end_us, math.inf, False

    def n_tokens(self, now_us: float) -> int:
        """Tokens in memory after the last step that ended."""
        n_new = sum(one.new for one in self.running) if self.end_us <= now_us else 0
        return sum(one.computed for one in self.running) + n_new - self.n_twice

    def n_to_prefill(self, now_us: float) -> int:
        """Tokens that sequences that do not decode must compute, or get from another engine, after the last step that
        ended."""
        prefill = [one for one in self.running if not one.decodes]
        n_new = sum(one.new for one in prefill) if self.end_us <= now_us else 0
        return sum(one.total - one.computed for one in (*self.coming, *self.waiting, *prefill)) - n_new


class Engines:
    """The serving engines of a run, and the requests on them."""

    def __init__(self, state: Any):
        self.state, model = state, state.model
        self.of_unit = {int(unit): ServingEngine(model, int(unit)) for unit in model.engine_unit}
        self.ready: list[ServingEngine] = []  # whose next step begins when all events of this instant are over
        self.sequences: dict[int, Sequence] = {}  # by task
        self.prefilled: dict[int, int] = {}  # the unit that only prefilled a task

    def has_role(self, task: int, unit: int) -> bool:
        role = self.of_unit[unit].role if unit in self.of_unit else None
        return role in (BOTH, DECODE) if task in self.prefilled else role != DECODE

    def cache_bytes(self, task: int) -> float:
        """The cache of a request that another engine prefilled."""
        return float(int(self.state.model.task_input[task]) * self.of_unit[self.prefilled[task]].token_bytes)

    def start(self, task: int, unit: int) -> None:
        """Start a request on an engine: at once, or when its cache is there."""
        model, engine = self.state.model, self.of_unit[unit]
        if task in self.prefilled:
            one = self.sequences[task]
            one.n_sent, one.computed, one.left = one.prompt, 0, int(model.task_output[task]) - 1
            engine.coming.append(one)
            return
        self.sequences[task] = Sequence(model, task)
        if engine.role == PREFILL:
            self.sequences[task].left = 1
        self.wait(task, unit)

    def receive(self, task: int) -> None:
        """Put a request into the queue now that its cache has arrived."""
        unit = self.state.task_unit[task]
        self.of_unit[unit].coming.remove(self.sequences[task])
        self.wait(task, unit)

    def is_only_prefilled(self, task: int) -> bool:
        """Whether a request that leaves its engine continues on another one."""
        unit = self.state.task_unit[task]
        only_prefills = unit in self.of_unit and self.of_unit[unit].role == PREFILL
        return only_prefills and int(self.state.model.task_output[task]) > 1

    def wait(self, task: int, unit: int) -> None:
        """Put a request into the queue of an engine."""
        engine = self.of_unit[unit]
        engine.waiting.append(self.sequences[task])
        if not engine.running and engine not in self.ready:
            engine.at_us = self.state.now_us
            self.ready.append(engine)

    def next_done_us(self) -> float:
        """When the next request is done."""
        return min((engine.done_us for engine in self.of_unit.values()), default=math.inf)

    def run_until(self, event_us: float, horizon_us: float) -> float:
        """Run steps up to the next event: what comes at ``event_us``, or a request that is done. Returns when that
        is."""
        while True:
            next_us = min(event_us, self.next_done_us())
            if self.ready and next_us > self.ready[0].at_us:
                for engine in self.ready:
                    engine.begin_step()
                self.ready = []
                continue
            others = [engine for engine in self.of_unit.values() if engine.done_us == math.inf]
            end_us = min((engine.end_us for engine in others), default=math.inf)
            if end_us == math.inf or end_us > min(next_us, horizon_us):
                return min(next_us, end_us)
            engine = next(one for one in others if one.end_us == end_us)
            engine.end_step()
            if end_us < next_us:
                engine.begin_step()
            else:
                self.ready.append(engine)

    def finish(self) -> int:
        """Remove a request that is done now. Returns its task."""
        now_us = self.state.now_us
        engine = next(one for one in self.of_unit.values() if one.done_us == now_us)
        if engine.is_running:
            engine.end_step()
        one = next(one for one in engine.running if one.left == 0)
        engine.running.remove(one)
        engine.share(one, one.computed)
        engine.release(one)
        if engine.done_us == math.inf:
            self.ready.append(engine)
        return one.task

    # --- what a policy may ask ---

    def n_waiting(self, unit: int) -> int:
        return len(self.of_unit[unit].waiting) if unit in self.of_unit else 0

    def n_tokens(self, unit: int) -> int:
        return self.of_unit[unit].n_tokens(self.state.now_us) if unit in self.of_unit else 0

    def n_to_prefill(self, unit: int) -> int:
        return self.of_unit[unit].n_to_prefill(self.state.now_us) if unit in self.of_unit else 0

    def n_found(self, task: int, unit: int) -> int:
        if unit not in self.of_unit:
            return 0
        engine = self.of_unit[unit]
        return len(engine.prefix_found(Sequence(self.state.model, task))) * engine.block_tokens

    def columns(self) -> Serving:
        """How the requests fared, by task, and what the memories held, by unit."""
        n_tasks, n_units = len(self.state.task_unit), len(self.state.model.unit_type)
        times, counts = np.full((2, n_tasks), np.nan), np.zeros((2, n_tasks), np.int64)
        found = Serving(*times, *counts, *np.full((2, n_units), np.nan))
        for task, one in self.sequences.items():
            found.scheduled_us[task], found.first_token_us[task] = one.scheduled_us, one.first_token_us
            found.n_preemptions[task], found.found_tokens[task] = one.n_preemptions, one.n_found
        for unit, engine in self.of_unit.items():
            found.memory_peak[unit], found.memory_us[unit] = engine.peak, engine.memory_us
        return found
