"""What a plan's datacenter costs over the years: purchase and rent, electricity and carbon in proportion to a run."""

import math

import numpy as np

from vinesim.metrics.numbers import Numbers
from vinesim.metrics.serving import per_million_tokens
from vinesim.model.plan import Costs
from vinesim.model.time import US_PER_HOUR, US_PER_S
from vinesim.plans.hardware import HOURS_PER_YEAR

G_PER_TONNE = 1e6


def with_costs(run: Numbers, known: dict[str, float], costs: Costs | None) -> Numbers:
    """Return the numbers of a run with those of the plan.

    Electricity, carbon and tokens of the years are those of the run, as if the years consisted of such runs.
    """
    found: Numbers = {**run, **known}
    costs = costs or Costs()
    makespan = _number(run, "makespan_us")
    times = costs.years * HOURS_PER_YEAR * US_PER_HOUR / makespan if makespan > 0 else math.nan
    electricity, carbon = _number(run, "energy.cost"), _number(run, "energy.carbon_g")
    found["cost.electricity"] = bill = electricity * times
    found["cost.carbon"] = tax = carbon / G_PER_TONNE * times * costs.carbon_per_tonne
    paid = [known["cost.purchase"], known["cost.rent"]]
    if not math.isnan(electricity):
        paid.append(bill)
    if costs.carbon_per_tonne > 0:
        paid.append(tax)
    found["cost.total"] = total = float(np.sum(paid))
    n_tokens = _number(run, "serving.output_tokens_per_s") * costs.years * HOURS_PER_YEAR * US_PER_HOUR / US_PER_S
    found["cost.per_million_tokens"] = float(per_million_tokens(total, n_tokens))
    return found


def _number(run: Numbers, name: str) -> float:
    value = run.get(name, math.nan)
    return value if isinstance(value, float | int) else math.nan
