"""Damage in every kind of file, in small: the whole of it is ``python -m verification.bitflips``."""

import random
from collections import Counter

import pytest

from verification.bitflips import HARMS, judge, measure
from verification.damage_cases import chunks_of_four, results, sweeps


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Sweeps in every state."""
    with chunks_of_four():
        yield sweeps(tmp_path_factory.mktemp("cases"))


def test_damage_of_sweeps_is_found_or_does_no_harm(cases, tmp_path):
    found = measure(cases, cases[0].folder.parent / "work", n_bits=12, n_others=4, seed=1)
    assert {name for name, _ in found} == {
        f"sweep: {kind}" for kind in ("part", "journal", "study.yaml", "origin.json", "input")
    }
    total = sum(found.values(), Counter())
    assert (total.total(), total["missed"]) == (24, 0), found
    for harm in HARMS:
        assert sum(counts["found"] for (_, name), counts in found.items() if name == harm.name) > 2


def test_damage_of_results_is_found_or_does_no_harm(tmp_path):
    found = measure(results(tmp_path), tmp_path / "work", n_bits=25, n_others=5, seed=1)
    assert len({name for name, _ in found}) == 12, found
    total = sum(found.values(), Counter())
    assert (total["found"], total["harmless"], total["missed"]) == (40, 0, 0), found


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        ("vinesim.studies.damage.is_whole", "part"),
        ("vinesim.studies.journal.is_intact", "journal"),
        ("vinesim.studies.damage.is_intact", "study.yaml"),
    ],
)
def test_without_a_check_damage_is_missed(cases, monkeypatch, check, kind):
    monkeypatch.setattr(check, lambda _: True)
    monkeypatch.setattr("vinesim.formats.results.checksums.is_text_intact", lambda _: True)
    failing, work, dice = cases[1], cases[0].folder.parent / "work", random.Random(1)
    assert "missed" in (judge(failing, kind, HARMS[0], work, dice) for _ in range(40))
