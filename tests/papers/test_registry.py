import inspect
import json
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from vinesim.cli.item_options import item_options
from vinesim.cli.reproduce import reproduce
from vinesim.formats.study.file import read_study
from vinesim.model.errors import InputError, InputWarning
from vinesim.reproduction import registry
from vinesim.reproduction.claim import Kind
from vinesim.reproduction.registry import ENTRY_POINTS, chosen, items, papers

DOCS = Path(__file__).parents[2] / "docs"
POLICIES = {
    "vinesim": ("flat", "high", "pref", "closer_to_data"),
    "rbss": ("rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl"),
    "energy": ("rr", "llf", "ff", "bf", "dcbf", "abf"),
    "symphony": ("symphony", "fcfs", "edf"),
}


def test_items_are_in_the_order_of_their_numbers():
    figures = [name for name, item in items().items() if item.paper == "vinesim" and name.startswith("fig")]
    assert figures[:6] == ["fig4", "fig5", "fig6", "fig7", "fig8", "fig9"]


def test_the_name_of_a_paper_stands_for_its_items():
    assert chosen(["vinesim"]) == [item for item in items().values() if item.paper == "vinesim"]
    assert [item.id for item in chosen(["table2", "fig4", "table2"])] == ["table2", "fig4"]


def test_unknown_ids_are_all_reported_with_what_is_close():
    with pytest.raises(InputError) as error:
        chosen(["fig4", "figure5", "tabel2"])
    assert len(error.value.problems) == 2
    assert "fig5" in str(error.value)
    assert "table2" in str(error.value)


def package(folder: Path, name: str, item: str = "") -> Path:
    """A paper's package in a folder, with one item, or with none."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    if item:
        made = f'Item("{item}", "Title", "Source", (), {{"main": "a.yaml"}})'
        text = f"from vinesim.reproduction.item import Item\n\nITEM = {made}\n"
        (folder / name / "fig1.py").write_text(text)
    return folder / name


def test_a_folder_stands_for_the_items_of_its_package(tmp_path):
    folder = package(tmp_path, "a_paper_in_a_folder", "own-fig1")
    (item,) = chosen([str(folder)])
    assert (item.id, item.paper) == ("own-fig1", "a_paper_in_a_folder")
    assert item.study_file("main") == folder / "a.yaml"
    assert "own-fig1" not in items()


def test_a_folder_that_is_no_package_or_has_the_name_of_another_is_refused(tmp_path):
    for folder, words in ((tmp_path, "without __init__.py"), (package(tmp_path, "numpy"), "numpy, an installed")):
        with pytest.raises(InputError, match=words):
            chosen([str(folder)])


def test_a_paper_that_does_not_load_hinders_no_other(monkeypatch):
    broken = EntryPoint("broken", "no_such_package_at_all", ENTRY_POINTS)
    found = [*entry_points(group=ENTRY_POINTS), broken]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)
    papers.cache_clear()
    with pytest.warns(InputWarning, match="paper broken of an installed package"):
        assert list(papers()) == ["energy", "fgd", "rbss", "symphony", "vinesim"]


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


def test_an_input_of_several_items_is_one_option_and_none_is_an_option_of_the_command_itself():
    declared = [one for item in items().values() for one in item.inputs]
    assert {one.name for one in declared} == set(item_options())
    for one in declared:
        assert all(other.is_file == one.is_file for other in declared if other.name == one.name)
        assert one.remedy or not one.is_file
    own = set(inspect.signature(reproduce).parameters) | {"list", "all", "json", "help"}
    assert not own & set(item_options())


def written() -> dict[str, dict[str, str]]:
    return {row["claim"]: row for row in json.loads((DOCS / "claims.json").read_text())}


def test_the_documentation_has_the_claims_of_this_version():
    """After a change of claims: python docs/renew_claims.py PAPER."""
    rows = written()
    claims = {claim.id: claim for item in items().values() for claim in item.claims}
    assert list(rows) == list(claims)
    for name, claim in claims.items():
        for key in ("kind", "source", "statement", "expected", "rule"):
            assert rows[name][key] == str(getattr(claim, key)), f"{name}: {key}"
        assert claim.note in (rows[name].get("note", ""), "")


def test_what_is_not_reproduced_says_why():
    notes = {claim.id: claim.note for item in items().values() for claim in item.claims}
    assert [name for name, row in written().items() if row["verdict"] != "reproduced" and not notes[name]] == []


def test_what_is_given_is_as_printed():
    """An input that differs from the print is a slip of the package, unless its note tells of a slip of the paper."""
    given = [row for row in written().values() if row["kind"] == "given"]
    assert given
    assert [row["claim"] for row in given if row["verdict"] != "reproduced" and "note" not in row] == []


WRONG = json.loads((DOCS / "wrong_policies.json").read_text())


def test_every_wrong_version_turns_what_is_about_it():
    """The runs are made by python -m verification.wrong_policies, which compares them with the table."""
    known = set(written())
    for row in WRONG:
        assert set(row["about"]) <= set(row["turns"]) <= known, row
        assert row["about"], row


@pytest.mark.parametrize("paper", sorted({row["paper"] for row in WRONG}))
def test_every_policy_of_a_paper_has_a_wrong_version(paper):
    assert set(POLICIES[paper]) <= {row["of"] for row in WRONG if row["paper"] == paper}


@pytest.mark.parametrize("paper", sorted({row["paper"] for row in WRONG}))
def test_a_claim_can_fail(paper):
    """Each claim that holds, at least in part, is turned by something wrong."""
    turned = {claim for row in WRONG if row["paper"] == paper for claim in row["turns"]}
    rows = written()
    claims = [claim.id for item in items().values() if item.paper == paper for claim in item.of_kind(Kind.CLAIM)]
    assert [name for name in claims if name not in turned and rows[name]["verdict"] != "not reproduced"] == []
