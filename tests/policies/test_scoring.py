"""Score policies: those for pods on shared GPUs as their definitions in plain Python say, and one of a user's own."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests import fgd_plainly
from tests.properties.equivalence import differences, mostly_slow
from vinesim.formats.importers.openb import workload_of
from vinesim.formats.importers.openb_files import Node, Pod, holds
from vinesim.model.errors import InputError
from vinesim.model.network import NONE
from vinesim.policies import (
    OnlinePolicy,
    ScorePolicy,
    best_node,
    can_start,
    first_free_at,
    nothing,
    oldest_pending,
    operations,
    random_node,
    room,
    start,
)
from vinesim.policies.registry import find, policies
from vinesim_papers.fgd.trace import datacenter_of, in_turn

NAMES = ("dot_product", "gpu_clustering", "gpu_packing", "gpu_best_fit", "fgd")
SIZES = [(128000, 8), (96000, 8), (64000, 2), (32000, 1), (96000, 4), (8000, 4)]
KINDS = [(0, 0), (1, 460), (1, 300), (1, 900), (1, 1000), (2, 1000), (4, 1000), (8, 1000)]
GIB = 1024


def cluster(seed: int, n_pods: int = 60) -> tuple[list[Node], list[Pod]]:
    """Random nodes, one of them the largest of the paper's trace, and pods that some node can hold."""
    random = np.random.default_rng(seed)
    models = ("T4", "P100", "V100")
    nodes = [Node(128000, 512 * GIB, 8, "T4")]
    for _ in range(random.integers(2, 7)):
        cpu, n_gpus = SIZES[random.integers(len(SIZES))]
        nodes.append(Node(cpu, int(random.choice([64, 256])) * GIB, n_gpus, models[random.integers(3)]))
    random.shuffle(nodes)
    sets = ((), (), (), ("T4",), ("P100", "V100"))
    pods = []
    while len(pods) < n_pods:
        n_gpus, milli = KINDS[random.integers(len(KINDS))]
        cpu = int(random.choice([500, 4000, 6000, 12000, 32000]))
        wanted = sets[random.integers(len(sets))] if n_gpus else ()
        pod = Pod(cpu, int(random.choice([1, 16])) * GIB, n_gpus, milli, wanted, float(len(pods)), len(pods) + 1.0)
        if any(holds(node, pod) for node in nodes):
            pods.append(pod)
    return [Node(*node) for node in nodes], pods


def case(nodes: list[Node], pods: list[Pod], policy: Any, **options: Any) -> vs.Scenario:
    center, affinity = datacenter_of(nodes)
    work = in_turn(workload_of(pods, sorted({node.model for node in nodes})), np.arange(len(pods)))
    return vs.Scenario(center, work, policy, {"refuse": True, **options}, affinity=affinity, network=NONE)


def places(done: vs.Result, nodes: list[Node]) -> list[tuple[int, list[int]]]:
    """The node of each pod, and its GPUs there."""
    first = np.cumsum([0, *(node.n_gpus + 2 for node in nodes)])
    units = [[int(unit)] for unit in done.outcome.task_unit]
    for task, unit in zip(done.outcome.held.row.tolist(), done.outcome.held.unit.tolist(), strict=True):
        units[task].append(unit)
    found = []
    for own in units:
        node = int(np.searchsorted(first, own[0], side="right")) - 1 if own[0] >= 0 else -1
        found.append((node, sorted(u - int(first[node]) - 2 for u in own if u >= first[node] + 2) if node >= 0 else []))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_scores_and_places_are_those_of_the_definitions(name):
    kind: Any = find(name)
    n_refused = 0
    for seed in range(10):
        nodes, pods = cluster(seed)
        found: dict[tuple[int, int], int] = {}

        def score(model, state, task, node, view, found=found):
            found[task, node] = kind.score(model, state, task, node, view)
            return found[task, node]

        watched = type("Watched", (kind,), {"score": staticmethod(score), "__module__": __name__, "compiled": False})
        done = vs.simulate(case(nodes, pods, watched), engine="reference")
        expected, scores = fgd_plainly.placed(name, nodes, pods)
        assert found == scores, seed
        assert places(done, nodes) == [(node, sorted(gpus)) for node, gpus in expected], seed
        n_refused += sum(node < 0 for node, _ in expected)
    assert n_refused > 10


def test_typical_pods_are_those_of_the_first_tasks_where_the_option_says_so():
    nodes, pods = cluster(1, 80)
    of_all, of_some = (vs.simulate(case(nodes, pods, "fgd", typical=n), engine="reference") for n in (0, 10))
    expected = {}
    for n in (80, 10):
        one = fgd_plainly.Fgd(pods[:n], sorted({node.model for node in nodes}))
        expected[n] = one.typical
    assert expected[80] != expected[10]
    assert not np.array_equal(of_all.outcome.task_unit, of_some.outcome.task_unit)
    with pytest.raises(InputError, match="typical"):
        vs.simulate(case(nodes, pods, "fgd", typical=81), engine="reference")


