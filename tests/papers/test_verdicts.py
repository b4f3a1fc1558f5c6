"""Every claim has the verdict that slow independent reference simulators led to, and can lose it."""

import pytest

from tests.papers.small import verdicts
from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.registry import items

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT
ITEMS = ("fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "table1", "table2", "table3", "text")
OTHERS = (  # what is not reproduced is a slip of the print, or about hardware; the claim's note says which
    dict.fromkeys(("F5.3", "F5.6", "F5.7", "F5.8", "F7.2", "F7.3", "F7.5", "F7.6", "F8.2", "F9.1"), PARTLY)
    | dict.fromkeys(("F7.1", "F9.2", "F9.3", "A2", "A3", "A4"), NOT)
)


def expected(item: str) -> dict[str, Verdict]:
    return {claim.id: OTHERS.get(claim.id, REPRODUCED) for claim in items()[item].claims}


@pytest.mark.parametrize("item", ITEMS)
def test_verdicts(item):
    assert verdicts(item) == expected(item)


SLOWER_GPU = {"affinity": {"table": "table1", "peak": {"GPU": {"INT": 600_000, "FP_BAD": 0.04, "FP_GOOD": 1}}}}
FASTER_FPGA = {"affinity": {"table": "table1", "peak": {"FPGA": {"INT": 1, "FP_BAD": 1}}}}


@pytest.mark.parametrize(
    ("item", "changes", "turned"),
    [
        ("fig4", SLOWER_GPU, {"F4.2": NOT, "F4.3": NOT, "F4.4": NOT, "F4.5": NOT}),
        ("fig5", {"policy": "flat"}, {"F5.4": NOT, "G1": NOT}),
        ("fig6", SLOWER_GPU, {"F6.1": NOT, "F6.3": NOT}),
        ("fig7", {"policy": "flat"}, {"F7.6": REPRODUCED}),
        ("fig8", {"policy": "flat"}, {"F8.2": NOT}),
        ("fig9", SLOWER_GPU, {}),
        ("table1", FASTER_FPGA, {"T1.1": NOT}),
        ("table2", SLOWER_GPU, {"A1": NOT}),
        ("text", {"policy": "pref"}, {"A4": REPRODUCED}),
    ],
)
def test_other_policies_and_speeds_turn_these_verdicts_and_no_others(item, changes, turned):
    found, usual = verdicts(item, changes), expected(item)
    assert {claim: verdict for claim, verdict in found.items() if verdict is not usual[claim]} == turned


def test_what_is_not_reproduced_has_a_note():
    notes = {claim.id: claim.note for item in ITEMS for claim in items()[item].claims}
    assert [name for name in OTHERS if not notes[name]] == []
