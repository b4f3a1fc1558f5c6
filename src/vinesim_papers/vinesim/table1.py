"""Table 1: how fast each processor type is for each task type."""

from pathlib import Path

from vinesim.model.errors import InputError
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Each, Equal
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run

STUDY = Path(__file__).with_name("table1.yaml")
OPERATIONS = 30e6
TASK_TYPES = ("INT", "FP_BAD", "FP_GOOD", "MEM", "IO", "ARB")
PRINTED = {  # operations per us for INT, then factors of it; 0 where the table has 0 or --
    "CPU_INTEL": (100_000, 0.6, 0.6, 0.1, 0.01, 1),
    "CPU_ARM": (500, 0.1, 0.1, 0.01, 0, 1),
    "GPU": (1_200_000, 0.01, 1, 0.001, 0.001, 0.3),
    "FPGA": (1000, 0, 0, 0.001, 1e-10, 1000),
}
Speeds = dict[str, dict[str, float]]  # processor type -> task type -> operations per us


def speeds(changes: Changes) -> Speeds:
    """Return operations per us of each processor type for each task type, from the time of one task; 0: rejected."""
    return {p: {t: _speed(changes, p, t) for t in TASK_TYPES} for p in PRINTED}


def _speed(changes: Changes, processor: str, task_type: str) -> float:
    one = {"datacenter.racks[0].units": {processor: 1}, "workload.options.task_type": task_type}
    try:
        latency = run(STUDY, changes, one).summary["jobs"]["latency_us"]["mean"]
    except InputError:
        return 0.0
    return OPERATIONS / float(latency)


def _against_print(data: Data) -> dict[str, int]:
    """Count the entries of each row that are as printed, of six."""
    found = data.result("speeds")
    return {
        processor: sum(
            Equal(factor * (1 if number == 0 else row[0])).holds(found[processor][task_type])
            for number, (task_type, factor) in enumerate(zip(TASK_TYPES, row, strict=True))
        )
        for processor, row in PRINTED.items()
    }


def _least(data: Data) -> dict[str, float]:
    """The lowest speed of each processor type."""
    return {processor: min(row.values()) for processor, row in data.result("speeds").items()}


ITEM = Item(
    id="table1",
    title="Affinity of processor types for task types",
    source="section 5.3.1, Table 1",
    runs={"speeds": speeds},
    claims=(
        Claim(
            id="T1.1",
            kind=Kind.GIVEN,
            source="section 5.3.1, Table 1",
            statement="A type's speed is its speed for INT, times the factor of the task type",
            expected="6 entries of each row as printed",
            measure=_against_print,
            judge=Each(Equal(6)),
        ),
        Claim(
            id="A2",
            kind=Kind.GIVEN,
            source="section 5.3.1",
            statement="All factors are positive",
            expected="every processor type runs every task type: more than 0",
            measure=_least,
            judge=Each(Above(0)),
            unit="operations/us",
            note="Table 1 itself has 0 (FPGA, floating point) and -- (ARM, I/O). VineSim reads both as: cannot run, "
            "and refuses a task that no unit of the deployment can run.",
        ),
    ),
)
