"""Drafts: found again after a kill, and only then; and nobody can foretell where one will be."""

import os
import subprocess
import sys

import pytest

from vinesim.formats.source.drafts import draft_of, is_draft, remove_drafts
from vinesim.formats.source.files import replacing

DIES = """
import os, sys
from pathlib import Path
from vinesim.formats.source.drafts import draft_of
target = Path(sys.argv[1])
draft_of(target).touch()
draft_of(target).mkdir()
(draft_of(target) / "a").mkdir(parents=True)
"""


@pytest.fixture
def left_behind(tmp_path):
    """Drafts of a target by a process that has ended."""
    target = tmp_path / "a.[b]"
    subprocess.run([sys.executable, "-c", DIES, str(target)], check=True)
    assert len(list(tmp_path.iterdir())) == 3
    return target


def test_what_a_killed_process_left_is_removed_when_its_target_is_written_again(left_behind):
    with replacing(left_behind) as draft:
        draft.write_text("new")
    assert list(left_behind.parent.iterdir()) == [left_behind]


def test_the_drafts_of_other_targets_of_live_processes_and_of_other_machines_stay(left_behind, monkeypatch):
    own = draft_of(left_behind)
    own.touch()
    before = set(left_behind.parent.iterdir())
    remove_drafts(left_behind.with_name("a.b"))
    remove_drafts(left_behind.with_name("a"))
    with monkeypatch.context() as patch:
        patch.setattr("vinesim.formats.source.drafts._place", lambda: "000000")
        remove_drafts(left_behind)
    assert set(left_behind.parent.iterdir()) == before
    remove_drafts(left_behind)
    assert set(left_behind.parent.iterdir()) == {own}


def test_a_draft_of_a_process_of_another_user_stays(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    draft = draft_of(tmp_path / "a")
    draft.touch()
    monkeypatch.setattr(os, "kill", refuse)
    remove_drafts(tmp_path / "a")
    assert draft.exists()


def test_names_of_drafts_are_recognised_and_never_the_same_twice(tmp_path):
    target = tmp_path / "study.yaml"
    names = {draft_of(target).name for _ in range(100)}
    assert len(names) == 100
    assert all(is_draft(name, ["other", "study.yaml"]) for name in names)
    assert is_draft(".study.yaml.123.tmp", ["study.yaml"])  # as they were called before
    assert not any(
        is_draft(name, ["study.yaml"]) for name in ("study.yaml", ".study.yaml", "study.yaml.1.tmp", ".b.1.tmp")
    )
