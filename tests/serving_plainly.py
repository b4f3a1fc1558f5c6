"""Serving engines simulated again from ``docs/explanation/semantics/serving_engines.md`` alone, without VineSim's own.

Nothing here is fast: blocks lie in lists, and each instant looks at everything. All units are engines, jobs wait for no
others, and runs have no horizon.
"""

import math
from dataclasses import dataclass, field

import numpy as np

import vinesim as vs
from vinesim.model.batching import Batching


@dataclass(eq=False)
class Request:
    """A request, and how far it is; times in us."""

    number: int
    task_type: int
    prompt: int
    answer: int
    prefix: int  # -1: none
    shared: int  # the number of its first tokens that are of its prefix
    engine: "Engine | None" = None
    is_sent: bool = False  # another engine computed its prompt, and it is in no step yet
    made: int = 0  # tokens of its answer
    computed: int = 0  # its tokens in memory
    blocks: list[int] = field(default_factory=list)
    cache_us: float = math.nan  # when its cache is at the engine that decodes
    start_us: float = math.nan
    scheduled_us: float = math.nan
    first_token_us: float = math.nan
    finish_us: float = math.nan
    n_put_back: int = 0
    found: int = 0

    @property
    def decodes(self) -> bool:
        """Whether all that is left to compute is one token of its answer."""
        return self.computed >= self.prompt and self.left == 1

    @property
    def left(self) -> int:
        """Tokens to compute before the next one of its answer is made."""
        return self.prompt + self.made - self.computed

    def names(self, block: int, size: int) -> list[tuple[str, int, int]]:
        """What the block of its tokens with this number is called: by its own sequence, and by its prefix."""
        own = ("request", self.number, block)
        return [("prefix", self.prefix, block), own] if (block + 1) * size <= self.shared else [own]


