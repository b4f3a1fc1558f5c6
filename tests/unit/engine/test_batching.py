"""Serving engines: steps whose times can be added up by hand, and what does not go with them."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.consolidate import Consolidate
from vinesim.core import loop
from vinesim.core.features import ALL, with_what_follows
from vinesim.core.laws import batching
from vinesim.core.special import Special
from vinesim.engine.reference_run import ReferenceRun
from vinesim.metrics.deadline_bound import least_missed
from vinesim.model.batching import Batching
from vinesim.model.electricity import Electricity
from vinesim.model.step_times import StepTime
from vinesim.model.workload import NO_PREFERENCE
from vinesim.policies.contract import OnlinePolicy
from vinesim.state import queries
from vinesim.state.build import build_model

ENGINES = ("reference", pytest.param("compiled", marks=pytest.mark.slow))
BASE, PREFILL, SEQUENCE, MEMORY = 100.0, 2.0, 3.0, 0.5
STEP = StepTime(BASE, PREFILL, SEQUENCE, MEMORY)


def serving(*requests, policy="high", n_units=1, horizon_us=np.inf, **limits):
    """A scenario of requests (arrival, tokens of the prompt, of the answer) on serving engines."""
    given = {"max_sequences": 8, "max_batched_tokens": 64, "memory_tokens": 1024, "step": STEP, **limits}
    kind = vs.ProcessorType("ENGINE", batching=Batching(**given))
    arrival_us, prompt, answer = np.array(requests, float).T
    zeros = np.zeros(len(requests), int)
    work = vs.Workload(
        zeros,
        np.arange(len(requests) + 1),
        arrival_us,
        np.ones(len(requests)),
        np.zeros(len(requests)),
        zeros,
        zeros,
        np.full(len(requests), NO_PREFERENCE),
        task_types=(vs.TaskType("MODEL"),),
        input_tokens=prompt.astype(int),
        output_tokens=answer.astype(int),
    )
    center = vs.Datacenter(np.zeros(n_units, int), zeros[:1].repeat(n_units), np.arange(n_units), (kind,))
    return vs.Scenario(center, work, policy=policy, affinity=np.ones((1, 1)), horizon_us=horizon_us)


def decode_us(n, memory):
    """The time of a step in which n sequences decode, with ``memory`` tokens in memory after it."""
    return BASE + SEQUENCE * n + MEMORY * memory


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_alone_takes_its_steps(engine):
    """A prompt of 150 tokens takes three steps of up to 64; then each step makes one token."""
    result = vs.simulate(serving((7, 150, 5)), engine=engine)
    first_us = 7 + 3 * BASE + PREFILL * 150 + MEMORY * (0 + 64 + 128)
    done_us = first_us + sum(decode_us(1, 150 + k) for k in (1, 2, 3, 4))
    serving_of = result.outcome.serving
    assert serving_of.scheduled_us.tolist() == [7]
    assert serving_of.first_token_us == pytest.approx([first_us])
    assert result.outcome.task_finish_us == pytest.approx([done_us])
    assert result.outcome.task_start_us.tolist() == [7]
    assert serving_of.memory_peak.tolist() == [154]
    assert serving_of.n_preemptions.tolist() == [0]


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_requests_share_steps(engine):
    """Four prompts of 16 fill one step; then all decode together."""
    result = vs.simulate(serving(*[(0, 16, 10)] * 4), engine=engine)
    first_us = BASE + PREFILL * 64
    done_us = first_us + sum(decode_us(4, 4 * (16 + k)) for k in range(1, 10))
    assert result.outcome.serving.first_token_us == pytest.approx([first_us] * 4)
    assert result.outcome.task_finish_us == pytest.approx([done_us] * 4)
    memory_us = 64 * first_us + sum(4 * (16 + k) * decode_us(4, 4 * (16 + k)) for k in range(1, 10))
    assert result.outcome.serving.memory_us == pytest.approx([memory_us])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_that_comes_during_a_step_waits_for_the_next(engine):
    """The first request decodes from 140 on, in steps of about 110 us; the second comes at 500."""
    result = vs.simulate(serving((0, 10, 20), (500, 8, 1)), engine=engine)
    at_us, memory = BASE + PREFILL * 10, 10
    while at_us <= 500:
        memory += 1
        at_us += decode_us(1, memory)
    assert result.outcome.serving.scheduled_us[1] == pytest.approx(at_us)
    both_us = decode_us(1, memory + 1) + PREFILL * 8
    assert result.outcome.task_finish_us[1] == pytest.approx(at_us + both_us)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_that_comes_at_the_end_of_a_step_is_in_the_next(engine):
    result = vs.simulate(serving((0, 10, 20), (120, 8, 1)), engine=engine)
    assert result.outcome.serving.scheduled_us.tolist() == [0, 120]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_sequences_of_a_step_are_limits_admission(engine):
    result = vs.simulate(serving(*[(0, 8, 3)] * 3, max_sequences=2), engine=engine)
    finish_us, serving_of = result.outcome.task_finish_us, result.outcome.serving
    assert finish_us[0] == finish_us[1] == serving_of.scheduled_us[2]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("when_full", ["recompute", "resume"])
def test_a_memory_that_is_exactly_full_suffices(engine, when_full):
    """Two requests of 8 + 9 tokens need 2 x 16: the last token of an answer needs no memory."""
    limits = {"block_tokens": 4, "when_full": when_full}
    result = vs.simulate(serving(*[(0, 8, 9)] * 2, memory_tokens=32, **limits), engine=engine)
    assert result.outcome.serving.n_preemptions.tolist() == [0, 0]
    assert result.outcome.serving.memory_peak.tolist() == [32]
    result = vs.simulate(serving(*[(0, 8, 10)] * 2, memory_tokens=32, **limits), engine=engine)
    assert result.outcome.serving.n_preemptions.tolist() == [0, 1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("when_full", "prefix_caching"), [("recompute", False), ("recompute", True), ("resume", False)]
)
def test_the_newest_sequence_is_put_back_when_memory_is_full(engine, when_full, prefix_caching):
    """After 8 decoded tokens each of two requests needs a fifth block of 4, of 8: the second is put back with 16 of its
    17 tokens computed, and goes on when the first is done. It computes all again, or only the last; with prefix caching
    also those whose blocks the first one took meanwhile: one block of four."""
    limits = {"block_tokens": 4, "when_full": when_full, "prefix_caching": prefix_caching}
    result = vs.simulate(serving(*[(0, 8, 12)] * 2, memory_tokens=32, **limits), engine=engine)
    finish_us = BASE + PREFILL * 16 + sum(decode_us(2, 2 * (8 + k)) for k in range(1, 9))
    finish_us += sum(decode_us(1, 16 + k) for k in (1, 2, 3))
    assert result.outcome.task_finish_us[0] == pytest.approx(finish_us)
    again_us = {
        ("recompute", False): BASE + PREFILL * 17,
        ("recompute", True): BASE + PREFILL * (17 - 12) + MEMORY * 12,
        ("resume", False): decode_us(1, 17),
    }[when_full, prefix_caching]
    rest_us = decode_us(1, 18) + decode_us(1, 19)
    assert result.outcome.task_finish_us[1] == pytest.approx(finish_us + again_us + rest_us)
    assert result.outcome.serving.n_preemptions.tolist() == [0, 1]
    assert result.outcome.serving.first_token_us == pytest.approx([BASE + PREFILL * 16] * 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_comes_after_the_horizon_did_not_happen(engine):
    """The step that computes the prompt ends at 120, those after it at 225.5, 331.5 and so on."""
    result = vs.simulate(serving((0, 10, 20), (130, 8, 1), horizon_us=230), engine=engine)
    serving_of = result.outcome.serving
    assert str(result.exit_reason) == "HORIZON"
    assert serving_of.first_token_us[0] == pytest.approx(120)
    assert np.isnan(serving_of.first_token_us[1])
    assert serving_of.scheduled_us[1] == pytest.approx(120 + decode_us(1, 11))
    assert serving_of.memory_us == pytest.approx([10 * 120 + 11 * decode_us(1, 11)])


def test_profiled_steps_and_steps_by_task_type():
    by_type = serving((0, 10, 2), step={"MODEL": STEP, "*": StepTime(1.0)})
    assert vs.simulate(by_type).outcome.task_finish_us == pytest.approx([BASE + PREFILL * 10 + decode_us(1, 11)])


@dataclass(frozen=True)
class Waiting(OnlinePolicy):
    """Notes what it sees of the engine, and starts each request at once."""

    name: ClassVar[str] = "test_waiting"
    source: ClassVar[str] = "tests"
    scratch: ClassVar = {"seen": ("f8", "tasks")}

    @staticmethod
    def decide(model, state, view):
        seen = view.scratch.seen
        task = queries.oldest_pending(model, state)
        if task >= 0:
            seen[0] = queries.unit_tasks(model, state, 0)
            seen[1] = queries.unit_waiting(model, state, 0)
            seen[2] = queries.unit_tokens(model, state, 0)
            seen[3] = queries.unit_tokens_waiting(model, state, 0)
            seen[4] = queries.input_tokens(model, state, task)
            return queries.start(task, 0)
        return queries.nothing()


def test_what_a_router_sees():
    """At 300 the first two requests have 4 + 4 tokens and one more each; the third, of 100, has computed 56 tokens of
    its prompt in the step that ended at 246; the fourth and fifth wait for a sequence."""
    case = serving((0, 4, 9), (0, 4, 9), (0, 100, 9), (0, 30, 1), (0, 7, 1), (240, 9, 1), max_sequences=3)
    policy = Waiting()
    run = ReferenceRun(case, build_model(case), policy, policy, 0)
    run.advance(np.inf, np.inf, 6)
    assert run.scratch.seen[:5].tolist() == [5, 2, 64, 44 + 37, 9]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_policy_may_not_consolidate_on_an_engine(engine):
    case = serving((0, 1, 1), (0, 1, 1), policy=Consolidate())
    job = {"job_task_type": np.zeros(1, int), "job_first": np.array([0, 2]), "arrival_us": np.zeros(1)}
    with pytest.raises(vs.PolicyError, match="batches them itself"):
        vs.simulate(replace(case, workload=replace(case.workload, **job)), engine=engine)


WRONG = [
    ({"horizon_us": 1e6, "outages": (vs.Outage(0, 0, 0.0, 5.0),)}, "outages: expected none with batching"),
    ({"overhead_us": np.ones((1, 1))}, "overhead.ENGINE: expected none with batching"),
    ({"power_w": np.ones((1, 1))}, "a power_curve or none with batching"),
    ({"policy": "srtf"}, "a request stays on its engine"),
    ({"policy": "optimal"}, "plans before the run"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_what_is_not_modelled_is_refused(changes, message):
    with pytest.raises(vs.InputError) as error:
        vs.simulate(replace(serving((0, 1, 1)), **changes))
    assert message in str(error.value)


COLUMNS = {
    "limit_us": np.ones(1),
    "withdraw_us": np.ones(1),
    "placed": np.zeros(1, int),
    "gang_within": np.ones(1),
    "units": np.full(1, 2),
    "demand": np.ones(1),
    "times_us": np.ones((1, 1)),
    "time_factor": np.ones(1),
    "operations": np.full(1, np.inf),
    "data_bytes": np.ones(1),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_engines_do_not_model_is_refused(name):
    case = serving((0, 1, 1))
    with pytest.raises(vs.InputError, match=f"workload.{name}: expected .* with batching"):
        replace(case, workload=replace(case.workload, **{name: COLUMNS[name]}))


def test_a_request_must_fit_into_the_memory_and_have_tokens():
    with pytest.raises(vs.InputError, match=r"at most 17 input and output tokens.*found 10 \+ 8"):
        serving((0, 10, 8), memory_tokens=16)
    serving((0, 10, 7), memory_tokens=16)
    case = serving((0, 1, 1))
    with pytest.raises(vs.InputError, match="tokens of each request, as ENGINE has batching"):
        replace(case, workload=replace(case.workload, input_tokens=None, output_tokens=None))


def test_task_types_with_other_steps_do_not_share_an_engine():
    case = serving((0, 1, 1), (0, 1, 1), step={"MODEL": STEP, "OTHER": StepTime(1.0)})
    names = (vs.TaskType("MODEL"), vs.TaskType("OTHER"))
    work = replace(case.workload, job_task_type=np.array([0, 1]), task_types=names)
    with pytest.raises(vs.InputError, match=r"the same time for all task types that it serves \(MODEL, OTHER\)"):
        replace(case, workload=work, affinity=np.ones((1, 2)))


def test_a_bound_on_missed_deadlines_is_refused():
    case = serving((0, 1, 1))
    with pytest.raises(vs.InputError, match="no batching, as the bound adds up times"):
        least_missed(replace(case, workload=replace(case.workload, deadline_us=np.ones(1))))


def test_a_loop_without_engines_has_none_of_their_code():
    """So that a run without them is as fast as before."""
    rooms = {"vinesim.core.laws.batching", "vinesim.core.laws.blocks", "vinesim.model.step_times"}
    for features, has_any in ((ALL, True), (ALL - {"BATCHING", "DISAGGREGATED"}, False)):
        reached = Special(with_what_follows(features), {}).reach(loop.run_events)
        functions = reached.functions - {batching.has_role}  # which is true then
        assert any(one.__module__ in rooms for one in functions) == has_any
        assert ("engine" in reached.fields) == has_any


LIMITS = [
    ({"max_sequences": 0}, "max_sequences: expected a whole number, 1 to"),
    ({"memory_tokens": 1.5}, "memory_tokens: expected a whole number, 1 to"),
    ({"max_batched_tokens": 3}, r"expected at least max_sequences \(8\)"),
    ({"memory_tokens": 8}, r"expected at least one block \(16\)"),
    ({"when_full": "wait"}, "one of recompute, resume"),
    ({"when_full": "resume", "prefix_caching": True}, "when_full: recompute"),
    ({"step": {}}, "the time of a step"),
    ({"step": {"OTHER": STEP}}, "the time of a step for MODEL"),
]


@pytest.mark.parametrize(("limits", "message"), LIMITS)
def test_wrong_limits(limits, message):
    with pytest.raises(vs.InputError, match=message):
        serving((0, 1, 1), **limits)


def test_batching_replaces_capacity_and_rates():
    batching = Batching(8, 64, 1024, STEP)
    for others in ({"capacity": 4.0}, {"parallelism": 1.0}, {"rates": (1.0,)}):
        with pytest.raises(vs.InputError, match=f"batching or {next(iter(others))}"):
            vs.ProcessorType("ENGINE", batching=batching, **others)


def sharing(prefix, tokens, *requests, **limits):
    """A scenario of requests with prefixes, on an engine that caches them."""
    case = serving(*requests, **{"prefix_caching": True, **limits})
    return replace(case, workload=replace(case.workload, prefix=np.array(prefix), prefix_tokens=np.array(tokens)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_finds_the_full_blocks_of_its_prefix_that_another_one_left(engine):
    """Of 40 tokens that all share, the second finds two blocks of 16, and computes 50 - 32; the third, of another
    prefix, nothing; the last one has only its prefix, and computes the last of its 32 tokens in their block."""
    requests = [(0, 40, 1), (1000, 50, 1), (2000, 50, 1), (3000, 32, 1)]
    result = vs.simulate(sharing([7, 7, 3, 7], [40, 40, 40, 32], *requests), engine=engine)
    assert result.outcome.serving.found_tokens.tolist() == [0, 32, 0, 16]
    took_us = [BASE + PREFILL * (n - found) + MEMORY * found for n, found in ((40, 0), (50, 32), (50, 0), (32, 16))]
    assert result.outcome.task_finish_us - [0, 1000, 2000, 3000] == pytest.approx(took_us)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_prefix_in_use_is_found_and_is_in_memory_once(engine):
    """The second request comes while the first decodes, and finds what it computed; also if both come together."""
    for gap_us in (150, 0):
        case = sharing([0, 0], [32, 32], (0, 40, 4), (gap_us, 40, 4), max_batched_tokens=128)
        result = vs.simulate(case, engine=engine)
        assert result.outcome.serving.found_tokens.tolist() == [0, 32]
        assert result.outcome.serving.memory_peak < 40 + 3 + 8 + 3 + 1


@pytest.mark.parametrize("engine", ENGINES)
def test_the_next_turn_of_a_conversation_finds_the_answer_too(engine):
    """The first turn has 20 + 13 tokens, of which all but the last are in memory."""
    result = vs.simulate(sharing([0, 0], [33, 40], (0, 20, 13), (5000, 40, 1)), engine=engine)
    assert result.outcome.serving.found_tokens.tolist() == [0, 32]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_blocks_of_a_prefix_are_used_first(engine):
    """A memory of eight blocks: the second request uses three that were never used, and two of the prefix's four."""
    requests = [(0, 64, 1), (1000, 96, 1), (2000, 65, 1)]
    case = sharing([0, -1, 0], [64, 0, 64], *requests, memory_tokens=128, max_batched_tokens=128)
    assert vs.simulate(case, engine=engine).outcome.serving.found_tokens.tolist() == [0, 0, 32]


