"""Allocation of shared GPUs against the load that has arrived, under six policies."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Each, Share
from vinesim.reproduction.data import Data
from vinesim.reproduction.inputs import Input
from vinesim.reproduction.item import Changes, Item
from vinesim_papers.fgd.curves import MOST_LOAD, POLICIES, Curves, curves

if TYPE_CHECKING:
    from vinesim.plots.lines import Line
    from vinesim.plots.style import Figure

FGD = POLICIES.index("fgd")
REMEDY = "It is not part of VineSim; `vinesim import openb --help` says what it holds."


def _curves(given: Changes) -> Curves:
    return curves(given["nodes"], given["pods"], given["seeds"], given["workers"])


def _at_the_end(data: Data) -> np.ndarray:
    """[policies, seeds] the allocation after the last arrival up to the highest load, %."""
    found = data.result("curves").allocation
    last = MOST_LOAD - np.isfinite(found[:, :, ::-1]).argmax(axis=2)
    return np.take_along_axis(found, last[:, :, np.newaxis], axis=2)[:, :, 0]


def _means(data: Data) -> dict[str, float]:
    return dict(zip(POLICIES, _at_the_end(data).mean(axis=1).tolist(), strict=True))


def _leads(data: Data) -> dict[str, float]:
    """By how much fgd allocates more than each other policy, on average over the seeds, percentage points."""
    return {name: _means(data)["fgd"] - mean for name, mean in _means(data).items() if name != "fgd"}


def _least_leads(data: Data) -> dict[str, float]:
    """The same for the seed where it is least."""
    last = _at_the_end(data)
    leads = (last[FGD] - last).min(axis=1).tolist()
    return {name: lead for name, lead in zip(POLICIES, leads, strict=True) if name != "fgd"}


def _saved(data: Data) -> dict[str, float]:
    """How much less fgd leaves unallocated than each other policy, on average over the seeds, %; 0 if that leaves
    nothing."""
    left = {name: 100.0 - mean for name, mean in _means(data).items()}
    least = left.pop("fgd")
    return {name: 100.0 * (of - least) / of if of else 0.0 for name, of in left.items()}


def _tables(data: Data) -> dict[str, Table]:
    """The curves as rows: policy, seed, load and allocation, %; no row where no pod arrived at that load."""
    found = data.result("curves").allocation
    policy, seed, load = where = np.nonzero(np.isfinite(found))
    columns = {"policy": np.array(POLICIES)[policy], "seed": seed, "load": load, "allocation": found[where]}
    return {"curves": Table(columns)}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Panel, line_figure
    from vinesim.plots.lines import Line as Curve
    from vinesim.studies.statistics import mean_interval

    load = np.arange(MOST_LOAD + 1)
    lines = []
    for name, of_seeds in zip(POLICIES, data.result("curves").allocation, strict=True):
        found = [mean_interval(at) for at in of_seeds.T]
        low, mean, high = (np.array([getattr(f, part) for f in found]) for part in ("low", "estimate", "high"))
        lines.append(Curve(name, load, mean, low, high))
    panels = [Panel("", lines), Panel("from 80 %", [_from(line, 80) for line in lines])]
    y = [Axis("GPUs allocated, %", limits=(0, 100)), Axis("GPUs allocated, %")]
    return {"fgd": line_figure(panels, Axis("GPUs asked for, % of all"), y, columns=1)}


def _from(line: "Line", first: int) -> "Line":

    kept = slice(first, None)
    return replace(line, **{name: getattr(line, name)[kept] for name in ("x", "y", "low", "high")})


ITEM = Item(
    id="fgd",
    title="GPUs allocated against the load that has arrived",
    source="section 6",
    inputs=(
        Input("nodes", "the nodes of the trace, CSV", REMEDY),
        Input("pods", "its pods, CSV", REMEDY),
        Input("seeds", "number of seeds", default=3),
    ),
    runs={"curves": _curves},
    draw=_draw,
    tables=_tables,
    claims=(
        Claim(
            id="FGD1",
            source="section 6",
            statement="At 130 % load fgd has allocated more of the GPUs than each other policy",
            expected="more, on average over the seeds",
            measure=_leads,
            judge=Each(Above(0)),
            partly=Share(0.5, Above(0)),
            unit="percentage points",
        ),
        Claim(
            id="FGD2",
            kind=Kind.FINDING,
            source="section 6",
            statement="It has in every seed",
            expected="more, where its lead is least",
            measure=_least_leads,
            judge=Each(Above(0)),
            partly=Share(0.5, Above(0)),
            unit="percentage points",
        ),
        Claim(
            id="FGD3",
            kind=Kind.FINDING,
            source="section 6",
            statement="fgd leaves fewer GPUs unallocated at 130 % load than each other policy",
            expected="a saving, on average over the seeds",
            measure=_saved,
            judge=Each(Above(0)),
            partly=Share(0.5, Above(0)),
            unit="%",
        ),
    ),
)
