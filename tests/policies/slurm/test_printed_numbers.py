"""What the daemons of a real Slurm 22.05 printed, recomputed. The tables are not part of the package: without them
these
tests are skipped."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.association_tree import tree_of
from vinesim.formats.slurm.values import time_s, tres
from vinesim.policies.slurm import fair_share, priority

NUMBERS = Path(__file__).parents[3] / ".." / "shared" / "slurm" / "numbers"
pytestmark = pytest.mark.skipif(not NUMBERS.is_dir(), reason="the printed numbers are not at hand")
PERIOD_S = 60.0


def rows_of(name):
    with (NUMBERS / f"{name}.csv").open() as lines:
        return list(csv.DictReader(lines))


class Replay:
    """Usage as the jobs of a run add to it, calculated each minute, ``offset`` s after it began."""

    def __init__(self, name, half_life_s, offset):
        self.snapshots = defaultdict(list)
        for row in rows_of(name):
            self.snapshots[row["time"]].append(row)
        first = next(iter(self.snapshots.values()))
        shares = {"parent": fair_share.PARENT, "": 1.0}
        self.tree = tree_of(
            [
                (r["account"], r["user"], r["parent"], shares.get(r["raw_shares"]) or float(r["raw_shares"]))
                for r in first
            ]
        )
        self.number = {key: i for i, key in enumerate(self.tree.keys)}
        self.jobs = [
            (
                self.number[j["account"], j["user"]],
                time_s(j["start"]),
                time_s(j["end"]),
                tres(j["alloc_tres"])["billing"],
            )
            for j in rows_of(f"{name}_jobs")
        ]
        self.half_life_s = half_life_s
        self.first_s = time_s(min(self.snapshots)) // 60 * 60 - 2 * PERIOD_S + offset

    def __iter__(self):
        """Yield the rows of each printout, the usage then, and at the last calculation."""
        now, last_s = np.zeros(len(self.tree.keys)), self.first_s - PERIOD_S
        calculated, over = now.copy(), set[int]()
        for time in sorted(self.snapshots):
            ends = [(end, 0, n) for n, (_, _, end, _) in enumerate(self.jobs) if n not in over and end <= time_s(time)]
            n_periods = int((time_s(time) - last_s) // PERIOD_S)
            for at, is_calculation, n in sorted(
                ends + [(last_s + PERIOD_S * (k + 1), 1, -1) for k in range(n_periods)]
            ):
                if is_calculation:
                    now[self.tree.users] = fair_share.decayed(now[self.tree.users], PERIOD_S, self.half_life_s)
                for m, (who, start, _, billing) in enumerate(self.jobs):
                    if m not in over and start < at and (is_calculation or m == n):
                        now[who] += fair_share.of_job(at - max(start, last_s), billing, self.half_life_s)
                over |= {n} - {-1}
                fair_share.add_up(self.tree.parent, self.tree.is_user, now)
                if is_calculation:
                    last_s, calculated = at, now.copy()
            yield self.snapshots[time], now, calculated


@pytest.mark.parametrize(
    ("name", "half_life_s", "offset", "n_off"),
    [("num_nodecay", 0.0, 9, 0), ("num_fair_tree", 1200.0, 50, 6), ("num_classic", 1200.0, 13, 4)],
)
def test_usage_of_users(name, half_life_s, offset, n_off):
    # the daemon's minutes are a second longer now and then: that is not in the files, and moves a few of the last
    # figures
    replay, off = Replay(name, half_life_s, offset), []
    for rows, now, _ in replay:
        users = [row for row in rows if row["user"]]
        off += [
            int(now[replay.number[row["account"], row["user"]]]) - int(row["raw_usage"])
            for row in users
            if int(now[replay.number[row["account"], row["user"]]]) != int(row["raw_usage"])
        ]
    assert len(off) == n_off
    assert max(map(abs, off), default=0) <= 2


def test_fair_tree():
    replay = Replay("num_fair_tree", 1200.0, 50)
    tree, order = replay.tree, replay.tree.users
    factor, levels, wrong, n = np.zeros(len(tree.keys)), np.zeros(len(tree.keys)), [], 0
    for rows, _, used in replay:
        fair_share.fair_tree(
            tree.parent, tree.depth, tree.above.reshape(-1), tree.shares, tree.siblings, used, levels, order, factor
        )
        users = [row for row in rows if row["user"]]
        n += len(users)
        wrong += [
            (row["time"], row["user"])
            for row in users
            if f"{factor[replay.number[row['account'], row['user']]]:.6f}" != row["fairshare"]
        ]
    assert n == 253
    assert {time for time, _ in wrong} <= {min(replay.snapshots)}  # before anybody has used anything
    assert len(wrong) == 6


@pytest.mark.parametrize("name", ["num_classic", "num_nodecay"])
def test_classic_fair_share_of_the_printed_usage(name):
    for row in rows_of(name):
        if row["fairshare"] and row["account"] != "root":
            shares, used = float(row["norm_shares"]), float(row["effective_usage"])
            expected = 2.0 ** (-used / shares) if shares else 0.0
            assert float(row["fairshare"]) == pytest.approx(expected, abs=3e-5)


FACTORS = {"p": 2.0, "q": 10.0, "r": 5.0}
QOS = {"normal": 50.0, "hi": 100.0, "lo": 20.0}
ASSOCIATIONS = {"cat": 500.0}
CPUS, MEMORY, GPUS = 16, 64000, 4  # of a node


@pytest.mark.parametrize(
    ("name", "is_by_time", "favours_small", "is_normal"),
    [
        ("num_prio", False, False, True),
        ("num_prio_small", False, True, True),
        ("num_prio_reltime", True, False, True),
        ("num_prio_nonormal", False, False, False),
    ],
)
def test_multifactor_priority(name, is_by_time, favours_small, is_normal):
    seen = set()
    for row in rows_of(name):
        asked, is_first = tres(row["req_tres"]), row["job"] not in seen
        seen.add(row["job"])
        nodes = re.search(r"-N(\d+)", row["sbatch"])
        n_nodes = float(nodes[1]) if nodes else 1.0
        is_whole = "--exclusive" in row["sbatch"] and not is_first
        cpus = CPUS * n_nodes if is_whole else asked["cpu"]
        limit_min = float(row["limit_min"])
        of_size = priority.size(n_nodes, cpus, limit_min, 4, 4 * CPUS, is_by_time, favours_small)
        n_of_partition = 2 if row["partition"] == "r" else 4

        def part(value, whole, of=priority.of_resource, is_normal=is_normal):
            return of(value, whole) if is_normal else value

        columns = {
            "jobsize": 1000 * of_size,
            "partition_factor": 1000 * part(FACTORS[row["partition"]], 10.0, priority.of_largest),
            "qos_factor": 1000 * part(QOS[row["qos"]], 100.0, priority.of_largest),
            "assoc": 100 * part(ASSOCIATIONS.get(row["user"], 0.0), 500.0, priority.of_largest),
        }
        resources = (
            1000 * part(asked["cpu"], CPUS * n_of_partition)
            + 2000 * part(asked["mem"], MEMORY * n_of_partition)
            + 3000 * part(asked.get("gres/gpu", 0.0), GPUS * n_of_partition)
        )
        for column, value in columns.items():
            assert float(row[column]) == pytest.approx(value, abs=0.5001), (row["job"], column)
        possible = set()  # the second of the calculation is not printed; the age of that second is
        for second in range(76):
            of_age = 1000 * priority.age(time_s(row["time"]) - second - time_s(row["eligible"]), 600.0)
            if abs(of_age - float(row["age"])) <= 0.5001:
                possible.add(priority.total(of_age + sum(columns.values()) + resources, float(row["nice"])))
        assert float(row["priority"]) in possible
