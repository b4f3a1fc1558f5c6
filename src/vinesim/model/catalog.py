"""Processor types and task types: the papers' built-in catalogs, which users can extend.

Source: VineSim report, section 5.2.1 (codes), section 6 (meaning of the task types); energy-aware scheduler thesis,
Table 1 (servers).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vinesim.model.attributes import ABOVE_0, NUMBER, attribute, whole, wrong_attributes
from vinesim.model.batching import Batching, wrong_batching
from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.scalars import is_0_or_more
from vinesim.model.speed_curves import ANY_TASK, Rates, curves_of, full_speed, plain_rates, throughput, wrong_rates

MOST_AHEAD = 1000
CURVE_SHARES = tuple(step / 10 for step in range(11))  # the utilisations of a power curve


@dataclass(frozen=True)
class ProcessorType:
    """A kind of processing unit.

    The tasks on a unit share its ``capacity``. Each task takes its ``demand`` while it is there, by default one slot
    (1). Tasks run at full speed while their demands add up to at most ``parallelism``; above that they share the speed.
    ``rates`` gives the slowdown as a table instead: entry n - 1 is the speed of each of n tasks, relative to one task
    alone. It may also map task types to such tables, with ``"*"`` for all others; types without a table never slow
    down. With ``batching`` a unit is a serving engine: it accepts any number of requests, and their tokens decide how
    long its steps take.

    With ``ahead``, a unit accepts that many further tasks while it computes one, so that their data is transferred in
    the meantime. It computes them one after another, and each task takes the whole unit.
    """

    # fmt: off
    name: str = field(metadata=attribute("Its name; a built-in name replaces the built-in type."))
    price: float | None = field(default=None, metadata=attribute(
        "Cost of purchase of one unit, in any currency.", NUMBER))
    idle_power_w: float = field(default=0.0, metadata=attribute(
        "Power of a unit that is awake and runs nothing, W.", NUMBER))  # alpha of the linear power model
    dynamic_power_w: float | None = field(default=None, metadata=attribute(
        "W added per unit of demand (linear power model), instead of the table power: of a CPU with cores, for each "
        "core that works.", NUMBER))  # its beta
    sleep_power_w: float | None = field(default=None, metadata=attribute(
        "Power of a unit asleep, W. With it, units without tasks sleep; without it, they never do.", NUMBER))
    power_curve_w: tuple[float, ...] | None = field(default=None, metadata=attribute(
        "W at 0 %, 10 % ... 100 % utilisation (as in SPECpower); replaces idle_power and power."))
    capacity: float = field(default=1.0, metadata=attribute(
        "What the unit's tasks share; a task without a demand takes 1 of it.", ABOVE_0))
    parallelism: float | None = field(default=None, metadata=attribute(
        "Sum of demands up to which tasks run at full speed; above it they share. Default: capacity.", ABOVE_0))
    attributes: Mapping[str, float] = field(default_factory=dict, metadata=attribute(
        "Other numbers of the type, such as cores, sms, memory_bytes."))
    rates: Rates | None = field(default=None, metadata=IF_GIVEN | attribute(
        "Instead of parallelism: the speed of each of 1, 2, 3 ... tasks on a unit, relative to one alone: "
        "[1, 0.95, 0.8]. Linear between whole loads; beyond its end the tasks share what the last number allows. "
        'Or by task type, "*" for all others: {"*": [1, 0.95], SPMV: [1, 0.6]}. Without "*" these never slow down.'))
    batching: Batching | None = field(default=None, metadata=IF_GIVEN | attribute(
        "A unit is a serving engine, which takes any number of requests; without capacity and rates."))
    ahead: int = field(default=0, metadata=IF_GIVEN | attribute(
        "How many further tasks a unit takes while it computes one: their data comes in the meantime. Each task then "
        "takes the whole unit.", whole(0, MOST_AHEAD)))
    # fmt: on

    @property
    def has_own_power(self) -> bool:
        """Whether its power does not depend on a table by task type."""
        return self.dynamic_power_w is not None or self.power_curve_w is not None

    @property
    def is_cpu(self) -> bool:
        """Whether it counts as a CPU: it has cores, or it has no SMs either and its name begins with CPU."""
        return "cores" in self.attributes or ("sms" not in self.attributes and self.name.upper().startswith("CPU"))

    @property
    def full_speed(self) -> float | None:
        """The demand up to which all tasks run at full speed; None: the capacity of the unit."""
        if self.rates is None:
            return self.parallelism
        return min(map(full_speed, curves_of(self.rates).values()), default=self.parallelism)

    def most_together(self, task_type: str) -> float | None:
        """The most that tasks of a type get done together on a unit, relative to one; None: the unit's capacity."""
        curves = curves_of(self.rates)
        curve = curves.get(task_type, curves.get(ANY_TASK))
        return self.parallelism if curve is None else max(throughput(curve))

    @property
    def is_shared(self) -> bool:
        """Whether the tasks of a unit can slow each other down."""
        return self.full_speed is not None and self.full_speed < self.capacity

    def __post_init__(self) -> None:
        problems = wrong_attributes(("processor_types", self.name), self)
        problems = problems or self._wrong_curve() + self._wrong_rates() + self._wrong_batching()
        if problems:
            raise InputError(problems)
        if self.power_curve_w is not None:
            object.__setattr__(self, "power_curve_w", tuple(float(power) for power in self.power_curve_w))
            object.__setattr__(self, "idle_power_w", self.power_curve_w[0])

    def _wrong_rates(self) -> list[Problem]:
        if self.rates is None:
            return []
        object.__setattr__(self, "rates", plain_rates(self.name, self.rates))
        problems = wrong_rates(self.name, self.rates, self.capacity)
        if self.parallelism is not None:
            problems.append(Problem(("processor_types", self.name), "rates or a parallelism", "both", "Keep one."))
        return problems

    def _wrong_batching(self) -> list[Problem]:
        if self.batching is None:
            return []
        others = {"rates": self.rates is not None, "parallelism": self.parallelism is not None}
        others |= {"capacity": self.capacity != 1.0, "ahead": self.ahead != 0}
        problems = wrong_batching(self.name, self.batching)
        for other in (name for name, is_given in others.items() if is_given):
            found, remedy = "both", "Keep one: max_sequences and memory_tokens limit what an engine does."
            problems.append(Problem(("processor_types", self.name), f"batching or {other}", found, remedy))
        return problems

    def _wrong_curve(self) -> list[Problem]:
        curve, where = self.power_curve_w, ("processor_types", self.name)
        if curve is None:
            return []
        problems = []
        if len(curve) != len(CURVE_SHARES) or not all(map(is_0_or_more, curve)):
            expected = f"{len(CURVE_SHARES)} powers, finite, 0 or more: at 0 %, 10 % ... 100 %"
            problems.append(Problem((*where, "power_curve_w"), expected, f"{list(curve)}"))
        if self.dynamic_power_w is not None:
            problems.append(Problem(where, "a power curve or a dynamic power", "both", "Keep one."))
        if curve and self.idle_power_w not in (0.0, curve[0]):
            found = f"idle_power_w {self.idle_power_w:g}, curve {curve[0]:g}"
            problems.append(Problem(where, "the idle power at the start of the power curve", found, "Leave it out."))
        return problems


