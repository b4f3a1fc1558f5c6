"""The reference pages about the claims of the papers."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markdown_table import table

CLAIMS = Path(__file__).with_name("claims.json")
WRONG_POLICIES = Path(__file__).with_name("wrong_policies.json")
KINDS_OF_CLAIMS = {
    "claim": (
        "Claims of the papers",
        "Statements of the papers, measured from runs that could have come out otherwise.",
    ),
    "finding": (
        "VineSim's own findings",
        "What the experiments show and the papers do not say: not counted among theirs.",
    ),
    "given": ("Given", "Inputs of the experiments, and arithmetic on inputs, compared with what is printed."),
}


def claims() -> str:
    """The claims of the papers, as ``vinesim reproduce --all --json`` gave them for docs/claims.json."""
    from vinesim.reproduction.registry import items

    found = {row["claim"]: row for row in json.loads(CLAIMS.read_text())}
    rows = {item.id: [found[claim.id] for claim in item.claims] for item in items().values()}
    text = [
        "# The claims of the papers",
        "What `vinesim reproduce --all` prints with this version; the rule next to a verdict is the tolerance that it "
        "follows from. [Reproduction of the papers](../../explanation/reproduction.md) says how to read it.",
        _counts_of_claims(found.values()).rstrip(),
    ]
    for kind, (title, meaning) in KINDS_OF_CLAIMS.items():
        text += [f"## {title}", meaning]
        for item in items().values():
            of_kind = [row for row in rows[item.id] if row["kind"] == kind]
            if of_kind:
                text += [f"### {item.id}: {item.title}", f"{item.paper}, {item.source}.", _table_of_claims(of_kind)]
    return "\n\n".join(text)


def _counts_of_claims(rows: Iterable[dict[str, str]]) -> str:
    """How many of each kind have which verdict."""
    from vinesim.reproduction.claim import Verdict

    counts = Counter((row["kind"], row["verdict"]) for row in rows)
    cells = [
        [title, *(str(counts[kind, str(verdict)]) for verdict in Verdict)]
        for kind, (title, _) in KINDS_OF_CLAIMS.items()
    ]
    return table(["", *map(str, Verdict)], cells)


def _table_of_claims(rows: list[dict[str, str]]) -> str:
    keys = ("claim", "statement", "expected", "measured", "rule", "verdict")
    text = table(keys, [[row[key] for key in keys] for row in rows]).rstrip()
    notes = [f"- **{row['claim']}**: {row['note']}" for row in rows if "note" in row]
    notes += [
        f"- **{row['claim']}**, another reading: {row['other_reading']}" for row in rows if "other_reading" in row
    ]
    return text + ("\n\n" + "\n".join(notes) if notes else "")


def wrong_policies() -> str:
    """What turns when a policy does the opposite, as ``python -m verification.wrong_policies`` found it.

    A part of the page on reproduction, not its own page.
    """
    found = json.loads(WRONG_POLICIES.read_text())
    text = []
    for paper in dict.fromkeys(row["paper"] for row in found):
        rows = [row for row in found if row["paper"] == paper]
        cells = [[row["of"], row["version"], _turning(row)] for row in rows]
        text += [f"### {paper}", table(("wrong", "version", "claims that turn"), cells).rstrip()]
        text.append(_not_turned(paper, {claim for row in rows for claim in row["turns"]}))
    return "\n\n".join(text)


def _turning(row: dict[str, Any]) -> str:
    """The claims that turn; those about what is wrong in bold."""
    return ", ".join(f"**{claim}**" if claim in row["about"] else claim for claim in row["turns"]) or "none"


def _not_turned(paper: str, turned: set[str]) -> str:
    """The claims that keep their verdict whatever is wrong."""
    from vinesim.reproduction.claim import Kind
    from vinesim.reproduction.registry import items

    claims = [claim.id for item in items().values() if item.paper == paper for claim in item.of_kind(Kind.CLAIM)]
    kept = [claim for claim in claims if claim not in turned]
    return f"Turned by none of them: {', '.join(kept)}." if kept else "Each claim is turned by at least one of them."
