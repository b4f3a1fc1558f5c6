"""Turn a public log of language-model requests into the arrivals of a day: how many come in each minute.

The log is one hour of Azure's code completion (github.com/Azure/AzurePublicDataset,
data/AzureLLMInferenceTrace_code.csv, CC BY 4.0): minutes without requests, and minutes with 600. Each hour of the day
has these minutes, times what the hour has of the busiest one. That is the mean over two weeks of another public log,
of a load balancer (github.com/numenta/NAB, realAWSCloudwatch/elb_request_count_8c0756.csv).
Run it:  python examples/plans/serving_log.py AzureLLMInferenceTrace_code.csv
"""

import argparse
import csv
import gzip
import sys
from datetime import datetime
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).parent / "serving_log_day.csv"
OF_BUSIEST = (0.60, 0.65, 0.56, 0.55, 0.54, 0.50, 0.45, 0.47, 0.48, 0.48, 0.50, 0.48,
              0.65, 0.73, 0.79, 0.79, 0.79, 1.00, 0.81, 0.90, 0.97, 0.82, 0.59, 0.61)  # fmt: skip
MINUTE_S, MINUTES = 60, 60


def minutes(log: Path) -> np.ndarray:
    """Return how many requests come in each minute of the first hour of a log."""
    opened = gzip.open if log.suffix == ".gz" else open
    with opened(log, "rt", encoding="utf-8") as stream:
        times = [datetime.fromisoformat(row["TIMESTAMP"][:26]) for row in csv.DictReader(stream)]
    minute = np.array([(time - min(times)).total_seconds() // MINUTE_S for time in times], np.int64)
    return np.bincount(minute[minute < MINUTES], minlength=MINUTES)


def main() -> None:
    """Read the log and write the day."""
    words = argparse.ArgumentParser(description="Turn a log of language-model requests into the arrivals of a day.")
    words.add_argument("log", type=Path)
    words.add_argument("-o", "--output", type=Path, default=OUTPUT)
    given = words.parse_args()
    day = np.outer(OF_BUSIEST, minutes(given.log)).ravel()
    rows = [f"{MINUTE_S * i},{count:.2f}" for i, count in enumerate(day)]
    given.output.write_text("\n".join(["time_s,requests", *rows, ""]), encoding="utf-8")
    sys.stdout.write(f"wrote {given.output}: {day.sum():,.0f} requests a day\n")


if __name__ == "__main__":
    main()
