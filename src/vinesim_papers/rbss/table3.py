"""Table 3: the benchmarks, their sizes, and the jobs made from them."""

from pathlib import Path

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import Each, Equal, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import scenario
from vinesim.workloads import rbss_nas
from vinesim.workloads.rbss_nas import BENCHMARKS, CLASSES
from vinesim_papers.rbss.nodes import is_for_cpus

STUDY = Path(__file__).with_name("group_a.yaml")
MEGA_OPERATIONS = {  # reported by the NAS benchmarks for these sizes in their own verification runs
    "BT.S": 228.3,
    "BT.W": 7719,
    "CG.S": 66.6,
    "CG.W": 421,
    "EP.S": 33.6,
    "EP.W": 67.1,
    "LU.S": 102.3,
    "LU.W": 18061,
    "SP.S": 96.7,
    "SP.W": 14174,
}
PRINTED_SIZES = {
    "grid": "BT 12 24, LU 12 33, SP 12 36",
    "iterations": "BT 60 200, CG 15 15, LU 50 300, SP 100 400",
    "CG rows": "1400 7000",
    "CG nonzeros": "7 8",
    "EP log2 of pairs": "24 25",
}
EQUAL_GPUS = {"workload.options.gpu_efficiency": {"SP.W": 1.0}}


def _sizes(_: Data) -> dict[str, str]:
    """The sizes that the generator uses, class S and class W."""

    def row(values: dict[str, tuple[int, int]]) -> str:
        return ", ".join(f"{name} {s} {w}" for name, (s, w) in values.items())

    steps = {name: of for name, of in rbss_nas.ITERATIONS.items() if name != "EP"}
    found = {"grid": row(rbss_nas.GRID), "iterations": row(steps)}
    single = {"CG rows": rbss_nas.ROWS, "CG nonzeros": rbss_nas.NONZEROS, "EP log2 of pairs": rbss_nas.PAIRS}
    return found | {name: f"{s} {w}" for name, (s, w) in single.items()}


def _operations(_: Data) -> dict[str, float]:
    """Operations of each benchmark and class, divided by the number that the benchmarks report."""
    return {
        f"{name}.{size}": rbss_nas.operations(name, i) / 1e6 / MEGA_OPERATIONS[f"{name}.{size}"]
        for name in BENCHMARKS
        for i, size in enumerate(CLASSES)
    }


def n_jobs(changes: Changes) -> dict[str, int]:
    """Return the number of jobs in each group."""
    group = "workload.options.group"
    return {name: int(scenario(STUDY, changes, {group: name}).workload.n_jobs) for name in ("A", "B")}


def for_cpus(changes: Changes) -> str:
    """Return the benchmarks and classes all of whose jobs are fastest on a CPU of system 1, by name."""
    given = scenario(STUDY, changes)
    work, fastest_is_cpu = given.workload, is_for_cpus(given)
    names = [
        kind.name
        for code, kind in enumerate(work.task_types)
        if (mine := work.job_task_type == code).any() and fastest_is_cpu[mine].all()
    ]
    return ", ".join(names) or "none"


def _for_cpus_with_equal_gpus(changes: Changes) -> str:
    return for_cpus({**changes, **EQUAL_GPUS})


ITEM = Item(
    id="rbss-table3",
    title="Benchmarks, their sizes, and the jobs made of them",
    source="section 5.2, Table 3",
    runs={"jobs": n_jobs, "for CPUs": for_cpus, "for CPUs, equal GPUs": _for_cpus_with_equal_gpus},
    claims=(
        Claim(
            id="RT3.1",
            kind=Kind.GIVEN,
            source="section 5.2, Table 3",
            statement="Sizes of BT, CG, EP, LU and SP, classes S and W",
            expected="; ".join(f"{name}: {value}" for name, value in PRINTED_SIZES.items()),
            measure=_sizes,
            judge=Equal(PRINTED_SIZES),
        ),
        Claim(
            id="RT3.2",
            kind=Kind.GIVEN,
            source="section 5.2, Table 3 and its source, the NAS parallel benchmarks",
            statement="These sizes give the operations that the benchmarks report: quotient of the two",
            expected="1",
            measure=_operations,
            judge=Each(Within(1, 0.002)),
        ),
        Claim(
            id="RT3.3",
            kind=Kind.GIVEN,
            source="section 5.2",
            statement="28 different jobs; in three versions each (executed 1, 2, 3 times) they are group A",
            expected="A: 76, B: 28 jobs",
            measure=lambda data: data.result("jobs"),
            judge=Equal({"A": 76, "B": 28}),
            other_reading=OtherReading(
                "28 x 3, none left out", lambda data: {"A": 3 * data.result("jobs")["B"], "B": 28}
            ),
        ),
        Claim(
            id="RT3.4",
            kind=Kind.GIVEN,
            source="section 5.2",
            statement="SP is better on a CPU with class W, but not with class S",
            expected="SP.W",
            measure=lambda data: data.result("for CPUs"),
            judge=Equal("SP.W"),
            note="an assumption of the generator says so; the sizes alone do not make SP.W a benchmark for CPUs",
            other_reading=OtherReading(
                "without the assumption that says so, GPUs as good at SP.W as at the others",
                lambda data: data.result("for CPUs, equal GPUs"),
            ),
        ),
    ),
)
