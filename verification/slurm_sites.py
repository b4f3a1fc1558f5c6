"""``python -m verification.slurm_sites DIR [NAME ...]``: the policy ``slurm`` against logs of real Slurm.

DIR has a folder for each configuration, with the files of its runs in r1, r2 ..., how far real runs are from one
another in noise.json, and how far a plain replay of the jobs is off in naive.json, if there is one.

Below the rows of a configuration: how many of the means of partitions, QOS, accounts and users, predicted from its
first run, lie between the lowest and the highest of the real runs, give or take 10 %, and which do not.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from vinesim.formats.importers.slurm_site import import_site
from vinesim.policies.documents import read_scenario
from vinesim.studies.backtest import Backtest, backtest

REPLICATIONS = 20
MOST = 1.5  # times the floor
GROUPS = ("partition", "qos", "account", "user")
NEAR = 0.1  # of a mean


def main(arguments: list[str]) -> int:
    """Print a row for each run; return 1 if one is further off than ``MOST``."""
    folder = Path(arguments[0])
    names = arguments[1:] or sorted(path.name for path in folder.iterdir() if (path / "r1").is_dir())
    print("site            run jobs  actual  found   error  floor ratio  band naive  groups", flush=True)
    worst = 0.0
    for name in names:
        floor = json.loads((folder / name / "noise.json").read_text())["floor"]["mae"]
        naive = folder / name / "naive.json"
        plain = json.loads(naive.read_text())["easy_backfill"]["mae"] if naive.exists() else float("nan")
        all_rows = []
        for run in sorted(path for path in (folder / name).iterdir() if path.name[:1] == "r" and path.is_dir()):
            found = backtested(run)
            rows = list(found.rows())
            all_rows.append({(row["by"], row["group"]): row for row in rows if row["by"] in GROUPS})
            ratio = found.error_s / floor
            worst = max(worst, ratio)
            print(
                f"{name:15} {run.name:3} {len(found.job):4} {found.actual_s.mean():7.1f} {found.mean_s.mean():6.1f} "
                f"{found.error_s:7.1f} {floor:6.1f} {ratio:5.2f} {found.band_s:5.1f} {plain:6.1f} "
                f"{sum(row['is_near'] for row in rows):3}/{len(rows)}",
                flush=True,
            )
        print_means(all_rows)
    return int(worst > MOST)


def print_means(runs: list[dict[tuple[str, str], dict[str, Any]]]) -> None:
    """Print how many predicted means lie in the range of the real ones, and the others."""
    outside = []
    for group, row in runs[0].items():
        real = [run[group]["actual_s"] for run in runs if group in run]
        if not min(real) * (1 - NEAR) <= row["predicted_s"] <= max(real) * (1 + NEAR):
            outside.append(f"{' '.join(group)} {row['predicted_s']:.0f}, real {min(real):.0f} to {max(real):.0f}")
    print(f"  means inside: {len(runs[0]) - len(outside)} of {len(runs[0])}; outside: {'; '.join(outside) or 'none'}")


def backtested(run: Path, n: int = REPLICATIONS) -> Backtest:
    """Import a site and hold the policy's waits against its own."""
    with tempfile.TemporaryDirectory() as made:
        output = Path(made) / "site.parquet"
        import_site(run, output)
        return backtest(read_scenario(output.with_suffix(".yaml")), n, engine="compiled")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
