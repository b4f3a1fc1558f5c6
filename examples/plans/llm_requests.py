"""Turn a log of language-model requests into a workload: one row per request, with its class by generated tokens.

The log is a CSV file, plain or gzip, with the columns TIMESTAMP and GeneratedTokens, as in Azure's public dataset.
Run it:  python examples/plans/llm_requests.py code.csv.gz -o examples/plans/llm_requests.csv
"""

import argparse
import sys
from pathlib import Path

import vinesim as vs
from vinesim_papers.vinesim.llm_requests import write_requests


def main() -> None:
    """Read the log and write the workload."""
    words = argparse.ArgumentParser(description="Turn a log of language-model requests into a workload.")
    words.add_argument("log", type=Path)
    words.add_argument("-o", "--output", type=Path, required=True)
    given = words.parse_args()
    try:
        n_requests = write_requests(given.log, given.output)
    except vs.InputError as error:
        sys.exit(str(error))
    sys.stdout.write(f"wrote {given.output}: {n_requests:,} requests\n")


if __name__ == "__main__":
    main()
