"""The page: its sections and what it knows before the first run."""

from typing import Any

from vinesim.explore.controls import n_left_out
from vinesim.explore.state import Explored
from vinesim.explore.view import titles
from vinesim.report.markup import Content, Section, notice
from vinesim.studies.backtest_record import note_of, read_record

SCRIPTS = (
    "latency.js",
    "usage.js",
    "waiting.js",
    "rack_layout.js",
    "racks.js",
    "numbers.js",
    "explore_state.js",
    "explore_server.js",
    "explore_controls.js",
    "explore_charts.js",
    "explore_pins.js",
    "explore_curve.js",
    "explore_save.js",
    "explore.js",
)
_SECTIONS = (
    ("controls", "Scenario"),
    ("results", "Results"),
    ("latency", "Latency"),
    ("usage", "Utilisation over time"),
    ("queue", "Queue over time"),
    ("cost", "Cost against latency"),
    ("energy", "Energy"),
    ("racks", "Racks"),
    ("differences", "Pinned variants"),
    ("curve", "Along one control"),
    ("save", "Save"),
)


def explore_page(explored: Explored) -> Content:
    """Return the page of a scenario. Raises :class:`~vinesim.model.errors.InputError` if it cannot run."""
    explored.scenario({})
    n_more = n_left_out(explored.base.data)
    notes = {
        "controls": f"{n_more:,} more values of the file have no control here: --set changes them." if n_more else "",
        "results": note_of(read_record(explored.base.data, explored.folder)) or "",
    }
    found: dict[str, Any] = {
        "controls": [vars(control) for control in explored.controls({})],
        "numbers": titles(),
        "file": explored.path.name,
    }
    return Content(
        title=explored.base.data.get("description") or explored.path.name,
        lead=f"{explored.path.name}: move a control, and the charts follow.",
        sections=[
            Section(anchor, title, notice(notes[anchor]) if notes.get(anchor) else "") for anchor, title in _SECTIONS
        ],
        data={"explore": found},
        scripts=SCRIPTS,
        styles=("explore.css",),
        kicker="VineSim explore",
        closing="This page comes from VineSim on this machine, and asks nothing else.",
        connects=True,
    )
