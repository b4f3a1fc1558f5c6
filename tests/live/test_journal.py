"""The journal: what was promised is kept before messages leave, what was noted of requests a little later."""

import sqlite3

import pytest

from tests.live.clusters import CoreTest, only
from vinesim.live.journal import VERSION, Journal
from vinesim.model.errors import InputError


@pytest.fixture
def journal(tmp_path):
    one = Journal(tmp_path / "journal")
    yield one
    one._db.close()


def change(journal, how, name):
    getattr(journal, how)("INSERT INTO meta VALUES (?, '1')", name)


def kept(journal):
    return [row["name"] for row in journal.rows("SELECT name FROM meta ORDER BY name")]


@pytest.mark.parametrize("how", ["write", "note"])
def test_a_step_that_fails_leaves_nothing_and_takes_nothing_of_others(journal, how):
    for one in ("note", "write"):
        with journal.step():
            change(journal, one, f"a {one}")
        with pytest.raises(ZeroDivisionError), journal.step():  # noqa: PT012
            change(journal, "note", f"b {one}")
            change(journal, how, f"c {one}")
            journal.get("x")
            change(journal, "note", f"d {one}")
            raise ZeroDivisionError
    journal.commit()
    assert kept(journal) == ["a note", "a write"]


def test_what_is_only_noted_is_not_promised_and_comes_with_the_next_commit(journal):
    with journal.step():
        change(journal, "note", "a")
    assert kept(journal) == ["a"]  # a query sees it
    assert not journal.is_promised
    change(journal, "note", "b")
    change(journal, "write", "c")
    assert journal.is_promised
    journal.commit()
    assert not journal.is_promised
    assert kept(journal) == ["a", "b", "c"]


def test_a_job_is_kept_before_its_number_leaves_and_a_request_after_its_order(tmp_path):
    core = CoreTest(tmp_path)
    core.agent("n0")
    core.client()
    request = {"op": "client.request", "key": "k", "application": "ECHO", "size": 1.0, "payload": b""}
    assert only(core.core.turn([("c", request)]), "run")
    assert core.core.journal._notes
    job = {"task_type": "COMMAND", "commands": {"*": ["true"]}, "expected_us": 1e6}
    assert only(core.core.turn([("c", {"op": "job.submit", "n": 1, "key": None, "job": job})]), "reply")
    with sqlite3.connect(tmp_path / "state" / "journal") as other:
        assert other.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("newer", f"a journal of version {VERSION} at most"), ("no database", "a journal that can be opened")],
)
def test_a_file_that_is_no_journal_of_this_version_is_refused_in_words(tmp_path, kind, expected):
    path = tmp_path / "journal.sqlite"
    if kind == "newer":
        Journal(path).close()
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA user_version={VERSION + 1}")
        db.close()
    else:
        path.write_text("something else, and long enough to be looked at" * 9)
    with pytest.raises(InputError, match=rf"journal\.sqlite: expected {expected}"):
        Journal(path)
