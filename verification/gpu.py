"""Best fit in blocks on a real GPU against the CPU: ``python -m verification.gpu [N]``.

A GPU refuses what Numba's simulator of CUDA, in which the tests run the kernel, accepts. Random questions, on empty and
loaded servers, with whole and real demands, in blocks of 1 to 1,024 servers (abf) and 1 to 8 blocks (dcbf), and all
readings of the cost; periods in which some loads change; and examples/energy.yaml. Exit code 1 if anything differs, or
without a GPU.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import vinesim as vs
from benchmarks.gpu.found import gpu
from tests.properties.test_placement import question as nasty
from verification.placement import PENALTIES, VARIANTS
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim_papers.energy.speed import question as of_the_thesis

EXAMPLE = Path(__file__).parents[1] / "examples" / "energy.yaml"
BLOCKS = (32, 64, 100, 256, 512, 1000, 1024)
SMALL_BLOCKS = (1, 3, 7)
MOST = 3_000  # servers, and tasks
PERIODS = 10
Question = tuple[dict[str, Any], BatchTasks, BatchServers]


def drawn(random: np.random.Generator, n_servers: int, n_tasks: int) -> tuple[BatchTasks, BatchServers]:
    """Half of the servers are loaded, and demands are whole or real."""
    tasks, servers = of_the_thesis(n_servers, n_tasks)
    whole, real = random.integers(1, 101, n_tasks).astype(np.float64), random.uniform(0, 120, n_tasks)
    load = random.uniform(0, 100, n_servers) * (random.random(n_servers) < 0.5)
    return tasks._replace(demand=(whole, real)[random.integers(2)]), servers._replace(load=load)


def questions(n: int) -> Iterator[Question]:
    """n random questions, with the options of the policy."""
    for seed in range(n):
        random = np.random.default_rng(seed)
        pad = {"pad": ("none", "pow2")[random.integers(2)]}
        if seed % 5:
            asked = drawn(random, *random.integers(1, MOST, 2).tolist())
            options = {"cost": VARIANTS[seed % 4], "penalty": PENALTIES[seed // 4 % 4]}
            yield {**pad, **options, "block_size": int(random.choice(BLOCKS))}, *asked
        else:
            yield {**pad, "block_size": int(random.choice(SMALL_BLOCKS))}, *nasty(seed, 60, 120)


def divided(n: int) -> Iterator[Question]:
    """The same, for dcbf: in some blocks, most of which have more servers than a GPU's block has threads."""
    for seed, (options, tasks, servers) in enumerate(questions(n)):
        cost = {name: value for name, value in options.items() if name in ("cost", "penalty")}
        yield {**cost, "blocks": 1 + seed % 8}, tasks, servers


def periods() -> Iterator[Question]:
    """The same servers, of whose loads none, one, few or all change from period to period."""
    random = np.random.default_rng(1)
    _, servers = drawn(random, MOST, 1)
    for n_changed in [0, 1, MOST // 20, MOST] * (PERIODS // 4 + 1):
        load = servers.load.copy()
        load[random.choice(MOST, n_changed, replace=False)] = random.uniform(0, 100, n_changed)
        servers = servers._replace(load=load)
        tasks, _ = drawn(random, 1, int(random.integers(1, MOST)))
        yield {}, tasks, servers


def n_wrong(asked: Iterator[Question], check: str) -> tuple[int, int]:
    """How many answers of the GPU are not the CPU's, or errors, and of how many."""
    n = wrong = 0
    for options, tasks, servers in asked:
        n += 1
        try:
            policy = DivideAndConquerBestFit if "blocks" in options else AcceleratedBestFit
            found = policy(**options, device="cuda", check=check).place(tasks, servers)
            says = "differs" if (found != policy(**options).place(tasks, servers)).any() else ""
        except (vs.InputError, vs.PolicyError) as error:
            says = str(error)
        if says:
            wrong += 1
            print(f"{len(tasks.task)} tasks on {len(servers.load)} servers, {options}: {says}")
    return n, wrong


def energies() -> list[float]:
    """The energy of the example, J: on the CPU and on the GPU."""
    found = []
    for device in ("cpu", "cuda"):
        scenario = vs.read_scenario(EXAMPLE, ["policy=abf", f"options={{device: {device}}}"])
        found.append(vs.simulate(scenario).summary["periods"]["energy_j"])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=400, help="random questions (default 400)")
    n = parser.parse_args().n
    name = gpu()
    if not name:
        print("no GPU is here")
        return 1
    print(name, flush=True)
    total = 0
    for words, asked, check in (
        ("random questions", questions(n), "full"),
        ("random questions, dcbf", divided(n // 4), "full"),
        ("periods of the same servers", periods(), "sample"),
    ):
        begun_s = time.perf_counter()
        n_asked, wrong = n_wrong(asked, check)
        total += wrong
        print(f"{words}: {n_asked}, wrong {wrong}, {time.perf_counter() - begun_s:.0f} s", flush=True)
    cpu_j, gpu_j = energies()
    print(f"{EXAMPLE.name}: {cpu_j:,.3f} J on the CPU, {gpu_j:,.3f} J on the GPU")
    return 0 if not total and cpu_j == gpu_j else 1


if __name__ == "__main__":
    sys.exit(main())
