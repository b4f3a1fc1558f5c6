"""``python -m benchmarks.live_truth [--seconds N] [--policies A B] [--quiet] [--out FILE]``: start a cluster per
policy, play the load, simulate what was recorded, and print both as a table for docs/explanation/live_truth.md.

The load is that of ``load.yaml``; ``--seconds`` shortens it, and the spikes with it; ``--quiet`` leaves the spikes out.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import vinesim as vs
from benchmarks.machine import description
from benchmarks.report import Table, figure
from vinesim.live.client import Session, connect
from vinesim.live.folder import JOURNAL
from vinesim.live.journal import Journal
from vinesim.live.load import Played, play
from vinesim.live.record import record
from vinesim.live.validation import validate

HERE = Path(__file__).parent
POLICIES = ("symphony", "fcfs", "edf", "rb_ljf_ba")
KERNELS = {name: name.lower() for name in ("SEARCH", "OPTION", "SQL", "VIDEO")}
FULL_S = 600.0


def live(*words: str) -> None:
    """Run a command of ``vinesim live``."""
    subprocess.run([sys.executable, "-m", "vinesim", "live", *words], check=True)


async def load(
    folder: Path, seconds: float, is_quiet: bool, of: Path = HERE / "load.yaml"
) -> tuple[Played, dict[str, Any]]:
    """Play a load. Returns what the client saw, and the cluster's status once the manager knows all ends."""
    share = seconds / FULL_S
    changes = [f"workload.options.duration_us={seconds} s"]
    changes += [
        f"workload.options.spike_width_{end}_us={width * share} s" for end, width in (("low", 30), ("high", 60))
    ]
    changes += ["workload.options.spikes=0"] if is_quiet else []
    work = vs.read_scenario(of, changes).workload
    session: Session
    async with connect(folder) as session:
        played = await play(session, work, KERNELS)
        while (status := await session.call("client.status"))["n_running"]:
            await asyncio.sleep(0.01)  # a device answers the client before the manager knows
        return played, status


def one_policy(policy: str, seconds: float, is_quiet: bool) -> dict[str, Any]:
    """Return the numbers of both runs of one policy."""
    with tempfile.TemporaryDirectory(prefix="vinesim-truth-") as name:
        place, before = Path(name), os.getloadavg()[0]
        (place / "kernels.py").write_text((HERE / "kernels.py").read_text())
        (place / "cluster.yaml").write_text((HERE / "cluster.yaml").read_text().replace("POLICY", policy))
        folder = place / "state"
        live("start", str(place / "cluster.yaml"), "--folder", str(folder), "--wait", "300")
        try:
            played, status = asyncio.run(load(folder, seconds, is_quiet))
        finally:
            live("stop", "--folder", str(folder))
        found = numbers(folder, played, status)
    return {"policy": policy, "load_average": [before, os.getloadavg()[0]], **found}


def numbers(folder: Path, played: Played, status: dict[str, Any]) -> dict[str, Any]:
    """Return what clients saw, what the folder of a stopped cluster recorded, and what is simulated of that."""
    lines = validate(record(folder))
    journal = Journal(folder / JOURNAL)
    again = journal.one("SELECT count(*) AS n FROM requests WHERE n_attempts > 1")["n"]
    journal.close()
    n_sent = sum(map(len, played.response_us.values()))
    return {
        "engine": status["engine"],
        "sent": n_sent,
        "answered": status["counters"]["n_done"],
        "started_again": again,
        "failures": {f"{kind}: {why}": n for (kind, why), n in played.failures.items()},
        "late_us": played.late_us,
        "dispatch_us": status["dispatch_us"],
        "lines": [asdict(line) for line in lines],
    }


def table(found: list[dict[str, Any]]) -> Table:
    """Return the figures side by side."""
    rows = []
    for i, line in enumerate(found[0]["lines"]):
        cells = []
        for one in found:
            scale = 1e3 if line["unit"] == "us" else 1.0
            measured, mean, low, high, in_full = (
                figure(one["lines"][i][name] / scale) for name in ("measured", "simulated", "low", "high", "in_full")
            )
            cells.append(f"{measured} / {mean} [{low}, {high}] / {in_full}")
        unit = {"us": ", ms", "%": ", %"}.get(line["unit"], "")
        rows.append([line["what"] + unit, *cells])
    title = "Measured / simulated [least, largest] / simulated with what each dispatch took"
    return Table(title, ["", *(f"`{one['policy']}`" for one in found)], rows)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=FULL_S)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--quiet", action="store_true", help="without spikes")
    parser.add_argument("--out", type=Path, help="a file for all numbers, as JSON")
    given = parser.parse_args()
    found = []
    for policy in given.policies:
        found.append(one_policy(policy, given.seconds, given.quiet))
        if given.out:
            given.out.write_text(json.dumps(found, indent=2) + "\n")
    print(table(found).markdown())
    print(description())


if __name__ == "__main__":
    main()