@pytest.mark.parametrize("name", mostly_slow([*NAMES, "random_fit"], {"fgd"}))
def test_both_engines_give_the_same_bits(name):
    for seed in range(4):
        nodes, pods = cluster(seed, 40)
        base = case(nodes, pods, name)
        assert differences(base) == [], seed
        ends = replace(base.workload, operations=np.random.default_rng(seed).uniform(1, 30, len(pods)))
        for refuse in (True, False):
            assert differences(replace(base, workload=ends, options={"refuse": refuse})) == [], seed


@pytest.mark.parametrize("name", [*NAMES, "random_fit"])
def test_a_pod_that_fits_nowhere_is_dropped_at_once_or_waits(name):
    nodes = [Node(8000, 64 * GIB, 1, "T4")]
    pods = [Pod(1000, GIB, 1, 1000, (), float(i), i + 1.0) for i in range(2)]
    base = case(nodes, pods, name)
    base = replace(base, workload=replace(base.workload, operations=np.full(2, 5.0)))
    dropped = vs.simulate(base, engine="reference").outcome
    assert dropped.task_unit.tolist() == [2, -1]
    waited = vs.simulate(replace(base, options={"refuse": False}), engine="reference").outcome
    assert waited.task_init_us.tolist() == [0.0, 5.0]


def test_a_task_is_refused_even_if_no_unit_has_any_room():
    """An engine that asks only where there is room would let it wait."""
    center = vs.Datacenter(unit_type=np.zeros(1), rack=np.zeros(1), shelf=np.zeros(1))
    work = vs.Workload(
        job_task_type=np.zeros(2),
        job_first=np.arange(3),
        arrival_us=np.array([0.0, 1.0]),
        operations=np.full(2, 1e9),
        data_bytes=np.zeros(2),
        data_rack=np.zeros(2),
        data_shelf=np.zeros(2),
        preferred_type=np.full(2, -1),
    )
    done = vs.simulate(vs.Scenario(center, work, Emptiest, {"refuse": True}), engine="reference")
    assert done.outcome.task_unit.tolist() == [0, -1]


def test_random_nodes_and_units_are_uniform():
    """Chi-square, 1 in 1,000, of a fixed seed."""
    nodes = [Node(8000, 64 * GIB, n, "T4") for n in (1, 4, 2, 8, 1)]
    n = 3000
    pods = [Pod(1000, GIB, 1, 500, (), float(i), i + 1.0) for i in range(n)]
    base = case(nodes, pods, "random_fit")
    alone = replace(base.workload, operations=np.full(n, 0.5))  # each ends before the next arrives
    done = vs.simulate(replace(base, workload=alone, seed=3), engine="reference")
    found = places(done, nodes)
    on = np.bincount([node for node, _ in found], minlength=5)
    assert ((on - n / 5) ** 2 / (n / 5)).sum() < 18.47  # 4 degrees of freedom
    gpus = np.bincount([gpu for node, (gpu,) in found if node == 3], minlength=8)
    assert ((gpus - gpus.mean()) ** 2 / gpus.mean()).sum() < 24.32  # 7 degrees of freedom
    endless = replace(base.workload, operations=np.full(n, np.inf))
    full = vs.simulate(replace(base, workload=endless), engine="reference")
    assert (full.outcome.task_unit >= 0).sum() == 24  # a full node is not drawn; one has CPU for 8 pods only


@dataclass(frozen=True)
class Emptiest(ScorePolicy):
    """A user's policy."""

    name: ClassVar[str] = "emptiest"

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int) -> int:
        left = 0.0
        for unit in range(model.node_first[node], model.node_first[node + 1]):
            left += room(model, state, unit)
        return int(left)


@dataclass(frozen=True)
class ByWeight(Emptiest):
    """With an option, and the last unit of the node instead of the tightest."""

    name: ClassVar[str] = "by_weight"
    weight: int = 1

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        return view.options.weight * node

    @staticmethod
    def choose(model: Any, state: Any, task: int, node: int) -> int:
        unit = int(model.node_first[node + 1]) - 1
        while not can_start(model, state, task, unit):
            unit -= 1
        return unit


def plain_case(policy: Any, **options: Any) -> vs.Scenario:
    """Two nodes with two units each, and three tasks at once."""
    center = vs.Datacenter(unit_type=np.zeros(4), rack=np.array([0, 0, 1, 1]), shelf=np.zeros(4))
    work = vs.Workload(
        job_task_type=np.zeros(3),
        job_first=np.arange(4),
        arrival_us=np.zeros(3),
        operations=np.full(3, 1e6),
        data_bytes=np.zeros(3),
        data_rack=np.zeros(3),
        data_shelf=np.zeros(3),
        preferred_type=np.full(3, -1),
    )
    return vs.Scenario(center, work, policy, options)


