"""Engines that only prefill or only decode: requests whose times can be added up by hand, and what does not go."""

from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.unit.engine.test_batching import BASE, ENGINES, MEMORY, PREFILL, STEP, decode_us, serving
from vinesim.core import loop
from vinesim.core.features import ALL, with_what_follows
from vinesim.core.special import Special
from vinesim.model.batching import Batching
from vinesim.policies.contract import OnlinePolicy
from vinesim.state import queries

TOKEN_BYTES = 1000
NETWORK = vs.Network(local=None, intra_rack=100.0, inter_rack=10.0, hop_latency_us=2.0, hops_intra=1, hops_inter=3)


def apart(*requests, policy="least_requests", decode=None, prefill=None, places=(("P", 0, 0), ("D", 0, 1)), **more):
    """A scenario of requests on engines at these places: P prefill, D decode, B do both."""
    limits = {"max_sequences": 8, "max_batched_tokens": 64, "memory_tokens": 1024, "step": STEP}
    own = {
        "P": {"role": "prefill", "token_bytes": TOKEN_BYTES, **(prefill or {})},
        "D": {"role": "decode", **(decode or {})},
        "B": {},
    }
    names = sorted({kind for kind, *_ in places})
    types = tuple(vs.ProcessorType(name, batching=Batching(**{**limits, **own[name]})) for name in names)
    case = serving(*requests)
    return vs.Scenario(
        vs.Datacenter.of(list(places), types),
        case.workload,
        policy=policy,
        affinity=np.ones((len(types), 1)),
        **{"network": NETWORK, **more},
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("rack", "sent_us"), [(0, 2 + 150 * TOKEN_BYTES / 100), (1, 6 + 150 * TOKEN_BYTES / 10)])
def test_a_request_alone_is_prefilled_sent_and_decoded(engine, rack, sent_us):
    """A prompt of 150 tokens takes three steps of up to 64, at whose end its first token is there; the cache of the
    prompt takes the latency of the hops and its bytes over the bandwidth; then each step makes one of four tokens."""
    result = vs.simulate(apart((7, 150, 5), places=(("P", 0, 0), ("D", rack, 1))), engine=engine)
    first_us = 7 + 3 * BASE + PREFILL * 150 + MEMORY * (0 + 64 + 128)
    done_us = first_us + sent_us + sum(decode_us(1, 150 + k) for k in (1, 2, 3, 4))
    outcome = result.outcome
    assert outcome.serving.scheduled_us.tolist() == [7]
    assert outcome.serving.first_token_us == pytest.approx([first_us])
    assert outcome.task_init_us == pytest.approx([first_us])
    assert outcome.task_start_us == pytest.approx([first_us + sent_us])
    assert outcome.task_finish_us == pytest.approx([done_us])
    assert outcome.serving.memory_peak.tolist() == [150, 154]
    of_memory = [64 * (BASE + PREFILL * 64), 128 * (BASE + PREFILL * 64 + MEMORY * 64)]
    of_memory += [150 * (BASE + PREFILL * 22 + MEMORY * 128)]
    assert outcome.serving.memory_us[0] == pytest.approx(sum(of_memory))
    assert outcome.early.left.tolist() == [0.8]
    assert result.segments["unit"].tolist() == [0, 1]
    assert result.segments["outcome"].tolist() == ["prefilled", "finished"]
    assert result.segments["begin_us"] == pytest.approx([7, first_us])
    assert result.segments["start_us"] == pytest.approx([7, first_us + sent_us])
    assert result.segments["end_us"] == pytest.approx([first_us, done_us])
    found = result.summary["serving"]
    assert found["first_token_us"]["mean"] == pytest.approx(first_us - 7)
    assert found["token_us"]["mean"] == pytest.approx((done_us - first_us) / 4)
    assert found["transfer_us"]["mean"] == pytest.approx(sent_us)
    assert result.summary["tasks"]["by_type"] == {"D": 1, "P": 1}
    assert result.summary["jobs"]["wait_us"]["max"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_an_answer_of_one_token_needs_no_other_engine(engine):
    result = vs.simulate(apart((0, 20, 1)), engine=engine)
    assert result.outcome.task_finish_us == pytest.approx([BASE + PREFILL * 20])
    assert result.outcome.task_unit.tolist() == [0]
    assert result.segments is None
    assert result.summary["serving"]["transfer_us"]["mean"] is None


@pytest.mark.parametrize("engine", ENGINES)
def test_prefills_delay_no_token_of_engines_that_decode(engine):
    """The first request decodes from 252 on in steps of its own, though a long prompt comes; on an engine for both its
    tokens wait for that."""
    requests = [(0, 10, 9), (130, 500, 1)]
    alone = vs.simulate(apart(requests[0]), engine=engine)
    both = vs.simulate(apart(*requests), engine=engine)
    assert both.outcome.task_finish_us[0] == alone.outcome.task_finish_us[0]
    mixed = vs.simulate(apart(*requests, places=(("B", 0, 0),)), engine=engine)
    assert mixed.outcome.task_finish_us[0] > both.outcome.task_finish_us[0] + 500


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("when_full", "prefix_caching"), [("recompute", True), ("recompute", False), ("resume", False)]
)
def test_an_engine_that_decodes_recomputes_what_it_puts_back(engine, when_full, prefix_caching):
    """Two requests of 8 + 12 tokens on a memory of 32, as in test_batching: the second is put back with 16 of its 17
    tokens computed, of which it finds three blocks of four again with prefix caching."""
    limits = {"block_tokens": 4, "memory_tokens": 32, "when_full": when_full, "prefix_caching": prefix_caching}
    free = vs.Network(None, None, None)
    result = vs.simulate(apart((0, 8, 12), (0, 8, 12), decode=limits, network=free), engine=engine)
    finish_us = BASE + PREFILL * 16 + sum(decode_us(2, 2 * (8 + k)) for k in range(1, 9))
    finish_us += sum(decode_us(1, 16 + k) for k in (1, 2, 3))
    again_us = {
        ("recompute", False): BASE + PREFILL * 17,
        ("recompute", True): BASE + PREFILL * (17 - 12) + MEMORY * 12,
        ("resume", False): decode_us(1, 17),
    }[when_full, prefix_caching]
    assert result.outcome.task_finish_us[0] == pytest.approx(finish_us)
    assert result.outcome.task_finish_us[1] == pytest.approx(finish_us + again_us + decode_us(1, 18) + decode_us(1, 19))
    assert result.outcome.serving.n_preemptions.tolist() == [0, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_may_end_while_a_cache_is_on_its_way(engine):
    result = vs.simulate(apart((0, 20, 5), horizon_us=200.0), engine=engine)  # prefilled at 140, there at 342
    assert str(result.exit_reason) == "HORIZON"
    assert result.outcome.serving.first_token_us == pytest.approx([140])
    assert result.outcome.task_init_us == pytest.approx([140])
    assert np.isnan(result.outcome.task_start_us[0])
    assert result.segments["outcome"].tolist() == ["prefilled", "unfinished"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_peak_of_a_memory_has_no_step_that_the_end_cuts_off(engine):
    result = vs.simulate(apart((0, 20, 5), horizon_us=400.0), engine=engine)  # the first step of 113 began at 342
    assert result.outcome.serving.memory_peak.tolist() == [20, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_router_chooses_both_engines(engine):
    """Two at once take both engines that prefill; when both are prefilled, both that decode."""
    places = (("P", 0, 0), ("P", 0, 1), ("D", 0, 2), ("D", 0, 3))
    result = vs.simulate(apart((0, 20, 5), (0, 20, 5), places=places), engine=engine)
    assert result.segments["unit"].tolist() == [0, 2, 1, 3]


def test_tokens_on_their_way_count_for_a_router():
    """Of two engines that decode, the first has a request of 200 tokens on its way when one of 64 is prefilled, which
    goes to the other; the last one of 20 goes there too, as 64 + 20 are fewer than 200. By requests it goes first."""
    places = (("P", 0, 0), ("D", 1, 0), ("D", 1, 1))
    requests = [(0, 200, 3), (1000, 64, 3), (1500, 20, 3)]
    expected = {"least_tokens": [1, 2, 2], "least_requests": [1, 2, 1]}
    for policy, units in expected.items():
        found = vs.simulate(apart(*requests, policy=policy, places=places), engine="reference")
        assert found.outcome.task_unit.tolist() == units


def test_the_closest_engine_is_closest_to_the_one_that_prefilled():
    places = (("P", 1, 0), ("D", 0, 0), ("D", 1, 1))
    found = vs.simulate(apart((0, 20, 5), policy=Closest(), places=places), engine="reference")
    assert found.outcome.task_unit.tolist() == [2]


class Closest(OnlinePolicy):
    """Each task goes to the unit that is closest to its data."""

    name: ClassVar[str] = "test_closest"
    source: ClassVar[str] = "tests"

    @staticmethod
    def decide(model, state, view):
        task = queries.oldest_pending(model, state)
        unit = queries.closest_free(model, state, task)
        return queries.start(task, unit) if unit >= 0 else queries.nothing()


class Wrong(OnlinePolicy):
    """Starts each request on the last unit, whatever its role."""

    name: ClassVar[str] = "test_wrong_role"
    source: ClassVar[str] = "tests"

    @staticmethod
    def decide(model, state, view):
        return queries.start(queries.oldest_pending(model, state), len(model.unit_type) - 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("places", [(("P", 0, 0), ("D", 0, 1)), (("D", 0, 0), ("P", 0, 1))])
def test_a_policy_may_not_start_a_request_on_an_engine_of_another_role(engine, places):
    with pytest.raises(vs.PolicyError, match="a role for its stage"):
        vs.simulate(apart((0, 20, 5), policy=Wrong(), places=places), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_transfer_that_the_clock_cannot_represent_is_an_error(engine):
    slow = vs.Network(None, 2e-306, 1e-306)
    with pytest.raises(vs.InputError, match=r"task\[0\]: expected an end before"):
        vs.simulate(apart((0, 20, 5), network=slow), engine=engine)


WRONG = [
    (
        {"places": (("P", 0, 0),)},
        r"P\.batching\.role: expected an engine in the datacenter that decodes and serves MODEL",
    ),
    ({"places": (("D", 0, 0), ("B", 0, 1))}, r"D\.batching\.role: expected .* that only prefills and serves MODEL"),
    ({"prefill": {"token_bytes": 0}}, r"token_bytes: expected the size of the cache of a token"),
    ({"prefill": {"token_bytes": 0.5}}, r"token_bytes: expected bytes, 0 to 2\^31 - 1, found 0\.5"),
    ({"prefill": {"role": "none"}}, r"role: expected one of both, prefill, decode"),
    ({"decode": {"memory_tokens": 16}}, r"at most 17 .* the memory of D, found 20 \+ 5"),
    ({"prefill": {"memory_tokens": 16}}, r"at most 17 .* the memory of P, found 20 \+ 1"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_what_does_not_go_together_is_refused(changes, message):
    with pytest.raises(vs.InputError, match=message):
        apart((0, 20, 5), **changes)


def test_a_prefill_needs_memory_for_the_prompt_only():
    apart((0, 20, 500), prefill={"memory_tokens": 32})


POLICIES = {"drf": "keeps tasks in its scratch", "dot_product": "scores nodes", "random_fit": "scores nodes"}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_that_do_not_see_roles_are_refused(policy):
    with pytest.raises(vs.InputError, match=POLICIES[policy]):
        vs.simulate(apart((0, 20, 5), policy=policy))


def test_a_loop_without_roles_has_none_of_their_code():
    for features, has_any in ((ALL, True), (ALL - {"DISAGGREGATED"}, False)):
        reached = Special(with_what_follows(features), {}).reach(loop.run_events)
        assert ("task_prefilled" in reached.fields) == has_any
