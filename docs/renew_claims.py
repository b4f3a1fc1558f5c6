"""Run papers or items again and put their rows into docs/claims.json: ``python docs/renew_claims.py vinesim rbss``.

The rows of the others stay as they are, those of claims that no longer exist go. Items that need files get them:
``python docs/renew_claims.py fgd nodes=FILE pods=FILE``.
"""

import json
import sys
from pathlib import Path

from vinesim.reproduction.registry import chosen, items
from vinesim.reproduction.reproduce import reproduce

CLAIMS = Path(__file__).with_name("claims.json")


def main(names: list[str]) -> None:
    rows = {row["claim"]: row for row in json.loads(CLAIMS.read_text())}
    made: dict[Path, object] = {}
    files = {name: Path(path) for name, sep, path in (word.partition("=") for word in names) if sep}
    for item in chosen([name for name in names if "=" not in name]):
        inputs = {one.name: files[one.name] for one in item.inputs if one.name in files}
        rows |= {judged.claim.id: judged.row() for judged in reproduce(item, made=made, inputs=inputs).judged}
    known = [rows[claim.id] for item in items().values() for claim in item.claims]
    CLAIMS.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
