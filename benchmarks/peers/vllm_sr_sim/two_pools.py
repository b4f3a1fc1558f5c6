"""The two-pool problem of vllm-sr-sim as workloads of VineSim: its lengths, its rate, its time per token.

Requests of up to ``--gamma`` x 4,096 tokens go to the short pool, cut to 4,096; the others to the long pool. A request
holds one of the GPU's slots for its tokens at the iteration time of a full batch. Its deadline is that time and the
wait that is left of half a second after the 112 ms that the peer reports for the first token.

Install the peer in its own environment and run this with its Python, once per gamma and seed:
    python two_pools.py --gamma 1.9 --seed 0 -o g1.9.csv
Then, next to these files:
    vinesim plan fleet.yaml --out out
    vllm-sr-sim optimize --cdf azure_cdf.json --lam 200
"""

import argparse
import csv
import json
import math
import random
from pathlib import Path

import fleet_sim
from fleet_sim.gpu_profiles.profiles import A100_80GB as GPU

SHORT_TOKENS, LONG_TOKENS = 4096, 65536
RATE_PER_S, WAIT_S, INPUT_SHARE = 200.0, 0.388, 0.8


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--gamma", type=float, default=1.9)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--requests", type=int, default=200_000)
    words.add_argument("-o", "--output", type=Path, required=True)
    given = words.parse_args()
    rows = requests(random.Random(given.seed), given.requests, given.gamma)
    slots = {"SHORT": GPU.n_slots(SHORT_TOKENS), "LONG": GPU.n_slots(LONG_TOKENS)}
    iteration_s = {}
    for pool, n in slots.items():
        tokens = [l_in + l_out for _, kind, l_in, l_out in rows if kind == pool]
        iteration_s[pool] = GPU.iter_latency(n, sum(tokens) / max(1, len(tokens)))
    with given.output.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["arrival_us", "task_type", "application", "time_us", "deadline_us"])
        for time_s, pool, l_in, l_out in rows:
            took_s = (math.ceil(l_in / GPU.chunk) + l_out) * iteration_s[pool]
            due_s = time_s + took_s + WAIT_S
            out.writerow([f"{time_s * 1e6:.3f}", pool, pool, f"{took_s * 1e6:.3f}", f"{due_s * 1e6:.3f}"])


def requests(dice: random.Random, n: int, gamma: float) -> list[tuple[float, str, int, int]]:
    """Arrival in s, pool, input and output tokens."""
    file = Path(fleet_sim.__file__).parent / "data" / "azure_cdf.json"
    lengths = [(int(tokens), float(share)) for tokens, share in json.loads(file.read_text())]
    rows, time_s = [], 0.0
    for _ in range(n):
        time_s += dice.expovariate(RATE_PER_S)
        total = drawn(dice, lengths)
        pool = "SHORT" if total <= gamma * SHORT_TOKENS else "LONG"
        l_in = max(1, int(total * INPUT_SHARE))
        l_out = max(1, total - l_in)
        if pool == "SHORT" and total > SHORT_TOKENS:
            l_in = max(1, SHORT_TOKENS - l_out)
        rows.append((time_s, pool, l_in, l_out))
    return rows


def drawn(dice: random.Random, lengths: list[tuple[int, float]]) -> int:
    """A length, uniform between two steps of the distribution."""
    u, before = dice.random(), 1
    for tokens, share in lengths:
        if u <= share:
            return dice.randint(max(1, before), max(1, before, tokens))
        before = tokens
    return lengths[-1][0]


if __name__ == "__main__":
    main()