@dataclass(frozen=True)
class TaskType:
    """A kind of computation; the affinity table says how fast each processor type runs it."""

    name: str


PROCESSOR_TYPES = tuple(
    ProcessorType(name) for name in ("CPU_INTEL", "CPU_ARM", "GPU", "FPGA", "CPU_MULTICORE", "UNSPECIFIED")
)
TASK_TYPES = tuple(TaskType(name) for name in ("INT", "FP_BAD", "FP_GOOD", "MEM", "IO", "ARB", "UNSPEC_TASK"))

SERVER_TYPES = (  # ARM or Atom; low-end desktop; one socket; two sockets
    ProcessorType("A", idle_power_w=6.0, dynamic_power_w=1.05, sleep_power_w=2.0, capacity=20.0),
    ProcessorType("B", idle_power_w=60.0, dynamic_power_w=1.4, sleep_power_w=3.0, capacity=60.0),
    ProcessorType("C", idle_power_w=76.8, dynamic_power_w=1.3, sleep_power_w=4.0, capacity=100.0),
    ProcessorType("D", idle_power_w=79.0, dynamic_power_w=1.2, sleep_power_w=5.0, capacity=200.0),
)
SERVER_TASK_TYPES = (TaskType("TASK"),)  # affinity 1 on every server: an operation takes 1 us

ANY_PROCESSOR = "UNSPECIFIED"  # a task's preferred type when any unit will do


def codes_of(types: Sequence[ProcessorType] | Sequence[TaskType]) -> dict[str, int]:
    """Return the code of each type by its name: its place in the list."""
    names = [one.name for one in types]
    return dict(zip(names, range(len(names)), strict=True))


def code_of(where: Steps, name: str, types: Sequence[ProcessorType] | Sequence[TaskType]) -> int:
    """Return the code of a type by its name. Raises :class:`InputError` for an unknown name."""
    codes = codes_of(types)
    if name not in codes:
        raise InputError([Problem(where, "one of " + ", ".join(codes), repr(name), "Define the type first.")])
    return codes[name]
