"""``python -m verification.slurm_sites DIR [NAME ...]``: the policy ``slurm`` against logs of real Slurm.

DIR has a folder for each configuration, with the files of its runs in r1, r2 ..., how far real runs are from one
another in noise.json, and how far a plain replay of the jobs is off in naive.json, if there is one.

Below the rows of a configuration: how many of the means of partitions, QOS, accounts and users, predicted from its
first run, lie between the lowest and the highest of the real runs, give or take 10 %, and which do not. The line below
says what can be asked of them, as Slurm differs from itself: how many means of a real run lie in the range of the other
runs in this way, for each run; how many predicted from a run do in its place; how many of single replications do; and
how many of a replication lie in the range of as many other replications, and of one more.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.slurm_site import import_site
from vinesim.policies.documents import read_scenario
from vinesim.studies.backtest import Backtest, backtest

REPLICATIONS = 20
MOST = 1.5  # times the floor
GROUPS = ("partition", "qos", "account", "user")
NEAR = 0.1  # of a mean
WORDS = ("real", "predicted", "replications in real ones", "replications", "replications in one more")


class Group(NamedTuple):
    """The mean waits of a group of jobs, s."""

    n_jobs: int
    actual_s: float
    replications_s: np.ndarray  # [R]

    @property
    def predicted_s(self) -> float:
        """The mean of the replications."""
        return float(self.replications_s.mean())


Groups = dict[tuple[str, str], Group]


def main(arguments: list[str]) -> int:
    """Print a row for each run; return 1 if one is further off than ``MOST``."""
    folder = Path(arguments[0])
    names = arguments[1:] or sorted(path.name for path in folder.iterdir() if (path / "r1").is_dir())
    print("site            run jobs  actual  found   error  floor ratio  band naive  groups", flush=True)
    worst, all_inside = 0.0, Counter[str]()
    for name in names:
        floor = json.loads((folder / name / "noise.json").read_text())["floor"]["mae"]
        naive = folder / name / "naive.json"
        plain = json.loads(naive.read_text())["easy_backfill"]["mae"] if naive.exists() else float("nan")
        runs = []
        for run in sorted(path for path in (folder / name).iterdir() if path.name[:1] == "r" and path.is_dir()):
            found = backtested(run)
            rows = list(found.rows())
            runs.append(groups_of(found))
            ratio = found.error_s / floor
            worst = max(worst, ratio)
            print(
                f"{name:15} {run.name:3} {len(found.job):4} {found.actual_s.mean():7.1f} {found.mean_s.mean():6.1f} "
                f"{found.error_s:7.1f} {floor:6.1f} {ratio:5.2f} {found.band_s:5.1f} {plain:6.1f} "
                f"{sum(row['is_near'] for row in rows):3}/{len(rows)}",
                flush=True,
            )
        print_means(runs)
        inside = Counter(word for words in compared(runs) for word in words)
        print_inside("  ", inside)
        all_inside += inside
    print_inside("all: ", all_inside)
    return int(worst > MOST)


def groups_of(found: Backtest) -> Groups:
    """Return the groups that ``GROUPS`` makes, where it makes more than one."""
    groups = {}
    for by in GROUPS:
        words = found.groups.get(by, np.empty(0, str))
        names = np.unique(words) if len(words) else words
        for name in names if len(names) > 1 else ():
            mine = words == name
            means = found.predicted_s[:, mine].mean(axis=1)
            groups[by, str(name)] = Group(int(mine.sum()), float(found.actual_s[mine].mean()), means)
    return groups


def is_in(value: float, others: Sequence[float] | np.ndarray) -> bool:
    """Whether a mean lies in the range of others, or near it."""
    return bool(min(others) * (1 - NEAR) <= value <= max(others) * (1 + NEAR))


def print_means(runs: list[Groups]) -> None:
    """Print how many predicted means lie in the range of the real ones, and the others."""
    outside = []
    for key, group in runs[0].items():
        real = [run[key].actual_s for run in runs if key in run]
        if not is_in(group.predicted_s, real):
            words = f"{' '.join(key)} ({group.n_jobs} jobs) {group.predicted_s:.1f}"
            outside.append(f"{words}, real {min(real):.1f} to {max(real):.1f}")
    print(f"  means inside: {len(runs[0]) - len(outside)} of {len(runs[0])}; outside: {'; '.join(outside) or 'none'}")


def compared(runs: list[Groups]) -> Iterator[tuple[str, ...]]:
    """Yield what is compared of each group and run, as words of ``WORDS``, with "inside" where it lies in the range."""
    for i, run in enumerate(runs):
        for key, group in run.items():
            others = [other[key].actual_s for k, other in enumerate(runs) if k != i and key in other]
            if len(others) < 2:
                continue
            means = group.replications_s
            pairs: list[tuple[str, float, Sequence[float] | np.ndarray]] = [
                (WORDS[0], group.actual_s, others), (WORDS[1], group.predicted_s, others)
            ]  # fmt: skip
            pairs += [(WORDS[2], mean, others) for mean in means]
            for word, n in ((WORDS[3], len(others)), (WORDS[4], len(others) + 1)):
                firsts = range(0, len(means) - n, n + 1)
                pairs += [(word, means[at], means[at + 1 : at + 1 + n]) for at in firsts]
            for word, value, range_ in pairs:
                yield (word, f"{word} inside") if is_in(value, range_) else (word,)


def print_inside(label: str, inside: Counter[str]) -> None:
    """Print the share of the means that lie in the range of others, of each kind."""
    shares = [f"{word} {inside[f'{word} inside'] / inside[word] * 100:.0f} %" for word in WORDS if inside[word]]
    print(f"{label}in the range of the other runs: {', '.join(shares) or 'too few runs'}", flush=True)


def backtested(run: Path, n: int = REPLICATIONS) -> Backtest:
    """Import a site and hold the policy's waits against its own."""
    with tempfile.TemporaryDirectory() as made:
        output = Path(made) / "site.parquet"
        import_site(run, output)
        return backtest(read_scenario(output.with_suffix(".yaml")), n, engine="compiled")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