def with_tasks(case: vs.Scenario, operations: np.ndarray) -> vs.Scenario:
    """The scenario with other tasks, one arriving every us."""
    n, zeros = len(operations), np.zeros(len(operations))
    work = vs.Workload(zeros, np.arange(n + 1), np.arange(n), operations, zeros, zeros, zeros, zeros - 1)
    return replace(case, workload=work)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_users_score_and_choice(engine):
    def units(policy: Any, **options: Any) -> list[int]:
        return vs.simulate(plain_case(policy, **options), engine=engine).outcome.task_unit.tolist()

    assert units(Emptiest) == [0, 2, 1]
    assert vs.simulate(plain_case(ByWeight, weight=1), engine=engine).outcome.task_unit.tolist() == [3, 2, 1]
    assert vs.simulate(plain_case(ByWeight, weight=-1), engine=engine).outcome.task_unit.tolist() == [1, 0, 3]


def low(model: Any, state: Any, task: int, node: int, view: Any) -> int:
    return -node


def high(model: Any, state: Any, task: int, node: int, view: Any) -> int:
    return node


class ByTurns(OnlinePolicy):
    """Tasks go to the first and to the last node in turns, or to any."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        if task % 3 == 0:
            node = best_node(model, state, view, task, low)
        elif task % 3 == 1:
            node = best_node(model, state, view, task, high)
        else:
            node = random_node(model, state, view, task)
        return start(task, first_free_at(model, state, task, node)) if node >= 0 else nothing()


def test_scores_of_one_policy_are_kept_apart():
    assert differences(with_tasks(plain_case(ByTurns), np.full(60, 2e6))) == []


def test_the_best_of_thousands_of_nodes():
    """More than a block of blocks of nodes, of which the last ones are taken and given back."""
    n_nodes, n = 4200, 100
    unit = np.arange(2 * n_nodes)
    center = vs.Datacenter(unit_type=np.zeros(2 * n_nodes), rack=unit // 200, shelf=unit % 200 // 2)
    case = with_tasks(plain_case(ByWeight), np.where(np.arange(n) % 7 == 0, 1e6, 1e9))
    case = replace(case, datacenter=center)
    assert differences(case) == []
    found = vs.simulate(case, engine="compiled").outcome.task_unit
    assert found[0] == 2 * n_nodes - 1
    assert found.min() < (n_nodes // 64) * 64 * 2  # beyond the last block


def test_scores_beyond_32_bits_are_bounded():
    class Huge(ScorePolicy):
        @staticmethod
        def score(model: Any, state: Any, task: int, node: int) -> int:
            return 2**40 * (node - 1)

    assert differences(plain_case(Huge)) == []
    assert vs.simulate(plain_case(Huge), engine="reference").outcome.task_unit.tolist() == [2, 3, 0]


class Fraction(ScorePolicy):
    """As a whole number each score would be 0."""

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int) -> Any:
        return (node + 1) / 4


def test_a_score_that_is_no_whole_number_is_refused():
    with pytest.raises(vs.PolicyError, match=r"^policy Fraction.score: must return a whole number, returned 0\.25$"):
        vs.simulate(plain_case(Fraction), engine="reference")
    with pytest.raises(
        vs.PolicyError, match=r"cannot be compiled: \S+:\d+: a task, a unit or a score is no whole number"
    ):
        vs.simulate(plain_case(Fraction), engine="compiled")


@dataclass(frozen=True)
class Nothing(ByWeight):
    """Forgets to return its score."""

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> Any:
        view.options.weight * node


def test_a_score_that_is_not_returned_is_refused():
    with pytest.raises(vs.PolicyError, match=r"^policy Nothing.score: must return a whole number, returned None$"):
        vs.simulate(plain_case(Nothing), engine="reference")


def test_a_score_that_would_change_without_its_node_is_refused():
    class Longest(ScorePolicy):
        @staticmethod
        def score(model: Any, state: Any, task: int, node: int) -> int:
            return int(operations(model, state, task))

    with pytest.raises(InputError, match="operations in score"):
        vs.simulate(plain_case(Longest))


def test_tasks_of_one_type_with_different_demands_are_scored_apart():
    """Without classes of demands no score can be kept."""
    random = np.random.default_rng(5)
    base = plain_case(Emptiest)
    n = 30
    types = (replace(base.datacenter.processor_types[0], capacity=4.0), *base.datacenter.processor_types[1:])
    center = replace(base.datacenter, processor_types=types)
    zeros = np.zeros(n)
    work = replace(
        base.workload,
        job_task_type=zeros,
        job_first=np.arange(n + 1),
        arrival_us=np.sort(random.uniform(0, 20, n)),
        operations=random.uniform(1e5, 5e6, n),
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=zeros - 1,
        demand=random.choice([0.5, 1.0, 2.5, 4.0], n),
    )
    assert differences(vs.Scenario(center, work, Emptiest)) == []


def test_every_policy_of_the_paper_is_registered():
    assert {*NAMES, "random_fit"} <= set(policies())
