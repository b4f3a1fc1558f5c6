"""Options in a kernel: a choice by its word, wherever that stands in the declaration."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

import vinesim as vs
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start
from vinesim.policies.contract import Policy
from vinesim.policies.registry import policies, resolve

ENGINES = pytest.mark.parametrize("engine", ["compiled", "reference"])


@dataclass(frozen=True)
class Typed(OnlinePolicy):
    """Tasks go to units of one type."""

    name: ClassVar[str] = "test_typed"

    to: Literal["cpu", "gpu", "any"] = "any"
    steps: Literal[1, 2] = 1
    is_lazy: bool = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        if view.options.is_lazy:
            return nothing()
        wanted = -1
        if view.options.to.cpu:
            wanted = 0
        elif view.options.to.gpu:
            wanted = view.options.steps
        unit = first_free(model, state, oldest_pending(model, state), wanted)
        return start(oldest_pending(model, state), unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class Reordered(Typed):
    """The same with its words in another order."""

    to: Literal["any", "gpu", "cpu"] = "any"


@dataclass(frozen=True)
class Named(Typed):
    """The same by a free text, as from a user's file."""

    name: ClassVar[str] = "test_named"

    text: str = ""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        wanted = 1 if view.options.text == "gpu" else -1
        unit = first_free(model, state, oldest_pending(model, state), wanted)
        return start(oldest_pending(model, state), unit) if unit >= 0 else nothing()


TYPES = tuple(vs.ProcessorType(name) for name in ("A", "B", "C"))


def units_of(policy: Policy, engine: str) -> list[int]:
    """The units that four tasks at one time run on."""
    center = vs.Datacenter.of([(kind.name, 0, shelf) for shelf, kind in enumerate(TYPES)], TYPES)
    jobs = {name: [0.0] * 4 for name in ("arrival_us", "data_bytes", "data_rack", "data_shelf", "job_task_type")}
    work = vs.Workload(
        **jobs, job_first=range(5), operations=[9.0] * 4, preferred_type=[-1] * 4, task_types=(vs.TaskType("T"),)
    )
    scenario = vs.Scenario(center, work, policy, affinity=[[1.0], [1.0], [1.0]])
    return vs.simulate(scenario, engine=engine).tasks["unit"].tolist()


@ENGINES
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"to": "any"}, [0, 1, 2, 0]),
        ({"to": "cpu"}, [0, 0, 0, 0]),
        ({"to": "gpu"}, [1, 1, 1, 1]),
        ({"to": "gpu", "steps": 2}, [2, 2, 2, 2]),
        ({"is_lazy": True}, [-1, -1, -1, -1]),
    ],
)
def test_words_mean_the_same_in_any_order(engine, options, expected):
    assert units_of(Typed(**options), engine) == expected
    assert units_of(Reordered(**options), engine) == expected


def test_no_built_in_policy_compares_the_position_of_a_word():
    """A choice is no number in any kernel: each word is true or false."""
    for kind in policies().values():
        for name, words in kind.choices().items():
            for word in words:
                value = kind.from_options({name: word}).values_of_options()[name]
                assert value == {other: other == word for other in words}


@pytest.mark.parametrize("text", ["yes", "true", "no", "false", True, False])
def test_yes_and_no_have_one_spelling_in_a_policy(text):
    assert resolve("high", {"in_order": text}).in_order is (text in ("yes", "true", True))


def test_words_that_no_kernel_could_read_are_refused():
    @dataclass(frozen=True)
    class Wrong(Typed):
        to: Literal["a-b", "c"] = "c"

    with pytest.raises(vs.InputError, match="an option to whose words are Python names"):
        resolve(Wrong())


@pytest.mark.parametrize("wrong", [10**320, "many"])
def test_an_option_that_is_no_number_is_refused(wrong):
    with pytest.raises(vs.InputError, match=r"wait_us: expected a (number|time)"):
        resolve("delay", {"wait_us": wrong})


@ENGINES
@pytest.mark.parametrize(("text", "units"), [("gpu", [1]), ("", [0, 1, 2]), ("any unit", [0, 1, 2])])
def test_an_option_may_be_a_text(engine, text, units):
    assert sorted(set(units_of(Named(text=text), engine))) == units
