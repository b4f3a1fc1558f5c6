"""Every claim has the verdict that slow independent reference simulators led to, and can lose it."""

import pytest

from tests.papers.small import verdicts
from vinesim.papers.claim import Verdict
from vinesim.papers.registry import items

REPRODUCED, PARTLY, NOT = Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT

# Where it is not reproduced, the printed statement is a slip, or about hardware; the claim's note says which.
EXPECTED = {
    "fig4": dict.fromkeys((f"F4.{n}" for n in range(1, 10)), REPRODUCED),
    "fig5": dict.fromkeys((f"F5.{n}" for n in range(1, 10)), REPRODUCED)
    | dict.fromkeys(("F5.3", "F5.6", "F5.7"), PARTLY),
    "fig6": dict.fromkeys(("F6.1", "F6.2", "F6.3"), REPRODUCED),
    "fig7": {"F7.1": NOT, "F7.2": PARTLY, "F7.3": REPRODUCED, "F7.5": REPRODUCED, "F7.6": REPRODUCED},
    "fig8": {"F8.1": REPRODUCED, "F8.2": PARTLY, "F8.3": REPRODUCED, "F8.4": REPRODUCED},
    "table1": {"T1.1": REPRODUCED, "A2": NOT},
    "table2": {"A1": REPRODUCED},
    "table3": {"T3.1": REPRODUCED, "A3": NOT},
    "text": {"A4": NOT, "A5": REPRODUCED, "G1": REPRODUCED},
}


@pytest.mark.parametrize("item", EXPECTED)
def test_verdicts(item):
    assert verdicts(item) == EXPECTED[item]


SLOWER_GPU = {"affinity": {"table": "table1", "peak": {"GPU": {"INT": 600_000, "FP_BAD": 0.04, "FP_GOOD": 1}}}}


@pytest.mark.parametrize(
    ("item", "changes", "turned"),
    [
        ("fig4", SLOWER_GPU, {"F4.2": NOT, "F4.3": NOT, "F4.4": NOT, "F4.5": NOT}),
        ("fig5", {"policy": "flat"}, {"F5.4": NOT}),
        ("fig6", SLOWER_GPU, {"F6.1": NOT, "F6.3": NOT}),
        ("fig7", {"policy": "flat"}, {"F7.5": NOT}),
        ("fig8", {"policy": "flat"}, {"F8.2": NOT}),
        ("table1", {"affinity": {"table": "table1", "peak": {"FPGA": {"INT": 1, "FP_BAD": 1}}}}, {"T1.1": NOT}),
        ("table2", SLOWER_GPU, {"A1": NOT}),
        ("text", {"policy": "pref"}, {"A4": REPRODUCED}),
    ],
)
def test_other_policies_and_speeds_turn_verdicts(item, changes, turned):
    found = verdicts(item, changes)
    assert {claim: found[claim] for claim in turned} == turned


def test_what_is_not_reproduced_has_a_note():
    for item, claims in EXPECTED.items():
        notes = {claim.id: claim.note for claim in items()[item].claims}
        assert all(notes[claim] for claim, verdict in claims.items() if verdict is not REPRODUCED)
