"""Turn a log of language-model requests into a workload: one row per request, with its class by generated tokens.

The log is a CSV file, plain or gzip, with the columns TIMESTAMP and GeneratedTokens, as in Azure's public dataset.
Run it:  python examples/plans/llm_requests.py code.csv.gz -o examples/plans/llm_requests.csv
"""

import argparse
import csv
import gzip
import sys
from datetime import datetime
from pathlib import Path

CLASSES = ((16, "SHORT"), (64, "MEDIUM"))  # by the most tokens; all others are LONG


def main() -> None:
    """Read the log and write the workload."""
    words = argparse.ArgumentParser(description="Turn a log of language-model requests into a workload.")
    words.add_argument("log", type=Path)
    words.add_argument("-o", "--output", type=Path, required=True)
    given = words.parse_args()
    opened = gzip.open if given.log.suffix == ".gz" else open
    with opened(given.log, "rt", newline="") as file:
        rows = [(_seconds(row["TIMESTAMP"]), int(row["GeneratedTokens"])) for row in csv.DictReader(file)]
    first = min(time for time, _ in rows)
    with given.output.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["arrival_s", "task_type", "application", "operations"])
        for time, tokens in sorted(rows):
            kind = next((name for most, name in CLASSES if tokens <= most), "LONG")
            out.writerow([f"{time - first:.6f}", kind, kind, max(1, tokens)])
    sys.stdout.write(f"wrote {given.output}: {len(rows):,} requests\n")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text[:26]).timestamp()  # more than 6 digits of a second are cut off


if __name__ == "__main__":
    main()