class Engine:
    """One engine: its queue, its running sequences in the order of admission, and its blocks."""

    def __init__(self, batching: Batching, place: tuple[int, int], weight: list[float]) -> None:
        self.batching, self.place, self.weight = batching, place, weight
        self.waiting: list[Request] = []
        self.running: list[Request] = []
        self.sent: list[Request] = []  # given to the engine, their caches not yet there
        self.free = list(range(batching.memory_tokens // batching.block_tokens))  # the first one is used first
        self.holders = [0] * len(self.free)
        self.name_of: dict[int, list[tuple[str, int, int]]] = {}
        self.block_of: dict[tuple[str, int, int], int] = {}
        self.step: list[tuple[Request, int]] = []
        self.step_takes_us, self.end_us = 0.0, math.inf
        self.peak, self.memory_us = 0, 0.0  # of the tokens in memory: the most, and the integral over time

    # what routers ask

    def n_requests(self) -> int:
        return len(self.waiting) + len(self.running) + len(self.sent)

    def n_tokens(self) -> int:
        """Tokens in memory; those that several requests share count once."""
        twice = sum(n - 1 for n in self.holders if n > 1) * self.batching.block_tokens
        return sum(request.computed for request in self.running) - twice

    def n_to_prefill(self) -> int:
        """Tokens of prompts that are still to compute, or that another engine computed and are in no step yet."""
        known = self.sent + self.waiting + [request for request in self.running if not request.decodes]
        return sum(request.left + request.computed * request.is_sent for request in known)

    def n_found(self, request: Request) -> int:
        """Tokens of a request's prompt that others left in memory."""
        most = min(request.shared, request.prompt - 1) // self.batching.block_tokens
        n = next((k for k in range(most) if ("prefix", request.prefix, k) not in self.block_of), most)
        return n * self.batching.block_tokens

    # memory

    def take(self, request: Request, tokens: int) -> None:
        """Give a request free blocks until its memory holds ``tokens``."""
        while len(request.blocks) * self.batching.block_tokens < tokens:
            block = self.free.pop(0)
            for name in self.name_of.pop(block, []):
                del self.block_of[name]
            self.holders[block] = 1
            request.blocks.append(block)

    def lacks(self, request: Request, tokens: int) -> bool:
        """Whether too few blocks are free for ``tokens`` of it."""
        return math.ceil(tokens / self.batching.block_tokens) - len(request.blocks) > len(self.free)

    def give_back(self, request: Request) -> None:
        for block in reversed(request.blocks):
            self.holders[block] -= 1
            if self.holders[block] == 0:
                self.free.append(block)
        request.blocks = []

    def share(self, request: Request, tokens: int) -> None:
        """Let others find the full blocks of its prefix among the first ``tokens`` of a request, up to the first that
        another request computed too."""
        size = self.batching.block_tokens
        for k in range(min(tokens, request.shared) // size if self.batching.prefix_caching else 0):
            name = ("prefix", request.prefix, k)
            if self.block_of.get(name, request.blocks[k]) != request.blocks[k]:
                break
            self.name(request.blocks[k], name)

    def name(self, block: int, name: tuple[str, int, int]) -> None:
        if name not in self.block_of:
            self.block_of[name] = block
            self.name_of.setdefault(block, []).append(name)

    def find(self, request: Request, total: int) -> list[int]:
        """The blocks that a request of ``total`` tokens finds; at least the last token is left to compute."""
        found: list[int] = []
        size = self.batching.block_tokens
        for k in range((total - 1) // size if self.batching.prefix_caching else 0):
            known = [self.block_of[name] for name in request.names(k, size) if name in self.block_of]
            if not known:
                break
            found.append(known[0])
        return found

    # steps

    def begin(self, now: float) -> None:
        """Begin a step, if there is anything to compute."""
        left, put_back = self.batching.max_batched_tokens, False
        for request in list(self.running):
            if request not in self.running:
                break
            n = min(left, request.left)
            while request in self.running and self.lacks(request, request.computed + n):
                self.put_back(self.running.pop())
                put_back = True
            if request in self.running:
                left -= n
                self.plan(request, n)
        while not put_back and self.waiting and left > 0 and len(self.running) < self.batching.max_sequences:
            n = self.admit(self.waiting[0], left)
            if n == 0:
                break
            left -= n
            request = self.waiting.pop(0)
            request.is_sent = False
            self.running.append(request)
            self.plan(request, n)
            if math.isnan(request.scheduled_us):
                request.scheduled_us = now
        if self.step:
            self.step_takes_us = self.step_us()
            self.end_us = now + self.step_takes_us

    def admit(self, request: Request, left: int) -> int:
        """How many tokens a waiting request computes in this step; 0 if it does not fit. What it found is its own."""
        if request.computed > 0:  # by another engine, or its memory was copied out
            n = min(left, request.left)
            return 0 if self.lacks(request, request.computed + n) else n
        total = request.prompt + request.made
        size, found = self.batching.block_tokens, self.find(request, total)
        n = min(left, total - len(found) * size)
        n_new = math.ceil((len(found) * size + n) / size) - len(found)
        if n_new + sum(self.holders[block] == 0 for block in found) > len(self.free):
            return 0
        for block in found:
            if self.holders[block] == 0:
                self.free.remove(block)
            self.holders[block] += 1
        request.blocks, request.computed = found, len(found) * size
        if math.isnan(request.scheduled_us):
            request.found = request.computed
        return n

    def plan(self, request: Request, n: int) -> None:
        self.take(request, request.computed + n)
        self.step.append((request, n))
        if not request.decodes:
            self.share(request, min(request.computed + n, request.prompt))

    def put_back(self, request: Request) -> None:
        for k in range(request.computed // self.batching.block_tokens if self.batching.prefix_caching else 0):
            self.name(request.blocks[k], ("request", request.number, k))
        self.give_back(request)
        if self.batching.when_full == "recompute":
            request.computed = 0
        request.n_put_back += 1
        self.waiting.insert(0, request)

    def step_us(self) -> float:
        prefill = [(request, n) for request, n in self.step if not request.decodes]
        decode = [request for request, _ in self.step if request.decodes]
        prompts = sum(n for _, n in prefill)
        before = sum(request.computed for request, _ in prefill)
        memory = sum(request.computed + 1 for request in decode)
        n_decode, tokens, law = len(decode), prompts + len(decode), self.batching.step
        us = law.base_us + law.prefill_token_us * prompts + law.sequence_us * n_decode
        us += law.memory_token_us * (before + memory)
        if law.profile is not None:
            kernels = law.profile
            us += on_line((kernels.tokens,), kernels.tokens_us, (tokens,))
            us += on_line((kernels.sequences,), kernels.sequences_us, (len(self.step),))
            means = before / max(1, len(prefill)), memory / max(1, n_decode)
            us += on_line(kernels.axes, kernels.attention_us, (prompts, means[0], n_decode, means[1]))
        if law.exchange is not None:
            us += law.exchange.times * (law.exchange.base_us + law.exchange.token_us * tokens)
        return us

    def end(self, now: float) -> None:
        """End the step: what it computed is in memory, and answers have one token more."""
        for request, n in self.step:
            request.computed += n
            if request.computed == request.prompt + request.made:
                request.made += 1
                if request.made == 1:
                    request.first_token_us = now
        self.peak = max(self.peak, self.n_tokens())
        self.memory_us += self.n_tokens() * self.step_takes_us
        self.step, self.end_us = [], math.inf

    def is_over(self, request: Request) -> bool:
        """Whether a request leaves the engine after the step that ended: it is done, or goes on on another one."""
        return not self.step and request.made == (1 if self.batching.role == "prefill" else request.answer)

    def let_go(self, request: Request, now: float) -> None:
        self.share(request, request.computed)
        self.running.remove(request)
        self.give_back(request)
        if request.made == request.answer:
            request.finish_us = now


def serve(scenario: vs.Scenario) -> tuple[list[Request], list[Engine]]:
    """Serve the requests of a scenario whose units are all engines until the last is done. Engines are in (rack, shelf)
    order."""
    work, center = scenario.workload, scenario.datacenter
    has_prefix = work.prefix is not None
    requests = [
        Request(
            number=i,
            task_type=int(work.job_task_type[job]),
            prompt=int(work.input_tokens[i]),
            answer=int(work.output_tokens[i]),
            prefix=int(work.prefix[i]) if has_prefix else -1,
            shared=int(work.prefix_tokens[i]) if has_prefix and work.prefix[i] >= 0 else 0,
        )
        for job in range(work.n_jobs)
        for i in range(work.job_first[job], work.job_first[job + 1])
    ]
    engines = [
        Engine(
            center.processor_types[center.unit_type[u]].batching,
            (int(center.rack[u]), int(center.shelf[u])),
            [float(weight) for weight in scenario.affinity[center.unit_type[u]]],
        )
        for u in sorted(range(center.n_units), key=lambda u: (center.rack[u], center.shelf[u]))
    ]
    arrivals = [(float(at), int(work.job_first[j]), int(work.job_first[j + 1])) for j, at in enumerate(work.arrival_us)]
    while True:
        caches = [request.cache_us for engine in engines for request in engine.sent]
        now = min([*(at for at, _, _ in arrivals[:1]), *caches, *(engine.end_us for engine in engines)])
        if now == math.inf:
            return requests, engines
        for engine in engines:
            if engine.end_us == now:
                engine.end(now)
        for engine in engines:
            for request in [request for request in engine.running if engine.is_over(request)]:
                engine.let_go(request, now)
                if math.isnan(request.finish_us):
                    give(request, engines, scenario, now)
        while arrivals and arrivals[0][0] == now:
            _, first, end = arrivals.pop(0)
            for request in requests[first:end]:
                give(request, engines, scenario, now)
        for engine in engines:
            for request in [request for request in engine.sent if request.cache_us == now]:
                engine.sent.remove(request)
                engine.waiting.append(request)
        for engine in engines:
            if not engine.step:
                engine.begin(now)


def give(request: Request, engines: list[Engine], scenario: vs.Scenario, now: float) -> None:
    """Give a request to the engine that the scenario's router chooses; with its first token, send its cache there."""
    refused = "decode" if request.made == 0 else "prefill"
    fit = [one for one in engines if one.batching.role != refused and one.weight[request.task_type] > 0]
    engine = ROUTERS[scenario.policy](request, fit)
    request.is_sent, request.cache_us = request.made > 0, now
    if request.is_sent:
        n_bytes = request.prompt * request.engine.batching.token_bytes
        request.cache_us += transfer_us(scenario.network, request.engine.place, engine.place, n_bytes)
    (engine.sent if request.cache_us > now else engine.waiting).append(request)
    request.engine, request.start_us = engine, request.cache_us


def least_requests(request: Request, engines: list[Engine]) -> Engine:
    return min(engines, key=lambda engine: (engine.n_requests() + 1) / engine.weight[request.task_type])


def least_tokens(request: Request, engines: list[Engine]) -> Engine:
    def load(engine: Engine) -> float:
        return (engine.n_tokens() + engine.n_to_prefill() + request.prompt) / engine.weight[request.task_type]

    return min(engines, key=load)


def prefix_aware(request: Request, engines: list[Engine]) -> Engine:
    fewest = least_requests(request, engines)
    near = [engine for engine in engines if engine.n_requests() <= fewest.n_requests() + MARGIN]
    most = max(engine.n_found(request) for engine in near)
    return least_requests(request, [engine for engine in near if engine.n_found(request) == most])


MARGIN = 16  # of prefix_aware, by default
ROUTERS = {"least_requests": least_requests, "least_tokens": least_tokens, "prefix_aware": prefix_aware}


def on_line(axes: tuple[np.ndarray, ...], table: np.ndarray, point: tuple[float, ...]) -> float:
    """Interpolate a table linearly in each direction."""
    if not axes:
        return float(table)
    k = min(int(np.searchsorted(axes[0], point[0], side="right")) - 1, len(axes[0]) - 2)
    low, high = (on_line(axes[1:], table[i], point[1:]) for i in (k, k + 1))
    return low + (high - low) * float((point[0] - axes[0][k]) / (axes[0][k + 1] - axes[0][k]))


def transfer_us(network: vs.Network, source: tuple[int, int], target: tuple[int, int], n_bytes: float) -> float:
    """Return the time of a transfer between two places, us."""
    if source == target:
        hops, bandwidth = 0, network.local
    elif source[0] == target[0]:
        hops, bandwidth = 2, network.intra_rack
    else:
        hops, bandwidth = 4, network.inter_rack
    return 0.0 if bandwidth is None else hops * network.hop_latency_us + n_bytes / bandwidth
