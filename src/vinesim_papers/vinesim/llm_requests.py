"""A log of language-model requests as a workload: one row per request, with its class by generated tokens.

The log is a CSV file, plain or gzip, with the columns TIMESTAMP and GeneratedTokens, as in Azure's public dataset
(github.com/Azure/AzurePublicDataset).
"""

import csv
from pathlib import Path

from vinesim.formats.importers.counts import to_time_us
from vinesim.formats.source.csv_rows import read_csv_rows

TIME, TOKENS = "TIMESTAMP", "GeneratedTokens"
CLASSES = ((16, "SHORT"), (64, "MEDIUM"))  # by the most tokens; all others are LONG


def write_requests(log: Path, output: Path) -> int:
    """Write the workload of a log, a CSV file; return its number of requests. Raises :class:`InputError`."""
    found = read_csv_rows(log, (TIME, TOKENS))
    rows = []
    for line, row in found.rows:
        time_us = to_time_us(row[TIME])
        tokens = found.number(line, TOKENS, row[TOKENS], least=0, is_whole=True)
        if time_us is None:
            found.add(line, f"{TIME}: a time in seconds, or a date", repr(row[TIME])[:40])
        else:
            rows.append((time_us, tokens))
    found.raise_problems()
    first = min(rows)[0]
    with output.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["arrival_s", "task_type", "application", "operations"])
        for time_us, tokens in sorted(rows):
            kind = next((name for most, name in CLASSES if tokens <= most), "LONG")
            out.writerow([f"{(time_us - first) / 1e6:.6f}", kind, kind, max(1, int(tokens))])
    return len(rows)
