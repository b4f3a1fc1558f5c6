"""One word for one thing: words and names that have a plainer one are used nowhere, in code, messages or pages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "verification", "benchmarks", "examples", "docs")
KINDS = {".py", ".md", ".js", ".css", ".yaml", ".toml"}
GENERATED = ("docs/_build", "docs/reference/generated")
HERE = "tests/docs/test_words.py"
OLD_NAMES = {
    "src/vinesim/formats/source/suggestions.py",
    "tests/policies/test_declared.py",
    "tests/policies/test_names.py",
}

WORDS = {  # in names and in sentences, and what to write
    r"(?<![A-Za-z])[Tt]old(?![a-z])": "reported, rejected, given",
    r"(?<![A-Za-z])(?i:beside)(?![a-z])": "next to, besides, along with, compared with",
    r"(?<![A-Za-z])[Aa]new(?![a-z])": "again",
    r"\bso (many|much)\b": "the number, that number of",
    r"\bof one's own\b": "custom, your own, its own",
    r"\bheld against\b": "compared with",
    r"\b(hears?|heard) of\b": "is notified of, learns of",
    r"\bis asked (about|after)\b|\bpolicy (is|was) (not |then |only )?asked\b": "is called; it returns an action",
    r"\bProblem\([^\n]*\"(others|gaps)\"": "the first wrong value and its place",
}
NAMES = {  # and what they are now
    "Unplaced": "ErrorWithoutLine",
    "Patience": "Watchdog",
    "Tier": "EngineChoice",
    "SOLES": "has_one_each",
    "NOTHING_NEW": "NO_CHANGE",
    "set_offer": "set_hypothetical_capacity",
    "offer_as_is": "restore_capacities",
    "takes_vectors": "supports_multi_unit_tasks",
    "why_single": "unsupported_because",
    "in_the_way": "victims_for",
    "TASK_FROM_1": "TASK_ID_PLUS_1",
    "TASKS_BELOW": "TASK_COUNT",
    "TWO_A_TASK": "EVENT_OF_TASK",
    "WAIT_UNTIL_THE_PAST": "WAIT_NOT_LATER",
    "asked_of": "read_question",
    "give_up": "release, drop or cancel",
    "looks_at": "reads_column",
    "occupy": "hold",
    "run_on": "note_start",
    **{f"kind_{name}": f"class_{name}" for name in ("units", "share", "companion", "lead", "types", "least", "rank")},
}
BANNED = {re.compile(pattern.replace(" ", " +")): better for pattern, better in WORDS.items()}
NAME = re.compile(r"[A-Za-z_]\w*")


def pages() -> Iterator[tuple[str, str]]:
    """Each file that people read, with its path from the root."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    for path in [*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        name = path.relative_to(ROOT).as_posix()
        if name != HERE and name not in OLD_NAMES and not name.startswith(GENERATED):
            yield name, path.read_text(encoding="utf-8")


def wrong(name: str, text: str) -> Iterator[str]:
    """What a text says in words or names that have a better one, with its line."""
    lines_joined = re.sub(r"\s*\n\s*(?:# )?", lambda gap: " " * len(gap[0]), text)
    found = [(match, better) for word, better in BANNED.items() for match in word.finditer(lines_joined)]
    if name.endswith(".py"):
        found += [(match, NAMES[match[0]]) for match in NAME.finditer(text) if match[0] in NAMES]
    for match, better in found:
        line = text.count("\n", 0, match.start()) + 1
        yield f"{name}:{line}: {match[0]!r}; write {better}"


def test_no_word_of_the_list_is_used():
    assert [line for name, text in pages() for line in wrong(name, text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "it is told before", "Told", "is_told = 1", "_Told", "a CPU beside it", "BESIDE", "unit_beside", "made anew",
        "so many\ntasks", "a policy of one's own", "held against what happened", "it hears of an end",
        "the policy is asked after each event", 'Problem("nodes", "rows", "others")', "Tier(1)", "model.kind_units[0]",
    ],
)  # fmt: skip
def test_each_of_them_is_found(text):
    assert len(list(wrong("a.py", text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "besides",
        "retold stories",
        "what is left of it",
        "as many as there are",
        "its own",
        "Left and right",
        "heard from",
    ],
)
def test_other_words_are_not(text):
    assert list(wrong("a.py", text)) == []
