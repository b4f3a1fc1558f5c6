"""Units whose tasks share their speed by a table of rates."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.invariants import violations
from tests.properties.equivalence import alike, contents, differences, run
from tests.rates import with_rates
from tests.strategies import Limits, SeededDice, seeded_scenario
from verification.queues import RATES, birth_death_response, scenario
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def finishes(rates, sizes, arrivals, capacity=4.0, demand=None, **more):
    n = len(sizes)
    kind = vs.ProcessorType("G", capacity=capacity, rates=rates, **more)
    work = vs.Workload([0] * n, range(n + 1), arrivals, sizes, *np.zeros((3, n)), [-1] * n, demand=demand,
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    case = vs.Scenario(vs.Datacenter.of([("G", 0, 0)], (kind,)), work, affinity=[[1.0]])
    return vs.simulate(case, engine="reference").tasks["finish_us"].tolist()


def random_case(seed, policy="high", early=False):
    """A random scenario with tables of rates, in every second one by task type."""
    case = seeded_scenario(seed, policy, limits=Limits(jobs=10, early=early))
    return with_rates(case, SeededDice(seed + 30_000), by_task_type=seed % 2 == 1)


def test_each_of_n_tasks_has_the_rate_of_n():
    """Two at 3/4 until the first is done; three at 1/2, four share what three get done."""
    assert finishes((1.0, 0.75), [6.0, 9.0], [0.0, 0.0]) == pytest.approx([8.0, 11.0])
    assert finishes((1.0, 0.75, 0.5), [3.0] * 3, [0.0] * 3) == pytest.approx([6.0] * 3)
    assert finishes((1.0, 0.75, 0.5), [3.0] * 4, [0.0] * 4) == pytest.approx([8.0] * 4)


def test_between_whole_loads_what_they_get_done_is_linear():
    """Three tasks of half a slot are a load of 1.5: together 1.25, as 1 is for one and 1.5 for two."""
    found = finishes((1.0, 0.75), [5.0] * 3, [0.0] * 3, demand=[0.5] * 3)
    assert found == pytest.approx([6.0] * 3)


def test_a_parallelism_is_a_table_of_ones():
    n_shared = 0
    for seed in range(60):
        case = seeded_scenario(seed, "high", limits=Limits(jobs=10, early=seed % 2 == 1))
        kinds = case.datacenter.processor_types
        if not any(kind.is_shared and kind.parallelism in (1.0, 2.0) for kind in kinds):
            continue
        n_shared += 1
        tables = [
            replace(kind, parallelism=None, rates=(1.0,) * int(kind.parallelism))
            if kind.is_shared and kind.parallelism in (1.0, 2.0)
            else kind
            for kind in kinds
        ]
        same = replace(case, datacenter=replace(case.datacenter, processor_types=tuple(tables)))
        one, other = (contents(run(it, "reference")) for it in (case, same))
        assert alike(one.get("tasks"), other.get("tasks")), seed
        assert alike(one.get("segments"), other.get("segments")), seed
    assert n_shared > 15


def test_both_engines_give_the_same_and_every_rule_holds():
    for seed in range(80):
        case = random_case(seed)
        assert differences(case) == [], seed
        done = run(case, "reference")
        assert isinstance(done, vs.Result), seed
        assert violations(case, done, resolve("high", {})) == [], seed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["priority", "fcfs", "deadline_consolidation", "las"])
def test_both_engines_give_the_same_where_tasks_end_early(name):
    for seed in range(120):
        assert differences(random_case(seed, name, early=True)) == [], seed


@pytest.mark.slow
def test_both_engines_give_the_same_where_symphony_expects_a_slowdown():
    for seed in range(120):
        case = replace(random_case(seed, "symphony"), options={"contention": True})
        assert differences(case) == [], seed


def test_tasks_that_are_preempted_keep_what_they_got_done():
    n_lost = 0
    for seed in range(60):
        case = random_case(seed, "priority", early=True)
        done = run(case, "reference")
        if isinstance(done, vs.Result):
            assert violations(case, done, resolve("priority", {})) == [], seed
            n_lost += done.outcome.early is not None and len(done.outcome.early.task)
    assert n_lost > 50


def test_the_mean_response_is_that_of_the_birth_death_chain():
    """An interval of ten replications of 2,000 tasks; verification/queues.py has it with more."""
    means = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        case = scenario(random, 2_000, 1.2, random.exponential(1.0, 2_000), capacity=1e6, rates=RATES)
        tasks = vs.simulate(case, engine="reference").tasks
        means.append(float((tasks["finish_us"] - tasks["arrival_us"])[200:].mean()))
    found = vs.mean_interval(means, 0.999)
    assert found.low <= birth_death_response(1.2, RATES) <= found.high
    assert found.high - found.low < 0.4


WRONG = [
    ({"rates": (0.9, 0.8)}, "the first 1"),
    ({"rates": (1.0, 1.2)}, "at most 1"),
    ({"rates": ()}, "the first 1"),
    ({"rates": (1.0,) * 5}, "at most 4 numbers"),
    ({"rates": (1.0,), "parallelism": 2.0}, "rates or a parallelism"),
]


@pytest.mark.parametrize(("columns", "message"), WRONG)
def test_wrong_tables_are_refused(columns, message):
    with pytest.raises(vs.InputError, match=message):
        vs.ProcessorType("G", capacity=4.0, **columns)


FILE = """extends: none
processor_types: [{name: G, capacity: 3, RATES}]
task_types: [T]
affinity: {absolute: {G: 1}}
network: none
datacenter: {racks: [{units: {G: 1}}]}
workload: {file: jobs.csv}
"""


def test_a_table_in_a_file(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_us,operations,task_type\n0,6,T\n0,9,T\n")
    (tmp_path / "s.yaml").write_text(FILE.replace("RATES", "rates: [1, 0.75, 0.5]"))
    case = read_scenario(tmp_path / "s.yaml")
    assert vs.simulate(case, engine="reference").tasks["finish_us"].tolist() == pytest.approx([8.0, 11.0])
    changed = read_scenario(tmp_path / "s.yaml", ["processor_types[0].rates=[1, 0.5]"])
    assert content_id(changed) != content_id(case)
    for rates, message in (
        ("rates: [0.5]", "numbers above 0 and at most 1, the first 1"),
        ("rates: [1, 1, 1, 1]", "at most 3 numbers"),
        ("rates: [1, 2]", "at most 1"),
        ("rates: [1], parallelism: 2", "rates or a parallelism, found both"),
    ):
        (tmp_path / "s.yaml").write_text(FILE.replace("RATES", rates))
        with pytest.raises(vs.InputError, match=rf"s.yaml:2:.*{message}"):
            read_scenario(tmp_path / "s.yaml")


def test_a_task_that_holds_several_such_units_is_refused_with_the_reason():
    kinds = (vs.ProcessorType("G", capacity=3.0, rates=(1.0, 0.9)), vs.ProcessorType("H", capacity=3.0))
    center = vs.Datacenter.of([("G", 0, 0), ("G", 0, 0), ("H", 0, 1)], kinds)
    work = vs.Workload([0], [0, 1], [0.0], [1.0], *np.zeros((3, 1)), [-1], units=[2], task_types=(vs.TaskType("T"),))
    reason = r"found none with 2 of any type at one node\. Tasks on G share the speed .* a type without them"
    with pytest.raises(vs.InputError, match=reason):
        vs.simulate(vs.Scenario(center, work, affinity=[[1.0], [1.0]]), engine="reference")
    with pytest.raises(vs.InputError) as few:
        vs.simulate(vs.Scenario(center, work, affinity=[[0.0], [1.0]]), engine="reference")
    assert "share the speed" not in str(few.value)


def test_what_takes_a_whole_unit_is_as_much_load_as_its_capacity():
    """Alone on a unit of 3, it runs at the rate of three tasks, unless tasks of its type have a table of ones."""
    whole = {"demand": [np.inf], "capacity": 3.0}
    assert finishes((1.0, 0.95, 0.8), [8.0], [0.0], **whole) == pytest.approx([10.0])
    assert finishes({"*": (1.0, 0.95, 0.8), "T": (1.0,) * 3}, [8.0], [0.0], **whole) == pytest.approx([8.0])
    assert finishes((1.0, 0.95, 0.8), [8.0], [0.0], capacity=3.0) == pytest.approx([8.0])
