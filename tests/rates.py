"""Random scenarios whose processor types have speed curves, for all tasks or by task type; and their rule, plainly."""

import math
from dataclasses import replace

import vinesim as vs
from tests.strategies import Dice, SeededDice

TABLES = ((1.0, 0.75), (1.0, 1.0, 0.5), (1.0, 0.4, 0.4, 0.1), (1.0,), (1.0, 0.9))


def with_rates(case: vs.Scenario, dice: Dice, by_task_type: bool = True) -> vs.Scenario:
    """The scenario where processor types have tables of rates instead of a parallelism: one for all tasks, or several
    by task type, with one for the others or without."""
    names = ["*", *(one.name for one in case.workload.task_types)]
    types = []
    for processor_type in case.datacenter.processor_types:
        most = math.ceil(processor_type.capacity)
        rates: object = dice.pick(TABLES)[:most]
        if by_task_type and dice.integer(0, 3):
            rates = {name: dice.pick(TABLES)[:most] for name in names if dice.integer(0, 2)} or rates
        types.append(replace(processor_type, parallelism=None, rates=rates))
    return replace(case, datacenter=replace(case.datacenter, processor_types=tuple(types)))


def every_second_with_rates(case: vs.Scenario, seed: int) -> vs.Scenario:
    """The scenario of a seed with such tables, or as it is."""
    dice = SeededDice(seed + 30_000)
    return with_rates(case, dice) if dice.integer(0, 1) else case


def at_full_speed(kind: vs.ProcessorType) -> float | None:
    """The load up to which all tasks of a unit run at full speed; None: its capacity."""
    if kind.rates is None:
        return kind.parallelism
    found = []
    for curve in kind.rates.values() if isinstance(kind.rates, dict) else [kind.rates]:
        n = 0
        while n < len(curve) and curve[n] == 1.0:
            n += 1
        found.append(float(n))
    return min(found)


def rates_of(kind: vs.ProcessorType, task_type: str) -> tuple[float, ...] | None:
    """The table for tasks of a type; None: there is none."""
    return kind.rates.get(task_type, kind.rates.get("*")) if isinstance(kind.rates, dict) else kind.rates
