"""The machine code that a run needs."""

from functools import lru_cache
from typing import Any

from vinesim.core.code import Code, Own
from vinesim.core.features import features_of
from vinesim.engine.outcome import may_end_early
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy
from vinesim.policies.declarations import functions_of
from vinesim.state.scratch import build_options, build_scratch


def code_of(scenario: Scenario, model: Any, policy: Policy, online: OnlinePolicy) -> Code:
    """The code for a run of a scenario: ``online`` decides, or a batch policy from outside the loop; with the arrays
    that are the policy's own."""
    own = Own(build_options(online.values_of_options()), build_scratch(online.scratch, model))

    def features() -> frozenset[str]:
        return features_of(
            scenario,
            model,
            queries_of(online.decide),
            is_batch=isinstance(policy, BatchPolicy),
            ends_early=may_end_early(scenario, online),
            overcommits=policy.may_overcommit,
            sees_all=online.sees_every_event,
        )

    return Code(online.decide, own, features)


def queries_of(decide: Any) -> frozenset[str]:
    """The names of the queries and answers that a policy's function calls; not of its own functions."""
    return _queries_among(frozenset(functions_of(decide)))


@lru_cache(1000)
def _queries_among(functions: frozenset[Any]) -> frozenset[str]:
    found = set()
    for one in functions:
        if one.__module__.startswith("vinesim.state."):
            found.add(one.__name__)
        elif "Action" in one.__code__.co_names:  # it makes its answers itself
            found.add("Action")
    return frozenset(found)