def test_without_prefix_caching_nothing_is_found():
    case = sharing([0, 0], [32, 32], (0, 40, 1), (1000, 40, 1), prefix_caching=False)
    assert vs.simulate(case).outcome.serving.found_tokens.tolist() == [0, 0]


def test_wrong_prefixes():
    with pytest.raises(vs.InputError, match=r"prefix\[0\]: expected 0 or more, or -1 for none") as error:
        sharing([-2, 0], [0, 9], (0, 3, 1), (0, 3, 1))
    assert "workload.prefix_tokens[1]: expected 0 to 4" in str(error.value)
    case = serving((0, 1, 1))
    with pytest.raises(vs.InputError, match=r"workload\.prefix_tokens: expected a value of each task"):
        replace(case, workload=replace(case.workload, prefix=np.zeros(1)))


def test_the_power_of_an_engine_goes_by_its_requests():
    """Of four places two are in use until the first request is done at b, then one until c; then it idles. Requests in
    the queue count as full."""
    case = serving((0, 16, 4), (0, 16, 9), (9000, 1, 1), max_sequences=4)
    kind = replace(
        case.datacenter.processor_types[0], idle_power_w=100.0, power_curve_w=tuple(np.arange(11) * 40.0 + 100)
    )
    powered = replace(case, datacenter=replace(case.datacenter, processor_types=(kind,)))
    result = vs.simulate(replace(powered, electricity=Electricity(price_per_kwh=0.3, pue=1.5)))
    b, c, end = result.outcome.task_finish_us.tolist()
    energy_j = (300 * b + 200 * (c - b) + 100 * (9000 - c) + 200 * (end - 9000)) * 1e-6
    assert result.summary["energy_j"] == pytest.approx(energy_j)
    assert result.summary["serving"]["j_per_output_token"] == pytest.approx(energy_j / 14)
    bill = result.summary["serving"]["electricity_per_million_tokens"]
    assert bill == pytest.approx(0.3 * 1.5 * energy_j / 3.6e6 / 14 * 1e6)
    assert "electricity_per_million_tokens" not in vs.simulate(powered).summary["serving"]
