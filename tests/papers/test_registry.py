import json
from pathlib import Path

import pytest

from vinesim.formats.study_file import read_study
from vinesim.model.errors import InputError
from vinesim.papers.registry import chosen, items

DOCS = Path(__file__).parents[2] / "docs"


def test_items_are_in_the_order_of_their_numbers():
    figures = [name for name, item in items().items() if item.paper == "vinesim" and name.startswith("fig")]
    assert figures[:6] == ["fig4", "fig5", "fig6", "fig7", "fig8", "fig11"]


def test_the_name_of_a_paper_stands_for_its_items():
    assert chosen(["vinesim"]) == [item for item in items().values() if item.paper == "vinesim"]
    assert [item.id for item in chosen(["table2", "fig4", "table2"])] == ["table2", "fig4"]


def test_unknown_ids_are_all_told_with_what_is_close():
    with pytest.raises(InputError) as error:
        chosen(["fig4", "figure5", "tabel2"])
    assert len(error.value.problems) == 2
    assert "fig5" in str(error.value)
    assert "table2" in str(error.value)


def test_no_two_claims_have_one_id():
    ids = [claim.id for item in items().values() for claim in item.claims]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("item", items().values(), ids=lambda item: item.id)
def test_every_item_is_complete(item):
    assert item.title
    assert item.source
    assert item.claims
    for name in item.studies:
        assert read_study(item.study_file(name)).n_runs > 0
    for claim in item.claims:
        assert claim.statement
        assert claim.expected


def test_the_documentation_has_the_claims_of_this_version():
    """After a change of claims: vinesim reproduce --all --json > docs/claims.json."""
    written = {row["claim"]: row for row in json.loads((DOCS / "claims.json").read_text())}
    claims = {claim.id: claim for item in items().values() for claim in item.claims}
    assert list(written) == list(claims)
    for name, claim in claims.items():
        for key in ("source", "statement", "expected"):
            assert written[name][key] == getattr(claim, key)
